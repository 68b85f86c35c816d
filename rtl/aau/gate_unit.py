# SPDX-License-Identifier: Apache-2.0
"""Sigmoids of a few lanes in Amaranth, one after the other on one reciprocal."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH
from ahasd.rtl.aau.primitives.layouts import real_layout
from ahasd.rtl.aau.primitives.pipeline import Registers, let, normalised, shift_right, widen
from ahasd.rtl.aau.primitives.recip.unit import RecipUnit
from ahasd.rtl.aau.real_logic import lowest
from ahasd.rtl.aau.reals import real_width

SHARE = 4
"""Lanes of one reciprocal, at most."""
TAKE_TO_LAST = 5 + SHARE
"""From the cycle in which powers stand to the one in which the last lane's sigmoid is kept."""


class GateUnit(wiring.Component):
    """Take 1/(1 + 2^-t) of lanes that hand in 2^-|t| together.

    A reciprocal takes the lanes in turn, one a cycle, so powers may come every `lanes` cycles, and
    sigmoids stand from when the last of them is there until the first of the next is.

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
    take : unsigned(1), in
        Powers stand.
    keep : unsigned(lanes), in
        The reciprocal of a lane stands.
    select : unsigned, in
        Lane whose reciprocal begins.
    mantissa, shift, negative : arrays, in
        Power of every lane, and whether t is below 0.
    sigmoid : array of `real_layout`, out
        What they became.
    """

    enable: Signal
    take: Signal
    keep: Signal
    select: Signal
    mantissa: data.View
    shift: data.View
    negative: Signal
    sigmoid: data.View

    def __init__(self, numerics: Numerics, lanes: int) -> None:
        self.numerics = numerics
        self.lanes = lanes
        layout = data.ArrayLayout(real_layout(real_width(numerics)), lanes)
        super().__init__(
            {
                "enable": In(1),
                "take": In(1),
                "keep": In(lanes),
                "select": In(range(SHARE)),
                "mantissa": In(data.ArrayLayout(numerics.mantissa_width, lanes)),
                "shift": In(data.ArrayLayout(numerics.integer_width, lanes)),
                "negative": In(lanes),
                "sigmoid": Out(layout),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        numerics = self.numerics
        width, longer = numerics.result_width, real_width(numerics)
        m = Module()
        registers = Registers(m, self.enable)
        near = width.bit_length()
        one = Cat(Const(0, width - 1), Const(1, 1))
        divisors, belows = [], []
        for lane in range(self.lanes):
            shift = self.shift[lane]
            amount = Mux(shift[near:].any(), Const((1 << near) - 1, near), shift[:near])
            wide = Cat(Const(0, width - numerics.mantissa_width), self.mantissa[lane])
            total = widen(one, width + 1) + widen(
                shift_right(m, wide, amount, sticky=False), width + 1
            )
            total = let(m, total, f"total_{lane}")
            # At 0 the sum is 2, which is no mantissa; the one below it has the same reciprocal.
            divisor = Signal(width, name=f"divisor_{lane}", reset_less=True)
            below = Signal(name=f"below_{lane}", reset_less=True)
            with m.If(self.enable & self.take):
                m.d.pim += [
                    divisor.eq(total[:width] | total[width].replicate(width)),
                    below.eq(self.negative[lane]),
                ]
            divisors.append(divisor)
            belows.append(below)

        m.submodules.recip = recip = RecipUnit(numerics)
        m.d.comb += recip.enable.eq(self.enable)
        below = Signal()
        with m.Switch(self.select):
            for lane in range(self.lanes):
                with m.Case(lane):
                    m.d.comb += [recip.mantissa.eq(divisors[lane]), below.eq(belows[lane])]
        below = registers.hold(below, recip.latency, "below_late")
        value = Mux(below, (one - recip.result).as_unsigned()[:width], recip.result)
        mantissa, zeros = normalised(m, value)
        exponent = (Const(0, EXPONENT_WIDTH) - widen(zeros, EXPONENT_WIDTH))[:EXPONENT_WIDTH]
        for lane in range(self.lanes):
            kept = Signal(real_layout(longer), name=f"sigmoid_{lane}", reset_less=True)
            with m.If(self.enable & self.keep[lane]):
                m.d.pim += [
                    kept.mantissa.eq(Cat(Const(0, longer - width), mantissa)),
                    kept.exponent.eq(Mux(mantissa[-1], exponent.as_signed(), lowest())),
                ]
            m.d.comb += self.sigmoid[lane].eq(kept)
        return m
