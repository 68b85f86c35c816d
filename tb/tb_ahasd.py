# SPDX-License-Identifier: Apache-2.0
"""Bench of the top behind AXI pins: bus models that are not ours, on two unrelated clocks.

The checker compares all pins of the top with the golden model on every edge. Beside it, books are
kept of batches, feedback, epochs and counters, from what sequencer, NPU and host do and see.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from random import Random
from types import SimpleNamespace
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiResp,
    AxiStreamBus,
    AxiStreamSink,
    AxiStreamSource,
)

from ahasd.rtl.ahasd.golden import NPU, PIM, AhasdGolden
from ahasd.rtl.ahasd.params import AhasdParams, Request
from ahasd.rtl.configs import UNITS
from ahasd.rtl.edc.params import Cause, Decision
from ahasd.rtl.gtsu.params import Issue
from ahasd.rtl.host.registers import REGISTERS
from ahasd.rtl.queues.golden import Report, Word
from ahasd.rtl.queues.params import Event, Kind
from ahasd.rtl.tvc.params import Record, Table
from ahasd.tb.lib.bench import Bench
from ahasd.tb.lib.stream import Sink, Source
from ahasd.tb.lib.two_clocks import EdgeChecker, defined

BATCHES = 60
RESET_CYCLES = 20
PIM_PERIOD_PS = 1250
SOURCES = ("draft", "request", "task", "done", "measure")
SINKS = ("decision", "feedback", "answer", "preverify", "issue")
ADDRESSES = {register.name: register.address for register in REGISTERS}


class Joined:
    """Pins side by side, the lowest first, to be read as one."""

    def __init__(self, *pins: Any) -> None:
        self._pins = pins

    @property
    def value(self) -> int:
        """Their value."""
        joined = offset = 0
        for pin in self._pins:
            joined |= defined(pin) << offset
            offset += len(pin)
        return joined


def inner_pins(dut: Any, manifest: Mapping[str, Any]) -> SimpleNamespace:
    """Return the pins by the names that the top's own streams have."""
    channels = {name: f"s_axil_{name}" for name in ("aw", "w", "b", "ar", "r")}
    channels |= {"batch_out": "m_axis_draft_t", "feedback_in": "s_axis_feedback_t"}
    fields = {
        "aw": ("addr",),
        "w": ("data", "strb"),
        "b": ("resp",),
        "ar": ("addr",),
        "r": ("data", "resp"),
        "batch_out": ("data",),
        "feedback_in": ("data",),
    }
    pins = {}
    for port in manifest["ports"]:
        stream, _, role = port["name"].partition("__")
        if stream not in channels:
            pins[port["name"]] = getattr(dut, port["name"])
            continue
        names = fields[stream] if role == "payload" else (role,)
        pins[port["name"]] = Joined(*(getattr(dut, channels[stream] + name) for name in names))
    return SimpleNamespace(**pins)


class Settled:
    """A golden model whose payloads count only while they are valid.

    Memories outlive a reset, and one that nothing was written to shows what it held before.
    """

    def __init__(self, golden: AhasdGolden) -> None:
        self._golden = golden

    def step(self, pins: Mapping[str, int], clocks: int) -> dict[str, int]:
        """Take an edge; return the outputs that count."""
        outputs = self._golden.step(pins, clocks)
        return {
            name: value
            for name, value in outputs.items()
            if not name.endswith("payload") or outputs[name.removesuffix("payload") + "valid"]
        }


