# SPDX-License-Identifier: Apache-2.0
"""Bench of the AAU: random commands, compared with golden edge by edge."""

from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from ahasd.rtl.aau.encodings import APPLYING, LANE_WIDTH, POWERS, Command, Op, State, constant_code
from ahasd.rtl.aau.golden import AauGolden
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.configs import UNITS
from ahasd.tb.lib.bench import Bench, CycleChecker
from ahasd.tb.lib.stream import Sink, Source

COMMANDS = 40
PARTS = 3


def some_command(rng: Random, params: AauParams, imports: int) -> Command:
    """Return a command of any kind, short."""
    op = rng.choice(list(Op))
    scale = abs(rng.gauss(0, 1)) if op in POWERS else rng.gauss(0, 1)
    return Command(
        op=op,
        length=rng.randrange(6 * params.lanes),
        x_format=rng.randrange(4),
        operand_format=rng.randrange(2),
        result_format=rng.randrange(3),
        imports=imports,
        reduces=int(rng.random() < 0.9),
        exports=int(rng.random() < 0.2),
        first_index=rng.randrange(100),
        k0=constant_code(scale),
        k1=constant_code(abs(rng.gauss(0, 1))),
        k2=constant_code(1.0),
    )


def some_beat(rng: Random, params: AauParams) -> int:
    """Return a beat: numbers of about 1 in FP16, and now and then anything."""
    if rng.random() < 0.1:
        return rng.getrandbits(LANE_WIDTH * params.lanes)
    fields = 4 * params.lanes
    return sum((0x3400 + rng.getrandbits(12) ^ rng.getrandbits(1) << 15) << 16 * i
               for i in range(fields))  # fmt: skip


def reads(command: Command, params: AauParams) -> int:
    """Return the beats that a command reads."""
    beats = -(-command.length // params.lanes)
    reduces = command.op in params.passes and command.reduces
    applies = command.op in APPLYING and command.applies and not command.exports
    return beats * (int(bool(reduces)) + int(bool(applies)))


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def random_commands(dut: Any) -> None:
    """Commands with their rows, and resets in the middle of some."""
    bench = Bench()
    params: AauParams = UNITS["aau"].configurations[bench.configuration]
    rng = bench.rng("stimulus")
    dut.pim_rst.value = 1
    clock = dut.pim_clk
    command, state_in, beat = (
        Source(dut, name, clock, bench.rng(name), bench.gap)
        for name in ("command", "state_in", "beat")
    )
    _, state_out, summary = (
        Sink(dut, name, clock, bench.rng(name), bench.stall)
        for name in ("result", "state_out", "summary")
    )
    Clock(clock, 1250, unit="ps").start(start_high=False)
    await Timer(100, unit="ps")
    await ClockCycles(clock, 3)

    met = set()
    states: list[tuple[int, State]] = []
    for part in range(PARTS):
        dut.pim_rst.value = 0
        checker = CycleChecker(dut, bench, clock, AauGolden(params))
        checking = cocotb.start_soon(checker.run())
        for _ in range(COMMANDS):
            given = some_command(rng, params, 0)
            merged = [state for op, state in states[-3:] if op == given.op]
            given = Command(**{**vars(given), "imports": len(merged)})
            due = len(state_out.received) + len(summary.received) + params.entries(given.op)
            command.queue.append(given.pack(params))
            state_in.queue.extend(state.pack(params) for state in merged)
            beat.queue.extend(some_beat(rng, params) for _ in range(reads(given, params)))
            while len(state_out.received) + len(summary.received) < due:
                await RisingEdge(clock)
            met.add(given.op)
            if given.exports:
                states.append((given.op, State.unpack(state_out.received[-1], params)))
        assert [*command.queue, *state_in.queue] == []
        assert checker.edges > 0
        if part < PARTS - 1:  # a row is begun, and the reset falls into it
            command.queue.append(Command(op=Op.SOFTMAX, length=params.length_max).pack(params))
            # What is left of these beats will be the first of the rows behind the reset.
            beat.queue.extend(some_beat(rng, params) for _ in range(20))
            while command.queue:
                await RisingEdge(clock)
            await ClockCycles(clock, rng.randrange(1, 15))
            checking.cancel()
            dut.pim_rst.value = 1
            await RisingEdge(clock)
            await RisingEdge(clock)
    assert met == set(Op), "every operation was met"
