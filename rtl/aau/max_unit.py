# SPDX-License-Identifier: Apache-2.0
"""The largest element of a beat in Amaranth, and then those behind it, one a cycle."""

from amaranth.hdl import Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.encodings import KEY_WIDTH
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.pipeline import let
from ahasd.rtl.aau.top_unit import place_layout


class MaxUnit(wiring.Component):
    """Find the largest of a beat; of equals the lowest lane wins.

    Parameters
    ----------
    params
        Sizes of the AAU.

    Members
    -------
    enable : unsigned(1), in
        Go on at the next edge.
    start : unsigned(1), in
        Look at the beat that is given, else at what is left of the one before.
    more : unsigned(1), in
        Leave what does not win for the next edge.
    sound : unsigned(lanes), in
        Lanes that have an element.
    key : array of signed(KEY_WIDTH), in
        Their places in the order of all; the same while something is left.
    index : unsigned(index_width), in
        Place of the first lane's element in the row; the same while something is left.
    load : unsigned(1), in
        Keep what is given instead, also without `enable`, and nothing of a beat.
    given, candidate : structs of `place_layout`, in and out
        What is given, and what was found.
    """

    latency = 1
    interval = 1

    enable: Signal
    start: Signal
    more: Signal
    sound: Signal
    index: Signal
    load: Signal
    key: data.View
    given: data.View
    candidate: data.View

    def __init__(self, params: AauParams) -> None:
        self.params = params
        self.lanes = lanes = params.lanes
        index_width = params.index_width
        super().__init__(
            {
                "enable": In(1),
                "start": In(1),
                "more": In(1),
                "sound": In(lanes),
                "key": In(data.ArrayLayout(signed(KEY_WIDTH), lanes)),
                "index": In(index_width),
                "load": In(1),
                "given": In(place_layout(index_width)),
                "candidate": Out(place_layout(index_width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        left = Signal(self.lanes, reset_less=True)
        sound = let(m, Mux(self.start, self.sound, left), "looked_at")
        some, key, lane = self._tree(m, sound)
        found = Signal.like(self.candidate, name="found", reset_less=True)
        winner = (Const(1, self.lanes) << lane)[: self.lanes]
        with m.If(self.enable):
            m.d.pim += [
                found.key.eq(key),
                found.index.eq(self.index + lane),
                found.seen.eq(some),
                left.eq(sound & ~winner & self.more.replicate(self.lanes)),
            ]
        with m.If(self.load):
            m.d.pim += [found.eq(self.given), left.eq(0)]
        m.d.comb += self.candidate.eq(found)
        return m

    def _tree(self, m: Module, sound: Value) -> tuple[Value, Value, Value]:
        """Return whether there is an element, the largest one's key and its lane."""
        width = max(1, (self.lanes - 1).bit_length())
        nodes: list[tuple[Value, Value, Value]] = [
            (sound[i], let(m, self.key[i], f"key_{i}"), Const(i, width)) for i in range(self.lanes)
        ]
        while len(nodes) > 1:
            pairs = zip(nodes[::2], nodes[1::2], strict=True)
            nodes = []
            for (some, key, lane), (some_2, key_2, lane_2) in pairs:
                later = let(m, some_2 & (~some | (key_2 > key)), "later")
                nodes.append(
                    (
                        some | some_2,
                        let(m, Mux(later, key_2, key).as_signed(), "largest"),
                        let(m, Mux(later, lane_2, lane), "lane"),
                    )
                )
        return nodes[0]
