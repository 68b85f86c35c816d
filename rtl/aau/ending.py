# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of a row's end: constants of the second pass and what is told, from its state."""

from typing import NamedTuple

from ahasd.rtl.aau import scalar
from ahasd.rtl.aau.encodings import MOMENTS, Command, Op, State
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.integers import ints
from ahasd.rtl.aau.primitives.load.golden import Real
from ahasd.rtl.aau.reals import constant, real_width, zero
from ahasd.rtl.aau.scalar import Number
from ahasd.rtl.aau.scalar_programs import (
    FLOORING,
    NEGATING,
    Code,
    Instruction,
    Register,
    Source,
    programs,
)
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
    numerics, op = params.numerics, Op(command.op)
    integers = _integers(command, state, params)
    sources: dict[int, Number] = _constants(command, params)
    if op in params.passes:
        for step in programs(numerics).get(op, ()):
            sources[step.to] = _result(step, sources, integers, params)
    r0, r1, r2 = (sources[register] for register in Register)
    nothing, none = Constants(0, zero(), zero()), Told(0, 0, 0)
    match op:
        case Op.SOFTMAX:
            return nothing._replace(limit=scalar.anchored(r0, numerics)), none
        case Op.LAYERNORM | Op.RMSNORM:
            return nothing._replace(factor=short(r2, params), offset=short(r1, params)), none
        case Op.STATISTICS:
            return nothing, Told(*(scalar.single(each) for each in (r0, r1, r2)))
        case Op.SUM:
            return nothing, none._replace(value=scalar.single(r0))
    return nothing, none


def _constants(command: Command, params: AauParams) -> dict[int, Number]:
    found: dict[int, Number] = dict.fromkeys(Register, scalar.ZERO)
    for source, code in (
        (Source.K0, command.k0),
        (Source.K1, command.k1),
        (Source.K2, command.k2),
    ):
        k = constant(code, scalar.MANTISSA_WIDTH)
        found[source] = scalar.normalised(
            int(k.sign), int(k.mantissa), int(k.exponent) - scalar.MANTISSA_WIDTH + 1
        )
    found[Source.LN2] = scalar.LN2
    found[Source.HALF] = scalar.HALF
    found[Source.THREE_HALVES] = scalar.THREE_HALVES
    found[Source.ANCHOR] = scalar.anchor(params.numerics)
    return found


def _integers(command: Command, state: State, params: AauParams) -> dict[Source, tuple[int, int]]:
    """Return the integers of a row, each with the exponent of its lowest bit."""
    behind = params.sum_fraction_width
    exponent = state.reference if command.op in MOMENTS else 0
    return {
        Source.A: (state.a, exponent - behind),
        Source.B: (state.b, 2 * exponent - behind),
        Source.COUNT: (state.count, 0),
        Source.PEAK: (state.reference, -params.numerics.fraction_width),
        Source.CEILING: (whole(state.reference, command.op, params), 0),
    }


def _result(
    step: Instruction,
    sources: dict[int, Number],
    integers: dict[Source, tuple[int, int]],
    params: AauParams,
) -> Number:
    numerics = params.numerics
    if step.code is Code.TAKE:
        value, exponent = integers[step.a]
        return scalar.normalised(int(value < 0), abs(value), exponent)
    a, b = sources[step.a], sources[step.b]
    match step.code:
        case Code.MULTIPLY:
            return scalar.multiply(a, b)
        case Code.LOG2:
            return scalar.log2(a, numerics)
        case Code.RSQRT:
            return scalar.reciprocal_root(a, numerics)
        case Code.EXP2:
            return scalar.power(a, numerics)
    b = scalar.negated(b) if step.code in NEGATING else b
    return scalar.add(a, b, floor=step.code in FLOORING)


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
