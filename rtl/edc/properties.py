# SPDX-License-Identifier: Apache-2.0
"""What is proved of the EDC. Each class holds a few properties that share their observers."""

from amaranth.hdl import Assert, Cover, Module, Mux, Signal, Value

from ahasd.rtl.edc.params import Cause, Command, Verdict
from ahasd.rtl.edc.unit import EdcUnit
from ahasd.rtl.lib.properties import Proof, Properties, Quiescence


class EdcProperties(Properties):
    """An EDC, the transfers of a cycle, and an independent count of batches without a verdict."""

    unit: EdcUnit

    def check(self, m: Module) -> None:
        """Add the observers."""
        unit = self.unit
        width = unit.params.llr_width + 1
        self.drafted = Signal()
        self.judged = Signal()
        self.accepted = Signal()
        self.rejected = Signal()
        self.started = Signal()
        self.cleared = Signal()
        self.count = Signal(width)
        self.left = Signal(width)  # of the count, behind the verdict of this cycle
        command = self.transfer(unit.command)
        m.d.comb += [
            self.drafted.eq(self.transfer(unit.draft)),
            self.judged.eq(self.transfer(unit.verdict) & self.count.any()),
            self.accepted.eq(self.judged & (unit.verdict.payload == Verdict.ACCEPTED)),
            self.rejected.eq(self.judged & (unit.verdict.payload == Verdict.REJECTED)),
            self.started.eq(command & (unit.command.payload == Command.START_SEQUENCE)),
            self.cleared.eq(command & (unit.command.payload == Command.CLEAR_PHT)),
            self.left.eq(Mux(self.rejected, 0, self.count - self.judged)),
        ]
        m.d.pim += self.count.eq(Mux(self.started, 0, self.left + self.drafted))

    def caused(self, *causes: Cause) -> Value:
        """Tell whether a decision of one of these causes is on offer."""
        decision = self.unit.decision
        found = Value.cast(decision.payload.cause).matches(*(cause.value for cause in causes))
        return Value.cast(decision.valid & found)


class Ports(EdcProperties):
    """LLR and the decision stream, seen at the ports alone."""

    def check(self, m: Module) -> None:
        """Compare LLR with the count; follow each decision from its cause until it is taken."""
        super().check(m)
        unit = self.unit
        decision = unit.decision
        largest = unit.params.max_outstanding
        full, stalled, answer, ready = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            full.eq(unit.outstanding == largest),
            stalled.eq(decision.valid & ~decision.ready),
            answer.eq(self.caused(Cause.PREDICTED, Cause.EXPLORED)),
            ready.eq(unit.draft.ready | unit.verdict.ready | unit.command.ready),
        ]
        was_stalled = self.past(m, stalled)
        was_drafted = self.past(m, self.drafted)
        owed = Signal(2)
        m.d.pim += owed.eq(owed + self.drafted - (answer & decision.ready))
        m.d.comb += [
            Assert(
                unit.outstanding == self.count,
                "LLR is the drafts taken less the verdicts, since the last flush or start",
            ),
            Assert(self.count <= largest, "LLR never exceeds its maximum"),
            Assert(~(full & self.drafted), "no draft is taken while LLR is at its maximum"),
            Assert(self.stays(m, decision), "a decision that is not taken stays, with its payload"),
            Assert(~(stalled & ready), "a decision that is not taken stalls every input"),
            Assert(~was_drafted | answer, "a draft is answered one cycle later"),
            Assert(
                ~answer | was_drafted | was_stalled,
                "there is no answer but to a draft of the cycle before",
            ),
            Assert(owed == answer, "drafts and answers taken differ by the answer on offer"),
            Cover(full, "LLR is at its maximum"),
            Cover(self.rejected & self.drafted, "a draft comes with a rejection"),
            Cover(self.started & self.count.any(), "a sequence starts over outstanding batches"),
            Cover(was_stalled & decision.ready, "a stalled decision is taken"),
            Cover(was_drafted & self.drafted & answer, "drafts are taken in adjacent cycles"),
        ]


