# SPDX-License-Identifier: Apache-2.0
"""What is proved of the queue controllers.

The asynchronous memories are proved to be queues whatever surrounds them (`Crossing`), and each
side to do its part whatever the other does (`Admission`, `Delivery`, `Tasks`). `Delivery`, `Epochs`
and `Credits` assume of what leaves a memory what is proved of what enters it, which `Crossing`
carries over; `Admission` and `Delivery` assume of epochs what `Epochs` proves. `Flushes` and
`Settling` look at everything at once. Nothing goes in a circle: `Crossing` and `Flushes` assume
nothing, `Epochs` rests on these, `Admission` on `Epochs`, `Delivery` and `Credits` on all of them.

So a word or entry that is accepted is delivered once, in order, unchanged, or it is dropped with
its batch because its epoch has ended; and it is, as long as the receiver is ready and both clocks
run: two edges of the reader bring it on offer behind those before it, and each of those holds it
up for one edge.
"""

from functools import partial
from typing import Any

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import stream

from ahasd.rtl.lib.properties import Proof, Properties, Settling
from ahasd.rtl.queues.params import Event, Kind, QueuesParams
from ahasd.rtl.queues.unit import QueuesUnit


def rejects(report: Any) -> Value:
    """Tell whether an entry of the feedback queue ends the epoch."""
    return Value.cast((report.event == Event.VERDICT) & ~report.full & ~report.void)


class Grammar:
    """Whether the words of a stream are batches with cuts and acknowledges between them.

    Attributes
    ----------
    left
        Tokens to come of the batch under way.
    legal
        The word on offer is in its place.
    ends
        It is the last of a batch.
    """

    def __init__(
        self, m: Module, words: stream.Interface, params: QueuesParams, moved: Value, domain: str
    ) -> None:
        word = words.payload
        self.header, self.token = word.kind == Kind.HEADER, word.kind == Kind.TOKEN
        self.ack = word.kind == Kind.ACK
        self.left = Signal(params.length_width)
        self.legal, self.ends = Signal(), Signal()
        length = word.body.info.length
        possible = ~self.header | (length.any() & (length <= params.batch_tokens))
        m.d.comb += [
            self.legal.eq(Mux(self.token, self.left.any(), ~self.left.any() & possible)),
            self.ends.eq(self.token & (self.left == 1)),
        ]
        with m.If(moved & self.legal & self.header):
            m.d[domain] += self.left.eq(length)
        with m.If(moved & self.legal & self.token):
            m.d[domain] += self.left.eq(self.left - 1)


class Crossing(Properties):
    """Both queues between the clock domains, between what enters and what leaves the memory."""

    unit: QueuesUnit

    def check(self, m: Module) -> None:
        """Count words on both sides; follow those of any one number."""
        unit = self.unit
        depth = unit.params.draft_words
        self._cross(m, "draft queue", unit.pim_side.words, "pim", unit.npu_side.words, "npu", depth)
        depth = unit.params.feedback_entries
        self._cross(
            m, "feedback queue", unit.npu_side.entries, "npu", unit.pim_side.entries, "pim", depth
        )

    def _cross(
        self,
        m: Module,
        name: str,
        source: stream.Interface,
        write: str,
        sink: stream.Interface,
        read: str,
        depth: int,
    ) -> None:
        for value in (source.valid, source.payload, sink.ready):
            self.cut(m, value)
        sent, got = Signal(range(2 * depth)), Signal(range(2 * depth))
        held = Signal(range(2 * depth))
        m.d.comb += held.eq(sent - got)
        known_sent = self.past(m, self.past(m, sent, read), read)
        known_got = self.past(m, self.past(m, got, write), write)
        index = self.constant(m, f"index_{write}", len(sent), write)
        payload = Signal(len(Value.cast(source.payload)))
        m.d[write] += sent.eq(sent + self.transfer(source))
        m.d[read] += got.eq(got + self.transfer(sink))
        with m.If(self.transfer(source) & (sent == index)):
            m.d[write] += payload.eq(source.payload)
        m.d.comb += [
            Assert(held <= depth, f"{name}: it holds no more than its depth"),
            Assert(
                sink.valid == (known_sent != got),
                f"{name}: what entered two edges of the reader ago is on offer, and no more",
            ),
            Assert(
                source.ready == ((sent - known_got)[: len(sent)] != depth),
                f"{name}: there is room but for what had not left two edges of the writer ago",
            ),
            *(
                Assert(
                    ~(sink.valid & (got == index)) | (Value.cast(sink.payload)[i] == payload[i]),
                    f"{name}: what enters leaves once, in its place, unchanged",
                )
                for i in range(len(payload))
            ),
            Cover(held == depth, f"{name}: it is full"),
            Cover((got == index) & self.past(m, got.all(), read), f"{name}: numbers start again"),
        ]


