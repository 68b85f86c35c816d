# SPDX-License-Identifier: Apache-2.0
"""Sums of floating-point numbers in Amaranth."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.primitives.add.golden import GUARD_WIDTH
from ahasd.rtl.aau.primitives.decoding import precision, split
from ahasd.rtl.aau.primitives.formats import Format, calculable
from ahasd.rtl.aau.primitives.pipeline import (
    Primitive,
    add_with_carry,
    let,
    normalised,
    shift_right,
    widen,
)
from ahasd.rtl.aau.primitives.rounding import BIASED_WIDTH, Normal, encode


class AddUnit(Primitive):
    """Add two floating-point numbers of one format each cycle, rounding once.

    Parameters
    ----------
    formats
        FP16, BF16 or both.

    Members
    -------
    a, b : unsigned(16), in
        Codes of the operands; one with its sign bit inverted is subtracted.
    form : Format, in
        Their format and the result's, one of `formats`.
    result : unsigned(16), out
        Code of the sum.

    Raises
    ------
    ValueError
        A format is not of floating point.
    """

    latency = 5

    a: Signal
    b: Signal
    form: Signal
    result: Signal

    def __init__(self, formats: Sequence[Format]) -> None:
        self.formats = calculable(formats)
        super().__init__({"a": In(16), "b": In(16), "form": In(Format), "result": Out(16)})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        registers = self.registers(m)
        form = self.form
        width = precision(self.formats) + GUARD_WIDTH
        guards = Const(0, GUARD_WIDTH)

        # The larger operand first, and how far the smaller one lies below it.
        swap = let(m, self.a[:15] < self.b[:15], "swap")
        x = split(let(m, Mux(swap, self.b, self.a), "x"), form, self.formats)
        y = split(let(m, Mux(swap, self.a, self.b), "y"), form, self.formats)
        distance = let(m, (x.biased - y.biased)[: len(x.biased)], "apart")
        bits = width.bit_length()
        far = Mux(distance[bits:].any(), Const((1 << bits) - 1, bits), distance[:bits])
        far = registers.hold(far, name="distance")
        small = registers.hold(y.significand, name="small")
        unlike = x.sign ^ y.sign

        # Aligned.
        aligned = shift_right(m, Cat(guards, small), far, sticky=True)
        aligned = registers.hold(aligned, name="aligned")
        large = registers.hold(x.significand, 2, "large")

        # Added or subtracted.
        subtract = registers.hold(unlike, 2, "subtract")
        term = widen(aligned, width + 1) ^ subtract.replicate(width + 1)
        total = add_with_carry(Cat(guards, large, Const(0, 1)), term, subtract)
        total = registers.hold(total, name="total")
        # A sum of 0 has the sign of both operands.
        sign = Mux(
            total.any(),
            registers.hold(x.sign, 3, "sign"),
            registers.hold(x.sign & y.sign, 3, "both"),
        )

        # Normalised; its highest bit is one above the larger operand's.
        mantissa, zeros = normalised(m, total)
        above = (widen(x.biased, BIASED_WIDTH) + Const(1, BIASED_WIDTH))[:BIASED_WIDTH]
        biased = registers.hold(above, 3, "above") - widen(zeros, BIASED_WIDTH)
        normal = Normal(
            registers.hold(sign, name="sign_of_sum"),
            registers.hold(mantissa, name="mantissa"),
            registers.hold(biased[:BIASED_WIDTH], name="biased"),
            registers.hold(x.infinite | y.infinite, 4, "infinite"),
            registers.hold(x.nan | y.nan | x.infinite & y.infinite & unlike, 4, "nan"),
        )
        form = registers.hold(form, 4, "form")
        m.d.comb += self.result.eq(
            registers.hold(encode(m, normal, form, self.formats), name="result")
        )
        return m