class Training(EdcProperties):
    """The PHT, seen at its write port, with any one batch and any one entry followed."""

    def check(self, m: Module) -> None:
        """Remember the entry that predicted a batch, and what was last written into an entry."""
        super().check(m)
        params = self.unit.params
        write, trained, predicted = self.unit.pht_write, self.unit.pht_train, self.unit.pht_predict
        pick = self.free("pick", 1)
        followed = Signal()
        entry = Signal(params.index_width)
        ahead = Signal(params.llr_width + 1)
        due = Signal()
        m.d.comb += due.eq(followed & self.judged & ~ahead.any())
        m.d.pim += ahead.eq(ahead - self.judged)
        with m.If(self.started | self.rejected | due):
            m.d.pim += followed.eq(0)
        with m.If(self.drafted & pick & (~followed | self.rejected | due)):
            m.d.pim += [followed.eq(1), entry.eq(predicted.addr), ahead.eq(self.left)]

        clear_left = Signal(params.index_width + 1, init=params.pht_entries)
        clearing = clear_left.any()
        with m.If(self.cleared):
            m.d.pim += clear_left.eq(params.pht_entries)
        with m.Else():
            m.d.pim += clear_left.eq(clear_left - clearing)
        stalled = self.unit.decision.valid & ~self.unit.decision.ready

        flushed = Signal()  # until the first verdict on a younger batch
        flush_writes = Signal(2)
        m.d.pim += flush_writes.eq(Mux(self.rejected, 0, flush_writes) + write.en)
        with m.If(self.judged | self.cleared):
            m.d.pim += flushed.eq(self.rejected)

        watched = self.constant(m, "watched", params.index_width)
        counter = Signal(params.counter_width)
        counter_next = Signal(params.counter_width)
        m.d.comb += counter_next.eq(counter)
        with m.If(write.en & (write.addr == watched)):
            m.d.comb += counter_next.eq(write.data)
        m.d.pim += counter.eq(counter_next)
        was_read = self.past(m, self.drafted & (predicted.addr == watched))
        was_go = self.past(m, counter_next[-1])

        up = self.accepted & (trained.data != params.counter_max)
        down = self.rejected & trained.data.any()
        m.d.comb += [
            Assert(
                ~due | (write.en & (write.addr == entry)),
                "a verdict trains the entry that predicted its batch",
            ),
            Assert(
                ~self.judged
                | ((trained.addr == write.addr) & (write.data == trained.data + up - down)),
                "a verdict moves a counter by one and saturates; a void one leaves it",
            ),
            Assert(
                ~(self.judged & (trained.addr == watched)) | (trained.data == counter),
                "a verdict moves what was last written",
            ),
            Assert(
                ~(was_read & self.caused(Cause.PREDICTED))
                | (self.unit.decision.payload.go == was_go),
                "a prediction is the high bit of what was last written",
            ),
            Assert(
                ~flushed | (flush_writes == 1),
                "a flush trains exactly one entry",
            ),
            Assert(
                (write.en & ~clearing) == self.judged,
                "the PHT is written once a verdict, and else only by the clear",
            ),
            Assert(
                clearing == (~self.unit.command.ready & ~stalled),
                "after reset or its command the clear takes as many cycles as entries",
            ),
            Assert(
                ~clearing
                | (
                    write.en
                    & (write.addr == params.pht_entries - clear_left)
                    & (write.data == params.counter_reset)
                ),
                "the clear resets every entry",
            ),
            Cover(due & self.past(m, ahead.any()), "a followed batch had others ahead of it"),
            Cover(self.rejected & (self.count > 1), "a flush has batches to discard"),
            Cover(self.rejected & ~trained.data.any(), "a counter is at its least"),
            Cover(self.accepted & (trained.data == params.counter_max), "a counter is at its most"),
            Cover(~clearing & self.past(m, clearing), "a clear ends"),
        ]


class Releases(EdcProperties):
    """The held stop, seen at the ports alone."""

    def check(self, m: Module) -> None:
        """Follow the latest decision."""
        super().check(m)
        unit = self.unit
        stop = Signal()
        held = Signal()
        m.d.comb += stop.eq(Mux(unit.decision.valid, ~unit.decision.payload.go, held))
        m.d.pim += held.eq(stop & ~self.started)
        alone = stop & self.judged & ~self.drafted
        emptied = alone & ~self.rejected & ~self.left.any()
        waited = Signal(unit.params.llr_width + 1)
        m.d.pim += waited.eq(Mux(stop & ~self.drafted, waited + self.judged, 0))
        was_alone = self.past(m, alone)
        was_stalled = self.past(m, unit.decision.valid & ~unit.decision.ready)
        release = self.caused(Cause.EMPTY, Cause.REJECTED, Cause.RECHECKED)
        m.d.comb += [
            Assert(
                ~self.past(m, alone & self.rejected)
                | (self.caused(Cause.REJECTED) & unit.decision.payload.go),
                "a rejection releases a held stop one cycle later",
            ),
            Assert(
                ~self.past(m, emptied) | (self.caused(Cause.EMPTY) & unit.decision.payload.go),
                "the last verdict, if no rejection, releases a held stop one cycle later",
            ),
            Assert(
                ~release | (unit.decision.payload.go & (was_alone | was_stalled)),
                "a release is a go, after a verdict on a held stop",
            ),
            Assert(~stop | self.count.any(), "a held stop has a batch outstanding"),
            Assert(
                ~stop | (waited + self.count <= unit.params.max_outstanding),
                "a stop is held for fewer verdicts than the maximum of LLR",
            ),
            *(
                Cover(self.caused(cause), f"a stop is released as {cause.name}")
                for cause in (Cause.EMPTY, Cause.REJECTED, Cause.RECHECKED)
            ),
            Cover(self.caused(Cause.EXPLORED), "a stop is explored"),
            Cover(stop & waited.any(), "a stop is held over a verdict"),
        ]


PROOFS = (
    Proof(
        properties=Ports,
        configuration="paper",
        cover_configuration="test",
        cover_depth=24,
    ),
    Proof(properties=Quiescence, configuration="paper", cover_configuration="test", cover_depth=24),
    Proof(properties=Training, configuration="test", cover_depth=30),
    Proof(properties=Releases, configuration="test", cover_depth=30),
)
