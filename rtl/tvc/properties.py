# SPDX-License-Identifier: Apache-2.0
"""What is proved of the TVC. Properties speak of ports; a lemma of the program inside helps."""

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value

from ahasd.rtl.lib.properties import Proof, Properties, Quiescence
from ahasd.rtl.tvc.params import Command, NpuKind, Reason, Table, TvcParams
from ahasd.rtl.tvc.unit import TvcUnit


def decision_program(params: TvcParams) -> Iterator[tuple[str, Table, int | None, int]]:
    """List the steps of a decision: state, table, entry, and the cycles that the step takes.

    The entry is None where the state does not go through them.
    """
    entries = range(params.table_entries)
    lengths, cycles = 1 + params.length_steps, 1 + params.cycles_steps
    dividend, ratios = 1 + params.dividend_width, 1 + params.ratio_sum_width
    for table in (Table.NVCT, Table.PDCT, Table.PVCT):
        yield "OPEN", table, None, 1
        yield from (("SUM", table, entry, 1) for entry in entries)
        if table is Table.PDCT:
            yield "DRAFT", table, None, ratios
            for cost in ("DRAFT", "ELAPSED", "SWITCHES", "SLOWDOWN"):
                yield f"LESS {cost}", table, None, 2
            yield "SLACK", table, None, 1
            continue
        yield from (("FIT CYCLES", table, entry, lengths) for entry in entries)
        yield "COVARIANCE", table, None, 1
        yield from (("FIT LENGTHS", table, entry, lengths) for entry in entries)
        yield "SPREAD", table, None, 1
        yield "SLOPE", table, None, lengths
        yield "LEVEL", table, None, cycles
        yield "CHOOSE", table, None, 1
        yield "QUERY", table, None, cycles
        yield "DIVIDE", table, None, dividend
        if table is Table.NVCT:
            yield "NPU", table, None, 1
    yield "LESS OVERHEAD", Table.PVCT, None, 2
    yield "ANSWER", Table.PVCT, None, 1


class TvcProperties(Properties):
    """A TVC, and what its ports tell of when it works and for whom."""

    unit: TvcUnit

    def check(self, m: Module) -> None:
        """Add the observers."""
        unit = self.unit
        params = unit.params
        self.requested = Signal()
        self.recorded = Signal()  # a measurement that counts
        self.started = Signal()
        self.ended = Signal()
        self.running = Signal()
        self.waiting = Signal()  # for an end to be recorded
        self.left = Signal(range(params.decision_cycles))  # cycles until it is free again
        self.deciding = Signal()
        self.asked_limit = Signal(params.tokens_width)  # of the request taken last
        self.asked_running = Signal()
        record, npu = unit.record.payload, unit.npu.payload
        available, most = unit.request.payload.available_tokens, unit.max_length
        taken = self.transfer(unit.npu)
        commanded = self.transfer(unit.command)
        cleared = commanded & (unit.command.payload == Command.CLEAR)
        ends = Value.cast(npu.kind) == NpuKind.END
        m.d.comb += [
            self.requested.eq(self.transfer(unit.request)),
            self.recorded.eq(
                self.transfer(unit.record) & record.length.any() & ~Value.cast(record.table).all()
            ),
            self.started.eq(taken & ~ends),
            self.ended.eq(taken & ends),
        ]
        with m.If(self.left.any()):
            m.d.pim += self.left.eq(self.left - 1)
        with m.Elif(self.waiting | self.recorded):
            m.d.pim += [self.left.eq(params.record_cycles - 1), self.deciding.eq(0)]
        with m.Elif(self.requested):
            m.d.pim += [self.left.eq(params.decision_cycles - 1), self.deciding.eq(1)]
        with m.If(self.requested):
            m.d.pim += [
                self.asked_limit.eq(Mux(available < most, available, most)),
                self.asked_running.eq(self.running),
            ]
        with m.If(cleared | ~self.left.any()):
            m.d.pim += self.waiting.eq(0)
        with m.If(self.ended & npu.kv_length.any()):
            m.d.pim += self.waiting.eq(1)
        with m.If(commanded | self.ended):
            m.d.pim += self.running.eq(0)
        with m.If(self.started):
            m.d.pim += self.running.eq(1)

    def on_time(self, m: Module) -> Value:
        """Tell whether the program inside is where `left` says, and for whom."""
        estimator, params = self.unit.estimator, self.unit.params
        program: Any = estimator.program
        table = Value.cast(estimator.table)
        known = Signal()
        rest = Signal.like(self.left)  # cycles from this step on

        def step(state: str, condition: Value, cycles: int) -> None:
            with m.If((program.state == program.encoding[state]) & condition):
                m.d.comb += [known.eq(1), rest.eq(cycles)]

        recording = ~self.deciding & ~table.all()
        step("WAIT", ~estimator.arithmetic.busy, 0)
        step("RATIO", recording, 2 + params.ratio_width)
        step("WRITE", recording, 1)
        cycles = params.decision_cycles - 1
        for state, of, entry, duration in decision_program(params):
            here = self.deciding & (table == of)
            if entry is not None:
                here &= estimator.index == entry
            step(state, here, cycles)
            cycles -= duration
        asked = estimator.asked
        return Value.cast(
            known
            & (self.left == rest + estimator.arithmetic.left)
            & (asked.limit == self.asked_limit)
            & (asked.running == self.asked_running)
            & (self.unit.running == self.running)
            & (self.unit.ended == self.waiting)
            & ~(self.unit.decision.valid & self.deciding & self.left.any())
        )


