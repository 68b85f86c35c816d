# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of reciprocal square roots: a table, whose values a Newton step may mend.

The table is all that the hardware of this primitive has. Where the numerics want the step, whoever
reads the table makes it with a multiplier of its own; `mended` is what it gives.
"""

from functools import cache

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, ints
from ahasd.rtl.aau.primitives.tables import LinearTable, octave

MENDED_WIDTH = 32
"""Bits of mended roots as unit fractions."""


def guess_width(numerics: Numerics) -> int:
    """Return the bits of the table's values as unit fractions: those of other results, or fewer.

    A guess that errs by `2**-k` is mended to about `2**-2k`: it has half of the bits, and some.
    """
    width = numerics.result_width
    return width // 2 + 3 if numerics.rsqrt_newton else width


@cache
def table(numerics: Numerics) -> LinearTable:
    """Return the table on [1, 4], one octave behind the other."""
    width = guess_width(numerics)
    segments = numerics.rsqrt_segments // 2
    one = 1 << (width - 1)
    first: list[int] = []
    last: list[int] = []
    for start in (1.0, 2.0):
        begins, ends = octave(
            lambda x: x**-0.5, lambda x: 0.75 * x**-2.5, start, 2 * start, segments, one
        )
        first += begins
        last += ends
    rest_width = width - 1 - (segments.bit_length() - 1)
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
        `2**(guess_width - 2)` to `2**(guess_width - 1)`, which is 1.
    """
    values = table(numerics)
    per_octave = values.index_width - 1 + values.rest_width
    place = ints(mantissa) >> (numerics.result_width - 1 - per_octave) & ((1 << per_octave) - 1)
    return values.read(ints(odd) << per_octave | place)


def mended(mantissa: IntsLike, odd: IntsLike, numerics: Numerics) -> Ints:
    """Return roots behind the Newton step `y (3 - x y^2) / 2`, if the numerics have it.

    Parameters and highest bit are as for `rsqrt`.

    Returns
    -------
    Ints
        Unit fractions of `MENDED_WIDTH` bits, 1 being `2**(MENDED_WIDTH - 1)`, cut off.
    """
    guess, behind = rsqrt(mantissa, odd, numerics), guess_width(numerics) - 1
    if not numerics.rsqrt_newton:
        return guess << (MENDED_WIDTH - 1 - behind)
    x, x_behind = ints(mantissa) << ints(odd), numerics.result_width - 1
    twice = guess * ((3 << (x_behind + 2 * behind)) - x * guess * guess)
    return twice >> (x_behind + 3 * behind + 2 - MENDED_WIDTH)