class World:
    """Sequencer, NPU and host around the top.

    Parameters
    ----------
    dut, bench
        Design, and what the bench was told.
    """

    def __init__(self, dut: Any, bench: Bench) -> None:
        self.dut = dut
        self.params: AhasdParams = UNITS["ahasd"].configurations[bench.configuration]
        self._rng = bench.rng("stimulus")
        pim, npu = (dut.pim_clk, dut.pim_rst), (dut.npu_clk, dut.npu_rst)
        self.sources = {
            name: Source(dut, name, pim[0], bench.rng(name), bench.gap) for name in SOURCES
        }
        self.sinks = {name: Sink(dut, name, pim[0], bench.rng(name), bench.stall) for name in SINKS}
        self.host: Any = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), *npu)
        words = AxiStreamBus.from_prefix(dut, "m_axis_draft")
        self.words: Any = AxiStreamSink(words, *npu, byte_lanes=1)
        reports = AxiStreamBus.from_prefix(dut, "s_axis_feedback")
        self.reports: Any = AxiStreamSource(reports, *npu, byte_lanes=1)
        for channel, probability in (
            (self.host.write_if.aw_channel, bench.gap),
            (self.host.write_if.w_channel, bench.gap),
            (self.host.read_if.ar_channel, bench.gap),
            (self.host.write_if.b_channel, bench.stall),
            (self.host.read_if.r_channel, bench.stall),
            (self.words, bench.stall),
            (self.reports, bench.gap),
        ):
            if probability:
                rng = bench.rng(f"{type(channel).__name__} {probability}")
                channel.set_pause_generator(_pauses(rng, probability))
        dut.drained.value = 1
        dut.layer_boundary.value = 0
        dut.compute_request.value = 0
        self.restart()

    def restart(self) -> None:
        """Begin with empty books, after a reset."""
        self.counts: Counter[str] = Counter()
        self._epochs = [0, 0]  # of the sequencer and of the NPU
        self._expected: deque[tuple[int, list[int]]] = deque()
        self._told: deque[Report] = deque()
        self._serial = 0
        for sink in self.sinks.values():
            sink.received.clear()

    @property
    def quiet(self) -> bool:
        """Whether the sequencer has got rid of all that it had."""
        return not any(source.queue for source in self.sources.values())

    async def write(self, name: str, value: int) -> None:
        """Write a register."""
        done = await self.host.write(ADDRESSES[name], value.to_bytes(4, "little"))
        assert done.resp == AxiResp.OKAY

    async def read(self, name: str) -> int:
        """Read a register, or the low word of a counter."""
        read = await self.host.read(ADDRESSES[name], 4)
        assert read.resp == AxiResp.OKAY
        return int.from_bytes(read.data, "little")

    async def count_cycles(self) -> None:
        """Drive the cycle counter of the PIM."""
        now = 0
        while True:
            self.dut.now.value = now % (1 << self.params.tvc.time_width)
            await RisingEdge(self.dut.pim_clk)
            now += 1

    async def sequence(self, batches: int) -> None:
        """Send batches, cuts, tasks, questions and measurements until so many batches were sent."""
        rng, sources = self._rng, self.sources
        while self._serial < batches or sources["draft"].queue:
            await RisingEdge(self.dut.pim_clk)
            self._listen()
            if not sources["draft"].queue and self._serial < batches:
                self._send()
            if not sources["task"].queue and rng.random() < 0.05:
                sources["task"].queue.append(rng.getrandbits(self.params.gtsu.id_width))
            if not sources["request"].queue and rng.random() < 0.02:
                request = Request(self._epochs[0], 0, 1, 1, 0, 2)
                sources["request"].queue.append(request.pack(self.params))
            if not sources["measure"].queue and rng.random() < 0.01:
                table = rng.choice(list(Table))
                record = Record(table, rng.randint(1, 200), rng.randint(1, 3))
                sources["measure"].queue.append(record.pack(self.params.tvc))

    def _send(self) -> None:
        rng, queues = self._rng, self.params.queues
        epoch = self._epochs[0]
        self._serial += 1
        batch = self._serial % (1 << queues.batch_width)
        if rng.random() < 0.15:
            words = [Word(Kind.CUT, epoch, batch=batch)]
        else:
            if rng.random() < 0.1:
                epoch = (epoch - 1) % (1 << queues.epoch_width)
            length = rng.randint(1, queues.batch_tokens)
            words = [Word(Kind.HEADER, epoch, batch=batch, length=length)]
            for _ in range(length):
                words.append(Word(Kind.TOKEN, epoch, rng.getrandbits(queues.token_width)))
        packed = [word.pack(queues) for word in words]
        self._expected.append((epoch, packed))
        entropy = rng.getrandbits(self.params.edc.entropy_width)
        first = packed[0] | entropy << 2 + queues.epoch_width + queues.body_width
        self.sources["draft"].queue.extend([first, *packed[1:]])

    def _listen(self) -> None:
        """Take note of what the top said to the sequencer."""
        sinks = self.sinks
        while sinks["feedback"].received:
            payload = sinks["feedback"].received.popleft()
            report = Report.unpack(payload, self.params.queues)
            assert report == self._told.popleft(), "feedback was lost, doubled or reordered"
            self.counts["feedback"] += 1
            if report.rejects:
                self._epochs[0] = (self._epochs[0] + 1) % (1 << self.params.queues.epoch_width)
        while sinks["decision"].received:
            decision = Decision.unpack(sinks["decision"].received.popleft())
            answers = decision.cause in (Cause.PREDICTED, Cause.EXPLORED)
            self.counts["answers" if answers else "releases"] += 1
        while sinks["issue"].received:
            issue = Issue.unpack(sinks["issue"].received.popleft())
            self.counts["issues"] += 1
            self.sources["done"].queue.append(issue.id)

    async def verify(self) -> None:
        """Take batches and judge the oldest, as the NPU."""
        rng, queues = self._rng, self.params.queues
        open_batches: deque[int] = deque()
        while True:
            frame = await self.words.recv()
            words = list(frame.tdata)
            while self._expected[0][1] != words:
                epoch, lost = self._expected.popleft()
                assert epoch != self._epochs[1], f"a batch was lost: {lost}"
            self._expected.popleft()
            first = Word.unpack(words[0], queues)
            self.counts["cuts" if first.kind is Kind.CUT else "batches"] += 1
            self.counts["tokens"] += len(words) - 1
            if first.kind is Kind.HEADER and first.epoch == self._epochs[1]:
                open_batches.append(first.batch)
                if len(open_batches) == 1:
                    await self._report(Report(Event.START, kv_length=1, npu_cycles=100))
            while open_batches and (len(open_batches) > 1 or rng.random() < 0.5):
                fate = rng.random()
                report = Report(
                    Event.VERDICT,
                    open_batches.popleft(),
                    full=fate > 0.25,
                    void=fate < 0.1,
                    last=rng.random() < 0.5,
                    npu_cycles=100,
                    kv_length=1,
                )
                await self._report(report)
                if report.rejects:
                    self.counts["rejections"] += 1
                    self._epochs[1] = (self._epochs[1] + 1) % (1 << queues.epoch_width)
                    open_batches.clear()

    async def _report(self, report: Report) -> None:
        self._told.append(report)
        await self.reports.send([report.pack(self.params.queues)])
        await self.reports.wait()
        self.counts["reports"] += 1

    async def check_counters(self) -> None:
        """Compare the counters with the books, when all has come to rest."""
        self._listen()
        for name, count in {
            "npu.BATCHES_DELIVERED": self.counts["batches"],
            "npu.TOKENS_DELIVERED": self.counts["tokens"],
            "npu.CUTS_DELIVERED": self.counts["cuts"],
            "npu.FEEDBACK_ACCEPTED": self.counts["reports"],
            "npu.REJECTIONS": self.counts["rejections"],
            "pim.FEEDBACK_DELIVERED": self.counts["feedback"],
            "pim.BATCHES_OFFERED": self.counts["answers"],
            "pim.RELEASES": self.counts["releases"],
        }.items():
            assert await self.read(name) == count, f"{name} is not {count}"
        tasks = await self.read("pim.TASKS_DRAFT") + await self.read("pim.TASKS_PREVERIFY")
        assert tasks == self.counts["issues"]
        assert await self.read("pim.ERRORS") & 0b1111 == 0  # `done` of a task that ended may come
        assert await self.read("npu.IRQ_STATUS") & 0b11 == 0b11
        assert self.dut.irq.value == 1
        await self.write("npu.IRQ_ENABLE", 0)
        await RisingEdge(self.dut.npu_clk)
        assert self.dut.irq.value == 0


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def two_clocks(dut) -> None:
    """Legal traffic with stalls; a reset in mid-batch; any phase of the clocks."""
    bench = Bench()
    rng = bench.rng("clocks")
    npu_ps = rng.choice((630, 998, 1002, 1250, 1778, 2490))
    dut.pim_rst.value = 1
    dut.npu_rst.value = 1
    Clock(dut.pim_clk, PIM_PERIOD_PS, unit="ps").start(start_high=False)
    await Timer(rng.randrange(1, npu_ps), unit="ps")
    Clock(dut.npu_clk, npu_ps, unit="ps").start(start_high=False)
    world = World(dut, bench)
    cocotb.start_soon(world.count_cycles())

    for batches in (BATCHES // 3, BATCHES):
        dut.pim_rst.value = 1
        dut.npu_rst.value = 1
        for clock in (dut.pim_clk, dut.npu_clk):
            for _ in range(RESET_CYCLES):
                await RisingEdge(clock)
        while not world.quiet:  # what is left from before goes nowhere
            await RisingEdge(dut.pim_clk)
        world.words.clear()
        world.reports.clear()
        await RisingEdge(dut.pim_clk)
        world.restart()
        await Timer(100, unit="ps")
        dut.pim_rst.value = 0
        dut.npu_rst.value = 0
        checker = EdgeChecker(
            inner_pins(dut, bench.manifest), bench, Settled(AhasdGolden(world.params))
        )
        tasks = [
            cocotb.start_soon(checker.watch(dut.pim_clk, PIM)),
            cocotb.start_soon(checker.watch(dut.npu_clk, NPU)),
            cocotb.start_soon(world.verify()),
        ]
        await RisingEdge(dut.npu_clk)
        await world.write("npu.IRQ_ENABLE", 0b011)
        await world.write("pim.GTSU_DLM_MASK", 0b01)
        await world.write("pim.GTSU_TLM_MASK", 0b10)
        await world.write("pim.TVC_SWITCH_CYCLES", 1)
        await world.sequence(batches)
        if batches == BATCHES:
            for _ in range(8 * world.params.tvc.decision_cycles):
                await RisingEdge(dut.pim_clk)
            await world.check_counters()
            assert world.counts["rejections"] > 3
            assert checker.edges > 20 * batches
        else:
            world._send()
            await RisingEdge(dut.pim_clk)
            await RisingEdge(dut.pim_clk)
        for task in tasks:
            task.cancel()


def _pauses(rng: Random, probability: float) -> Iterator[bool]:
    while True:
        yield rng.random() < probability
