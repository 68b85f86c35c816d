# SPDX-License-Identifier: Apache-2.0
"""Sigmoids of a few lanes in Amaranth, one after the other on one reciprocal."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH
from ahasd.rtl.aau.primitives.layouts import power_layout, real_layout
from ahasd.rtl.aau.primitives.pipeline import Registers, let, normalised, shift_right, widen
from ahasd.rtl.aau.primitives.recip.unit import RecipUnit
from ahasd.rtl.aau.real_logic import lowest
from ahasd.rtl.aau.reals import real_width

SHARE = 4
"""Lanes of one reciprocal, at most."""


class GateUnit(wiring.Component):
    """Take 1/(1 + 2^-t) of lanes whose 2^-|t| stand for as many cycles as there are lanes.

    A reciprocal takes the lanes in turn, one a cycle, from the first in which powers stand. A
    sigmoid stands three cycles after its lane is selected, until the lane's next.

    Parameters
    ----------
    numerics
        Widths.
    lanes
        How many.

    Members
    -------
    enable : unsigned(1), in
        The unit moves at the next edge.
    keep : unsigned(lanes), in
        The reciprocal of a lane stands, two cycles after it was selected.
    select : unsigned, in
        Lane whose reciprocal begins.
    power, below : arrays, in
        Power of every lane, and whether t is below 0.
    sigmoid : array of `real_layout`, out
        What they became.
    """

    enable: Signal
    keep: Signal
    select: Signal
    below: Signal
    power: data.View
    sigmoid: data.View

    def __init__(self, numerics: Numerics, lanes: int) -> None:
        self.numerics = numerics
        self.lanes = lanes
        super().__init__(
            {
                "enable": In(1),
                "keep": In(lanes),
                "select": In(range(SHARE)),
                "power": In(data.ArrayLayout(power_layout(numerics), lanes)),
                "below": In(lanes),
                "sigmoid": Out(data.ArrayLayout(real_layout(real_width(numerics)), lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        numerics = self.numerics
        width, short = numerics.result_width, real_width(numerics)
        m = Module()
        registers = Registers(m, self.enable)
        power, below = Signal(power_layout(numerics)), Signal()
        with m.Switch(self.select):
            for lane in range(self.lanes):
                with m.Case(lane):
                    m.d.comb += [power.eq(self.power[lane]), below.eq(self.below[lane])]
        near = width.bit_length()
        amount = power.shift[:near] | power.shift[near:].any().replicate(near)
        wide = Cat(Const(0, width - numerics.mantissa_width), power.mantissa)
        one = Cat(Const(0, width - 1), Const(1, 1))
        total = widen(one, width + 1) + widen(shift_right(m, wide, amount, sticky=False), width + 1)
        total = let(m, total, "total")
        # At 0 the sum is 2, which is no mantissa; the one below it has the same reciprocal.
        divisor = total[:width] | total[width].replicate(width)

        m.submodules.recip = recip = RecipUnit(numerics)
        m.d.comb += [
            recip.enable.eq(self.enable),
            recip.mantissa.eq(registers.hold(divisor, name="divisor")),
        ]
        below = registers.hold(below, recip.latency + 1, "below_late")
        value = Mux(below, (one - recip.result).as_unsigned()[:width], recip.result)
        mantissa, zeros = normalised(m, value)
        exponent = (Const(0, EXPONENT_WIDTH) - widen(zeros, EXPONENT_WIDTH))[:EXPONENT_WIDTH]
        for lane in range(self.lanes):
            kept = Signal(real_layout(short), name=f"sigmoid_{lane}", reset_less=True)
            with m.If(self.enable & self.keep[lane]):
                m.d.pim += [
                    kept.mantissa.eq(mantissa[width - short :]),
                    kept.exponent.eq(Mux(mantissa[-1], exponent.as_signed(), lowest())),
                ]
            m.d.comb += self.sigmoid[lane].eq(kept)
        return m
