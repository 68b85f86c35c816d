# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of reciprocal square roots: a table, and one Newton step to mend it.

From a first guess y of 1/sqrt(x) the step takes the error `e = 1 - (x*y)*y`, with x*y cut to as
many bits as the error has, and adds `y*e/2`.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, ints
from ahasd.rtl.aau.primitives.tables import LinearTable, octave


@dataclass(frozen=True)
class Sizes:
    """Widths inside.

    Attributes
    ----------
    guess_width
        Bits of the guess as a unit fraction.
    error_fraction_width
        Bits behind the point of the guess's error.
    error_width
        Bits of that error with its sign.
    """

    guess_width: int
    error_fraction_width: int
    error_width: int


def sizes(numerics: Numerics) -> Sizes:
    """Return the widths inside; without a step the guess is the result."""
    if not numerics.rsqrt_newton:
        return Sizes(numerics.result_width, 0, 0)
    # A guess that errs by 2**-k leaves 2**-2k: its bits are half of the result's, and some.
    guess = numerics.result_width // 2 + 3
    behind = numerics.result_width + 2
    segments = numerics.rsqrt_segments // 2
    # Twice the relative error of the table, rounding included, with a factor of two in hand.
    largest = 2 * (0.75 / 8 / segments**2 + 2.0**-guess) * 2
    return Sizes(guess, behind, 1 + int(largest * (1 << behind)).bit_length())


@cache
def table(numerics: Numerics) -> LinearTable:
    """Return the table of the guess on [1, 4], one octave behind the other."""
    inside = sizes(numerics)
    segments = numerics.rsqrt_segments // 2
    one = 1 << (inside.guess_width - 1)
    first: list[int] = []
    last: list[int] = []
    for start in (1.0, 2.0):
        begins, ends = octave(
            lambda x: x**-0.5, lambda x: 0.75 * x**-2.5, start, 2 * start, segments, one
        )
        first += begins
        last += ends
    index_width = segments.bit_length() - 1
    rest_width = min(numerics.result_width, inside.guess_width) - 1 - index_width
    return LinearTable(tuple(first), tuple(last), rest_width)


def rsqrt(mantissa: IntsLike, odd: IntsLike, numerics: Numerics) -> Ints:
    """Return reciprocal square roots of mantissas, or of twice them, as unit fractions.

    Parameters
    ----------
    mantissa
        `2**(result_width - 1)`, which is 1, to `2**result_width - 1`. The highest bit is taken as
        set.
    odd
        1 if the operand is twice the mantissa: the remainder of its exponent by 2.

    Returns
    -------
    Ints
        `2**(result_width - 2)` to `2**(result_width - 1)`, which is 1.
    """
    width = numerics.result_width
    inside = sizes(numerics)
    guesses = table(numerics)
    mantissa = ints(mantissa) & ((1 << (width - 1)) - 1) | 1 << (width - 1)
    odd = ints(odd)
    per_octave = guesses.index_width - 1 + guesses.rest_width
    place = mantissa >> (width - 1 - per_octave) & ((1 << per_octave) - 1)
    guess = guesses.read(odd << per_octave | place)
    if not numerics.rsqrt_newton:
        return guess
    behind = inside.error_fraction_width
    half_way = (mantissa << odd) * guess >> (width + inside.guess_width - 2 - behind)
    error = (1 << (behind + inside.guess_width - 1)) - half_way * guess
    error = error >> (inside.guess_width - 1)
    limit = 1 << (inside.error_width - 1)
    assert np.all((-limit <= error) & (error < limit)), "the table's error has its bounds"
    shift = inside.guess_width + inside.error_fraction_width - width + 1
    return (guess << (width - inside.guess_width)) + ((guess * error + (1 << (shift - 1))) >> shift)
