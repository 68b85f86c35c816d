# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of reciprocals of mantissas."""

from functools import cache

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, ints
from ahasd.rtl.aau.primitives.tables import LinearTable, octave


@cache
def table(numerics: Numerics) -> LinearTable:
    """Return the table of `1/x` on [1, 2]."""
    one = 1 << (numerics.result_width - 1)
    first, last = octave(
        lambda x: 1 / x, lambda x: 2 / x**3, 1.0, 2.0, numerics.recip_segments, one
    )
    rest_width = numerics.result_width - numerics.recip_segments.bit_length()
    return LinearTable(tuple(first), tuple(last), rest_width)


def recip(mantissa: IntsLike, numerics: Numerics) -> Ints:
    """Return reciprocals of mantissas, as unit fractions from 1/2 to 1.

    Parameters
    ----------
    mantissa
        `2**(result_width - 1)`, which is 1, to `2**result_width - 1`. The highest bit is taken as
        set.

    Returns
    -------
    Ints
        `2**(result_width - 2)` to `2**(result_width - 1)`, which is 1.
    """
    return table(numerics).read(ints(mantissa) & ((1 << (numerics.result_width - 1)) - 1))
