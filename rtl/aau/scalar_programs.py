# SPDX-License-Identifier: Apache-2.0
"""Programs that end a row: constants of its second pass, or what is told of it."""

import enum
from functools import cache
from typing import NamedTuple

from ahasd.rtl.aau.encodings import Op
from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.scalar import MANTISSA_WIDTH, tables

DIGIT_WIDTH = 8
"""Bits of a mantissa that are multiplied by another one in a cycle."""
DIGITS = MANTISSA_WIDTH // DIGIT_WIDTH
SHIFTS = DIGITS + 1
"""Digits by which the smaller addend is shifted at most: what is left is below the larger one."""


class Code(enum.IntEnum):
    """What an instruction does with its operands a and b."""

    TAKE = 0
    """An integer of the row becomes a number."""
    MULTIPLY = 1
    ADD = 2
    SUBTRACT = 3
    SUM = 4
    """a + b, or 0 if that is below."""
    EXCESS = 5
    """a - b, or 0 if that is below."""
    LOG2 = 6
    """Of a; that of 0 is 0."""
    RSQRT = 7
    """1/sqrt(a), as its table has it; that of 0 is 0."""
    EXP2 = 8
    """`2**-x` of an x not below 0 that was added to the anchor."""


SUMS = (Code.ADD, Code.SUBTRACT, Code.SUM, Code.EXCESS)
NEGATING = (Code.SUBTRACT, Code.EXCESS)
FLOORING = (Code.SUM, Code.EXCESS)
PAIRS = (Code.MULTIPLY, *SUMS)
"""Codes with two operands."""
FUNCTIONS = (Code.LOG2, Code.RSQRT, Code.EXP2)
"""Codes that read tables."""


class Source(enum.IntEnum):
    """Where an operand comes from: registers, constants, or integers of the row for `TAKE`."""

    R0 = 0
    R1 = 1
    R2 = 2
    K0 = 3
    K1 = 4
    K2 = 5
    LN2 = 6
    HALF = 7
    THREE_HALVES = 8
    ANCHOR = 9
    A = 10
    B = 11
    COUNT = 12
    PEAK = 13
    """The largest scaled number."""
    CEILING = 14
    """The whole number that is not below it."""


class Register(enum.IntEnum):
    """Where results go, and what programs leave there."""

    R0 = 0
    """Of softmax the limit, that scaled elements are subtracted from, added to the anchor; of
    statistics and sums the value."""
    R1 = 1
    """Of norms the offset; of statistics the entropy."""
    R2 = 2
    """Of norms the factor; of statistics the probability."""


class Instruction(NamedTuple):
    """One step of a program."""

    to: Register
    code: Code
    a: Source
    b: Source = Source.R0


_R, _C, _S = Register, Code, Source
_NEWTON = (  # y = 1/sqrt(x), x in R1 and y in R2, becomes y (3/2 - x y^2 / 2)
    Instruction(_R.R1, _C.MULTIPLY, _S.R1, _S.R2),
    Instruction(_R.R1, _C.MULTIPLY, _S.R1, _S.R2),
    Instruction(_R.R1, _C.MULTIPLY, _S.R1, _S.HALF),
    Instruction(_R.R1, _C.SUBTRACT, _S.THREE_HALVES, _S.R1),
    Instruction(_R.R2, _C.MULTIPLY, _S.R2, _S.R1),
)
_SOFTMAX = (
    Instruction(_R.R0, _C.TAKE, _S.A),
    Instruction(_R.R0, _C.LOG2, _S.R0),
    Instruction(_R.R1, _C.TAKE, _S.CEILING),
    Instruction(_R.R0, _C.ADD, _S.R0, _S.R1),
    Instruction(_R.R0, _C.SUBTRACT, _S.R0, _S.K1),
    Instruction(_R.R0, _C.ADD, _S.R0, _S.ANCHOR),
)
_SUM = (
    Instruction(_R.R0, _C.TAKE, _S.A),
    Instruction(_R.R0, _C.MULTIPLY, _S.R0, _S.K0),
)


