# SPDX-License-Identifier: Apache-2.0
"""Bench of the EDC: random traffic on every port, compared with the golden model edge by edge."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from ahasd.rtl.configs import UNITS
from ahasd.rtl.edc.golden import EdcGolden
from ahasd.rtl.edc.params import BOUNDARY_PRESETS, Command, EdcParams
from ahasd.tb.lib.bench import Bench, CycleChecker
from ahasd.tb.lib.stream import Sink, Source

BATCHES = 800


def pack_boundaries(params: EdcParams, preset: str) -> int:
    """Return the `boundaries` pins of a preset."""
    encoded = params.boundaries(preset)
    return sum(value << (i * params.entropy_width) for i, value in enumerate(encoded))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def random_traffic(dut) -> None:
    """Drafts, verdicts, commands, CSR changes and a reset in the middle of it all."""
    bench = Bench()
    params = UNITS["edc"].configurations[bench.configuration]
    rng = bench.rng("stimulus")
    dut.recheck.value = 1
    dut.explore.value = 0
    dut.boundaries.value = pack_boundaries(params, "sqrt4")
    dut.pim_rst.value = 1
    clock = dut.pim_clk
    draft = Source(dut, "draft", clock, bench.rng("draft"), bench.gap)
    verdict = Source(dut, "verdict", clock, bench.rng("verdict"), max(bench.gap, 0.2))
    command = Source(dut, "command", clock, bench.rng("command"), bench.gap)
    decision = Sink(dut, "decision", clock, bench.rng("decision"), bench.stall)
    Clock(clock, 1250, unit="ps").start(start_high=False)
    await Timer(100, unit="ps")
    await ClockCycles(clock, 3)

    drafted = 0
    for part in range(2):
        dut.pim_rst.value = 0
        checker = CycleChecker(dut, bench, clock, EdcGolden(params))
        checking = cocotb.start_soon(checker.run())
        while draft.taken < drafted + BATCHES:
            if len(draft.queue) < 4:
                ceiling = params.entropy_max if rng.random() < 0.3 else params.entropy_max // 5
                draft.queue.append(rng.randint(0, ceiling))
            if len(verdict.queue) < 2:
                verdict.queue.append(int(rng.random() < 0.7))
            if rng.random() < 0.01:
                dut.recheck.value = rng.getrandbits(1)
                dut.explore.value = rng.getrandbits(params.explore_width)
                dut.boundaries.value = pack_boundaries(params, rng.choice(BOUNDARY_PRESETS))
            if rng.random() < 0.004:
                clear = rng.random() < 100 / params.pht_entries
                command.queue.append(Command.CLEAR_PHT if clear else Command.START_SEQUENCE)
            await RisingEdge(clock)
        assert decision.received, "no decision came"
        assert checker.edges > BATCHES
        checking.cancel()
        drafted = draft.taken
        if part == 0:  # the reset falls into the traffic; nothing is drained before
            dut.pim_rst.value = 1
            await RisingEdge(clock)
            await RisingEdge(clock)
    assert draft.taken >= 2 * BATCHES
    assert verdict.taken > BATCHES // 2
