# SPDX-License-Identifier: Apache-2.0
"""Hand-made faults in the queue controllers, each caught by the scoreboard or by golden."""

import sys
from dataclasses import replace
from importlib.resources import files
from random import Random
from types import ModuleType

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.pysim import PysimEngine

pytestmark = pytest.mark.full

# file, before, after
MUTANTS = {
    "the pim side lets stale batches pass": (
        "pim_side",
        "passes.eq(good & ~stale)",
        "passes.eq(good)",
    ),
    "credits are not counted": ("pim_side", "m.d.pim += pushed.eq(pushed + 1)", "pass"),
    "a header enters without a credit": (
        "pim_side",
        "may_enter.eq(~acknowledges & (~is_header | has_credit))",
        "may_enter.eq(~acknowledges)",
    ),
    "the acknowledge breaks into a batch": (
        "pim_side",
        "acknowledges.eq(ack_pending & ~left.any())",
        "acknowledges.eq(ack_pending)",
    ),
    "the acknowledge is never sent": ("pim_side", "ack_pending.eq(1)", "ack_pending.eq(0)"),
    "a void verdict ends the epoch": (
        "pim_side",
        "~entry.report.full & ~entry.report.void",
        "~entry.report.full",
    ),
    "stale tasks come out": (
        "pim_side",
        "self.preverify_out.valid.eq(fifo.r_rdy & current)",
        "self.preverify_out.valid.eq(fifo.r_rdy)",
    ),
    "the npu side drops nothing": ("npu_side", "dropping.eq(~fresh)", "dropping.eq(0)"),
    "a shown header is withdrawn": (
        "npu_side",
        "fresh.eq(held | (word.epoch == self.epoch))",
        "fresh.eq(word.epoch == self.epoch)",
    ),
    "a flush begins before the last is acknowledged": (
        "npu_side",
        "may_enter.eq(~(rejects & self.flushing))",
        "may_enter.eq(1)",
    ),
    "a batch frees its slot with its first token": (
        "npu_side",
        "with m.If(~left[1:].any()):",
        "with m.If(1):",
    ),
    "counters cross without their Gray code": (
        "unit",
        "m.d.npu += coded.eq(source ^ source[1:])",
        "m.d.npu += coded.eq(source)",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_hardware_is_caught(name, scoreboard, clocks, random_pins, monkeypatch):
    file, before, after = MUTANTS[name]
    modules = {}
    for stem in ("pim_side", "npu_side", "unit"):
        source = (files("ahasd.rtl.queues") / f"{stem}.py").read_text()
        if stem == file:
            assert before in source, "the mutant no longer fits the source"
            source = source.replace(before, after)
        modules[stem] = source
    for stem, source in modules.items():
        module = ModuleType(f"queues_mutant_{stem}")
        for other in ("pim_side", "npu_side"):
            source = source.replace(f"ahasd.rtl.queues.{other}", f"queues_mutant_{other}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(source, module.__name__, "exec"), module.__dict__)
    unit = replace(UNITS["queues"], hardware="queues_mutant_unit:QueuesUnit")
    params = unit.configurations["test"]
    lockstep = Lockstep(PysimEngine(unit, params), GoldenEngine(unit, params))
    board = scoreboard(lockstep, params, clocks(npu_period=1100), seed=2)

    def use() -> None:
        """Use it orderly, then set pins without discipline."""
        board.run(4000, until_quiet=False)
        rng = Random(0)
        for _ in range(3000):
            pins = random_pins(params, rng, lockstep.seen["epoch_pim"])
            lockstep.step(pins, rng.choice((1, 2, 3)), 0)

    with pytest.raises(AssertionError):
        use()


class Lockstep:
    """A mutant with golden beside it; the scoreboard drives and checks the mutant."""

    def __init__(self, engine, golden):
        self._engine = engine
        self._golden = golden
        self._edges = 0
        self.seen: dict[str, int] = {}

    def step(self, pins, clocks, time_ps):
        self._edges += 1
        self.seen = seen = self._engine.step(pins, clocks, time_ps)
        assert seen == self._golden.step(pins, clocks, time_ps)
        assert self._edges < 20_000, "it hangs"
        return seen