LEMMA = "the program inside is where the ports tell, and works on what they were told"


class Program(TvcProperties):
    """How the program inside advances: what the other properties build upon."""

    def check(self, m: Module) -> None:
        """Compare the program's state with the cycles that are left."""
        super().check(m)
        m.d.comb += [
            Assert(self.on_time(m), LEMMA),
            Cover(self.left.any() & ~self.deciding, "a measurement is recorded"),
            Cover(self.unit.decision.valid, "a decision comes"),
        ]


class Timing(TvcProperties):
    """When decisions come, and when each input is taken."""

    def check(self, m: Module) -> None:
        """Compare the handshakes with the observers."""
        super().check(m)
        unit, decision, left = self.unit, self.unit.decision, self.left
        alone = ~unit.command.valid
        ends = Value.cast(unit.npu.payload.kind) == NpuKind.END
        stalled = Signal()
        m.d.comb += stalled.eq(decision.valid & ~decision.ready)
        due = self.past(m, self.deciding & (left == 1))
        was_stalled = self.past(m, stalled)

        m.d.comb += [
            Assume(self.on_time(m), LEMMA),
            Assert(~due | decision.valid, "a decision comes decision_cycles after its request"),
            Assert(
                ~decision.valid | due | was_stalled,
                "there is no decision but decision_cycles after a request",
            ),
            Assert(self.stays(m, decision), "a decision that is not taken stays, with its payload"),
            Assert(unit.command.ready, "a command is taken at once"),
            Assert(
                ~(unit.npu.valid & alone & ~ends) | unit.npu.ready,
                "nothing but a command stalls a start",
            ),
            Assert(
                unit.record.ready == (alone & ~self.waiting & ~left.any()),
                "a record is taken when nothing is computed and no end waits",
            ),
            Assert(
                unit.request.ready
                == (
                    alone
                    & ~self.waiting
                    & ~left.any()
                    & ~unit.npu.valid
                    & ~unit.record.valid
                    & ~stalled
                ),
                "a request is taken when a record could be, alone, while no decision stalls",
            ),
            Cover(self.waiting & unit.request.valid, "a request waits for an end"),
        ]


class Bounds(TvcProperties):
    """How long a measurement can be kept waiting."""

    def check(self, m: Module) -> None:
        """Count the cycles for which a record, an end has been waiting; those of commands apart."""
        super().check(m)
        unit, left = self.unit, self.left
        longest, recording = unit.params.decision_cycles, unit.params.record_cycles
        alone = ~unit.command.valid
        ends = Value.cast(unit.npu.payload.kind) == NpuKind.END
        width = (longest + recording).bit_length()
        record_waits, end_waits = Signal(width), Signal(width)
        with m.If(~unit.record.valid | unit.record.ready | self.ended):
            m.d.pim += record_waits.eq(0)
        with m.Elif(alone):
            m.d.pim += record_waits.eq(record_waits + 1)
        with m.If(~(unit.npu.valid & ends) | unit.npu.ready):
            m.d.pim += end_waits.eq(0)
        with m.Elif(alone):
            m.d.pim += end_waits.eq(end_waits + 1)
        m.d.comb += [
            Assume(self.on_time(m), LEMMA),
            Assert(
                end_waits + Mux(self.waiting, left + 1, 0) <= longest,
                "an end is taken within decision_cycles, commands apart",
            ),
            Assert(
                record_waits + left + Mux(self.waiting, recording, 0) < longest + recording,
                "a record is taken within decision_cycles + record_cycles, commands and ends apart",
            ),
            Cover(end_waits.any(), "an end waits"),
            Cover(record_waits.any(), "a record waits"),
        ]


class Answers(TvcProperties):
    """What a decision may be."""

    def check(self, m: Module) -> None:
        """Compare a decision with what its request came with."""
        super().check(m)
        unit = self.unit
        decision = unit.decision.payload
        reason = Value.cast(decision.reason)
        quiet = ~unit.decision.valid
        m.d.comb += [
            Assume(self.on_time(m), LEMMA),
            Assert(
                quiet | (decision.length <= self.asked_limit),
                "a length is at most max_length, and what was available",
            ),
            Assert(
                quiet | ((reason == Reason.INSERT) == decision.length.any()),
                "tokens are inserted, one or more, with reason INSERT and no other",
            ),
            Assert(
                quiet | ((reason == Reason.NO_TASK) == ~self.asked_running),
                "the reason is NO_TASK if and only if no task ran when the request was taken",
            ),
            Assert(
                unit.decision.valid | ~Value.cast(decision).any(),
                "the payload is 0 while there is no decision",
            ),
            Cover(self.deciding & self.asked_running, "a request is taken while a task runs"),
        ]


PROOFS = (
    Proof(properties=Quiescence, configuration="test", cover_depth=24),
    Proof(properties=Program, configuration="test", cover_depth=200),
    Proof(properties=Timing, configuration="test", cover_depth=24),
    Proof(properties=Bounds, configuration="test", cover_depth=24),
    Proof(properties=Answers, configuration="test", cover_depth=24),
)