class Admission(Properties):
    """The PIM's half alone: what enters the draft queue, and what feedback does."""

    unit: QueuesUnit

    def check(self, m: Module) -> None:
        """Judge every word that comes; count batches, epochs and acknowledges."""
        params, unit = self.unit.params, self.unit.pim_side
        inputs = (unit.words.ready, unit.entries.valid, unit.entries.payload)
        for value in (*inputs, unit.freed, unit.popped):
            self.cut(m, value)
        taken, sent = self.transfer(unit.batch_in), self.transfer(unit.words)
        came = Grammar(m, unit.batch_in, params, taken, "pim")
        went = Grammar(m, unit.words, params, sent, "pim")
        word = unit.batch_in.payload
        current, of_epoch, good, enters = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            current.eq(Mux(came.token, of_epoch, word.epoch == unit.epoch)),
            good.eq(came.legal & ~came.ack),
            enters.eq(taken & good & current),
        ]
        with m.If(taken & came.header & good):
            m.d.pim += of_epoch.eq(current)
        is_bad = Signal()
        with m.If(taken & ~good):
            m.d.pim += is_bad.eq(1)
        batches = Signal(params.credit_width)
        tokens = Signal(params.waiting_width)
        m.d.pim += [
            batches.eq(batches + (enters & came.header)),
            tokens.eq(tokens + (enters & came.token)),
        ]
        ends = self.transfer(unit.feedback_out) & rejects(unit.feedback_out.payload.report)
        epoch, due = Signal(params.epoch_width), Signal()
        m.d.pim += epoch.eq(epoch + ends)
        with m.If(ends):
            m.d.pim += due.eq(1)
        with m.Elif(sent & went.ack):
            m.d.pim += due.eq(0)
        m.d.comb += Assume(~(ends & due), "no epoch ends while an acknowledge is due")
        entry = unit.entries.payload
        m.d.comb += [
            Assert(
                enters == (sent & ~went.ack),
                "words of this epoch and in their place enter the draft queue, no others",
            ),
            Assert(
                ~enters | (Value.cast(unit.words.payload) == Value.cast(word)),
                "a word enters the draft queue unchanged",
            ),
            Assert(
                ~unit.words.valid | went.legal,
                "the draft queue gets batches, and cuts and acknowledges between them",
            ),
            Assert(
                unit.bad_word == is_bad,
                "bad_word tells that a word came that is no part of a batch",
            ),
            Assert(
                ~(sent & went.header) | unit.credits.any(), "a header enters only with a credit"
            ),
            Assert(
                unit.credits == (params.draft_batches - batches + unit.freed)[: len(batches)],
                "credits are the depth less the batches that entered and are not known to be freed",
            ),
            Assert(
                unit.waiting_tokens == (tokens - unit.popped)[: len(tokens)],
                "waiting_tokens are the tokens that entered and are not known to have left",
            ),
            Assert(
                ~(unit.words.valid & went.ack) | (due & (unit.words.payload.epoch == unit.epoch)),
                "an acknowledge answers the end of an epoch and names the next",
            ),
            Assert(
                ~due | came.left.any() | (unit.words.valid & went.ack),
                "an acknowledge that is due waits for the end of a batch alone",
            ),
            Assert(unit.epoch == epoch, "a rejection that is delivered ends the PIM's epoch"),
            Assert(
                unit.feedback_out.valid == (unit.entries.valid & (entry.epoch == unit.epoch)),
                "feedback is delivered if it is of this epoch, whatever the draft queue does",
            ),
            Cover(due & came.left.any(), "an epoch ends within a batch"),
            Cover(taken & came.header & good & ~current, "a batch of another epoch is dropped"),
            Cover(is_bad & enters, "a word enters after a bad one"),
            Cover(unit.batch_in.valid & came.header & ~unit.credits.any(), "credits are used up"),
        ]


