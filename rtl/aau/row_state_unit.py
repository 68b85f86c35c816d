# SPDX-License-Identifier: Apache-2.0
"""The sums of a row and their merge, in Amaranth: `sums.joined` is its model."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.pipeline import let, widen
from ahasd.rtl.aau.sums import SHIFT_MAX, no_sums


def sums_layout(params: AauParams) -> data.StructLayout:
    """Return the shape of the sums of a row."""
    return data.StructLayout(
        {
            "reference": signed(params.reference_width),
            "a": signed(params.a_width),
            "b": params.b_width,
        }
    )


def level(m: Module, reference: Value, powers: Value, params: AauParams, name: str) -> Value:
    """Return what sums relative to a reference really are relative to, see `sums.whole`."""
    behind, width = params.numerics.fraction_width, params.reference_width
    up = widen(reference[:behind].any(), width - behind + 1)
    above = widen(reference[behind:].as_signed(), width - behind + 1).as_unsigned() + up
    above = widen(above[: width - behind + 1].as_signed(), width)
    return let(m, Mux(powers, above, reference).as_signed(), name)


class RowStateUnit(wiring.Component):
    """Keep the sums of a row; merge those of a beat, or of another part of the row.

    The ones that are relative to the lower reference are shifted. Reset leaves 0.

    Parameters
    ----------
    params
        Sizes of the AAU.

    Members
    -------
    clear : unsigned(1), in
        Begin with the sums of no element.
    merge : unsigned(1), in
        Merge what is given.
    powers : unsigned(1), in
        Sums are of powers, else of moments.
    weighted : unsigned(1), in
        Second sums are of powers times what their elements are below the reference.
    given : struct of `sums_layout`, in
        What is merged.
    sums : struct of `sums_layout`, out
        The row so far.
    """

    latency = 1
    interval = 1

    clear: Signal
    merge: Signal
    powers: Signal
    weighted: Signal
    given: data.View
    sums: data.View

    def __init__(self, params: AauParams) -> None:
        self.params = params
        layout = sums_layout(params)
        super().__init__(
            {
                "clear": In(1),
                "merge": In(1),
                "powers": In(1),
                "weighted": In(1),
                "given": In(layout),
                "sums": Out(layout),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        params = self.params
        m = Module()
        layout = sums_layout(params)
        new, (old, high, low) = (
            self.given,
            (Signal(layout, name=name) for name in ("old", "high", "low")),
        )
        swap = let(m, old.reference > new.reference, "swap")
        m.d.comb += [
            self.sums.eq(old),
            high.eq(Mux(swap, old.as_value(), new.as_value())),
            low.eq(Mux(swap, new.as_value(), old.as_value())),
        ]
        rise = Signal(params.reference_width + 1)
        high_level = level(m, high.reference, self.powers, params, "high_level")
        low_level = level(m, low.reference, self.powers, params, "low_level")
        m.d.comb += rise.eq(high_level - low_level)
        down, twice = Signal(6), Signal(6)
        m.d.comb += [
            down.eq(Mux(rise[6:].any(), SHIFT_MAX, rise[:6])),
            twice.eq(Mux(rise[5:].any(), SHIFT_MAX, Cat(Const(0, 1), rise[:5]))),
        ]
        lifted = Signal(signed(max(params.a_width + 6, params.b_width) + 1))
        with m.If(self.weighted):
            m.d.comb += lifted.eq(low.b + low.a * down)
        with m.Else():
            m.d.comb += lifted.eq(low.b)
        a, b = (
            Signal(signed(params.a_width), name="low_a"),
            Signal(params.b_width, name="low_b"),
        )
        m.d.comb += [
            a.eq(low.a >> down),
            b.eq((lifted >> Mux(self.powers, down, twice))[: params.b_width]),
        ]
        with m.If(self.merge):
            m.d.pim += [
                old.reference.eq(high.reference),
                old.a.eq(high.a + a),
                old.b.eq(high.b + b),
            ]
        with m.If(self.clear):
            m.d.pim += [
                old.reference.eq(no_sums(params).reference),
                old.a.eq(0),
                old.b.eq(0),
            ]
        return m
