# SPDX-License-Identifier: Apache-2.0
"""The PIM half of the queue controllers, one clock domain."""

from amaranth.hdl import DomainRenamer, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from ahasd.rtl.queues import layouts
from ahasd.rtl.queues.params import Event, Kind, QueuesParams


class PimSide(wiring.Component):
    """Check and count words on their way in, follow the epoch, acknowledge flushes.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    words : stream of word, out
        Into the draft FIFO.
    entries : stream of feedback, in
        Out of the feedback FIFO.
    freed, popped : in
        Batches and tokens that have left the draft queue, modulo their widths.
    """

    batch_in: stream.Interface
    words: stream.Interface
    entries: stream.Interface
    feedback_out: stream.Interface
    preverify_in: stream.Interface
    preverify_out: stream.Interface
    freed: Signal
    popped: Signal
    credits: Signal
    waiting_tokens: Signal
    epoch: Signal
    bad_word: Signal
    idle: Signal

    def __init__(self, params: QueuesParams) -> None:
        self.params = params
        word = layouts.word(params)
        entry = layouts.feedback(params)
        task = layouts.preverify(params)
        super().__init__(
            {
                "batch_in": In(stream.Signature(word)),
                "words": Out(stream.Signature(word)),
                "entries": In(stream.Signature(entry)),
                "feedback_out": Out(stream.Signature(entry)),
                "preverify_in": In(stream.Signature(task)),
                "preverify_out": Out(stream.Signature(task)),
                "freed": In(params.credit_width),
                "popped": In(params.waiting_width),
                "credits": Out(params.credit_width),
                "waiting_tokens": Out(params.waiting_width),
                "epoch": Out(params.epoch_width),
                "bad_word": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        params = self.params
        m = Module()
        ack_pending = Signal()
        self._follow_epoch(m, ack_pending)
        self._take_words(m, ack_pending)
        waiting = self._queue_tasks(m)
        m.d.comb += self.idle.eq(~self.entries.valid & ~ack_pending & ~waiting)
        occupied = Signal(params.credit_width)
        m.d.comb += [
            occupied.eq(self._pushed - self.freed),
            self.credits.eq(params.draft_batches - occupied),
        ]
        m.d.comb += self.waiting_tokens.eq(self._pushed_tokens - self.popped)
        return m

    def _follow_epoch(self, m: Module, ack_pending: Signal) -> None:
        """Deliver feedback of this epoch; a rejection ends it."""
        entry = self.entries.payload
        current = Signal()
        rejects = Signal()
        m.d.comb += [
            current.eq(entry.epoch == self.epoch),
            rejects.eq(
                (entry.report.event == Event.VERDICT) & ~entry.report.full & ~entry.report.void
            ),
            self.feedback_out.payload.eq(entry),
            self.feedback_out.valid.eq(self.entries.valid & current),
            self.entries.ready.eq(self.feedback_out.ready | ~current),
        ]
        with m.If(self.feedback_out.valid & self.feedback_out.ready & rejects):
            m.d.pim += [self.epoch.eq(self.epoch + 1), ack_pending.eq(1)]

    def _take_words(self, m: Module, ack_pending: Signal) -> None:
        """Let whole batches and cuts of this epoch pass, an acknowledge between them."""
        params = self.params
        word = self.batch_in.payload
        left = Signal(params.length_width)  # tokens to come of the batch under way
        dropping = Signal()
        self._pushed = pushed = Signal(params.credit_width)
        self._pushed_tokens = pushed_tokens = Signal(params.waiting_width)

        stale = Signal()
        good = Signal()
        passes = Signal()
        has_credit = Signal()
        m.d.comb += [
            stale.eq(word.epoch != self.epoch),
            has_credit.eq(self.credits.any()),
        ]
        is_header = word.kind == Kind.HEADER
        is_token = word.kind == Kind.TOKEN
        with m.If(is_header):
            m.d.comb += [
                good.eq(
                    ~left.any()
                    & word.body.info.length.any()
                    & (word.body.info.length <= params.batch_tokens)
                ),
                passes.eq(good & ~stale),
            ]
        with m.Elif(is_token):
            m.d.comb += [good.eq(left.any()), passes.eq(good & ~dropping)]
        with m.Elif(word.kind == Kind.CUT):
            m.d.comb += [good.eq(~left.any()), passes.eq(good & ~stale)]

        acknowledges = Signal()
        may_enter = Signal()
        m.d.comb += [
            acknowledges.eq(ack_pending & ~left.any()),
            may_enter.eq(~acknowledges & (~is_header | has_credit)),
            self.words.payload.eq(word),
            self.words.valid.eq(acknowledges | (self.batch_in.valid & passes & may_enter)),
            self.batch_in.ready.eq(~passes | (may_enter & self.words.ready)),
        ]
        with m.If(acknowledges):
            m.d.comb += [
                self.words.payload.as_value().eq(0),
                self.words.payload.kind.eq(Kind.ACK),
                self.words.payload.epoch.eq(self.epoch),
            ]
            with m.If(self.words.ready):
                m.d.pim += ack_pending.eq(0)

        with m.If(self.batch_in.valid & self.batch_in.ready):
            with m.If(~good):
                m.d.pim += self.bad_word.eq(1)
            with m.Elif(is_header):
                m.d.pim += [left.eq(word.body.info.length), dropping.eq(stale)]
                with m.If(passes):
                    m.d.pim += pushed.eq(pushed + 1)
            with m.Elif(is_token):
                m.d.pim += left.eq(left - 1)
                with m.If(passes):
                    m.d.pim += pushed_tokens.eq(pushed_tokens + 1)

    def _queue_tasks(self, m: Module) -> Signal:
        """Queue pre-verifications; drop at the output what is of another epoch."""
        params = self.params
        shape = layouts.preverify(params)
        fifo = SyncFIFO(width=shape.size, depth=params.preverify_entries)
        m.submodules.preverify = DomainRenamer("pim")(fifo)
        task = Signal(shape)
        current = Signal()
        m.d.comb += [
            fifo.w_data.eq(self.preverify_in.payload),
            fifo.w_en.eq(self.preverify_in.valid),
            self.preverify_in.ready.eq(fifo.w_rdy),
            task.eq(fifo.r_data),
            current.eq(task.epoch == self.epoch),
            self.preverify_out.payload.eq(task),
            self.preverify_out.valid.eq(fifo.r_rdy & current),
            fifo.r_en.eq(fifo.r_rdy & (self.preverify_out.ready | ~current)),
        ]
        return fifo.r_rdy
