# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of a row's sums: in fixed point, relative to a reference that only rises.

The reference is the largest element so far, or the largest exponent. When it rises, sums are
shifted. What falls out, of a sum or of a term, is less than one unit of the last place.
"""

from typing import NamedTuple

import numpy as np

from ahasd.rtl.aau.encodings import POWERS, Op
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, ints

SHIFT_MAX = 63
"""More than any sum has bits below what is above 0."""


class Sums(NamedTuple):
    """The sums of a row, or of a part of it; see `encodings.State`."""

    reference: int
    a: int
    b: int


def no_sums(params: AauParams) -> Sums:
    """Return the sums of no element."""
    return Sums(-(1 << (params.reference_width - 1)), 0, 0)


def term(mantissa: IntsLike, place: int, down: IntsLike, params: AauParams) -> Ints:
    """Return what is added for magnitudes, in units of the last place, cut off.

    Parameters
    ----------
    mantissa
        Magnitudes, of which `2**place` is 1.
    place
        See there.
    down
        How far their exponents are below what the sums are relative to; below 0 if above it.
    """
    right = ints(down) + place - params.sum_fraction_width
    return ints(mantissa) << np.maximum(-right, 0) >> np.clip(right, 0, SHIFT_MAX)


def whole(reference: int, op: int, params: AauParams) -> int:
    """Return what sums are relative to: of powers the whole number not below the reference."""
    if op not in POWERS:
        return reference
    behind = params.numerics.fraction_width
    return (reference + (1 << behind) - 1) >> behind


def rebase(a: int, b: int, rise: int, op: int) -> tuple[int, int]:
    """Return sums relative to a reference that is higher by `rise`."""
    d = min(rise, SHIFT_MAX)
    if op in POWERS:
        moved = a * d if op == Op.STATISTICS else 0
        return a >> d, (b + moved) >> d
    return a >> d, b >> min(2 * d, SHIFT_MAX)


def joined(first: Sums, second: Sums, op: int, params: AauParams) -> Sums:
    """Return the sums of two parts of a row: those with the lower reference are shifted."""
    high, low = (first, second) if first.reference >= second.reference else (second, first)
    rise = whole(high.reference, op, params) - whole(low.reference, op, params)
    a, b = rebase(low.a, low.b, rise, op)
    return Sums(
        high.reference,
        wrap(high.a + a, params.a_width),
        (high.b + b) & ((1 << params.b_width) - 1),
    )


def wrap(value: int, width: int) -> int:
    """Return the low bits of a value as a signed number."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value
