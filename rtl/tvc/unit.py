# SPDX-License-Identifier: Apache-2.0
"""The TVC in Amaranth: the running task, the order of its inputs, and what a request is told."""

from amaranth.hdl import Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.tvc.arithmetic import saturate, smaller
from ahasd.rtl.tvc.estimator import Estimator, answer_layout
from ahasd.rtl.tvc.params import Command, NpuKind, Table, TvcParams


class TvcUnit(wiring.Component):
    """Decide how many tokens to pre-verify while the NPU is still at work.

    Timing: a decision comes `decision_cycles` of the parameters after its request, whatever the
    data; a recording takes `record_cycles`. Meanwhile `record` and `request` stall. `command` never
    stalls, and a command is taken alone. `npu` stalls at an end that comes before the one before it
    began to be recorded, else never: a start keeps its time, whatever is computed. An end is
    recorded before records that came with it, and both before a request. A decision that is not
    taken stalls `request` only. `now` and the control registers count as they stand when the
    request is taken, `npu_ratio` when a recording begins.

    Reset empties the tables and the output and forgets the task. The entries keep what they held
    and are read as 0 until they are written.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    record : stream of {table, cycles, length}, in
        A measurement or a preload; NPU cycles for NVCT, PIM cycles for the others.
    npu : stream of {kind, kv_length, npu_cycles}, in
        Start of an NPU task with its KV length, or its end with KV length and duration.
    command : stream of Command, in
        Clearing of the tables, or of the running task alone.
    request : stream of {overhead_tokens, available_tokens}, in
        Tokens in flight, which must be computed again first, and tokens behind them that the NPU
        has not taken.
    decision : stream of {length, reason, npu_cycles, slack}, out
        Answer to every request. The payload is 0 while it is not valid.
    now : unsigned(time_width), in
        PIM cycle counter, free-running and wrapping.
    npu_ratio : unsigned(npu_ratio_width), in
        CSR: PIM cycles per NPU cycle, Q1.15.
    switch_cycles, slowdown_cycles, cold_preverify_cycles : unsigned(cycles_width), in
        CSRs: one switch of ranks, of which two are subtracted; expected slow-down of the NPU,
        subtracted; cycles per token while PVCT is empty, 0 for none.
    max_length : unsigned(tokens_width), in
        CSR: most tokens of a decision.
    affine_npu, affine_preverify : unsigned(1), in
        CSRs: affine instead of ratio model.
    bad_record : unsigned(1), out
        Error, sticky until reset: a measurement of length 0 or for no table came; it was dropped.
    idle_pim : unsigned(1), out
        With no input valid, a further edge changes no state.

    Attributes
    ----------
    latency, interval
        Of a decision [cycles]; they depend on the parameters.
    """

    record: stream.Interface
    npu: stream.Interface
    command: stream.Interface
    request: stream.Interface
    decision: stream.Interface
    now: Signal
    npu_ratio: Signal
    switch_cycles: Signal
    slowdown_cycles: Signal
    max_length: Signal
    affine_npu: Signal
    affine_preverify: Signal
    cold_preverify_cycles: Signal
    bad_record: Signal
    idle_pim: Signal

    def __init__(self, params: TvcParams) -> None:
        self.params = params
        self.latency = self.interval = params.decision_cycles
        cycles = unsigned(params.cycles_width)
        length = unsigned(params.length_width)
        tokens = unsigned(params.tokens_width)
        record = data.StructLayout({"table": Table, "cycles": cycles, "length": length})
        npu = data.StructLayout({"kind": NpuKind, "kv_length": length, "npu_cycles": cycles})
        request = data.StructLayout({"overhead_tokens": tokens, "available_tokens": tokens})
        super().__init__(
            {
                "record": In(stream.Signature(record)),
                "npu": In(stream.Signature(npu)),
                "command": In(stream.Signature(Command)),
                "request": In(stream.Signature(request)),
                "decision": Out(stream.Signature(answer_layout(params))),
                "now": In(params.time_width),
                "npu_ratio": In(params.npu_ratio_width),
                "switch_cycles": In(cycles),
                "slowdown_cycles": In(cycles),
                "max_length": In(tokens),
                "affine_npu": In(1),
                "affine_preverify": In(1),
                "cold_preverify_cycles": In(cycles),
                "bad_record": Out(1),
                "idle_pim": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        params = self.params
        m = Module()

        m.submodules.estimator = estimator = Estimator(params)

        running = Signal()
        start = Signal(params.time_width)
        kv_length = Signal(params.length_width)
        ended = Signal()  # a task is over and waits to be recorded
        ended_cycles = Signal(params.cycles_width)
        ended_length = Signal(params.length_width)
        # Kept for the proofs (properties.py); no ports.
        self.estimator, self.running, self.ended = estimator, running, ended

        # The order within a cycle: the end that waits, a record, a request.
        alone = Signal()
        record_turn = Signal()
        request_turn = Signal()
        legal = Signal()
        clear = Signal()
        take_npu = Signal()
        ends = self.npu.payload.kind
        m.d.comb += [
            alone.eq(~self.command.valid),
            record_turn.eq(alone & ~ended),
            request_turn.eq(record_turn & ~self.npu.valid & ~self.record.valid),
            legal.eq(self.record.payload.length.any() & ~self.record.payload.table.all()),
            clear.eq(self.command.valid & (self.command.payload == Command.CLEAR)),
            take_npu.eq(self.npu.valid & self.npu.ready),
            self.command.ready.eq(1),
            self.npu.ready.eq(alone & ~(ended & ends)),
            self.record.ready.eq(record_turn & estimator.measure.ready),
            self.request.ready.eq(request_turn & estimator.question.ready),
            self.idle_pim.eq(estimator.idle & ~ended),
        ]

        measure = estimator.measure
        scaled = Signal()  # by the NPU ratio
        m.d.comb += [
            measure.valid.eq(ended | (record_turn & self.record.valid & legal)),
            scaled.eq(ended | (self.record.payload.table == Const(Table.NVCT, 2))),
            measure.payload.factor.eq(Mux(scaled, self.npu_ratio, params.npu_ratio_one)),
        ]
        with m.If(ended):
            m.d.comb += [
                measure.payload.table.eq(Table.NVCT),
                measure.payload.cycles.eq(ended_cycles),
                measure.payload.length.eq(ended_length),
            ]
        with m.Else():
            m.d.comb += [
                measure.payload.table.eq(self.record.payload.table),
                measure.payload.cycles.eq(self.record.payload.cycles),
                measure.payload.length.eq(self.record.payload.length),
            ]

        with m.If(measure.ready):
            m.d.pim += ended.eq(0)
        with m.If(record_turn & estimator.measure.ready & self.record.valid & ~legal):
            m.d.pim += self.bad_record.eq(1)
        with m.If(take_npu):
            m.d.pim += running.eq(~ends)
            with m.If(~ends):
                m.d.pim += [start.eq(self.now), kv_length.eq(self.npu.payload.kv_length)]
            with m.Elif(self.npu.payload.kv_length.any()):
                m.d.pim += [
                    ended.eq(1),
                    ended_cycles.eq(self.npu.payload.npu_cycles),
                    ended_length.eq(self.npu.payload.kv_length),
                ]
            with m.Else():
                m.d.pim += self.bad_record.eq(1)
        with m.If(self.command.valid):
            m.d.pim += running.eq(0)
        with m.If(clear):
            m.d.pim += ended.eq(0)

        question = estimator.question
        elapsed = Signal(params.time_width)
        m.d.comb += [
            estimator.clear.eq(clear),
            elapsed.eq(self.now - start),
            question.valid.eq(request_turn & self.request.valid),
            question.payload.running.eq(running),
            question.payload.kv_length.eq(kv_length),
            question.payload.elapsed.eq(saturate(elapsed, params.cycles_width)),
            question.payload.switch_cycles.eq(self.switch_cycles),
            question.payload.slowdown_cycles.eq(self.slowdown_cycles),
            question.payload.cold_cycles.eq(self.cold_preverify_cycles),
            question.payload.affine_npu.eq(self.affine_npu),
            question.payload.affine_preverify.eq(self.affine_preverify),
            question.payload.overhead.eq(self.request.payload.overhead_tokens),
            question.payload.limit.eq(
                smaller(self.request.payload.available_tokens, self.max_length)
            ),
        ]

        m.d.comb += [
            self.decision.valid.eq(estimator.answer.valid),
            estimator.answer.ready.eq(self.decision.ready),
            self.decision.payload.eq(Mux(self.decision.valid, estimator.answer.payload, 0)),
        ]
        return m
