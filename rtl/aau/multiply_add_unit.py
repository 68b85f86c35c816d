# SPDX-License-Identifier: Apache-2.0
"""The multiplier and the adder of a lane, in Amaranth: `reals.multiply_add` is its model."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH
from ahasd.rtl.aau.primitives.layouts import real_layout
from ahasd.rtl.aau.primitives.pipeline import Registers
from ahasd.rtl.aau.primitives.product import booth
from ahasd.rtl.aau.real_logic import (
    added,
    lowest,
    ordered,
    rounded,
    settled,
    total_layout,
)
from ahasd.rtl.aau.reals import GUARD_WIDTH, LOWEST


class MultiplyAddUnit(wiring.Component):
    """Take `p*q + addend` each cycle, the product and the sum rounded to odd.

    The product stands an enabled edge after the factors; the addend stands with it. The result
    stands two later.

    Members
    -------
    enable : unsigned(1), in
        Registers move at the next edge.
    p, q : structs of `real_layout`, in
        Factors; zeros have the lowest exponent, and of a sum of powers, mantissas need not have
        their highest bit set.
    addend : struct of `real_layout`, in
        What is added.
    product : struct of `real_layout`, out
        The exact product; not normalised.
    shortened : struct of `real_layout`, out
        The product before this one, rounded to odd, if 0 was added to it: what will be its result.
    result : struct of `real_layout`, out
        The sum.
    """

    enable: Signal
    p: data.View
    q: data.View
    addend: data.View
    product: data.View
    shortened: data.View
    result: data.View

    def __init__(self, width: int) -> None:
        self.width = width
        layout = real_layout(width)
        super().__init__(
            {
                "enable": In(1),
                "p": In(layout),
                "q": In(layout),
                "addend": In(layout),
                "product": Out(real_layout(2 * width)),
                "shortened": Out(layout),
                "result": Out(layout),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        width, p, q = self.width, self.p, self.q
        m = Module()
        registers = Registers(m, self.enable)
        no_p, no_q = p.exponent == LOWEST, q.exponent == LOWEST
        beside = data.StructLayout(
            {"exponent": signed(EXPONENT_WIDTH), "sign": 1, "infinite": 1, "nan": 1}
        )
        early = Signal(beside, name="early")
        m.d.comb += [
            early.exponent.eq(Mux(no_p | no_q, lowest(), p.exponent + q.exponent)),
            early.sign.eq(p.sign ^ q.sign),
            early.infinite.eq(p.infinite | q.infinite),
            early.nan.eq(
                p.nan
                | q.nan
                | (p.infinite & ~q.infinite & no_q)
                | (q.infinite & ~p.infinite & no_p)
            ),
        ]
        m.d.comb += self.product.eq(
            Cat(
                registers.hold(booth(m, p.mantissa, q.mantissa), name="product"),
                registers.hold(early.as_value(), name="beside"),
            )
        )
        addends = ordered(m, rounded(m, self.product, width, "short"), self.addend, width)
        total = added(m, addends, width)
        total = data.View(total_layout(width), registers.hold(total.as_value(), name="total"))
        mantissa = total.mantissa[GUARD_WIDTH:-1]
        m.d.comb += [
            self.shortened.mantissa.eq(mantissa),
            self.shortened.exponent.eq(total.exponent),
            self.shortened.sign.eq(total.sign & (mantissa[-1] | total.infinite)),
            self.shortened.infinite.eq(total.infinite),
            self.shortened.nan.eq(total.nan),
        ]
        m.d.comb += self.result.eq(
            registers.hold(settled(m, total, width, "settled").as_value(), name="result")
        )
        return m