def _statistics(root: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
    return (
        Instruction(_R.R1, _C.TAKE, _S.A),
        Instruction(_R.R0, _C.LOG2, _S.R1),
        *root,
        Instruction(_R.R2, _C.MULTIPLY, _S.R2, _S.R2),  # 1/a
        Instruction(_R.R1, _C.TAKE, _S.B),
        Instruction(_R.R1, _C.MULTIPLY, _S.R1, _S.R2),
        Instruction(_R.R1, _C.SUM, _S.R1, _S.R0),
        Instruction(_R.R1, _C.MULTIPLY, _S.R1, _S.LN2),
        Instruction(_R.R2, _C.TAKE, _S.CEILING),
        Instruction(_R.R0, _C.ADD, _S.R0, _S.R2),
        Instruction(_R.R2, _C.TAKE, _S.PEAK),
        Instruction(_R.R2, _C.EXCESS, _S.R0, _S.R2),
        Instruction(_R.R2, _C.ADD, _S.R2, _S.ANCHOR),
        Instruction(_R.R2, _C.EXP2, _S.R2),
        Instruction(_R.R0, _C.MULTIPLY, _S.R0, _S.LN2),
    )


def _norm(root: tuple[Instruction, ...], *, centred: bool) -> tuple[Instruction, ...]:
    return (
        Instruction(_R.R0, _C.TAKE, _S.COUNT),
        Instruction(_R.R1, _C.TAKE, _S.B),
        Instruction(_R.R1, _C.MULTIPLY, _S.R1, _S.R0),
        *(
            (
                Instruction(_R.R2, _C.TAKE, _S.A),
                Instruction(_R.R2, _C.MULTIPLY, _S.R2, _S.R2),
                Instruction(_R.R1, _C.EXCESS, _S.R1, _S.R2),
            )
            if centred
            else ()
        ),
        # n^2 times the mean square error is in R1
        Instruction(_R.R2, _C.MULTIPLY, _S.R0, _S.R0),
        Instruction(_R.R2, _C.MULTIPLY, _S.R2, _S.K1),
        Instruction(_R.R1, _C.ADD, _S.R1, _S.R2),
        *root,
        Instruction(_R.R2, _C.MULTIPLY, _S.R2, _S.R0),
        Instruction(_R.R2, _C.MULTIPLY, _S.R2, _S.K2),
        *(
            (
                Instruction(_R.R1, _C.TAKE, _S.A),
                Instruction(_R.R1, _C.MULTIPLY, _S.R1, _S.K0),
            )
            if centred
            else ()
        ),
    )


@cache
def programs(numerics: Numerics) -> dict[Op, tuple[Instruction, ...]]:
    """Return what ends a row, by operation; where there is none, nothing has to be calculated."""
    root = (
        Instruction(_R.R2, _C.RSQRT, _S.R1),
        *(_NEWTON if numerics.rsqrt_newton else ()),
    )
    return {
        Op.SOFTMAX: _SOFTMAX,
        Op.STATISTICS: _statistics(root),
        Op.LAYERNORM: _norm(root, centred=True),
        Op.RMSNORM: _norm(root, centred=False),
        Op.SUM: _SUM,
    }


ENDED = frozenset(programs(Numerics()))
"""Operations that have a program, whatever the numerics."""


@cache
def rest_digits(numerics: Numerics) -> int:
    """Return the digits of the longest place in a segment of a table."""
    return -(-max(table.rest_width for table in tables(numerics)) // DIGIT_WIDTH)


def instruction_cycles(code: Code, numerics: Numerics) -> int:
    """Return the cycles of an instruction.

    Operands take one each and the result another one. A logarithm's exponent goes before its
    fraction in one; the sign is made in one, but for products.
    """
    if code is Code.TAKE:
        return 3
    if code is Code.MULTIPLY:
        return 2 + DIGITS + 1
    if code in SUMS:
        return 3 + SHIFTS + 3
    return 2 + rest_digits(numerics) + (code is Code.LOG2) + 2


def program_cycles(op: Op, numerics: Numerics) -> int:
    """Return the cycles of a program."""
    steps = programs(numerics).get(op, ())
    return sum(instruction_cycles(each.code, numerics) for each in steps)
