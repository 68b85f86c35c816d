# SPDX-License-Identifier: Apache-2.0
"""Floating-point operands taken apart in Amaranth."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Value

from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH, Format
from ahasd.rtl.aau.primitives.pipeline import widen
from ahasd.rtl.aau.primitives.rounding import select


@dataclass(frozen=True)
class Parts:
    """Values as `operand.Operand` has them; the significand as wide as the finest format's."""

    sign: Value
    significand: Value
    exponent: Value
    infinite: Value
    nan: Value


def precision(formats: Sequence[Format]) -> int:
    """Return the bits of the finest significand of floating-point formats."""
    return max(each.fraction_width for each in formats) + 1


def split(code: Value, form: Value, formats: Sequence[Format]) -> Parts:
    """Take a code of 16 bits in the floating-point format on a pin apart."""
    width = precision(formats)
    significands, exponents, infinities, nans = [], [], [], []
    for each in formats:
        fraction = code[: each.fraction_width]
        biased = code[each.fraction_width : 15]
        leading = biased.any()
        padded = Cat(Const(0, width - 1 - each.fraction_width), fraction)
        significands.append(Cat(padded & leading.replicate(width - 1), leading))
        unbiased = widen(biased, EXPONENT_WIDTH) - Const(each.bias, EXPONENT_WIDTH)
        exponents.append(unbiased[:EXPONENT_WIDTH])
        infinities.append(biased.all() & ~fraction.any())
        nans.append(biased.all() & fraction.any())
    return Parts(
        code[15],
        select(form, formats, significands),
        select(form, formats, exponents).as_signed(),
        select(form, formats, infinities),
        select(form, formats, nans),
    )
