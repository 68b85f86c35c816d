# SPDX-License-Identifier: Apache-2.0
"""Bench of the GTSU: random tasks for a sequencer, compared with golden edge by edge."""

from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from ahasd.rtl.configs import UNITS
from ahasd.rtl.gtsu.golden import GtsuGolden
from ahasd.rtl.gtsu.params import Command, GtsuParams, Issue, Kind, State, Task
from ahasd.tb.lib.bench import Bench, CycleChecker
from ahasd.tb.lib.stream import Sink, Source

TASKS = 160
LIMIT_CYCLES = 20_000


class Sequencer:
    """Run what is issued: ask to compute, drain, meet layer boundaries, report the end."""

    def __init__(self, dut: Any, rng: Random, issue: Sink, done: Source) -> None:
        self._dut = dut
        self._rng = rng
        self._issue = issue
        self._done = done
        self.timeouts = 0
        dut.drained.value = 1
        dut.layer_boundary.value = 0
        dut.compute_request.value = 0
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        dut, rng = self._dut, self._rng
        in_flight = 0
        timed_out = 0
        while True:
            await RisingEdge(dut.pim_clk)
            in_flight = max(0, in_flight - 1)
            if dut.compute_grant.value:
                in_flight = rng.choice((1, 2, 6, 14))
            if dut.running.value and not self._done.queue and rng.random() < 0.08:
                number = Issue.unpack(self._issue.received[-1]).id
                self._done.queue.append(number ^ int(rng.random() < 0.05))
            self.timeouts += int(dut.timeout.value) and not timed_out
            timed_out = int(dut.timeout.value)
            dut.drained.value = int(not in_flight)
            dut.layer_boundary.value = int(rng.random() < 0.2)
            dut.compute_request.value = rng.getrandbits(len(dut.compute_request))


def choose_levels(dut: Any, rng: Random, params: GtsuParams) -> None:
    """Set the control registers, now and then to masks that overlap."""
    every = (1 << params.ranks) - 1
    dlm = rng.randint(1, every - 1)
    dut.dlm_mask.value = dlm
    dut.tlm_mask.value = every & ~dlm if rng.random() < 0.9 else rng.randint(1, every)
    dut.switch_cycles.value = rng.choice((0, 1, 2, 5, 44))
    dut.drain_max_cycles.value = rng.choice((2, 8, 400, 1023))
    dut.preempt.value = int(rng.random() < 0.8)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def random_traffic(dut) -> None:
    """Tasks, commands, CSR changes, and a reset while the unit drains and while it switches."""
    bench = Bench()
    params = UNITS["gtsu"].configurations[bench.configuration]
    rng = bench.rng("stimulus")
    choose_levels(dut, rng, params)
    dut.pim_rst.value = 1
    clock = dut.pim_clk
    task = Source(dut, "task", clock, bench.rng("task"), bench.gap)
    done = Source(dut, "done", clock, bench.rng("done"), bench.gap)
    command = Source(dut, "command", clock, bench.rng("command"), bench.gap)
    issue = Sink(dut, "issue", clock, bench.rng("issue"), bench.stall)
    sequencer = Sequencer(dut, bench.rng("sequencer"), issue, done)
    Clock(clock, 1250, unit="ps").start(start_high=False)
    await Timer(100, unit="ps")
    await ClockCycles(clock, 3)

    for reset_in in (State.DRAINING, State.SWITCHING, None):
        dut.pim_rst.value = 0
        checker = CycleChecker(dut, bench, clock, GtsuGolden(params))
        checking = cocotb.start_soon(checker.run())
        enough = len(issue.received) + TASKS
        for _ in range(LIMIT_CYCLES):
            if not task.queue and rng.random() < 0.15:
                kind = Kind(rng.random() < 0.4)
                task.queue.append(Task(kind, rng.getrandbits(params.id_width)).pack())
            if rng.random() < 0.02:
                choose_levels(dut, rng, params)
            halted = int(dut.timeout.value) or int(dut.bad_masks.value)
            if not command.queue and rng.random() < (0.05 if halted else 0.005):
                command.queue.append(Command.CLEAR_ERRORS if halted else Command.FLUSH)
            await RisingEdge(clock)
            if len(issue.received) >= enough and reset_in in (None, int(dut.state.value)):
                break
        assert len(issue.received) >= enough, f"seed {bench.seed}: too few tasks were issued"
        assert checker.edges > TASKS
        checking.cancel()
        # The reset falls into the traffic; nothing is drained before.
        dut.pim_rst.value = 1
        await RisingEdge(clock)
        await RisingEdge(clock)
    issues = [Issue.unpack(payload) for payload in issue.received]
    assert {each.kind for each in issues} == set(Kind)
    assert any(each.resumed for each in issues), f"seed {bench.seed}: no task was resumed"
    assert sequencer.timeouts, f"seed {bench.seed}: no switch timed out"
