# SPDX-License-Identifier: Apache-2.0
"""Sums of a beat in fixed point, in Amaranth: a shifter a lane, and a tree of adders behind."""

from amaranth.hdl import Cat, Module, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.layouts import power_layout, real_layout
from ahasd.rtl.aau.primitives.pipeline import Registers
from ahasd.rtl.aau.reals import real_width
from ahasd.rtl.aau.term_unit import TermUnit, reference_width, term_width
from ahasd.rtl.lib.tree import sum_tree


def total_width(params: AauParams) -> int:
    """Return the bits of a beat's sum, with its sign."""
    return term_width(params) + params.lanes.bit_length() - 1


class SumUnit(wiring.Component):
    """Add the terms of a beat.

    Parameters
    ----------
    params
        Sizes of the AAU.

    Members
    -------
    enable : unsigned(1), in
        The unit moves at the next edge.
    term : array of signed(term_width), in
        One a lane.
    total : signed(total_width), out
        Their sum, exact, in the next cycle.
    """

    latency = 1
    interval = 1

    enable: Signal
    total: Signal
    term: data.View

    def __init__(self, params: AauParams) -> None:
        self.params = params
        super().__init__(
            {
                "enable": In(1),
                "term": In(data.ArrayLayout(signed(term_width(params)), params.lanes)),
                "total": Out(signed(total_width(params))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        total = sum_tree([_flipped(self.term[lane]) for lane in range(self.params.lanes)])
        m.d.comb += self.total.eq(Registers(m, self.enable).hold(_flipped(total), name="total"))
        return m


def _flipped(value: Value) -> Value:
    """Return a value with its highest bit flipped, so that signed ones add up as unsigned."""
    return Cat(value[:-1], ~value[-1])


class BlockSumUnit(wiring.Component):
    """Bring the numbers of a beat to a common exponent, in fixed point, and add them.

    The AAU has the same pieces in two places: each `TermUnit` stands in its lane, out of which its
    product needs no wires then, and the `SumUnit` before the state of the row.

    Parameters
    ----------
    params
        Sizes of the AAU.

    Members
    -------
    enable : unsigned(1), in
        The unit moves at the next edge.
    active : unsigned(lanes), in
        Lanes that have a number.
    product, power : arrays of structs of `real_layout` and `power_layout`, in
        Numbers, and powers in their place; below 4 times what the sums are relative to.
    of_power : unsigned(1), in
        Powers are added.
    level : signed, in
        Exponent of what the sums are relative to.
    total : signed(total_width), out
        Sum of the terms, each cut off towards 0, two enabled edges later, in units of
        `2**(level - sum_fraction_width)`.
    """

    latency = 2
    interval = 1

    enable: Signal
    active: Signal
    of_power: Signal
    level: Signal
    total: Signal
    product: data.View
    power: data.View

    def __init__(self, params: AauParams) -> None:
        self.params = params
        numerics, lanes = params.numerics, params.lanes
        super().__init__(
            {
                "enable": In(1),
                "active": In(lanes),
                "product": In(data.ArrayLayout(real_layout(2 * real_width(numerics)), lanes)),
                "power": In(data.ArrayLayout(power_layout(numerics), lanes)),
                "of_power": In(1),
                "level": In(signed(reference_width(params))),
                "total": Out(signed(total_width(params))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        m.submodules.sum = sum_unit = SumUnit(self.params)
        m.d.comb += [sum_unit.enable.eq(self.enable), self.total.eq(sum_unit.total)]
        for lane in range(self.params.lanes):
            m.submodules[f"term_{lane}"] = term = TermUnit(self.params)
            m.d.comb += [
                term.enable.eq(self.enable),
                term.active.eq(self.active[lane]),
                term.product.eq(self.product[lane]),
                term.power.eq(self.power[lane]),
                term.of_power.eq(self.of_power),
                term.reference.eq(self.level),
                sum_unit.term[lane].eq(term.term),
            ]
        return m