class Delivery(Properties):
    """The NPU's half alone: what leaves the draft queue, and what feedback enters its own."""

    unit: QueuesUnit

    def check(self, m: Module) -> None:
        """Follow batches from their header to their last token."""
        params, unit = self.unit.params, self.unit.npu_side
        for value in (unit.words.valid, unit.words.payload, unit.entries.ready):
            self.cut(m, value)
        popped, delivered = self.transfer(unit.words), self.transfer(unit.batch_out)
        came = Grammar(m, unit.words, params, popped, "npu")
        went = Grammar(m, unit.batch_out, params, delivered, "npu")
        word = unit.words.payload
        wanted, chosen, old = Signal(), Signal(), Signal()
        of_epoch = Signal(params.epoch_width)
        was_shown = self.past(m, unit.batch_out.valid & ~unit.batch_out.ready, "npu")
        m.d.comb += wanted.eq(
            Mux(came.token, chosen, ~came.ack & (was_shown | (word.epoch == unit.epoch)))
        )
        with m.If(popped & came.header):
            m.d.npu += [chosen.eq(wanted), of_epoch.eq(word.epoch)]
        m.d.comb += old.eq(unit.batch_out.valid & came.token & (of_epoch != unit.epoch))
        freed, tokens = Signal(params.credit_width), Signal(params.waiting_width)
        m.d.npu += [
            freed.eq(freed + (popped & came.ends)),
            tokens.eq(tokens + (popped & came.token)),
        ]
        entered, ends = self.transfer(unit.feedback_in), Signal()
        m.d.comb += ends.eq(entered & rejects(unit.feedback_in.payload))
        epoch, open_flush = Signal(params.epoch_width), Signal()
        m.d.npu += epoch.eq(epoch + ends)
        with m.If(ends):
            m.d.npu += open_flush.eq(1)
        with m.Elif(popped & came.ack):
            m.d.npu += open_flush.eq(0)
        entry = unit.entries.payload
        m.d.comb += [
            Assume(~unit.words.valid | came.legal, "words come as batches, cuts, acknowledges"),
            Assume(self.stays(m, unit.words, "npu"), "a word that is not taken stays"),
            Assume(~(popped & came.ack) | unit.flushing, "only a flush is acknowledged"),
            Assert(
                ~unit.batch_out.valid | (went.legal & ~went.ack),
                "batches are delivered whole, with cuts between them, and no acknowledge",
            ),
            Assert(
                unit.batch_out.valid == (unit.words.valid & wanted),
                "a batch or cut is dropped if its epoch has ended before it is shown, and no other",
            ),
            Assert(
                ~delivered | (popped & (Value.cast(unit.batch_out.payload) == Value.cast(word))),
                "a word is delivered as it leaves, unchanged",
            ),
            Assert(
                self.stays(m, unit.batch_out, "npu"),
                "batch_out: an offer that is not taken stays, with its payload",
            ),
            Assert(
                ~unit.words.valid | wanted | unit.words.ready, "what is dropped holds nothing up"
            ),
            Assert(unit.freed == freed, "a slot is freed as the last token of its batch leaves"),
            Assert(unit.popped == tokens, "tokens that leave are counted"),
            Assert(unit.epoch == epoch, "a rejection that is taken ends the NPU's epoch"),
            Assert(
                unit.flushing == open_flush, "flushing lasts from a rejection to its acknowledge"
            ),
            Assert(~(ends & unit.flushing), "no rejection is taken while flushing"),
            Assert(
                (self.transfer(unit.entries) == entered)
                & (
                    ~entered
                    | (
                        (Value.cast(entry.report) == Value.cast(unit.feedback_in.payload))
                        & (entry.epoch == unit.epoch)
                    )
                ),
                "feedback enters its queue as it is taken, unchanged, with the epoch",
            ),
            Assert(
                ~old | unit.flushing,
                "no token of an older epoch is shown after its flush is acknowledged",
            ),
            Cover(old, "a token of an older epoch is still shown"),
            Cover(popped & came.ends & ~wanted, "a batch has been dropped"),
            Cover(
                popped & came.ack & self.past(m, delivered, "npu"), "an acknowledge ends a flush"
            ),
        ]


class Flushes(Properties):
    """What is of an older epoch, at the pins of the whole unit."""

    unit: QueuesUnit

    def check(self, m: Module) -> None:
        """Look at the heads of both queues."""
        unit = self.unit
        word = unit.batch_out.payload
        old = Signal()
        m.d.comb += [
            old.eq(
                unit.batch_out.valid & (word.kind != Kind.TOKEN) & (word.epoch != unit.epoch_npu)
            ),
            Assert(
                ~old | unit.flushing,
                "no header or cut of an older epoch is shown after its flush is acknowledged",
            ),
            Assert(
                ~unit.pim_side.entries.valid
                | (unit.pim_side.entries.payload.epoch == unit.epoch_pim),
                "no feedback is dropped: what leaves its queue is of the PIM's epoch",
            ),
            Cover(old, "a header of an older epoch is still shown"),
        ]


