# SPDX-License-Identifier: Apache-2.0
"""What a lane adds to the sums of a row, in Amaranth."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.layouts import power_layout, real_layout
from ahasd.rtl.aau.primitives.pipeline import Registers, let, shift_right
from ahasd.rtl.aau.reals import real_width
from ahasd.rtl.aau.sums import SHIFT_MAX


def depth_exponent(params: AauParams) -> int:
    """Return the exponent of depths as numbers, the same for all of them."""
    return params.depth_factor_width - 1 - params.numerics.fraction_width


def term_width(params: AauParams) -> int:
    """Return the bits of a term, with its sign: it is below 4."""
    return params.sum_fraction_width + 3


def reference_width(params: AauParams) -> int:
    """Return the bits of what terms are relative to: an exponent, or twice one."""
    return params.reference_width + 1


class TermUnit(wiring.Component):
    """Shift a product or a power into fixed point, relative to what the sums are relative to.

    Members
    -------
    enable : unsigned(1), in
        The unit moves at the next edge.
    active : unsigned(1), in
        There is an element; else the term is 0.
    product : struct of `real_layout`, in
        What is added.
    power : struct of `power_layout`, in
        The same, in its place.
    of_power : unsigned(1), in
        Whether it is.
    reference : signed, in
        Exponent of 1; none that is added is 2 above it and more.
    term : signed, out
        The term, cut off towards 0, in the next cycle.
    """

    enable: Signal
    active: Signal
    product: data.View
    power: data.View
    of_power: Signal
    reference: Signal
    term: Signal

    def __init__(self, params: AauParams) -> None:
        self.params = params
        super().__init__(
            {
                "enable": In(1),
                "active": In(1),
                "product": In(real_layout(2 * real_width(params.numerics))),
                "power": In(power_layout(params.numerics)),
                "of_power": In(1),
                "reference": In(signed(reference_width(params))),
                "term": Out(signed(term_width(params))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        params, numerics = self.params, self.params.numerics
        width = term_width(params)
        behind = 2 * (real_width(numerics) - 1)
        lead = behind - params.sum_fraction_width
        # Products with depths are that much below their exponents' place, so nothing is cut off.
        spare = max(0, depth_exponent(params) - lead)
        m = Module()
        power = Cat(Const(0, behind + 1 - numerics.mantissa_width), self.power.mantissa)
        value = Cat(Const(0, spare), Mux(self.of_power, power, self.product.mantissa))
        exponent = Mux(self.of_power, -self.power.shift, self.product.exponent)
        right = let(m, self.reference - exponent + (lead + spare), "right")
        near = SHIFT_MAX.bit_length()
        amount = right[:near] | right[near:].any().replicate(near)
        shifted = shift_right(m, value, amount, sticky=False)[: width - 1]
        below = let(m, self.product.sign & ~self.of_power, "below")
        term = Mux(below, -shifted, shifted)[:width]
        term = term & self.active.replicate(width)
        m.d.comb += self.term.eq(Registers(m, self.enable).hold(term, name="term").as_signed())
        return m
