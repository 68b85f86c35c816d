# SPDX-License-Identifier: Apache-2.0
"""Reading operands in Amaranth."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.decoding import precision, split
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH, Format, loadable
from ahasd.rtl.aau.primitives.layouts import constant_layout, real_layout, scaled_layout
from ahasd.rtl.aau.primitives.pipeline import (
    Primitive,
    let,
    normalised,
    product,
    shift_right,
    widen,
)
from ahasd.rtl.aau.primitives.rounding import bias, select


class LoadUnit(Primitive):
    """Read an operand each cycle.

    Parameters
    ----------
    numerics
        Widths.
    formats
        Formats that it can read.

    Members
    -------
    code : unsigned, in
        Code of the operand in its low bits, as wide as the widest of the formats.
    form : Format, in
        Its format, one of `formats`.
    number : struct of `real_layout`, out
        What it stands for.

    Raises
    ------
    ValueError
        There are no formats.
    """

    latency = 1

    code: Signal
    form: Signal
    number: data.View

    def __init__(self, numerics: Numerics, formats: Sequence[Format]) -> None:
        formats = loadable(formats)
        self.numerics = numerics
        self.floats = tuple(each for each in formats if each.floating)
        self.integers = tuple(each for each in formats if not each.floating)
        super().__init__(
            {
                "code": In(max(each.width for each in formats)),
                "form": In(Format),
                "number": Out(real_layout(numerics.mantissa_width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        registers = self.registers(m)
        if self.integers and self.floats:
            whole, floating = self._integer(m), self._float()
            is_float = Value.cast(self.form).matches(*(int(each) for each in self.floats))
            is_float = let(m, Value.cast(is_float), "is_float")
            fields = {key: Mux(is_float, value, whole[key]) for key, value in floating.items()}
        else:
            fields = self._integer(m) if self.integers else self._float()
        m.d.comb += [
            self.number[key].eq(registers.hold(value, name=key)) for key, value in fields.items()
        ]
        return m

    def _float(self) -> dict[str, Value]:
        """Return the fields of a number of floating point."""
        parts = split(self.code[:16], self.form, self.floats)
        low = Const(0, self.numerics.mantissa_width - precision(self.floats))
        biased = widen(parts.biased, EXPONENT_WIDTH)
        exponent = (biased - bias(self.form, self.floats)[:EXPONENT_WIDTH])[:EXPONENT_WIDTH]
        return {
            "sign": parts.sign,
            "mantissa": Cat(low, parts.significand),
            "exponent": exponent.as_signed(),
            "infinite": parts.infinite,
            "nan": parts.nan,
        }

    def _integer(self, m: Module) -> dict[str, Value]:
        """Return the fields of an integer.

        Of one below zero all bits are inverted, which is one less than its magnitude. That one is
        not added before the shift: ones are shifted in, so that it counts at the lowest bit behind
        it, where rounding adds or carries it.
        """
        width = self.numerics.mantissa_width
        wide = len(self.code)
        signs, inverted, places = [], [], []
        for each in self.integers:
            bits = self.code[: each.width]
            below = bits[-1]
            signs.append(below)
            inverted.append(
                Cat(below.replicate(wide - each.width), bits ^ below.replicate(each.width))
            )
            places.append(Const(each.width - 1, EXPONENT_WIDTH))
        sign = let(m, select(self.form, self.integers, signs), "below")
        aligned, zeros = normalised(m, select(self.form, self.integers, inverted), sign)

        # At least two bits behind the mantissa, so that rounding needs no other case.
        aligned = Cat(sign.replicate(max(0, width + 2 - wide)), aligned)
        drop = len(aligned) - width
        half, rest, lowest = aligned[drop - 1], aligned[: drop - 1], aligned[drop]
        up = Mux(sign, half | (rest.all() & lowest), half & (rest.any() | lowest))
        total = let(m, aligned[drop:] + widen(up, width), "total")
        carry = total[width]
        place = select(self.form, self.integers, places)
        exponent = place - widen(zeros, EXPONENT_WIDTH) + widen(carry, EXPONENT_WIDTH)
        return {
            "sign": sign,
            "mantissa": Cat(total[: width - 1], total[width - 1] | carry),
            "exponent": exponent[:EXPONENT_WIDTH].as_signed(),
            "infinite": Const(0, 1),
            "nan": Const(0, 1),
        }


class ScaleUnit(Primitive):
    """Multiply an operand by a constant each cycle.

    Members
    -------
    number : struct of `real_layout`, in
        The operand.
    constant : struct of `constant_layout`, in
        The constant, sampled with the operand.
    scaled : struct of `scaled_layout`, out
        Their product.
    """

    latency = 4

    number: data.View
    constant: data.View
    scaled: data.View

    def __init__(self, numerics: Numerics) -> None:
        self.numerics = numerics
        super().__init__(
            {
                "number": In(real_layout(numerics.mantissa_width)),
                "constant": In(constant_layout(numerics)),
                "scaled": Out(scaled_layout(numerics)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        numerics = self.numerics
        width = numerics.mantissa_width
        m = Module()
        registers = self.registers(m)
        number = self.number

        # Bits of the product below those that a scaled number can hold are rounded away, however
        # large the exponent is.
        kept = numerics.scaled_width + 1
        low = 2 * width - kept
        exact = product(registers, number.mantissa, self.constant.mantissa)
        exponent = (number.exponent + self.constant.exponent)[:EXPONENT_WIDTH]
        right = (
            Const(numerics.integer_width - 1, EXPONENT_WIDTH + 1)
            - widen(exponent.as_signed(), EXPONENT_WIDTH + 1).as_unsigned()
        )
        right = let(m, right[: EXPONENT_WIDTH + 1], "below")
        bits = (kept + 1).bit_length()
        far = ~right[-1] & (right[bits:-1].any())
        most = Const((1 << bits) - 1, bits)
        amount = Mux(right[-1], Const(0, bits), Mux(far, most, right[:bits]))
        amount = registers.hold(amount, 2, "amount")

        head = Cat(Const(0, 1), exact[low - 1 :])
        shifted = shift_right(m, head, amount, sticky=True)
        rest = exact[: low - 1].any()  # below all that is shifted
        shifted = registers.hold(Cat(shifted[0] | rest, shifted[1:]), name="shifted")
        sign = registers.hold(number.sign, 3, "sign")
        infinite = registers.hold(number.infinite, 3, "infinite")
        nan = registers.hold(number.nan, 3, "nan")

        up = shifted[1] & (shifted[0] | shifted[2])
        rounded = let(m, shifted[2:] + widen(up, kept), "rounded")
        plain = numerics.scaled_width - 1
        over = let(m, infinite | rounded[plain:].any(), "over")
        magnitude = Cat(rounded[:plain] | over.replicate(plain), Const(0, 1))
        magnitude = let(m, magnitude, "magnitude")
        value = Mux(sign, (-magnitude)[: numerics.scaled_width], magnitude)
        value = value & (~nan).replicate(numerics.scaled_width)
        m.d.comb += [
            self.scaled.value.eq(registers.hold(value, name="value")),
            self.scaled.masked.eq(registers.hold(infinite & sign, name="masked")),
            self.scaled.infinite.eq(registers.hold(infinite & ~sign, name="above")),
            self.scaled.nan.eq(registers.hold(nan, name="none")),
        ]
        return m