class Epochs(Properties):
    """The epochs of both sides, with the memories replaced by what is proved of them."""

    unit: QueuesUnit

    def check(self, m: Module) -> None:
        """Follow the rejection and the acknowledge of the only open flush."""
        unit, pim = self.unit, self.unit.pim_side
        rejected, acknowledged = Signal(), Signal()
        with m.If(self.transfer(pim.entries) & rejects(pim.entries.payload.report)):
            m.d.pim += rejected.eq(~rejected)
        with m.If(self.transfer(pim.words) & (pim.words.payload.kind == Kind.ACK)):
            m.d.pim += acknowledged.eq(~acknowledged)
        ends_in = self._one_at_a_time(
            m,
            "rejection",
            (unit.npu_side.entries, rejects(unit.npu_side.entries.payload.report), "npu"),
            (unit.pim_side.entries, rejects(unit.pim_side.entries.payload.report), "pim"),
            unit.params.feedback_entries,
        )
        ack_in = self._one_at_a_time(
            m,
            "acknowledge",
            (unit.pim_side.words, unit.pim_side.words.payload.kind == Kind.ACK, "pim"),
            (unit.npu_side.words, unit.npu_side.words.payload.kind == Kind.ACK, "npu"),
            unit.params.draft_words,
        )
        ahead = Signal(unit.params.epoch_width)
        m.d.comb += [
            ahead.eq(unit.epoch_npu - unit.epoch_pim),
            Assume(
                ~unit.pim_side.entries.valid
                | (unit.pim_side.entries.payload.epoch == unit.epoch_pim),
                "feedback is of the PIM's epoch",
            ),
            Assert(
                (ahead == 0) | ((ahead == 1) & unit.flushing),
                "the NPU is one epoch ahead of the PIM at most, and only while flushing",
            ),
            Assert(
                ~(self.transfer(pim.entries) & rejects(pim.entries.payload.report))
                | (rejected == acknowledged),
                "no epoch ends while an acknowledge is due",
            ),
            Assert(~ends_in | unit.flushing, "a rejection is on its way only while flushing"),
            Assert(
                ~ack_in | (unit.flushing & (ahead == 0)),
                "an acknowledge is on its way only while flushing, and in the new epoch",
            ),
            Cover(ahead == 1, "the NPU is an epoch ahead"),
            Cover(ack_in, "an acknowledge is on its way"),
            Cover(unit.epoch_npu.all() & ~unit.flushing, "epochs have ended and are acknowledged"),
        ]

    def _one_at_a_time(
        self,
        m: Module,
        name: str,
        source: tuple[stream.Interface, Value, str],
        sink: tuple[stream.Interface, Value, str],
        depth: int,
    ) -> Value:
        """Cut a memory away but for the place of one kind of entry; tell if there is one."""
        (inlet, goes_in, write), (outlet, comes_out, read) = source, sink
        for value in (inlet.ready, outlet.valid, outlet.payload):
            self.cut(m, value)
        sent, got, at = (Signal(range(2 * depth)) for _ in range(3))
        count_in, count_out, inside = Signal(), Signal(), Signal()
        m.d[write] += sent.eq(sent + self.transfer(inlet))
        m.d[read] += got.eq(got + self.transfer(outlet))
        m.d.comb += inside.eq(count_in != count_out)
        with m.If(self.transfer(inlet) & goes_in):
            m.d[write] += [at.eq(sent), count_in.eq(~count_in)]
        with m.If(self.transfer(outlet) & comes_out):
            m.d[read] += count_out.eq(~count_out)
        m.d.comb += [
            Assume(sent - got <= depth, f"{name}: its queue holds no more than its depth"),
            Assume(~outlet.valid | (sent != got), f"{name}: its queue is not empty if it offers"),
            Assume(
                ~outlet.valid | (comes_out == (inside & (got == at))),
                f"{name}: it leaves its queue in its place",
            ),
            Assert(~(self.transfer(inlet) & goes_in) | ~inside, f"{name}: there is one at a time"),
        ]
        return inside


