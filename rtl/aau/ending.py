# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of a row's end: constants of the second pass and what is told, from its state."""

from typing import NamedTuple

from ahasd.rtl.aau import scalar
from ahasd.rtl.aau.encodings import MOMENTS, Command, Op, State
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.integers import ints
from ahasd.rtl.aau.primitives.load.golden import Real
from ahasd.rtl.aau.reals import constant, real_width, zero
from ahasd.rtl.aau.scalar import PROGRAMS, Code, Number, Source, Target
from ahasd.rtl.aau.sums import whole

EXPONENT_LIMIT = 200
"""Largest exponent of a constant that a program makes, so that no product leaves the exponents."""


class Constants(NamedTuple):
    """What a program leaves for the second pass."""

    limit: int
    factor: Real
    offset: Real


class Told(NamedTuple):
    """What a program leaves for the summary, in IEEE single precision."""

    value: int
    entropy: int
    probability: int


def finish(command: Command, state: State, params: AauParams) -> tuple[Constants, Told]:
    """Run the program that ends a row."""
    numerics = params.numerics
    behind = params.sum_fraction_width
    base = whole(state.reference, command.op, params)
    exponent = state.reference if command.op in MOMENTS else 0
    registers: dict[int, Number] = dict.fromkeys(range(4), scalar.ZERO)
    for source, code in (
        (Source.K0, command.k0),
        (Source.K1, command.k1),
        (Source.K2, command.k2),
    ):
        k = constant(code, scalar.MANTISSA_WIDTH)
        registers[source] = scalar.normalised(
            int(k.sign), int(k.mantissa), int(k.exponent) - scalar.MANTISSA_WIDTH + 1
        )
    registers[Source.LN2] = scalar.LN2
    integers = {
        Source.A: (state.a, exponent - behind),
        Source.B: (state.b, 2 * exponent - behind),
        Source.COUNT: (state.count, 0),
        Source.PEAK: (state.reference, -numerics.fraction_width),
        Source.CEILING: (base, 0),
    }
    left: dict[Target, Number] = {}
    for code, to, a, b in PROGRAMS.get(Op(command.op), ()) if command.op in params.passes else ():
        match code:
            case Code.TAKE:
                value, exponent = integers[a]
                found = scalar.normalised(int(value < 0), abs(value), exponent)
            case Code.MULTIPLY:
                found = scalar.multiply(registers[a], registers[b])
            case Code.ADD | Code.SUM:
                found = scalar.add(registers[a], registers[b], floor=code is Code.SUM)
            case Code.SUBTRACT | Code.EXCESS:
                negated = registers[b]._replace(sign=registers[b].sign ^ 1)
                found = scalar.add(registers[a], negated, floor=code is Code.EXCESS)
            case Code.LOG2:
                found = scalar.log2(registers[a], numerics)
            case Code.RECIP:
                found = scalar.reciprocal(registers[a], numerics)
            case Code.RSQRT:
                found = scalar.reciprocal_root(registers[a], numerics)
            case Code.EXP2:
                found = scalar.power(registers[a], numerics)
        if to < Target.LIMIT:
            registers[to] = found
        left[to] = found
    nothing = scalar.ZERO
    limit = scalar.fixed(
        left.get(Target.LIMIT, nothing), numerics.fraction_width, numerics.scaled_width
    )
    return (
        Constants(
            limit,
            short(left.get(Target.FACTOR, nothing), params),
            short(left.get(Target.OFFSET, nothing), params),
        ),
        Told(
            *(
                scalar.single(left.get(target, nothing))
                for target in (Target.VALUE, Target.ENTROPY, Target.PROBABILITY)
            )
        ),
    )


def short(number: Number, params: AauParams) -> Real:
    """Return a number of a program as a lane's constant, rounded half up.

    So the mean of equal elements is one of them.
    """
    width = real_width(params.numerics)
    if number.exponent < -EXPONENT_LIMIT:
        return zero()
    mantissa = (number.mantissa >> (scalar.MANTISSA_WIDTH - width - 1)) + 1 >> 1
    carry = mantissa >> width
    exponent = min(number.exponent + carry, EXPONENT_LIMIT)
    return Real(*(ints(each) for each in (number.sign, mantissa >> carry, exponent, 0, 0)))
