# SPDX-License-Identifier: Apache-2.0
"""Reciprocal square roots in Amaranth."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.pipeline import Primitive, add_with_carry, widen
from ahasd.rtl.aau.primitives.rsqrt.golden import sizes, table
from ahasd.rtl.aau.primitives.table_unit import TableUnit

NEWTON_STAGES = 4


class RsqrtUnit(Primitive):
    """Take the reciprocal square root of a mantissa, or of twice it, each cycle.

    Latency: 3, and 4 more with a Newton step.

    Members
    -------
    mantissa : unsigned(result_width), in
        1 to below 2; the highest bit is taken as set.
    odd : unsigned(1), in
        The operand is twice that.
    result : unsigned(result_width), out
        Unit fraction from 1/2 to 1.
    """

    mantissa: Signal
    odd: Signal
    result: Signal

    def __init__(self, numerics: Numerics) -> None:
        self.numerics = numerics
        self.latency = TableUnit.latency + NEWTON_STAGES * numerics.rsqrt_newton
        width = numerics.result_width
        super().__init__({"mantissa": In(width), "odd": In(1), "result": Out(width)})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        width = self.numerics.result_width
        inside = sizes(self.numerics)
        guesses = table(self.numerics)
        per_octave = guesses.index_width - 1 + guesses.rest_width
        m = Module()
        m.submodules.table = reader = TableUnit(guesses)
        m.d.comb += [
            reader.enable.eq(self.enable),
            reader.operand.eq(Cat(self.mantissa[width - 1 - per_octave : -1], self.odd)),
        ]
        if not self.numerics.rsqrt_newton:
            m.d.comb += self.result.eq(reader.result)
            return m

        registers = self.registers(m)
        behind = self.mantissa[:-1]
        one, none = Const(1, 1), Const(0, 1)
        operand = Mux(self.odd, Cat(none, behind, one), Cat(behind, one, none))
        operand = registers.hold(operand, reader.latency, "operand")
        cut = width + inside.guess_width - 2 - inside.error_fraction_width
        half_way = registers.hold((operand * reader.result)[cut:], name="half_way")
        early = registers.hold(reader.result, name="early")

        # The error is near 0, so the product's high bits are known and only its low ones matter.
        cut = inside.guess_width - 1
        product = (half_way * early)[: cut + inside.error_width]
        error = registers.hold((-product)[cut : cut + inside.error_width].as_signed(), name="error")
        guess = registers.hold(early, name="guess")

        correction = registers.hold(Cat(guess, none).as_signed() * error, name="correction")
        begin = registers.hold(guess, name="begin")
        shift = inside.guess_width + inside.error_fraction_width - width + 1
        part = widen(correction[shift:].as_signed(), width).as_unsigned()
        wide = Cat(Const(0, width - inside.guess_width), begin)
        total = add_with_carry(wide, part, correction[shift - 1])
        m.d.comb += self.result.eq(registers.hold(total, name="total"))
        return m
