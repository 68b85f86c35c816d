# SPDX-License-Identifier: Apache-2.0
"""Bench of the host interface: an AXI4-Lite master that is not ours, on two unrelated clocks.

The toplevel has the unit's ports, but for the channels of the bus, which have AXI's names with the
prefix `s_axil_`. The checker compares all pins with the golden model on every edge; what the bus
reads and is told is compared with a model of bytes here.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from ahasd.rtl.configs import UNITS
from ahasd.rtl.host.golden import NPU, PIM, HostGolden
from ahasd.rtl.host.params import widths
from ahasd.rtl.host.registers import REGISTERS
from ahasd.tb.lib.bench import Bench
from ahasd.tb.lib.stream import Sink
from ahasd.tb.lib.two_clocks import EdgeChecker

ACCESSES = 60
PIM_PERIOD_PS = 1250
BY_NAME = {register.name: register for register in REGISTERS}
MASKS = BY_NAME["pim.GTSU_DLM_MASK"].address
MASK_BYTES = 8
"""Two registers of 32 bits, side by side: storage for any bytes."""

ILLEGAL = (0x0014, 0x0FFC, 0x1FFC, 0x2000, 0x3060)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def two_clocks(dut) -> None:
    """All kinds of accesses with stalls; resets in mid-transfer; any phase of the clocks."""
    bench = Bench()
    params = UNITS["host"].configurations[bench.configuration]
    rng = bench.rng("stimulus")
    npu_ps = rng.choice((630, 998, 1002, 1250, 1778, 2490))
    bus = AxiLiteBus.from_prefix(dut, "s_axil")
    master: Any = AxiLiteMaster(bus, dut.npu_clk, dut.npu_rst)
    for channel, probability in (
        (master.write_if.aw_channel, bench.gap),
        (master.write_if.w_channel, bench.gap),
        (master.read_if.ar_channel, bench.gap),
        (master.write_if.b_channel, bench.stall),
        (master.read_if.r_channel, bench.stall),
    ):
        if probability:
            channel.set_pause_generator(_pauses(bench.rng(type(channel).__name__), probability))
    commands = {
        name: Sink(dut, name, dut.pim_clk, bench.rng(name), bench.stall)
        for name in ("edc_command", "tvc_command", "gtsu_command", "tvc_record")
    }
    dut.pim_rst.value = 1
    dut.npu_rst.value = 1
    for port in ("pim_events", "npu_events", "pim_status", "npu_status"):
        getattr(dut, port).value = 0
    Clock(dut.pim_clk, PIM_PERIOD_PS, unit="ps").start(start_high=False)
    await Timer(rng.randrange(1, npu_ps), unit="ps")
    Clock(dut.npu_clk, npu_ps, unit="ps").start(start_high=False)
    for domain, clock in (("pim", dut.pim_clk), ("npu", dut.npu_clk)):
        cocotb.start_soon(_events(dut, domain, clock, bench.rng(f"{domain} events")))

    for _ in range(2):
        dut.pim_rst.value = 1
        dut.npu_rst.value = 1
        for clock in (dut.pim_clk, dut.npu_clk):
            for _ in range(20):  # long enough for every synchroniser of the slower clock
                await RisingEdge(clock)
        await Timer(100, unit="ps")
        dut.pim_rst.value = 0
        dut.npu_rst.value = 0
        checker = EdgeChecker(dut, bench, HostGolden(params))
        checking = [
            cocotb.start_soon(checker.watch(dut.pim_clk, PIM)),
            cocotb.start_soon(checker.watch(dut.npu_clk, NPU)),
        ]
        await RisingEdge(dut.npu_clk)
        await _use(master, rng, commands)
        assert checker.edges > 8 * ACCESSES
        await _interrupt(dut, master)
        # The reset comes while these are under way; their responses never come.
        cocotb.start_soon(master.read(MASKS, 4))
        cocotb.start_soon(master.write(MASKS, bytes(4)))
        for _ in range(rng.randrange(1, 12)):
            await RisingEdge(dut.npu_clk)
        for task in checking:
            task.cancel()


def _pauses(rng: Random, probability: float) -> Iterator[bool]:
    while True:
        yield rng.random() < probability


async def _events(dut: Any, domain: str, clock: Any, rng: Random) -> None:
    """Show random events and status in a domain, for the checker."""
    bits = {what: sum(widths(f"{domain}_{what}").values()) for what in ("events", "status")}
    while True:
        await RisingEdge(clock)
        events = rng.getrandbits(bits["events"]) if rng.random() < 0.3 else 0
        getattr(dut, f"{domain}_events").value = events
        getattr(dut, f"{domain}_status").value = rng.getrandbits(bits["status"])


async def _use(master: Any, rng: Random, commands: dict[str, Sink]) -> None:
    """Access storage, counters, commands and nothing, one after another and in a burst."""
    stored = bytearray(MASK_BYTES)
    for _ in range(ACCESSES):
        kind = rng.randrange(6)
        first = rng.randrange(MASK_BYTES)
        length = rng.randint(1, MASK_BYTES - first)
        address = rng.choice(ILLEGAL)
        if kind == 0:
            written = rng.randbytes(length)
            stored[first : first + length] = written
            assert (await master.write(MASKS + first, written)).resp == AxiResp.OKAY
        elif kind == 1:
            read = await master.read(MASKS + first, length)
            assert read.resp == AxiResp.OKAY
            assert read.data == stored[first : first + length]
        elif kind == 2:
            assert (await master.read(address, 4)).resp == AxiResp.DECERR
            assert (await master.write(address, bytes(4))).resp == AxiResp.DECERR
        elif kind == 3:
            refused = await master.write(BY_NAME["npu.ID"].address, bytes(4))
            assert refused.resp == AxiResp.SLVERR
            assert (await master.read(BY_NAME["npu.ID"].address, 4)).data == b"DSHA"
        elif kind == 4:
            await _command(master, rng, commands)
        else:
            tasks = [cocotb.start_soon(master.read(MASKS, MASK_BYTES)) for _ in range(4)]
            unrelated = cocotb.start_soon(master.write(BY_NAME["npu.IRQ_ENABLE"].address, bytes(4)))
            for task in tasks:
                assert (await task).data == stored
            assert (await unrelated).resp == AxiResp.OKAY


async def _command(master: Any, rng: Random, commands: dict[str, Sink]) -> None:
    """Give a command or a measurement; it must have been taken when the response comes."""
    name, field = rng.choice(
        [("pim.COMMAND", field) for field in BY_NAME["pim.COMMAND"].fields]
        + [("pim.TVC_PRELOAD", BY_NAME["pim.TVC_PRELOAD"].fields[1])]
    )
    data = (1 << field.low).to_bytes(4, "little")
    before = {stream: len(sink.received) for stream, sink in commands.items()}
    assert (await master.write(BY_NAME[name].address, data)).resp == AxiResp.OKAY
    after = {stream: len(sink.received) for stream, sink in commands.items()}
    unit = field.name.partition("_")[0]
    expected = "tvc_record" if name == "pim.TVC_PRELOAD" else f"{unit}_command"
    assert {stream: after[stream] - before[stream] for stream in after} == {
        stream: int(stream == expected) for stream in after
    }


async def _interrupt(dut: Any, master: Any) -> None:
    """Wait for an interrupt, find its cause, and turn it off."""
    enable, flags = BY_NAME["npu.IRQ_ENABLE"].address, BY_NAME["npu.IRQ_STATUS"]
    taken = next(1 << field.low for field in flags.fields if field.name == "feedback_taken")
    await master.write(enable, taken.to_bytes(4, "little"))
    if not dut.irq.value:
        await RisingEdge(dut.irq)
    status = await master.read(flags.address, 4)
    assert int.from_bytes(status.data, "little") & taken
    await master.write(enable, bytes(4))
    await RisingEdge(dut.npu_clk)
    assert dut.irq.value == 0
