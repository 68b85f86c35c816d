# SPDX-License-Identifier: Apache-2.0
"""The state of a row in Amaranth: the largest of all lanes, their sums, and the merge of states."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.block_sum_unit import SumUnit
from ahasd.rtl.aau.encodings import KEY_WIDTH, Packed, State
from ahasd.rtl.aau.max_unit import MaxUnit
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.pipeline import Registers
from ahasd.rtl.aau.row_state_unit import RowStateUnit
from ahasd.rtl.aau.schedule import DELAYS, REDUCE, Op
from ahasd.rtl.aau.sums import no_sums
from ahasd.rtl.aau.term_unit import term_width
from ahasd.rtl.aau.top_unit import TopUnit

SUMS = ("reference", "a", "b")
PLACE = ("key", "index", "seen")
KEPT = ("count", "nan", "positive", "negative")
"""Fields of a state by what keeps them: the sums, the largest element, and what is counted."""


def packed_layout(kind: type[Packed], params: AauParams) -> data.StructLayout:
    """Return the shape of a payload."""
    return data.StructLayout(
        {
            name: signed(-width) if width < 0 else width
            for name, width in kind.widths(params).items()
        }
    )


def _delay(op: Op) -> int:
    """Return the cycles from a new reference to its use."""
    delay = REDUCE[op].rebase_after
    assert delay is not None
    return delay


class ReductionUnit(wiring.Component):
    """Keep the state of a row.

    Members
    -------
    enable : unsigned(1), in
        The pipeline moves at the next edge.
    clear : unsigned(1), in
        Begin with no element.
    powers, moments : unsigned(1), in
        What is summed.
    firsts, seconds : unsigned(1), in
        There are first sums, second ones; if both, the second are a cycle behind.
    compare, raise_reference, lift, sum : unsigned(1), in
        Keys, heights and sums of a beat stand, the last in two steps; of a state, too.
    beat_index : unsigned(index_width), in
        Place of the first of the keys.
    length : unsigned(length_width), in
        Elements that are counted with `count`.
    count : unsigned(1), in
        Count them.
    imported : struct, in
        A state to merge.
    take : unsigned(1), in
        Its last step; of a list the first.
    importing : unsigned(1), in
        A step is made with a state that is imported.
    listing : unsigned(1), in
        A list of the largest elements is kept, not the largest alone.
    merge, step : unsigned, in
        A step of its merge is made, and which.
    rotate : unsigned(1), in
        The next of its elements comes to be that of the state.
    key, sound, nan, positive, negative : arrays, in
        Order of every lane's element, and what it is.
    height, height_valid : arrays, in
        Scaled number or exponent of every lane's element.
    term : array, in
        What goes into the sums.
    level : signed, out
        What the last beat's sums are relative to.
    state : struct, out
        The row so far.
    """

    enable: Signal
    clear: Signal
    powers: Signal
    moments: Signal
    firsts: Signal
    seconds: Signal
    compare: Signal
    raise_reference: Signal
    lift: Signal
    sum: Signal
    beat_index: Signal
    length: Signal
    count: Signal
    take: Signal
    importing: Signal
    listing: Signal
    merge: Signal
    step: Signal
    rotate: Signal
    sound: Signal
    nan: Signal
    positive: Signal
    negative: Signal
    height_valid: Signal
    level: Signal
    imported: data.View
    key: data.View
    height: data.View
    term: data.View
    state: data.View

    def __init__(self, params: AauParams) -> None:
        self.params = params
        lanes = params.lanes
        state = packed_layout(State, params)
        super().__init__(
            {
                "enable": In(1),
                "clear": In(1),
                "powers": In(1),
                "moments": In(1),
                "firsts": In(1),
                "seconds": In(1),
                "compare": In(1),
                "raise_reference": In(1),
                "lift": In(1),
                "sum": In(1),
                "beat_index": In(params.index_width),
                "length": In(params.length_width),
                "count": In(1),
                "imported": In(state),
                "take": In(1),
                "importing": In(1),
                "listing": In(1),
                "merge": In(1),
                "step": In(range(max(2, params.entries(Op.TOP)))),
                "rotate": In(1),
                "key": In(data.ArrayLayout(signed(KEY_WIDTH), lanes)),
                "sound": In(lanes),
                "nan": In(lanes),
                "positive": In(lanes),
                "negative": In(lanes),
                "height": In(data.ArrayLayout(signed(params.reference_width), lanes)),
                "height_valid": In(lanes),
                "term": In(data.ArrayLayout(signed(term_width(params)), lanes)),
                "level": Out(signed(params.reference_width)),
                "state": Out(state),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        members = packed_layout(State, self.params).members
        layout = data.StructLayout({name: members[name] for name in KEPT})
        self._kept = Signal(layout, name="kept")
        m.submodules.row_state = self._row_state = RowStateUnit(self.params)
        self._largest(m)
        self._sums(m)
        m.d.comb += [self.state[name].eq(self._kept[name]) for name in KEPT]
        m.d.comb += [self.state[name].eq(self._row_state.sums[name]) for name in SUMS]
        m.d.comb += [self.state[name].eq(self._head[name]) for name in PLACE]
        return m

    def _largest(self, m: Module) -> None:
        """Build the comparison of keys, and what is noted of elements."""
        params, state = self.params, self._kept
        m.submodules.largest = largest = MaxUnit(params)
        m.submodules.top = top = TopUnit(params)
        inserts = self.listing & self.importing
        m.d.comb += [
            largest.enable.eq(self.enable & (self.compare | ~self.listing | top.wins)),
            largest.start.eq(self.compare),
            largest.more.eq(self.listing),
            largest.sound.eq(self.sound),
            largest.key.eq(self.key),
            largest.index.eq(self.beat_index),
            largest.load.eq(inserts | self.clear),
            largest.given.eq(top.candidate),
            largest.given.seen.eq(top.candidate.seen & ~top.wins & ~self.clear),
            top.clear.eq(self.clear),
            top.candidate.eq(largest.candidate),
            top.replace.eq(~self.listing & (self.take | self.enable)),
            top.merge.eq(self.merge),
            top.step.eq(self.step),
            top.rotate.eq(self.rotate),
        ]
        with m.If(self.take):
            m.d.comb += [
                top.candidate.key.eq(self.imported.key),
                top.candidate.index.eq(self.imported.index),
                top.candidate.seen.eq(self.imported.seen),
            ]
        self._head = top.head

        for flag in ("nan", "positive", "negative"):
            seen = Signal(name=f"came_{flag}")
            with m.If(self.enable):
                m.d.pim += seen.eq(getattr(self, flag).any() & self.compare)
            with m.If(self.take):
                m.d.pim += state[flag].eq(state[flag] | self.imported[flag])
            with m.Elif(self.enable & seen):
                m.d.pim += state[flag].eq(1)
            with m.If(self.clear):
                m.d.pim += state[flag].eq(0)
        with m.If(self.take):
            m.d.pim += state.count.eq(state.count + self.imported.count)
        with m.If(self.count):
            m.d.pim += state.count.eq(state.count + self.length)
        with m.If(self.clear | self.rotate):
            m.d.pim += state.count.eq(0)

    def _sums(self, m: Module) -> None:
        """Build the reference, the sums of a beat, and their merge into the state."""
        params, row_state = self.params, self._row_state
        registers = Registers(m, self.enable)
        width = params.reference_width
        lowest = no_sums(params).reference

        heights: list[Value] = []
        for lane in range(params.lanes):
            height = Signal(signed(width))
            m.d.comb += height.eq(Mux(self.height_valid[lane], self.height[lane], lowest))
            heights.append(height)
        while len(heights) > 1:
            nodes = []
            for left, right in zip(heights[::2], heights[1::2], strict=True):
                node = Signal(signed(width))
                m.d.comb += node.eq(Mux(right > left, right, left))
                nodes.append(node)
            heights = nodes
        m.submodules.sum = beat = SumUnit(params)
        before = registers.hold(beat.total, name="before")
        with m.Switch(Cat(self.firsts & self.seconds, self.powers)):
            for case, op in enumerate((Op.SUM, Op.LAYERNORM, Op.SOFTMAX, Op.STATISTICS)):
                with m.Case(case):
                    m.d.comb += row_state.delay.eq(DELAYS.index(_delay(op)))
        m.d.comb += [
            beat.enable.eq(self.enable),
            beat.term.eq(self.term),
            row_state.enable.eq(self.enable),
            row_state.importing.eq(self.importing & (self.powers | self.moments)),
            row_state.clear.eq(self.clear),
            row_state.powers.eq(self.powers),
            row_state.weighted.eq(self.powers & self.seconds),
            row_state.raise_reference.eq(self.raise_reference),
            row_state.lift.eq(self.lift),
            row_state.add.eq(self.take | self.sum),
            self.level.eq(row_state.level),
        ]
        new = row_state.given
        with m.If(self.importing):
            m.d.comb += [new[name].eq(self.imported[name]) for name in SUMS]
        with m.Else():
            m.d.comb += [
                new.reference.eq(heights[0]),
                new.a.eq(Mux(self.seconds, before, beat.total)),
                new.b.eq(beat.total & self.seconds.replicate(params.b_width)),
            ]
            with m.If(~self.firsts):
                m.d.comb += new.a.eq(0)
