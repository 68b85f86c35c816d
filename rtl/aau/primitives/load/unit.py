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
    Registers,
    let,
    normalised,
    product,
    shift_right,
    widen,
)
from ahasd.rtl.aau.primitives.rounding import bias, select


class LoadUnit(Primitive):
    """Read an operand each cycle.

    Latency: 1 if all formats are of floating point, else 3.

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

    code: Signal
    form: Signal
    number: data.View

    def __init__(self, numerics: Numerics, formats: Sequence[Format]) -> None:
        formats = loadable(formats)
        self.numerics = numerics
        self.floats = tuple(each for each in formats if each.floating)
        self.integers = tuple(each for each in formats if not each.floating)
        self.latency = 3 if self.integers else 1
        super().__init__(
            {
                "code": In(max(each.width for each in formats)),
                "form": In(Format),
                "number": Out(real_layout(numerics.mantissa_width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        width = self.numerics.mantissa_width
        m = Module()
        registers = self.registers(m)
        form = self.form
        fields: dict[str, Value] = {}
        if self.floats:
            parts = split(self.code[:16], form, self.floats)
            low = Const(0, width - precision(self.floats))
            biased = widen(parts.biased, EXPONENT_WIDTH)
            exponent = (biased - bias(form, self.floats)[:EXPONENT_WIDTH])[:EXPONENT_WIDTH]
            fields = {
                "sign": parts.sign,
                "mantissa": Cat(low, parts.significand),
                "exponent": exponent.as_signed(),
                "infinite": parts.infinite,
                "nan": parts.nan,
            }
            fields = {key: registers.hold(v, self.latency, key) for key, v in fields.items()}
        if self.integers:
            found = self._integer(m, registers, form)
            if self.floats:
                late = registers.hold(form, self.latency, "form")
                floating = late == Const(self.floats[0], len(late))
                for each in self.floats[1:]:
                    floating |= late == Const(each, len(late))
                for key, value in found.items():
                    fields[key] = Mux(floating, fields[key], value)
                for key in ("infinite", "nan"):
                    fields[key] = fields[key] & floating
            else:
                fields = found
        m.d.comb += [self.number[key].eq(value) for key, value in fields.items()]
        return m

    def _integer(self, m: Module, registers: Registers, form: Value) -> dict[str, Value]:
        """Build the three stages of integers."""
        width = self.numerics.mantissa_width
        wide = max(each.width for each in self.integers)
        signs, magnitudes, places = [], [], []
        for each in self.integers:
            bits = self.code[: each.width]
            signs.append(bits[-1])
            magnitude = Mux(bits[-1], (-bits)[: each.width], bits)
            magnitudes.append(Cat(Const(0, wide - each.width), magnitude))
            places.append(Const(each.width - 1, EXPONENT_WIDTH))
        sign = registers.hold(select(form, self.integers, signs), self.latency, "below")
        magnitude = registers.hold(select(form, self.integers, magnitudes), name="magnitude")
        place = registers.hold(select(form, self.integers, places), name="place")
        aligned, zeros = normalised(m, magnitude)
        aligned = registers.hold(aligned, name="aligned")
        place = (place - widen(zeros, EXPONENT_WIDTH))[:EXPONENT_WIDTH]
        place = registers.hold(place, name="place")
        if wide <= width:
            mantissa, exponent = Cat(Const(0, width - wide), aligned), place
        else:
            drop = wide - width
            up = aligned[drop - 1] & (aligned[: drop - 1].any() | aligned[drop])
            total = let(m, aligned[drop:] + widen(up, width), "total")
            carry = total[width]
            mantissa = Cat(total[: width - 1], total[width - 1] | carry)
            exponent = (place + widen(carry, EXPONENT_WIDTH))[:EXPONENT_WIDTH]
        return {
            "sign": sign,
            "mantissa": registers.hold(mantissa, name="rounded"),
            "exponent": registers.hold(exponent, name="exponent_of_integer").as_signed(),
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
