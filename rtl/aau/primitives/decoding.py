# SPDX-License-Identifier: Apache-2.0
"""Floating-point operands taken apart in Amaranth."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Value

from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.pipeline import widen
from ahasd.rtl.aau.primitives.rounding import select


@dataclass(frozen=True)
class Parts:
    """Values as `operand.Operand` has them.

    Attributes
    ----------
    significand
        As wide as the finest format's.
    biased
        The exponent with the format's bias, as wide as the widest, unsigned.
    """

    sign: Value
    significand: Value
    biased: Value
    infinite: Value
    nan: Value


def precision(formats: Sequence[Format]) -> int:
    """Return the bits of the finest significand of floating-point formats."""
    return max(each.fraction_width for each in formats) + 1


def split(code: Value, form: Value, formats: Sequence[Format]) -> Parts:
    """Take a code of 16 bits in the floating-point format on a pin apart."""
    width = precision(formats)
    widest = max(each.exponent_width for each in formats)
    significands, exponents, infinities, nans = [], [], [], []
    for each in formats:
        fraction = code[: each.fraction_width]
        biased = code[each.fraction_width : 15]
        leading = biased.any()
        padded = Cat(Const(0, width - 1 - each.fraction_width), fraction)
        significands.append(Cat(padded & leading.replicate(width - 1), leading))
        exponents.append(widen(biased, widest))
        infinities.append(biased.all() & ~fraction.any())
        nans.append(biased.all() & fraction.any())
    return Parts(
        code[15],
        select(form, formats, significands),
        select(form, formats, exponents),
        select(form, formats, infinities),
        select(form, formats, nans),
    )
