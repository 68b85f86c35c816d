# SPDX-License-Identifier: Apache-2.0
"""Bench of the queue controllers: two unrelated clocks, both directions, resets, any phase.

The checker samples every pin at every edge of either clock and steps the golden model with the same
edges, so that values, order and latencies are compared exactly.
"""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotb.utils import get_sim_time

from ahasd.rtl.configs import UNITS
from ahasd.rtl.queues.golden import NPU, PIM, QueuesGolden, Report, Word
from ahasd.rtl.queues.params import Event, Kind
from ahasd.tb.lib.bench import Bench
from ahasd.tb.lib.stream import Sink, Source

BATCHES = 150
PERIODS_PS = {"pim": 1250, "npu": 1000}


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def two_clocks(dut) -> None:
    """Batches and cuts one way, verdicts the other, with rejections; reset in mid-traffic."""
    bench = Bench()
    params = UNITS["queues"].configurations[bench.configuration]
    rng = bench.rng("stimulus")
    # Unrelated periods: a ratio near the real one, and a phase that drifts through everything.
    npu_ps = rng.choice((630, 997, 1003, 1249, 1777, 2491))
    pim_clk, npu_clk = dut.pim_clk, dut.npu_clk
    batch_in = Source(dut, "batch_in", pim_clk, bench.rng("batch"), bench.gap)
    feedback_in = Source(dut, "feedback_in", npu_clk, bench.rng("feedback"), bench.gap)
    preverify_in = Source(dut, "preverify_in", pim_clk, bench.rng("task"), bench.gap)
    batch_out = Sink(dut, "batch_out", npu_clk, bench.rng("taken"), bench.stall)
    feedback_out = Sink(dut, "feedback_out", pim_clk, bench.rng("heard"), bench.stall)
    Sink(dut, "preverify_out", pim_clk, bench.rng("issued"), bench.stall)
    dut.pim_rst.value = 1
    dut.npu_rst.value = 1
    Clock(pim_clk, 2 * (PERIODS_PS["pim"] // 2), unit="ps").start(start_high=False)
    await Timer(rng.randrange(1, 600), unit="ps")
    Clock(npu_clk, 2 * (npu_ps // 2), unit="ps").start(start_high=False)

    for _ in range(2):
        dut.pim_rst.value = 1
        dut.npu_rst.value = 1
        for _ in range(20):  # long enough for every synchroniser of the slower clock
            await RisingEdge(pim_clk)
        await Timer(200, unit="ps")
        dut.pim_rst.value = 0
        dut.npu_rst.value = 0
        checker = EdgeChecker(dut, bench, QueuesGolden(params))
        checking = [
            cocotb.start_soon(checker.watch(pim_clk, PIM)),
            cocotb.start_soon(checker.watch(npu_clk, NPU)),
        ]
        popped = len(batch_out.received)
        serial = 0
        rejections = 0
        while serial < BATCHES or batch_in.queue:
            if len(batch_in.queue) < 4 and serial < BATCHES:
                serial += 1
                epoch = int(dut.epoch_pim.value)
                for word in _batch(params, rng, epoch, serial):
                    batch_in.queue.append(word.pack(params))
            if len(feedback_in.queue) < 2:
                rejects = rng.random() < 0.15
                rejections += rejects
                full = not rejects
                report = Report(Event.VERDICT, serial % 4, full=full, next_token=serial % 4)
                feedback_in.queue.append(report.pack(params))
            if not preverify_in.queue:
                preverify_in.queue.append(int(dut.epoch_pim.value))
            await RisingEdge(pim_clk)
        assert checker.edges > 4 * BATCHES
        assert rejections > 5
        assert len(batch_out.received) > popped
        for task in checking:
            task.cancel()
    assert feedback_out.received


def _batch(params, rng, epoch, serial) -> list[Word]:
    """Return a batch, sometimes of another epoch, or a cut."""
    if rng.random() < 0.1:
        epoch = rng.randrange(1 << params.epoch_width)
    batch = serial % (1 << params.batch_width)
    length = rng.randint(1, params.batch_tokens)
    if rng.random() < 0.1:
        return [Word(Kind.CUT, epoch, batch=batch, length=length - 1)]
    header = Word(Kind.HEADER, epoch, batch=batch, length=length)
    tokens = [Word(Kind.TOKEN, epoch, rng.getrandbits(params.token_width)) for _ in range(length)]
    return [header, *tokens]


class EdgeChecker:
    """Compare every output pin with the golden model on every edge of either clock."""

    def __init__(self, dut, bench: Bench, golden: QueuesGolden) -> None:
        self._dut = dut
        self._golden = golden
        self._seed = bench.seed
        self._inputs = {}
        self._outputs = {}
        for port in bench.manifest["ports"]:
            group = self._inputs if port["direction"] == "in" else self._outputs
            group[port["name"]] = getattr(dut, port["name"])
        self.edges = 0
        self._mask = 0
        self._time = -1
        self._inputs_seen: dict[str, int] = {}
        self._seen: dict[str, int] = {}

    async def watch(self, clock, bit: int) -> None:
        """Note the edges of one clock, until cancelled."""
        while True:
            await RisingEdge(clock)
            now = get_sim_time("step")
            if now != self._time:  # else the other clock has its edge, too: one evaluation
                self._compare()
                self._time = now
                self._inputs_seen = {name: int(pin.value) for name, pin in self._inputs.items()}
                self._seen = {name: int(pin.value) for name, pin in self._outputs.items()}
            self._mask |= bit

    def _compare(self) -> None:
        """Step the golden model with the edges that were noted last."""
        if not self._mask:
            return
        seen = self._seen
        expected = self._golden.step(self._inputs_seen, self._mask)
        # A payload that is not valid shows what the memory held before the reset.
        invalid = {k for k in seen if k.endswith("payload") and not seen[k[:-7] + "valid"]}
        different = {
            k: (seen[k], expected[k]) for k in expected.keys() - invalid if seen[k] != expected[k]
        }
        assert not different, f"seed {self._seed}, edge {self.edges}: {different}"
        self.edges += 1
        self._mask = 0
