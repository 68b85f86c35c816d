# SPDX-License-Identifier: Apache-2.0
"""Bench of the draft-length control: random tokens, compared with golden edge by edge."""

from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from ahasd.rtl.configs import UNITS
from ahasd.rtl.draftctl.golden import DraftctlGolden
from ahasd.rtl.draftctl.params import Decision, DraftctlParams, Outcome, Rule, Token
from ahasd.tb.lib.bench import Bench, CycleChecker
from ahasd.tb.lib.stream import Sink, Source

TOKENS = 1500


def set_registers(dut: Any, params: DraftctlParams, rng: Random) -> None:
    """Choose a rule and limits at which batches have all kinds of lengths."""
    dut.rule.value = rng.choice(list(Rule))
    dut.entropy_limit.value = rng.randint(0, params.entropy_max)
    dut.doubt_limit.value = rng.randint(0, params.doubt_max)
    dut.k_max.value = rng.randint(0, params.length_max) >> rng.choice((0, 3))
    dut.min_len.value = rng.choice((0, 1, 1, 3))
    dut.keep_tripping_token.value = rng.getrandbits(1)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def random_traffic(dut) -> None:
    """Tokens, register changes within batches, and a reset in the middle of it all."""
    bench = Bench()
    params = UNITS["draftctl"].configurations[bench.configuration]
    rng = bench.rng("stimulus")
    set_registers(dut, params, rng)
    dut.pim_rst.value = 1
    clock = dut.pim_clk
    token = Source(dut, "token", clock, bench.rng("token"), bench.gap)
    decision = Sink(dut, "decision", clock, bench.rng("decision"), bench.stall)
    Clock(clock, 1250, unit="ps").start(start_high=False)
    await Timer(100, unit="ps")
    await ClockCycles(clock, 3)

    for part in range(2):
        dut.pim_rst.value = 0
        checker = CycleChecker(dut, bench, clock, DraftctlGolden(params))
        checking = cocotb.start_soon(checker.run())
        taken = token.taken
        while token.taken < taken + TOKENS:
            if len(token.queue) < 4:
                doubt = rng.randint(0, params.doubt_max) >> rng.choice((0, 2, 4))
                entropy = rng.randint(0, params.entropy_max)
                token.queue.append(Token(rng.random() < 0.05, entropy, doubt).pack(params))
            if rng.random() < 0.02:
                set_registers(dut, params, rng)
            await RisingEdge(clock)
        assert checker.edges >= TOKENS
        checking.cancel()
        if part == 0:  # the reset falls into the traffic; nothing is drained before
            dut.pim_rst.value = 1
            await RisingEdge(clock)
            await RisingEdge(clock)
    seen = {Decision.unpack(payload).outcome for payload in decision.received}
    assert seen == set(Outcome), "every outcome was decided"
