# SPDX-License-Identifier: Apache-2.0
"""The NPU half of the queue controllers, one clock domain."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.queues import layouts
from ahasd.rtl.queues.params import Event, Kind, QueuesParams


class NpuSide(wiring.Component):
    """Deliver batches of this epoch, drop others, stamp feedback, end epochs.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    words : stream of word, in
        Out of the draft FIFO.
    entries : stream of feedback, out
        Into the feedback FIFO.
    freed, popped : out
        Batches and tokens that have left the draft queue, modulo their widths.
    """

    words: stream.Interface
    batch_out: stream.Interface
    feedback_in: stream.Interface
    entries: stream.Interface
    freed: Signal
    popped: Signal
    epoch: Signal
    flushing: Signal
    idle: Signal

    def __init__(self, params: QueuesParams) -> None:
        self.params = params
        word = layouts.word(params)
        super().__init__(
            {
                "words": In(stream.Signature(word)),
                "batch_out": Out(stream.Signature(word)),
                "feedback_in": In(stream.Signature(layouts.report(params))),
                "entries": Out(stream.Signature(layouts.feedback(params))),
                "freed": Out(params.credit_width),
                "popped": Out(params.waiting_width),
                "epoch": Out(params.epoch_width),
                "flushing": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        self._deliver(m)
        self._return(m)
        m.d.comb += self.idle.eq(~self.words.valid)
        return m

    def _deliver(self, m: Module) -> None:
        """Decide at the header, once for the whole batch."""
        params = self.params
        word = self.words.payload
        left = Signal(params.length_width)  # tokens to come of the batch under way
        dropping = Signal()
        held = Signal()  # shown and not taken: it must stay, whatever the epoch does
        fresh = Signal()
        delivers = Signal()
        m.d.comb += fresh.eq(held | (word.epoch == self.epoch))
        is_header = word.kind == Kind.HEADER
        is_token = word.kind == Kind.TOKEN
        is_ack = word.kind == Kind.ACK
        with m.If(is_token):
            m.d.comb += delivers.eq(~dropping)
        with m.Elif(~is_ack):
            m.d.comb += delivers.eq(fresh)
        m.d.comb += [
            self.batch_out.payload.eq(word),
            self.batch_out.valid.eq(self.words.valid & delivers),
            self.words.ready.eq(self.batch_out.ready | ~delivers),
        ]
        m.d.npu += held.eq(self.batch_out.valid & ~self.batch_out.ready)
        with m.If(self.words.valid & self.words.ready):
            with m.If(is_header):
                m.d.npu += [left.eq(word.body.info.length), dropping.eq(~fresh)]
            with m.Elif(is_token):
                m.d.npu += [left.eq(left - 1), self.popped.eq(self.popped + 1)]
                with m.If(~left[1:].any()):
                    m.d.npu += self.freed.eq(self.freed + 1)
            with m.Elif(is_ack):
                m.d.npu += self.flushing.eq(0)

    def _return(self, m: Module) -> None:
        """Pass feedback on with the epoch; a rejection ends it when the last one is settled."""
        report = self.feedback_in.payload
        rejects = Signal()
        may_enter = Signal()
        m.d.comb += [
            rejects.eq((report.event == Event.VERDICT) & ~report.full & ~report.void),
            may_enter.eq(~(rejects & self.flushing)),
            self.entries.payload.report.eq(report),
            self.entries.payload.epoch.eq(self.epoch),
            self.entries.valid.eq(self.feedback_in.valid & may_enter),
            self.feedback_in.ready.eq(self.entries.ready & may_enter),
        ]
        with m.If(self.feedback_in.valid & self.feedback_in.ready & rejects):
            m.d.npu += [self.epoch.eq(self.epoch + 1), self.flushing.eq(1)]
