# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of what ends a row: a small machine on numbers with long mantissas.

A program turns a reduced row into the constants of its second pass, or into what is told of it.
Numbers have `MANTISSA_WIDTH` bits, rounded to odd; exponents and zero are as in a lane.
"""

import enum
from typing import NamedTuple

from ahasd.rtl.aau.encodings import Op
from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.exp2.golden import exp2
from ahasd.rtl.aau.primitives.log2.golden import logarithm
from ahasd.rtl.aau.primitives.recip.golden import recip
from ahasd.rtl.aau.primitives.rsqrt.golden import rsqrt

MANTISSA_WIDTH = 36
EXPONENT_WIDTH = 12
LOWEST = -(1 << (EXPONENT_WIDTH - 1))
GUARD_WIDTH = 3
LN2_CODE = 0xB17217F7D  # ln(2) in MANTISSA_WIDTH bits, its exponent -1


class Number(NamedTuple):
    """`mantissa * 2**(exponent - (MANTISSA_WIDTH - 1))`, with a sign; 0 has the lowest exponent."""

    sign: int
    mantissa: int
    exponent: int


ZERO = Number(0, 0, LOWEST)
LN2 = Number(0, LN2_CODE, -1)


class Code(enum.IntEnum):
    """What an instruction does with its operands a and b."""

    TAKE = 0
    """An integer of the row becomes a number."""
    MULTIPLY = 1
    ADD = 2
    SUBTRACT = 3
    EXCESS = 4
    """a - b, or 0 if that is below."""
    SUM = 5
    """a + b, or 0 if that is below."""
    LOG2 = 6
    """Of a; that of 0 is 0."""
    RECIP = 7
    """1/a; that of 0 is 0."""
    RSQRT = 8
    """1/sqrt(a); that of 0 is 0."""
    EXP2 = 9
    """2**-a, a not below 0."""


CYCLES = {
    Code.TAKE: 3,
    Code.MULTIPLY: 4,
    Code.ADD: 3,
    Code.SUBTRACT: 3,
    Code.EXCESS: 3,
    Code.SUM: 3,
    Code.LOG2: 6,
    Code.RECIP: 6,
    Code.EXP2: 6,
}


class Source(enum.IntEnum):
    """Where an operand comes from: registers, constants, or integers of the row for `TAKE`."""

    R0 = 0
    R1 = 1
    R2 = 2
    R3 = 3
    K0 = 4
    K1 = 5
    K2 = 6
    LN2 = 7
    A = 8
    B = 9
    COUNT = 10
    PEAK = 11
    """The largest scaled number."""
    CEILING = 12
    """The whole number that is not below it."""


class Target(enum.IntEnum):
    """Where a result goes: registers, constants of the second pass, or what is told."""

    R0 = 0
    R1 = 1
    R2 = 2
    R3 = 3
    LIMIT = 4
    """Scaled number from which scaled elements are subtracted."""
    FACTOR = 5
    OFFSET = 6
    VALUE = 7
    ENTROPY = 8
    PROBABILITY = 9


class Instruction(NamedTuple):
    """One step of a program."""

    code: Code
    to: Target
    a: Source
    b: Source = Source.R0


_C, _T, _S = Code, Target, Source
_NORM_HEAD = (
    Instruction(_C.TAKE, _T.R0, _S.COUNT),
    Instruction(_C.TAKE, _T.R1, _S.B),
    Instruction(_C.MULTIPLY, _T.R1, _S.R1, _S.R0),
)
_NORM_TAIL = (  # n^2 times the mean square error is in R1
    Instruction(_C.MULTIPLY, _T.R3, _S.R0, _S.R0),
    Instruction(_C.MULTIPLY, _T.R3, _S.R3, _S.K1),
    Instruction(_C.ADD, _T.R1, _S.R1, _S.R3),
    Instruction(_C.RSQRT, _T.R1, _S.R1),
    Instruction(_C.MULTIPLY, _T.R1, _S.R1, _S.R0),
    Instruction(_C.MULTIPLY, _T.FACTOR, _S.R1, _S.K2),
)
PROGRAMS: dict[Op, tuple[Instruction, ...]] = {
    Op.SOFTMAX: (
        Instruction(_C.TAKE, _T.R0, _S.A),
        Instruction(_C.LOG2, _T.R0, _S.R0),
        Instruction(_C.TAKE, _T.R1, _S.CEILING),
        Instruction(_C.ADD, _T.R0, _S.R0, _S.R1),
        Instruction(_C.SUBTRACT, _T.LIMIT, _S.R0, _S.K1),
    ),
    Op.STATISTICS: (
        Instruction(_C.TAKE, _T.R0, _S.A),
        Instruction(_C.LOG2, _T.R1, _S.R0),
        Instruction(_C.RECIP, _T.R0, _S.R0),
        Instruction(_C.TAKE, _T.R2, _S.B),
        Instruction(_C.MULTIPLY, _T.R0, _S.R0, _S.R2),
        Instruction(_C.SUM, _T.R0, _S.R0, _S.R1),
        Instruction(_C.MULTIPLY, _T.ENTROPY, _S.R0, _S.LN2),
        Instruction(_C.TAKE, _T.R2, _S.CEILING),
        Instruction(_C.ADD, _T.R1, _S.R1, _S.R2),
        Instruction(_C.MULTIPLY, _T.VALUE, _S.R1, _S.LN2),
        Instruction(_C.TAKE, _T.R2, _S.PEAK),
        Instruction(_C.EXCESS, _T.R1, _S.R1, _S.R2),
        Instruction(_C.EXP2, _T.PROBABILITY, _S.R1),
    ),
    Op.LAYERNORM: (
        *_NORM_HEAD,
        Instruction(_C.TAKE, _T.R2, _S.A),
        Instruction(_C.MULTIPLY, _T.OFFSET, _S.R2, _S.K0),
        Instruction(_C.MULTIPLY, _T.R3, _S.R2, _S.R2),
        Instruction(_C.EXCESS, _T.R1, _S.R1, _S.R3),
        *_NORM_TAIL,
    ),
    Op.RMSNORM: (*_NORM_HEAD, *_NORM_TAIL),
    Op.SUM: (
        Instruction(_C.TAKE, _T.R0, _S.A),
        Instruction(_C.MULTIPLY, _T.VALUE, _S.R0, _S.K0),
    ),
}
"""What ends a row, by operation; where there is none, nothing has to be calculated."""


def instruction_cycles(code: Code, numerics: Numerics) -> int:
    """Return the cycles of an instruction."""
    if code is Code.RSQRT:
        return 10 if numerics.rsqrt_newton else 6
    return CYCLES[code]


def program_cycles(op: Op, numerics: Numerics) -> int:
    """Return the cycles of a program."""
    return sum(instruction_cycles(each.code, numerics) for each in PROGRAMS.get(op, ()))


def normalised(sign: int, value: int, exponent: int) -> Number:
    """Return `value * 2**exponent`, with a sign, rounded to odd."""
    if value == 0:
        return ZERO
    surplus = value.bit_length() - MANTISSA_WIDTH
    if surplus > 0:
        mantissa = value >> surplus | (value & ((1 << surplus) - 1) != 0)
    else:
        mantissa = value << -surplus
    return Number(sign, mantissa, exponent + surplus + MANTISSA_WIDTH - 1)


def multiply(a: Number, b: Number) -> Number:
    """Return a product."""
    exponent = a.exponent + b.exponent - 2 * (MANTISSA_WIDTH - 1)
    return normalised(a.sign ^ b.sign, a.mantissa * b.mantissa, exponent)


def add(a: Number, b: Number, *, floor: bool = False) -> Number:
    """Return a sum; on request 0 if it is below."""
    large, small = (b, a) if (a.exponent, a.mantissa) < (b.exponent, b.mantissa) else (a, b)
    right = min(large.exponent - small.exponent, MANTISSA_WIDTH + GUARD_WIDTH)
    wide = small.mantissa << GUARD_WIDTH
    aligned = wide >> right | (wide & ((1 << right) - 1) != 0)
    total = large.mantissa << GUARD_WIDTH
    total = total - aligned if large.sign != small.sign else total + aligned
    if floor and large.sign:
        return ZERO
    return normalised(large.sign, total, large.exponent - (MANTISSA_WIDTH - 1) - GUARD_WIDTH)


def _head(a: Number, numerics: Numerics) -> int:
    return a.mantissa >> (MANTISSA_WIDTH - numerics.result_width)


def log2(a: Number, numerics: Numerics) -> Number:
    """Return a logarithm to base 2."""
    if a.mantissa == 0:
        return ZERO
    behind = numerics.mantissa_width
    value = (a.exponent << behind) + int(logarithm(_head(a, numerics), numerics))
    return normalised(int(value < 0), abs(value), -behind)


def reciprocal(a: Number, numerics: Numerics) -> Number:
    """Return 1/a."""
    if a.mantissa == 0:
        return ZERO
    value = int(recip(_head(a, numerics), numerics))
    return normalised(a.sign, value, -a.exponent - (numerics.result_width - 1))


def reciprocal_root(a: Number, numerics: Numerics) -> Number:
    """Return 1/sqrt(a)."""
    if a.mantissa == 0:
        return ZERO
    odd = a.exponent & 1
    value = int(rsqrt(_head(a, numerics), odd, numerics))
    return normalised(0, value, -((a.exponent - odd) >> 1) - (numerics.result_width - 1))


def fixed(a: Number, fraction_width: int, width: int) -> int:
    """Return a number in fixed point, rounded half away from 0, saturating at `2**width - 1`."""
    right = MANTISSA_WIDTH - 2 - fraction_width - a.exponent  # with one bit more
    limit = (1 << width) - 1
    magnitude = limit if right < 0 else min((a.mantissa >> right) + 1 >> 1, limit)
    return -magnitude if a.sign else magnitude


def power(a: Number, numerics: Numerics) -> Number:
    """Return `2**-a`."""
    found = exp2(abs(fixed(a, numerics.fraction_width, numerics.depth_width)), numerics)
    exponent = -int(found.shift) - (numerics.mantissa_width - 1)
    return normalised(0, int(found.mantissa), exponent)


def single(a: Number) -> int:
    """Return the code in IEEE single precision, cut off towards 0, saturating; no subnormals."""
    if a.exponent < -126:
        return 0
    if a.exponent > 127:
        return a.sign << 31 | 0x7F7FFFFF
    fraction = a.mantissa >> (MANTISSA_WIDTH - 24) & 0x7FFFFF
    return a.sign << 31 | (a.exponent + 127) << 23 | fraction
