# SPDX-License-Identifier: Apache-2.0
"""The EDC in Amaranth."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ahasd.rtl.edc.params import Cause, Command, EdcParams, Verdict
from ahasd.rtl.lib.tree import sum_tree


class EdcUnit(wiring.Component):
    """Decide after each draft batch whether to draft ahead of it.

    Timing: one decision a cycle, on `decision` one cycle after the transfer that caused it. A held
    decision (`valid` and not `ready`) stalls `draft`, `verdict` and `command`. `draft` also stalls
    while `2**llr_width - 1` batches are outstanding. A command is taken alone: its cycle stalls
    the other two. In one cycle a verdict takes effect before a draft; if both would answer, the
    draft's decision, which supersedes the release, is the only one.

    Reset clears history, LLR, the held stop and the output, then the PHT entry by entry; that and
    a `CLEAR_PHT` command stall every input for `pht_entries` cycles.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    draft : stream of unsigned(entropy_width), in
        Batch-mean entropy [nat], fixed point with entropy_fraction_width fraction bits, of a batch
        that is complete.
    verdict : stream of Verdict, in
        Verdict on the oldest outstanding batch.
    command : stream of Command, in
        Start of a sequence, or clearing of the PHT.
    decision : stream of {go, cause}, out
        Answer to every draft, and release of a held stop.
    boundaries : array of unsigned(entropy_width), in
        CSR: bucket boundaries in the same format, ascending for buckets to be in order. A batch's
        bucket is the number that it reaches, in any order.
    recheck : unsigned(1), in
        CSR: read the PHT again after an accepted verdict, to release a held stop.
    explore : unsigned(explore_width), in
        CSR k: every 2**k-th stop becomes a go; 0 is off.
    outstanding : unsigned(llr_width), out
        LLR, the number of unverified batches.
    orphan : unsigned(1), out
        Error, sticky until reset: a verdict came while no batch was outstanding; it was dropped.
    idle_pim : unsigned(1), out
        With no input valid, a further edge changes no state.
    """

    latency = 1
    interval = 1

    draft: stream.Interface
    verdict: stream.Interface
    command: stream.Interface
    decision: stream.Interface
    boundaries: Array[Value]
    recheck: Signal
    explore: Signal
    outstanding: Signal
    orphan: Signal
    idle_pim: Signal

    def __init__(self, params: EdcParams) -> None:
        self.params = params
        entropy = unsigned(params.entropy_width)
        super().__init__(
            {
                "draft": In(stream.Signature(entropy)),
                "verdict": In(stream.Signature(Verdict)),
                "command": In(stream.Signature(Command)),
                "decision": Out(stream.Signature(data.StructLayout({"go": 1, "cause": Cause}))),
                "boundaries": In(data.ArrayLayout(entropy, params.boundary_count)),
                "recheck": In(1),
                "explore": In(params.explore_width),
                "outstanding": Out(params.llr_width),
                "orphan": Out(1),
                "idle_pim": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        params = self.params
        bucket_shape = unsigned(params.bucket_width)
        history_shape = data.ArrayLayout(bucket_shape, params.history)
        half = params.history // 2
        half_shift = half.bit_length() - 1
        m = Module()

        m.submodules.pht = pht = Memory(
            shape=params.counter_width, depth=params.pht_entries, init=()
        )
        pht_write = pht.write_port(domain="pim")
        pht_train = pht.read_port(domain="comb")
        pht_predict = pht.read_port(domain="comb")
        # Kept for the proofs (properties.py); no ports.
        self.pht_write, self.pht_train, self.pht_predict = pht_write, pht_train, pht_predict
        in_flight_shape = data.StructLayout({"bucket": bucket_shape, "index": params.index_width})
        m.submodules.in_flight = in_flight = Memory(
            shape=in_flight_shape, depth=1 << params.llr_width, init=()
        )
        in_flight_write = in_flight.write_port(domain="pim")
        in_flight_read = in_flight.read_port(domain="comb")

        # H0, the newest bucket, is element 0.
        leht = Signal(history_shape)
        lceht = Signal(history_shape)
        llr = Signal(params.llr_width)
        oldest = Signal(params.llr_width)  # position of the oldest entry of the in-flight FIFO
        stopped = Signal()
        stop_count = Signal(params.stop_count_width)
        clearing = Signal(init=1)
        clear_index = Signal(params.index_width)

        accept = Signal()
        take_command = Signal()
        take_verdict = Signal()
        take_draft = Signal()
        m.d.comb += [
            accept.eq(~clearing & (~self.decision.valid | self.decision.ready)),
            self.command.ready.eq(accept),
            self.verdict.ready.eq(accept & ~self.command.valid),
            self.draft.ready.eq(accept & ~self.command.valid & (llr != params.max_outstanding)),
            take_command.eq(self.command.valid & self.command.ready),
            take_verdict.eq(self.verdict.valid & self.verdict.ready),
            take_draft.eq(self.draft.valid & self.draft.ready),
            self.outstanding.eq(llr),
            self.idle_pim.eq(~clearing & ~self.decision.valid),
        ]

        # The verdict, first: it belongs to the oldest outstanding batch.
        judged = Signal()
        void = Signal()
        accepted = Signal()
        rejected = Signal()
        trained = Signal(params.counter_width)
        m.d.comb += [
            judged.eq(take_verdict & llr.any()),
            void.eq(self.verdict.payload[1]),
            accepted.eq(judged & ~void & self.verdict.payload[0]),
            rejected.eq(judged & ~void & ~self.verdict.payload[0]),
            in_flight_read.addr.eq(oldest),
            pht_train.addr.eq(in_flight_read.data.index),
            trained.eq(pht_train.data),
        ]
        with m.If(void):
            m.d.comb += trained.eq(pht_train.data)
        with m.Elif(self.verdict.payload[0]):
            with m.If(pht_train.data != params.counter_max):
                m.d.comb += trained.eq(pht_train.data + 1)
        with m.Elif(pht_train.data.any()):
            m.d.comb += trained.eq(pht_train.data - 1)

        leht_judged = Signal(history_shape)
        llr_judged = Signal(params.llr_width)
        oldest_judged = Signal(params.llr_width)
        m.d.comb += [
            leht_judged.eq(Mux(rejected, lceht, leht)),
            llr_judged.eq(Mux(rejected, 0, llr - judged)),
            oldest_judged.eq(oldest + judged),
        ]
        with m.If(accepted):
            m.d.pim += lceht.eq(Cat(in_flight_read.data.bucket, lceht))
        with m.If(take_verdict & ~judged):
            m.d.pim += self.orphan.eq(1)

        # The draft, on top of what the verdict left.
        reached = [self.draft.payload >= boundary for boundary in self.boundaries]
        bucket = Signal(bucket_shape)
        leht_next = Signal(history_shape)
        llr_next = Signal(params.llr_width)
        m.d.comb += [
            bucket.eq(sum_tree(reached)),
            leht_next.eq(leht_judged),
            llr_next.eq(llr_judged + take_draft),
        ]
        with m.If(take_draft):
            m.d.comb += leht_next.eq(Cat(bucket, leht_judged))
        m.d.pim += [leht.eq(leht_next), llr.eq(llr_next), oldest.eq(oldest_judged)]

        # One read serves both: a draft predicts, a verdict alone re-checks.
        index = Signal(params.index_width)
        says_go = Signal()
        m.d.comb += [
            index.eq(
                Cat(
                    llr_next,
                    sum_tree([leht_next[i] for i in range(half)])[half_shift:],
                    sum_tree([leht_next[half + i] for i in range(half)])[half_shift:],
                )
            ),
            pht_predict.addr.eq(index),
            says_go.eq(pht_predict.data[-1]),
        ]
        with m.If(judged & (pht_train.addr == index)):
            m.d.comb += says_go.eq(trained[-1])

        m.d.comb += [
            in_flight_write.addr.eq(oldest_judged + llr_judged),
            in_flight_write.data.bucket.eq(bucket),
            in_flight_write.data.index.eq(index),
            in_flight_write.en.eq(take_draft),
        ]

        explored = Signal()
        stop_count_next = Signal(params.stop_count_width)
        m.d.comb += stop_count_next.eq(stop_count + 1)
        with m.Switch(self.explore):
            for k in range(1, 1 << params.explore_width):
                with m.Case(k):
                    m.d.comb += explored.eq(~says_go & ~stop_count_next[:k].any())
            with m.Default():
                m.d.comb += explored.eq(0)

        answered = Signal()
        answer = Signal.like(self.decision.payload)
        with m.If(take_draft):
            m.d.comb += [
                answered.eq(1),
                answer.go.eq(says_go | explored),
                answer.cause.eq(Mux(explored, Cause.EXPLORED, Cause.PREDICTED)),
            ]
            m.d.pim += stopped.eq(~answer.go)
            with m.If(~says_go):
                m.d.pim += stop_count.eq(stop_count_next)
        with m.Elif(judged & stopped):
            m.d.comb += answer.go.eq(1)
            with m.If(rejected):
                m.d.comb += [answered.eq(1), answer.cause.eq(Cause.REJECTED)]
            with m.Elif(~llr_judged.any()):
                m.d.comb += [answered.eq(1), answer.cause.eq(Cause.EMPTY)]
            with m.Elif(self.recheck & accepted & says_go):
                m.d.comb += [answered.eq(1), answer.cause.eq(Cause.RECHECKED)]
            with m.If(answered):
                m.d.pim += stopped.eq(0)

        with m.If(accept):
            m.d.pim += self.decision.valid.eq(answered)
            with m.If(answered):
                m.d.pim += self.decision.payload.eq(answer)

        with m.If(take_command):
            with m.If(self.command.payload == Command.START_SEQUENCE):
                m.d.pim += [leht.eq(0), lceht.eq(0), llr.eq(0), stopped.eq(0)]
            with m.Else():
                m.d.pim += [clearing.eq(1), clear_index.eq(0)]

        m.d.comb += [
            pht_write.addr.eq(pht_train.addr),
            pht_write.data.eq(trained),
            pht_write.en.eq(judged),
        ]
        with m.If(clearing):
            m.d.comb += [
                pht_write.addr.eq(clear_index),
                pht_write.data.eq(params.counter_reset),
                pht_write.en.eq(1),
            ]
            m.d.pim += [
                clear_index.eq(clear_index + 1),
                clearing.eq(clear_index != params.pht_entries - 1),
            ]
        return m
