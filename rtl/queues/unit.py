# SPDX-License-Identifier: Apache-2.0
"""The queue controllers in Amaranth."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from ahasd.rtl.queues import layouts
from ahasd.rtl.queues.npu_side import NpuSide
from ahasd.rtl.queues.params import QueuesParams
from ahasd.rtl.queues.pim_side import PimSide


class QueuesUnit(wiring.Component):
    """Carry draft batches to the NPU, feedback back, and pre-verifications to the sequencer.

    Every sequence state has an epoch. A rejecting verdict on `feedback_in` ends the NPU's; the
    same entry ends the PIM's when it leaves `feedback_out`. Each side drops what is of another
    epoch. The PIM then sends an acknowledge down the draft queue; when it reaches the NPU side,
    nothing stale can follow, `flushing` falls, and the next rejecting verdict is taken.

    Batches are atomic: their words are delivered all or dropped all. A header that was shown on
    `batch_out` before its epoch ended is delivered with its batch, as a stream must; the receiver
    sees by its epoch that it is stale.

    Timing: a word needs one PIM cycle into the queue, two to three NPU cycles to cross, and no
    more; one word a cycle. The other direction likewise. Credits return the same way.

    Reset: both domains together, for 8 cycles of the slower clock, so that the synchronisers
    settle. Queues are emptied, epochs and counters cleared.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    batch_in : stream of word, in, pim
        A header and its tokens in one run, or a cut. A header stalls without a credit.
    batch_out : stream of word, out, npu
        The same words, in order, without those dropped.
    feedback_in : stream of report, in, npu
        Start of a pass, and verdicts, oldest batch first. A rejection (a verdict neither full nor
        void) stalls while `flushing`.
    feedback_out : stream of {report, epoch}, out, pim
        The same, in order.
    preverify_in, preverify_out : streams of preverify, pim
        Pre-verifications; those of another epoch are dropped at the output.
    credits : out, pim
        Batches that may be pushed.
    waiting_tokens : out, pim
        Tokens pushed and not yet taken by the NPU or dropped, as far as is known here.
    epoch_pim, epoch_npu : out
        Epoch of the sequence state on either side.
    flushing : out, npu
        A rejection is not acknowledged yet.
    bad_word : out, pim
        Error, sticky until reset: a word came that is no part of a batch (a token without header, a
        header within a batch or of an impossible length, an `ACK`); it was dropped.
    idle_pim, idle_npu : out
        With no input valid and synchronisers settled, an edge of that domain changes no state.
    """

    latency = 4
    interval = 1

    batch_in: stream.Interface
    batch_out: stream.Interface
    feedback_in: stream.Interface
    feedback_out: stream.Interface
    preverify_in: stream.Interface
    preverify_out: stream.Interface
    credits: Signal
    waiting_tokens: Signal
    epoch_pim: Signal
    epoch_npu: Signal
    flushing: Signal
    bad_word: Signal
    idle_pim: Signal
    idle_npu: Signal

    def __init__(self, params: QueuesParams) -> None:
        self.params = params
        word = layouts.word(params)
        task = layouts.preverify(params)
        super().__init__(
            {
                "batch_in": In(stream.Signature(word)),
                "batch_out": Out(stream.Signature(word)),
                "feedback_in": In(stream.Signature(layouts.report(params))),
                "feedback_out": Out(stream.Signature(layouts.feedback(params))),
                "preverify_in": In(stream.Signature(task)),
                "preverify_out": Out(stream.Signature(task)),
                "credits": Out(params.credit_width),
                "waiting_tokens": Out(params.waiting_width),
                "epoch_pim": Out(params.epoch_width),
                "epoch_npu": Out(params.epoch_width),
                "flushing": Out(1),
                "bad_word": Out(1),
                "idle_pim": Out(1),
                "idle_npu": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        params = self.params
        m = Module()
        m.submodules.pim_side = pim = PimSide(params)
        m.submodules.npu_side = npu = NpuSide(params)
        # Kept for the proofs (properties.py); no ports.
        self.pim_side, self.npu_side = pim, npu
        m.submodules.draft = draft = AsyncFIFO(
            width=layouts.word(params).size,
            depth=params.draft_words,
            w_domain="pim",
            r_domain="npu",
        )
        m.submodules.feedback = feedback = AsyncFIFO(
            width=layouts.feedback(params).size,
            depth=params.feedback_entries,
            w_domain="npu",
            r_domain="pim",
        )
        for fifo, source, sink in (
            (draft, pim.words, npu.words),
            (feedback, npu.entries, pim.entries),
        ):
            m.d.comb += [
                fifo.w_data.eq(source.payload),
                fifo.w_en.eq(source.valid),
                source.ready.eq(fifo.w_rdy),
                sink.payload.eq(fifo.r_data),
                sink.valid.eq(fifo.r_rdy),
                fifo.r_en.eq(sink.ready & fifo.r_rdy),
            ]
        for name in ("freed", "popped"):
            self._cross(m, name, getattr(npu, name), getattr(pim, name))

        connect(m, flipped(self.batch_in), pim.batch_in)
        connect(m, pim.feedback_out, flipped(self.feedback_out))
        connect(m, flipped(self.preverify_in), pim.preverify_in)
        connect(m, pim.preverify_out, flipped(self.preverify_out))
        connect(m, npu.batch_out, flipped(self.batch_out))
        connect(m, flipped(self.feedback_in), npu.feedback_in)
        m.d.comb += [
            self.credits.eq(pim.credits),
            self.waiting_tokens.eq(pim.waiting_tokens),
            self.epoch_pim.eq(pim.epoch),
            self.bad_word.eq(pim.bad_word),
            self.idle_pim.eq(pim.idle),
            self.epoch_npu.eq(npu.epoch),
            self.flushing.eq(npu.flushing),
            self.idle_npu.eq(npu.idle),
        ]
        return m

    def _cross(self, m: Module, name: str, source: Signal, target: Signal) -> None:
        """Carry a counter from the NPU's domain to the PIM's in Gray code."""
        coded = Signal.like(source, name=f"{name}_gray")
        seen = Signal.like(source, name=f"{name}_seen")
        m.d.npu += coded.eq(source ^ source[1:])
        m.submodules[f"{name}_cdc"] = FFSynchronizer(coded, seen, o_domain="pim")
        bits = [seen[i] for i in range(len(seen))]
        for i in reversed(range(len(bits) - 1)):
            bits[i] = bits[i] ^ bits[i + 1]
        m.d.comb += target.eq(Cat(bits))
