# SPDX-License-Identifier: Apache-2.0
"""The largest elements of a row in Amaranth: a list in order, with one comparison a cycle."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.encodings import KEY_WIDTH, Op
from ahasd.rtl.aau.params import AauParams


def place_layout(index_width: int) -> data.StructLayout:
    """Return the shape of an element that was found: `seen` if there is one."""
    return data.StructLayout({"key": signed(KEY_WIDTH), "index": index_width, "seen": 1})


class TopUnit(wiring.Component):
    """Keep the largest elements in order.

    Another list in order is merged in as many steps as there are entries. A step compares the heads
    of both and moves the one that comes first to the end of the entries; so behind the last step
    the list is in order again. The last entry that is left of the old ones cannot come in any more
    when a new one wins, and makes room for it.

    `clear` leaves no element; reset leaves the entries alone.

    Parameters
    ----------
    params
        Sizes of the AAU; of `top_k` = 0 the largest element alone is kept.

    Members
    -------
    clear : unsigned(1), in
        Begin with no element.
    candidate : struct of `place_layout`, in
        Head of the other list.
    replace : unsigned(1), in
        The candidate takes the place of the head if it comes before it.
    merge : unsigned(1), in
        A step of a merge is made.
    step : unsigned, in
        Which, from 0.
    rotate : unsigned(1), in
        The head goes behind all others.
    wins : unsigned(1), out
        The candidate comes before the head.
    head : struct of `place_layout`, out
        The largest; without one the lowest key, and index 0.
    """

    latency = 1
    interval = 1

    clear: Signal
    replace: Signal
    merge: Signal
    step: Signal
    rotate: Signal
    wins: Signal
    candidate: data.View
    head: data.View

    def __init__(self, params: AauParams) -> None:
        self.params = params
        self.entries = entries = params.entries(Op.TOP)
        self._layout = place_layout(params.index_width)
        super().__init__(
            {
                "clear": In(1),
                "candidate": In(self._layout),
                "replace": In(1),
                "merge": In(1),
                "step": In(range(max(2, entries))),
                "rotate": In(1),
                "wins": Out(1),
                "head": Out(self._layout),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        new, last = self.candidate, self.entries - 1
        kept = [
            Signal(self._layout, name=f"entry_{i}", reset_less=True) for i in range(self.entries)
        ]
        head = kept[0]
        first = (new.key > head.key) | ((new.key == head.key) & (new.index < head.index))
        m.d.comb += [
            self.wins.eq(new.seen & (~head.seen | first)),
            self.head.seen.eq(head.seen),
            self.head.key.eq(Mux(head.seen, head.key, -(1 << (KEY_WIDTH - 1)))),
            self.head.index.eq(Mux(head.seen, head.index, 0)),
        ]
        goes_on = Signal(self._layout)
        m.d.comb += goes_on.eq(Mux(self.merge & self.wins, new.as_value(), head.as_value()))
        for i, entry in enumerate(kept):
            late = self.step >= last - i if i < last else 1
            moves = self.rotate | (self.merge & (~self.wins | late))
            with m.If(moves):
                m.d.pim += entry.eq(kept[i + 1] if i < last else goes_on)
        with m.If(self.replace & self.wins):
            m.d.pim += head.eq(new)
        with m.If(self.clear):
            m.d.pim += [entry.seen.eq(0) for entry in kept]
        return m
