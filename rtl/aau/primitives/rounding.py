# SPDX-License-Identifier: Apache-2.0
"""The last step of stores, sums and products in Amaranth: round half to even, and code."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value

from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH, Format
from ahasd.rtl.aau.primitives.pipeline import let, shift_right, widen

BIASED_WIDTH = EXPONENT_WIDTH + 1
"""Bits of an exponent with its bias, after normalising too."""


@dataclass(frozen=True)
class Normal:
    """A number whose mantissa has its highest bit set, or is 0.

    Attributes
    ----------
    sign, infinite, nan
        As `store.golden.store` takes them.
    mantissa
        Unsigned; bits that were cut off are in the lowest one.
    biased
        The exponent of the highest bit with the format's bias (0 for INT8), signed, of
        `BIASED_WIDTH` bits.
    """

    sign: Value
    mantissa: Value
    biased: Value
    infinite: Value
    nan: Value


def select(form: Value, formats: Sequence[Format], values: Sequence[Value]) -> Value:
    """Return the value that belongs to the format on a pin."""
    chosen = values[-1]
    for each, value in zip(reversed(formats[:-1]), reversed(values[:-1]), strict=True):
        chosen = Mux(form == Const(each, len(form)), value, chosen)
    return chosen


def bias(form: Value, formats: Sequence[Format]) -> Value:
    """Return the bias of the format on a pin, 0 for integers."""
    biases = [Const(each.bias if each.floating else 0, BIASED_WIDTH) for each in formats]
    return select(form, formats, biases)


def encode(m: Module, number: Normal, form: Value, formats: Sequence[Format]) -> Value:
    """Return the code of a number in the format on a pin, 16 bits."""
    floating = [each for each in formats if each.floating]
    codes = []
    if floating:
        code = _floating(m, number, form, floating)
        codes += [code] * len(floating)
    if Format.INT8 in formats:
        codes.append(widen(_integer(m, number), 16))
    ordered = [*floating, *(each for each in formats if not each.floating)]
    return select(form, ordered, codes)


def _floating(m: Module, number: Normal, form: Value, formats: Sequence[Format]) -> Value:
    """Return the code in one of the floating-point formats, all rounded by one adder.

    What a carry out of the fraction makes of the exponent is prepared beside that adder.
    """
    width = len(number.mantissa)
    most = max(each.fraction_width for each in formats)
    fractions, ups = [], []
    for each in formats:
        drop = width - 1 - each.fraction_width
        low = Const(0, most - each.fraction_width)
        half, lowest = number.mantissa[drop - 1], number.mantissa[drop]
        rest = number.mantissa[: drop - 1].any()
        fractions.append(Cat(low, number.mantissa[drop : width - 1]))
        ups.append(widen(Cat(low, half & (rest | lowest)), most))
    total = select(form, formats, fractions) + select(form, formats, ups)
    total = let(m, total, "rounded")
    carry = total[most]
    biased = number.biased.as_unsigned()
    negative = biased[-1]
    exponent = let(m, Mux(carry, (biased + 1)[:BIASED_WIDTH], biased), "place_coded")
    too_small = ~number.mantissa[-1] | negative | ~biased.any() & ~carry
    codes = []
    for each in formats:
        bits = each.exponent_width
        # A carry into the exponent that is kept for infinities leaves a fraction of 0: it is one.
        beyond = biased[bits:-1].any() | biased[:bits].all()
        too_large = number.mantissa[-1] & ~negative & beyond
        code = Cat(total[most - each.fraction_width : most], exponent[:bits])
        code = Mux(too_small, Const(0, 15), code)
        code = Mux(too_large | number.infinite, Const(each.infinity, 15), code)
        codes.append(Mux(number.nan, Const(each.nan, 16), Cat(code, number.sign)))
    return select(form, formats, codes)


def _integer(m: Module, number: Normal) -> Value:
    """Return the code in INT8."""
    # Eight bits before the point and one behind; more of them would saturate.
    top = number.mantissa[-9:]
    rest = number.mantissa[:-9].any()
    exponent = number.biased.as_unsigned()
    large = ~exponent[-1] & exponent[3:-1].any()
    amount = (Const(7, BIASED_WIDTH) - exponent)[:BIASED_WIDTH]
    small = exponent[-1] & ~exponent[:-1].all()  # below 1/2
    amount = Mux(small, Const(9, 4), amount[:4])
    shifted = shift_right(m, Cat(rest, top), amount, sticky=True)
    up = shifted[1] & (shifted[0] | shifted[2])
    magnitude = let(m, shifted[2:10] + widen(up, 8), "whole")
    limit = Cat(~number.sign.replicate(7), number.sign)  # 127, or 128 below zero
    over = large & number.mantissa[-1] | number.infinite | (magnitude > widen(limit, 9))
    magnitude = let(m, Mux(over, limit, magnitude[:8]), "magnitude")
    code = Mux(number.sign, (-magnitude)[:8], magnitude)
    return Mux(number.nan, Const(0, 8), code)
