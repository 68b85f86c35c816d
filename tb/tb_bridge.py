# SPDX-License-Identifier: Apache-2.0
"""Bench of the bridge: requests on its line, compared with golden edge by edge."""

from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from ahasd.rtl.bridge.golden import BridgeGolden, checksum
from ahasd.rtl.bridge.params import REQUEST_START, BridgeParams, Op
from ahasd.rtl.configs import UNITS
from ahasd.tb.lib.bench import Bench, CycleChecker
from ahasd.tb.lib.stream import Sink, Source

REQUESTS = 10


def request(rng: Random, params: BridgeParams) -> bytes:
    """Return a request: mostly good, some damaged or of no operation."""
    op = rng.choice((*Op, rng.randrange(16)))
    size = {Op.WRITE: 4, Op.PUSH: rng.randint(1, params.payload_bytes)}.get(op, 0)
    body = bytes((op | rng.randrange(16) << 4, *rng.randbytes(2 + size)))
    told = bytes((len(body),)) + body
    data = bytearray(bytes((REQUEST_START,)) + told + checksum(told))
    if rng.random() < 0.1:
        data[rng.randrange(2, len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


async def send(dut: Any, data: bytes, divisor: int) -> None:
    """Put bytes on the line."""
    for byte in data:
        for bit in (0, *(byte >> i & 1 for i in range(8)), 1):
            dut.rx.value = bit
            await ClockCycles(dut.npu_clk, divisor)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def random_requests(dut) -> None:
    """Send requests, half ones too, with a reset in the middle of an answer."""
    bench = Bench()
    params = UNITS["bridge"].configurations[bench.configuration]
    rng = bench.rng("stimulus")
    clock = dut.npu_clk
    dut.rx.value = 1
    dut.npu_rst.value = 1
    sinks = {
        name: Sink(dut, name, clock, bench.rng(name), bench.stall)
        for name in ("aw", "w", "ar", "access")
    }
    sources = {
        name: Source(dut, name, clock, bench.rng(name), bench.gap) for name in ("b", "r", "answer")
    }
    Clock(clock, 1000, unit="ps").start(start_high=False)
    await Timer(100, unit="ps")
    await ClockCycles(clock, 3)

    async def respond() -> None:
        """Answer every access once all of it was taken."""
        while True:
            await RisingEdge(clock)
            if sinks["aw"].received and sinks["w"].received:
                sinks["aw"].received.popleft()
                sinks["w"].received.popleft()
                sources["b"].queue.append(rng.choice((0, 0, 3)))
            if sinks["ar"].received:
                sinks["ar"].received.popleft()
                sources["r"].queue.append(rng.getrandbits(32) | rng.choice((0, 0, 2)) << 32)
            if sinks["access"].received:
                sinks["access"].received.popleft()
                status = rng.choice((0, 0, 1))
                sources["answer"].queue.append(status | rng.getrandbits(params.data_bits) << 3)

    cocotb.start_soon(respond())
    for part in range(2):
        dut.npu_rst.value = 0
        checker = CycleChecker(dut, bench, clock, BridgeGolden(params))
        checking = cocotb.start_soon(checker.run())
        for _ in range(REQUESTS):
            data = request(rng, params)
            if rng.random() < 0.1:
                await send(dut, data[: rng.randrange(1, len(data))], params.divisor)
                await ClockCycles(clock, params.gap_cycles + 2)
            await send(dut, data, params.divisor)
            if dut.idle_npu.value:
                continue
            for _ in range(40 * params.byte_cycles):
                await RisingEdge(clock)
                if dut.idle_npu.value:
                    break
            else:
                raise AssertionError(f"seed {bench.seed}: the bridge does not come to rest")
        checking.cancel()
        if part == 0:  # the reset falls into an answer
            await send(dut, request(rng, params), params.divisor)
            dut.npu_rst.value = 1
            await ClockCycles(clock, 2)
    assert sum(source.taken for source in sources.values()) > REQUESTS
