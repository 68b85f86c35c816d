# SPDX-License-Identifier: Apache-2.0
"""What is proved of the top.

What the top itself adds is proved with its units cut off, so that they may do anything that their
own proofs allow: `Batches`, `Feedback` and `Commands` assume only that an offer of a unit stays,
and that the EDC speaks when it was asked. `Outstanding` has the EDC in place. Together with the
proofs of the units: a batch that is complete is dropped because its epoch has ended, or the EDC
decides once and the batch enters the draft queue, whole and unchanged; and the EDC counts exactly
those that entered and were not judged.

`Settling` cuts nothing off and assumes nothing: the whole top, with all its units, comes to rest.
"""

from functools import partial
from typing import Any

from amaranth.hdl import Assert, Assume, Cover, Module, Signal, Value

from ahasd.rtl.ahasd.params import State
from ahasd.rtl.ahasd.unit import AhasdUnit
from ahasd.rtl.edc.params import Cause
from ahasd.rtl.lib.properties import Proof, Properties, Settling
from ahasd.rtl.queues.params import Event, Kind

FEEDBACK_CYCLES = 5
"""Cycles within which feedback is taken, while units, sequencer and decisions are."""


def answers(payload: Any) -> Value:
    """Tell whether a decision answers a batch; others release a stop."""
    return Value.cast((payload.cause == Cause.PREDICTED) | (payload.cause == Cause.EXPLORED))


class _Cut(Properties):
    """The top with some of its units cut off."""

    unit: AhasdUnit

    def cut_queues(self, m: Module) -> None:
        """Let the queues do anything; feedback that they offer stays."""
        queues = self.unit.queues
        for value in (
            queues.batch_in.ready,
            queues.credits,
            queues.epoch_pim,
            queues.feedback_out.valid,
            queues.feedback_out.payload,
        ):
            self.cut(m, value)
        m.d.comb += Assume(self.stays(m, queues.feedback_out), "feedback that is not taken stays")

    def cut_edc(self, m: Module) -> None:
        """Let the EDC answer what it was asked, whenever and whatever it likes."""
        edc = self.unit.edc
        for value in (
            edc.draft.ready,
            edc.verdict.ready,
            edc.decision.valid,
            edc.decision.payload,
            edc.outstanding,
        ):
            self.cut(m, value)
        asked = self.transfer(edc.draft)
        given = self.transfer(edc.decision) & answers(edc.decision.payload)
        due = Signal()
        m.d.pim += due.eq((due & ~given) | asked)
        left = self.past(m, edc.decision.valid & ~edc.decision.ready)
        told = self.past(m, asked | self.transfer(edc.verdict))
        m.d.comb += [
            Assume(self.stays(m, edc.decision), "a decision that is not taken stays"),
            Assume(~edc.decision.valid | left | told, "the EDC speaks when it was told something"),
            Assume(
                ~edc.decision.valid | (answers(edc.decision.payload) == due),
                "the EDC answers what it was asked, once, and says nothing else before",
            ),
            Assume(~asked | ~edc.decision.valid | edc.decision.ready, "it keeps one decision"),
        ]

    def cut_registers(self, m: Module) -> None:
        """Let the control registers be anything, and the TVC take its events or not."""
        self.cut(m, self.unit.host.control)
        self.cut(m, self.unit.tvc.npu.ready)


