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
        m = Module()
        registers = self.registers(m)
        fields = self._integer(m, registers) if self.integers else self._float(self.code, self.form)
        m.d.comb += [
            self.number[key].eq(registers.hold(value, name=key)) for key, value in fields.items()
        ]
        return m

    def _float(self, code: Value, form: Value) -> dict[str, Value]:
        """Return the fields of a number of floating point."""
        parts = split(code[:16], form, self.floats)
        low = Const(0, self.numerics.mantissa_width - precision(self.floats))
        biased = widen(parts.biased, EXPONENT_WIDTH)
        exponent = (biased - bias(form, self.floats)[:EXPONENT_WIDTH])[:EXPONENT_WIDTH]
        return {
            "sign": parts.sign,
            "mantissa": Cat(low, parts.significand),
            "exponent": exponent.as_signed(),
            "infinite": parts.infinite,
            "nan": parts.nan,
        }

    def _integer(self, m: Module, registers: Registers) -> dict[str, Value]:
        """Build the stages of integers but the last registers; codes of floats pass beside them."""
        width = self.numerics.mantissa_width
        wide = len(self.code)
        signs, magnitudes, places = [], [], []
        for each in self.integers:
            bits = self.code[: each.width]
            signs.append(bits[-1])
            magnitude = Mux(bits[-1], (-bits)[: each.width], bits)
            magnitudes.append(Cat(Const(0, wide - each.width), magnitude))
            places.append(Const(each.width - 1, EXPONENT_WIDTH))
        magnitude = select(self.form, self.integers, magnitudes)
        if self.floats:
            magnitude = self._or_float(self.form, magnitude, self.code[:16])
        magnitude = registers.hold(magnitude, name="magnitude")
        sign = registers.hold(select(self.form, self.integers, signs), 2, name="below")
        form = registers.hold(self.form, name="form")

        aligned, zeros = normalised(m, magnitude)
        if self.floats:
            aligned = self._or_float(form, aligned, magnitude[:16])
        aligned = registers.hold(aligned, name="aligned")
        zeros = registers.hold(zeros, name="zeros")
        form = registers.hold(form, name="form")

        place = select(form, self.integers, places)
        place = (place - widen(zeros, EXPONENT_WIDTH))[:EXPONENT_WIDTH]
        if wide <= width:
            mantissa, exponent = Cat(Const(0, width - wide), aligned), place
        else:
            drop = wide - width
            up = aligned[drop - 1] & (aligned[: drop - 1].any() | aligned[drop])
            total = let(m, aligned[drop:] + widen(up, width), "total")
            carry = total[width]
            mantissa = Cat(total[: width - 1], total[width - 1] | carry)
            exponent = (place + widen(carry, EXPONENT_WIDTH))[:EXPONENT_WIDTH]
        found: dict[str, Value] = {
            "sign": sign,
            "mantissa": mantissa,
            "exponent": exponent.as_signed(),
        }
        if not self.floats:
            return found
        floats = self._float(aligned, form)
        floating = let(m, self._floating(form), "floating")
        return {
            key: Mux(floating, value, found[key]) if key in found else value & floating
            for key, value in floats.items()
        }

    def _floating(self, form: Value) -> Value:
        return Value.cast(form).matches(*(int(each) for each in self.floats))

    def _or_float(self, form: Value, integer: Value, code: Value) -> Value:
        """Return an integer, or in its low bits the code of a number of floating point."""
        return Cat(Mux(self._floating(form), code, integer[:16]), integer[16:])


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
