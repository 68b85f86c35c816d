# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of logarithms of mantissas to base 2."""

from functools import cache
from math import log, log2

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, ints
from ahasd.rtl.aau.primitives.tables import LinearTable, octave


@cache
def table(numerics: Numerics) -> LinearTable:
    """Return the table of `log2(x)` on [1, 2]."""
    one = 1 << numerics.mantissa_width
    first, last = octave(
        log2, lambda x: -1 / (log(2) * x**2), 1.0, 2.0, numerics.log2_segments, one
    )
    rest_width = numerics.result_width - numerics.log2_segments.bit_length()
    return LinearTable(tuple(first), tuple(last), rest_width)


def logarithm(mantissa: IntsLike, numerics: Numerics) -> Ints:
    """Return logarithms of mantissas to base 2, as fractions of `mantissa_width` bits.

    Parameters
    ----------
    mantissa
        `2**(result_width - 1)`, which is 1, to `2**result_width - 1`. The highest bit is taken as
        set.

    Returns
    -------
    Ints
        0 to `2**mantissa_width`, which is 1, and what mantissas just below 2 are rounded to.
    """
    return table(numerics).read(ints(mantissa) & ((1 << (numerics.result_width - 1)) - 1))