class Batches(_Cut):
    """The way of a batch, from the sequencer's words to the draft queue's."""

    def check(self, m: Module) -> None:
        """Follow one batch at a time, and one of its tokens."""
        unit, params = self.unit, self.unit.params.queues
        self.cut_queues(m)
        self.cut_edc(m)
        self.cut_registers(m)
        given, sent = unit.draft.payload.word, unit.queues.batch_in.payload
        taken, pushed = self.transfer(unit.draft), self.transfer(unit.queues.batch_in)
        decided = self.transfer(unit.decision) & answers(unit.decision.payload)
        length = given.body.info.length

        left, index, number = (Signal(params.length_width + 1) for _ in range(3))
        chosen = self.constant(m, "chosen", params.length_width)
        header = Signal(len(Value.cast(given)))
        token = Signal(params.token_width)
        is_token = given.kind == Kind.TOKEN
        starts, legal, completes = Signal(), Signal(), Signal()
        m.d.comb += [
            starts.eq((given.kind == Kind.HEADER) & ~left.any() & length.any()),
            legal.eq(is_token & left.any()),
            completes.eq(taken & legal & (left == 1)),
        ]
        good_start = starts & (length <= params.batch_tokens)
        cut = (given.kind == Kind.CUT) & ~left.any()
        with m.If(taken & good_start):
            m.d.pim += [left.eq(length), index.eq(0), header.eq(given)]
        with m.Elif(taken & legal):
            m.d.pim += [left.eq(left - 1), index.eq(index + 1)]
            with m.If(index == chosen):
                m.d.pim += token.eq(given.body.token)
        with m.Elif(taken):
            m.d.pim += [left.eq(0), header.eq(given)]

        pending, granted, alone, bad = Signal(), Signal(), Signal(), Signal()
        ended = Signal()  # it is dropped before it is offered
        m.d.comb += ended.eq(pending & (unit.state == State.COLLECT))
        m.d.pim += [
            pending.eq((pending & ~decided & ~ended) | completes),
            granted.eq((granted & ~pushed) | decided),
            alone.eq((alone & ~pushed) | (taken & cut)),
            bad.eq((bad & ~pushed) | (taken & ~good_start & ~legal & ~cut)),
        ]
        out = Signal(params.length_width + 1)
        is_header = sent.kind == Kind.HEADER
        with m.If(pushed & is_header):
            m.d.pim += [out.eq(sent.body.info.length), number.eq(0)]
        with m.Elif(pushed & (sent.kind == Kind.TOKEN)):
            m.d.pim += [out.eq(out - 1), number.eq(number + 1)]
        epoch = header[2 : 2 + params.epoch_width]
        was_fresh = self.past(m, epoch == unit.queues.epoch_pim)
        valid = unit.queues.batch_in.valid
        offered = unit.edc.draft.valid | (unit.state == State.AWAIT) | (unit.state == State.GRANT)
        m.d.comb += [
            Assert(~decided | pending, "no decision without a batch that is complete"),
            Assert(~(taken & pending & ~ended), "no word is taken while a batch waits"),
            Assert(~ended | ~was_fresh, "a batch is dropped only if its epoch has ended"),
            Assert(
                ~granted | (valid & is_header & (Value.cast(sent) == header)),
                "a batch that is granted enters the queue, its header unchanged",
            ),
            Assert(
                ~(valid & is_header) | granted, "no header enters the queue without its decision"
            ),
            Assert(
                ~(valid & (sent.kind == Kind.TOKEN)) | out.any(),
                "no token enters the queue without its header",
            ),
            Assert(
                ~out.any() | (valid & (sent.kind == Kind.TOKEN)),
                "a batch enters the queue whole, with nothing between its words",
            ),
            Assert(
                ~(valid & out.any() & (number == chosen)) | (sent.body.token == token),
                "a token enters the queue in its place, unchanged",
            ),
            Assert(
                ~alone | (valid & (Value.cast(sent) == header)), "a cut enters the queue, unchanged"
            ),
            Assert(
                bad == (valid & (sent.kind == Kind.ACK)),
                "a word out of place is given to the queue as an error, and nothing else is",
            ),
            Assert(~(offered & ~pending), "only a batch that is complete is offered to the EDC"),
            Assert(
                ~(offered & unit.feedback.valid),
                "no feedback is on offer between a batch's offer and its decision",
            ),
            Assert(self.stays(m, unit.feedback), "feedback: an offer that is not taken stays"),
            Assert(self.stays(m, unit.decision), "decision: an offer that is not taken stays"),
            Cover(ended, "a batch is dropped before the EDC"),
            Cover(pushed & (out == 1) & (number == 1), "a batch of two tokens is in the queue"),
            Cover(taken & left.any() & ~is_token, "a batch is cut short by a word out of place"),
            Cover(pushed & alone, "a cut enters"),
            Cover(granted & (unit.queues.epoch_pim != epoch), "an epoch ends after the grant"),
            Cover(
                unit.feedback.valid & pending & ~unit.feedback.ready, "feedback holds a batch up"
            ),
        ]


class Outstanding(_Cut):
    """The EDC, in the top, counts the batches that were granted and not judged.

    The host leaves the EDC on and starts no sequence meanwhile, and a verdict has its batch.
    """

    def check(self, m: Module) -> None:
        """Count decisions and verdicts at the pins."""
        unit = self.unit
        self.cut_queues(m)
        self.cut_registers(m)
        self.cut(m, unit.edc.command.valid)
        report = unit.feedback.payload.report
        judged = self.transfer(unit.feedback) & (report.event == Event.VERDICT)
        decided = self.transfer(unit.decision) & answers(unit.decision.payload)
        count = Signal(unit.params.edc.llr_width + 1)
        rejected = judged & ~report.void & ~report.full
        with m.If(rejected):
            m.d.pim += count.eq(0)
        with m.Else():
            m.d.pim += count.eq(count + decided - judged)
        asked = unit.state == State.AWAIT
        settled = ~unit.verdict.valid & (unit.state != State.OFFER)
        m.d.comb += [
            Assume(unit.host.control.edc_enable, "the EDC stays on"),
            Assume(~unit.edc.command.valid, "no command comes"),
            Assume(~judged | count.any(), "a verdict has its batch"),
            Assert(
                ~settled | (unit.edc.outstanding == count + asked),
                "what is outstanding are the batches that were granted and not judged",
            ),
            Assert(~unit.edc.orphan, "every verdict finds its batch in the EDC"),
            Assert(
                ~(asked & unit.edc.decision.valid) | answers(unit.edc.decision.payload),
                "the EDC answers what it was asked and says nothing else before",
            ),
            Cover(count == unit.params.edc.max_outstanding, "no more can be outstanding"),
            Cover(rejected & (count == 2), "two batches end with a rejection"),
        ]


