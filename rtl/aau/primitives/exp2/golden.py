# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of powers of two: `2**-(depth / 2**fraction_width)`."""

from functools import cache
from math import log
from typing import NamedTuple

import numpy as np

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, ints
from ahasd.rtl.aau.primitives.tables import LinearTable, octave


class Power(NamedTuple):
    """Powers `mantissa * 2**-(mantissa_width - 1) * 2**-shift`.

    Attributes
    ----------
    mantissa
        `2**(mantissa_width - 2)`, not reached but for the last of coarse fractions, to
        `2**(mantissa_width - 1)`, for a whole exponent.
    shift
        0 to `2**integer_width - 1`.
    """

    mantissa: Ints
    shift: Ints


@cache
def table(numerics: Numerics) -> LinearTable:
    """Return the table of `2**-x` on [0, 1]."""
    first, last = octave(
        lambda x: 2.0**-x,
        lambda x: log(2) ** 2 * 2.0**-x,
        0.0,
        1.0,
        numerics.exp2_segments,
        1 << (numerics.mantissa_width - 1),
    )
    rest_width = numerics.fraction_width - (numerics.exp2_segments.bit_length() - 1)
    return LinearTable(tuple(first), tuple(last), rest_width)


def exp2(depth: IntsLike, numerics: Numerics) -> Power:
    """Return powers of two with exponents of 0 and below.

    Parameters
    ----------
    depth
        Minus the exponent, `fraction_width` bits behind the point, `depth_width` bits in all.
    """
    depth = ints(depth)
    fraction = depth & ((1 << numerics.fraction_width) - 1)
    return Power(table(numerics).read(fraction), depth >> numerics.fraction_width)


def term(power: Power, numerics: Numerics) -> Ints:
    """Return powers in fixed point, of `term_width` bits, cut off behind the guard bits.

    1 is `2**(term_width - 1)`.
    """
    return (power.mantissa << numerics.guard_width) >> np.minimum(power.shift, numerics.term_width)
