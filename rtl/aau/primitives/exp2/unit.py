# SPDX-License-Identifier: Apache-2.0
"""Powers of two in Amaranth."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.exp2.golden import table
from ahasd.rtl.aau.primitives.layouts import power_layout
from ahasd.rtl.aau.primitives.pipeline import Primitive, shift_right
from ahasd.rtl.aau.primitives.table_unit import TableUnit


class Exp2Unit(Primitive):
    """Take a power of two with an exponent of 0 or below each cycle.

    Members
    -------
    depth : unsigned(depth_width), in
        Minus the exponent, `fraction_width` bits behind the point.
    power : struct of `power_layout`, out
        Mantissa and shift.
    """

    latency = TableUnit.latency

    depth: Signal
    power: data.View

    def __init__(self, numerics: Numerics) -> None:
        self.numerics = numerics
        super().__init__({"depth": In(numerics.depth_width), "power": Out(power_layout(numerics))})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        behind = self.numerics.fraction_width
        m = Module()
        m.submodules.mantissa = mantissa = TableUnit(table(self.numerics))
        shift = self.registers(m).hold(self.depth[behind:], self.latency, "shift")
        m.d.comb += [
            mantissa.enable.eq(self.enable),
            mantissa.operand.eq(self.depth[:behind]),
            self.power.mantissa.eq(mantissa.result),
            self.power.shift.eq(shift),
        ]
        return m


class TermUnit(Primitive):
    """Shift a power into fixed point each cycle.

    Members
    -------
    power : struct of `power_layout`, in
        Mantissa and shift.
    term : unsigned(term_width), out
        The power, cut off behind the guard bits; 1 is `2**(term_width - 1)`.
    """

    latency = 1

    power: data.View
    term: Signal

    def __init__(self, numerics: Numerics) -> None:
        self.numerics = numerics
        super().__init__({"power": In(power_layout(numerics)), "term": Out(numerics.term_width)})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        width = self.numerics.term_width
        m = Module()
        wide = Cat(Const(0, self.numerics.guard_width), self.power.mantissa)
        near = (width - 1).bit_length()
        term = Mux(
            self.power.shift[near:].any(),
            Const(0, width),
            shift_right(m, wide, self.power.shift[:near], sticky=False),
        )
        m.d.comb += self.term.eq(self.registers(m).hold(term, name="term"))
        return m