class Credits(Properties):
    """Credits of the whole unit, with the draft queue's memory replaced by what is proved of it."""

    unit: QueuesUnit

    def check(self, m: Module) -> None:
        """Count batches that enter, that leave, and what the PIM knows of those."""
        unit = self.unit
        params = unit.params
        sent, popped = self.transfer(unit.pim_side.words), self.transfer(unit.npu_side.words)
        for value in (
            unit.pim_side.words.ready,
            unit.npu_side.words.valid,
            unit.npu_side.words.payload,
        ):
            self.cut(m, value)
        came = Grammar(m, unit.pim_side.words, params, sent, "pim")
        went = Grammar(m, unit.npu_side.words, params, popped, "npu")
        entered, begun, freed = (Signal(params.credit_width) for _ in range(3))
        m.d.pim += entered.eq(entered + (sent & came.header))
        m.d.npu += [
            begun.eq(begun + (popped & went.header)),
            freed.eq(freed + (popped & went.ends)),
        ]
        known = self.past(m, self.past(m, self.past(m, freed, "npu"), "pim"), "pim")
        width = params.credit_width
        queued = Signal(width)  # those under way on either side count
        m.d.comb += [
            queued.eq(entered - freed),
            Assume(~unit.npu_side.words.valid | went.legal, "words leave as they entered"),
            Assume(
                ~(unit.npu_side.words.valid & went.header) | (entered != begun),
                "no header leaves that did not enter",
            ),
            Assert(unit.credits <= params.draft_batches, "credits never exceed the depth"),
            Assert(queued <= params.draft_batches, "no more batches are queued than the depth"),
            Assert(
                unit.credits + queued <= params.draft_batches,
                "credits and queued batches never exceed the depth",
            ),
            Assert(
                unit.credits + ((entered - known)[:width]) == params.draft_batches,
                "credits and batches queued or on their way back as credits are the depth",
            ),
            Cover(~unit.credits.any(), "credits are used up"),
            Cover(known.any() & (unit.credits == params.draft_batches), "all credits are back"),
        ]


class Tasks(Properties):
    """The pre-verification queue, in the PIM's half alone."""

    unit: QueuesUnit

    def check(self, m: Module) -> None:
        """Follow every task of one number."""
        unit = self.unit.pim_side
        self.cut(m, unit.entries.valid)
        self.cut(m, unit.entries.payload)
        depth = unit.params.preverify_entries
        source, sink = unit.preverify_in, unit.preverify_out
        width = (2 * depth - 1).bit_length()
        sent, got, held = Signal(width), Signal(width), Signal(width)
        index = self.constant(m, "index", width)
        task = Signal(len(Value.cast(source.payload)))
        current, leaves = Signal(), Signal()
        m.d.comb += [
            held.eq(sent - got),
            current.eq(sink.payload.epoch == unit.epoch),
            leaves.eq(held.any() & (sink.ready | ~current)),
        ]
        m.d.pim += [sent.eq(sent + self.transfer(source)), got.eq(got + leaves)]
        with m.If(self.transfer(source) & (sent == index)):
            m.d.pim += task.eq(source.payload)
        m.d.comb += [
            Assert(source.ready == (held != depth), "tasks are taken unless the queue is full"),
            Assert(
                sink.valid == (held.any() & current),
                "tasks of this epoch are offered at once, others are dropped",
            ),
            *(
                Assert(
                    ~(held.any() & (got == index)) | (Value.cast(sink.payload)[i] == task[i]),
                    "what enters leaves the pre-verification queue once, in its place, unchanged",
                )
                for i in range(len(task))
            ),
            Cover(held == depth, "the pre-verification queue is full"),
            Cover(held.any() & ~current, "a task is dropped"),
        ]


INPUTS = {"pim": ("batch_in", "preverify_in"), "npu": ("feedback_in",)}

ROUNDS = 4
"""The fewest after which nothing moves: two stages of a synchroniser, and two registers behind."""

PROOFS = (
    Proof(properties=Crossing, configuration="test", cover_depth=24),
    Proof(properties=Admission, configuration="test", cover_depth=24),
    Proof(properties=Delivery, configuration="test", cover_depth=24),
    Proof(properties=Flushes, configuration="test", cover_depth=24),
    Proof(properties=Epochs, configuration="test", cover_depth=24),
    Proof(properties=Credits, configuration="test", cover_depth=24),
    Proof(properties=Tasks, configuration="test", cover_depth=24),
    Proof(
        properties=partial(Settling, inputs=INPUTS, rounds=ROUNDS),
        configuration="test",
        cover_depth=24,
    ),
)
