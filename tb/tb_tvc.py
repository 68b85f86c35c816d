# SPDX-License-Identifier: Apache-2.0
"""Bench of the TVC: random traffic on every port, compared with the golden model edge by edge."""

from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from ahasd.rtl.configs import UNITS
from ahasd.rtl.tvc.golden import TvcGolden
from ahasd.rtl.tvc.params import (
    Command,
    Decision,
    NpuEvent,
    NpuKind,
    Reason,
    Record,
    Request,
    Table,
    TvcParams,
)
from ahasd.tb.lib.bench import Bench, CycleChecker
from ahasd.tb.lib.stream import Sink, Source

DECISIONS = 12
LIMIT_CYCLES = 40_000


def choose_levels(dut: Any, rng: Random, params: TvcParams) -> None:
    """Set the control registers, mostly to costs that leave some slack."""
    cost = params.cycles_max if rng.random() < 0.1 else params.cycles_max >> 6
    dut.npu_ratio.value = rng.choice((params.npu_ratio_one, 26214, 65535))
    dut.switch_cycles.value = rng.randint(0, cost)
    dut.slowdown_cycles.value = rng.randint(0, cost)
    dut.max_length.value = rng.choice((1, params.tokens_max, params.tokens_max))
    dut.affine_npu.value = rng.getrandbits(1)
    dut.affine_preverify.value = rng.getrandbits(1)
    dut.cold_preverify_cycles.value = rng.choice((0, rng.randint(0, cost)))


def measurement(rng: Random, params: TvcParams, table: Table) -> tuple[int, int]:
    """Return cycles and length; several tokens of the PIM fit into a task of the NPU."""
    scale = {Table.NVCT: 2, Table.PDCT: 64, Table.PVCT: 16}[table]
    length = rng.choice((1, 2, 3, params.length_max, 0 if rng.random() < 0.1 else 1))
    return rng.randint(0, params.cycles_max) // scale, length


async def count_cycles(dut: Any, rng: Random, params: TvcParams) -> None:
    """Drive `now`, which leaps now and then, so that tasks are met at every age."""
    now = rng.getrandbits(params.time_width)
    while True:
        now += 1 if rng.random() < 0.99 else rng.getrandbits(params.cycles_width - 1)
        now %= 1 << params.time_width
        dut.now.value = now
        await RisingEdge(dut.pim_clk)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def random_traffic(dut) -> None:
    """Measurements, tasks, requests, commands, CSR changes, and resets within a decision."""
    bench = Bench()
    params = UNITS["tvc"].configurations[bench.configuration]
    rng = bench.rng("stimulus")
    choose_levels(dut, rng, params)
    dut.now.value = 0
    dut.pim_rst.value = 1
    clock = dut.pim_clk
    record = Source(dut, "record", clock, bench.rng("record"), bench.gap)
    npu = Source(dut, "npu", clock, bench.rng("npu"), bench.gap)
    command = Source(dut, "command", clock, bench.rng("command"), bench.gap)
    request = Source(dut, "request", clock, bench.rng("request"), bench.gap)
    decision = Sink(dut, "decision", clock, bench.rng("decision"), bench.stall)
    Clock(clock, 1250, unit="ps").start(start_high=False)
    await Timer(100, unit="ps")
    cocotb.start_soon(count_cycles(dut, bench.rng("now"), params))
    await ClockCycles(clock, 3)

    for _ in range(2):
        dut.pim_rst.value = 0
        checker = CycleChecker(dut, bench, clock, TvcGolden(params))
        checking = cocotb.start_soon(checker.run())
        enough = len(decision.received) + DECISIONS
        filled = 0
        for _ in range(LIMIT_CYCLES):
            if not record.queue and (filled < 8 or rng.random() < 0.01):
                filled += 1
                table = rng.choice(list(Table))
                code = 3 if rng.random() < 0.05 else table
                record.queue.append(Record(code, *measurement(rng, params, table)).pack(params))
            if not npu.queue and rng.random() < 0.02:
                cycles, length = measurement(rng, params, Table.NVCT)
                kind = NpuKind.END if rng.random() < 0.3 else NpuKind.START
                npu.queue.append(NpuEvent(kind, length, cycles).pack(params))
            if not command.queue and rng.random() < 0.0005:
                command.queue.append(rng.choice(list(Command)))
            if not request.queue:
                overhead = rng.choice((0, 0, 1, params.tokens_max))
                available = rng.getrandbits(params.tokens_width)
                request.queue.append(Request(overhead, available).pack(params))
            if rng.random() < 0.003:
                choose_levels(dut, rng, params)
            await RisingEdge(clock)
            if len(decision.received) >= enough:
                break
        assert len(decision.received) >= enough, f"seed {bench.seed}: too few decisions came"
        assert checker.edges > DECISIONS * params.decision_cycles
        taken = request.taken
        request.queue.append(Request(0, params.tokens_max).pack(params))
        while request.taken == taken:
            await RisingEdge(clock)
        await ClockCycles(clock, params.decision_cycles // 2)
        checking.cancel()
        # The reset falls into the middle of a decision; nothing is drained before.
        dut.pim_rst.value = 1
        await RisingEdge(clock)
        await RisingEdge(clock)
    found = {Decision.unpack(payload, params).reason for payload in decision.received}
    assert Reason.INSERT in found, f"seed {bench.seed}: no token was inserted"
    assert len(found) > 1
