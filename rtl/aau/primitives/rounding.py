# SPDX-License-Identifier: Apache-2.0
"""The last step of stores, sums and products in Amaranth: round half to even, and code."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value

from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH, Format
from ahasd.rtl.aau.primitives.pipeline import let, shift_right, widen

BIASED_WIDTH = EXPONENT_WIDTH + 1
"""Bits of an exponent with its bias, and after normalising."""


@dataclass(frozen=True)
class Normal:
    """A number whose mantissa has its highest bit set, or is 0.

    Attributes
    ----------
    sign, infinite, nan
        As `store.golden.store` takes them.
    mantissa
        Unsigned; bits that were cut off are in the lowest one.
    exponent
        That of the highest bit, signed, of at most `BIASED_WIDTH` bits.
    """

    sign: Value
    mantissa: Value
    exponent: Value
    infinite: Value
    nan: Value


def select(form: Value, formats: Sequence[Format], values: Sequence[Value]) -> Value:
    """Return the value that belongs to the format on a pin."""
    chosen = values[-1]
    for each, value in zip(reversed(formats[:-1]), reversed(values[:-1]), strict=True):
        chosen = Mux(form == Const(each, len(form)), value, chosen)
    return chosen


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

    Exponent and fraction are one number, so that a carry out of the fraction is right.
    """
    width = len(number.mantissa)
    most = max(each.fraction_width for each in formats)
    bodies, ups = [], []
    for each in formats:
        drop = width - 1 - each.fraction_width
        low = most - each.fraction_width
        half, lowest = number.mantissa[drop - 1], number.mantissa[drop]
        rest = number.mantissa[: drop - 1].any()
        biased = widen(number.exponent, BIASED_WIDTH) + Const(each.bias, BIASED_WIDTH)
        fraction = Cat(Const(0, low), number.mantissa[drop : width - 1])
        bodies.append(Cat(fraction, biased[:BIASED_WIDTH]))
        ups.append(widen(Cat(Const(0, low), half & (rest | lowest)), len(bodies[0])))
    total = (select(form, formats, bodies) + select(form, formats, ups))[: len(bodies[0])]
    total = let(m, total, "rounded")
    exponent, codes = total[most:], []
    for each in formats:
        low = most - each.fraction_width
        bits = each.exponent_width
        too_small = exponent[-1] | ~exponent.any()
        too_large = ~exponent[-1] & (exponent[bits:-1].any() | exponent[:bits].all())
        code = Cat(total[low:most], exponent[:bits])
        code = Mux(too_small | ~number.mantissa[-1], Const(0, 15), code)
        code = Mux(
            too_large & number.mantissa[-1] | number.infinite, Const(each.infinity, 15), code
        )
        codes.append(Mux(number.nan, Const(each.nan, 16), Cat(code, number.sign)))
    return select(form, formats, codes)


def _integer(m: Module, number: Normal) -> Value:
    """Return the code in INT8."""
    # Eight bits before the point and one behind; more of them would saturate.
    top = number.mantissa[-9:]
    rest = number.mantissa[:-9].any()
    exponent = let(m, widen(number.exponent, BIASED_WIDTH), "power")
    large = ~exponent[-1] & exponent[3:-1].any()
    amount = (Const(7, BIASED_WIDTH) - exponent.as_unsigned())[:BIASED_WIDTH]
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