class Feedback(_Cut):
    """Feedback is taken in time while the units take theirs, and the sequencer its own."""

    def check(self, m: Module) -> None:
        """Count the cycles that feedback waits; follow verdicts and events to their units."""
        unit = self.unit
        self.cut_queues(m)
        self.cut_edc(m)
        self.cut_registers(m)
        edc, came = unit.edc, unit.queues.feedback_out
        report = came.payload.report
        taken = self.transfer(came)
        judged = taken & (report.event == Event.VERDICT)
        goes = Signal()
        m.d.comb += goes.eq(
            edc.draft.ready
            & edc.verdict.ready
            & unit.tvc.npu.ready
            & unit.feedback.ready
            & unit.decision.ready
            & ((unit.state != State.AWAIT) | edc.decision.valid)
        )
        waited = Signal(range(FEEDBACK_CYCLES + 2))
        with m.If(taken | ~came.valid):
            m.d.pim += waited.eq(0)
        with m.Elif(goes & (waited <= FEEDBACK_CYCLES)):
            m.d.pim += waited.eq(waited + 1)
        verdict_due, event_due = Signal(), Signal()
        enabled = unit.host.control.edc_enable
        m.d.pim += [
            verdict_due.eq((verdict_due & ~edc.verdict.ready) | (judged & enabled)),
            event_due.eq(
                (event_due & ~unit.tvc.npu.ready)
                | (taken & ((report.event == Event.START) | report.last))
            ),
        ]
        m.d.comb += [
            Assert(
                taken == self.transfer(unit.feedback),
                "feedback is delivered as it leaves its queue",
            ),
            Assert(
                waited <= FEEDBACK_CYCLES,
                f"feedback is delivered within {FEEDBACK_CYCLES} cycles in which nobody stalls",
            ),
            Assert(
                edc.verdict.valid == verdict_due, "every verdict goes to the EDC that is on, once"
            ),
            Assert(
                unit.tvc.npu.valid == event_due,
                "every start of a pass goes to the TVC, and the last verdict as its end, once",
            ),
            Cover(waited == 2, "feedback waits"),
            Cover(verdict_due & event_due & ~goes, "both units stall"),
        ]


class Commands(_Cut):
    """The registers between the host interface and the units."""

    def check(self, m: Module) -> None:
        """Follow what goes in to where it comes out."""
        unit, host = self.unit, self.unit.host
        for name, source, sink in (
            ("EDC", host.edc_command, unit.edc.command),
            ("TVC", host.tvc_command, unit.tvc.command),
            ("GTSU", host.gtsu_command, unit.gtsu.command),
        ):
            for value in (source.valid, source.payload, sink.ready):
                self.cut(m, value)
            due = Signal(name=f"due_{name}")
            payload = Signal(len(Value.cast(source.payload)), name=f"payload_{name}")
            came, went = self.transfer(source), self.transfer(sink)
            m.d.pim += due.eq((due & ~went) | came)
            with m.If(came):
                m.d.pim += payload.eq(source.payload)
            m.d.comb += [
                Assert(
                    sink.valid == due,
                    f"{name}: a command is given as long as it is not taken, once",
                ),
                Assert(
                    ~due | (Value.cast(sink.payload) == payload), f"{name}: a command is unchanged"
                ),
                Assert(source.ready == ~due, f"{name}: a command is taken when none waits"),
                Cover(went & (payload == 1), f"{name}: its second command is given"),
            ]


INPUTS = {
    "pim": ("draft", "request", "task", "done", "measure"),
    "npu": ("aw", "w", "ar", "feedback_in"),
}

ROUNDS = 6
"""After which nothing moves; with fewer, the engine finds neither a proof nor a counterexample."""

PROOFS = (
    Proof(properties=Batches, configuration="test", cover_depth=16),
    Proof(properties=Outstanding, configuration="test", cover_depth=40),
    Proof(properties=Feedback, configuration="test", cover_depth=16),
    Proof(properties=Commands, configuration="test", cover_depth=12),
    Proof(
        properties=partial(Settling, inputs=INPUTS, rounds=ROUNDS),
        configuration="test",
        cover_depth=30,
    ),
)
