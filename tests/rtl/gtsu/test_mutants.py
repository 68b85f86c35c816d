# SPDX-License-Identifier: Apache-2.0
"""Hand-made faults in the GTSU's hardware, each of which the comparison with golden must catch."""

import sys
from dataclasses import replace
from importlib.resources import files
from types import ModuleType

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.pysim import PysimEngine

pytestmark = pytest.mark.full

MUTANTS = {
    "requests are granted while nothing runs": (
        "self.compute_request & self.mask & self.running.replicate(params.ranks)",
        "self.compute_request & self.mask",
    ),
    "requests of gated ranks are granted": (
        "self.compute_request & self.mask & self.running.replicate(params.ranks)",
        "self.compute_request & self.running.replicate(params.ranks)",
    ),
    "the old mask stays up while the ranks are switched": (
        """                m.d.pim += [
                    self.mask.eq(0),
                    self.state.eq(State.SWITCHING),""",
        """                m.d.pim += [
                    self.state.eq(State.SWITCHING),""",
    ),
    "a mask stays up after a time-out": (
        "m.d.pim += [self.timeout.eq(1), self.mask.eq(0), self.state.eq(State.IDLE)]",
        "m.d.pim += [self.timeout.eq(1), self.state.eq(State.IDLE)]",
    ),
    "nobody waits for the commands in flight": (
        "with m.Elif((draining | switching) & ~self.drained):",
        "with m.Elif(0):",
    ),
    "commands that appear again during the switch are overlooked": (
        "with m.Elif((draining | switching) & ~self.drained):",
        "with m.Elif(draining & ~self.drained):",
    ),
    "the drain budget is one cycle longer": (
        "with m.If(budget.any()):\n                m.d.pim += budget.eq(budget - 1)",
        "with m.If(~budget.all()):\n                m.d.pim += budget.eq(budget - 1)",
    ),
    "the drain budget is not limited": (
        "self.drain_max_cycles > DRAIN_LIMIT_CYCLES,",
        "0,",
    ),
    "the switch is one cycle short": (
        "with m.If(switch_left[1:].any()):",
        "with m.If(switch_left[1:].any() & (switch_left != 2)):",
    ),
    "overlapping masks are raised": (
        "chosen_is_legal.eq(chosen.any() & ~(self.dlm_mask & self.tlm_mask).any())",
        "chosen_is_legal.eq(chosen.any())",
    ),
    "an empty mask is raised": (
        "chosen_is_legal.eq(chosen.any() & ~(self.dlm_mask & self.tlm_mask).any())",
        "chosen_is_legal.eq(~(self.dlm_mask & self.tlm_mask).any())",
    ),
    "tasks are issued although an error is raised": (
        "with m.Elif(any_task & ~halted):",
        "with m.Elif(any_task):",
    ),
    "drafting goes before pre-verification": (
        "any_preverify.eq(levels[Kind.PREVERIFY].any() & ~flush)",
        "any_preverify.eq(levels[Kind.PREVERIFY].any() & ~levels[Kind.DRAFT].any() & ~flush)",
    ),
    "a suspended task goes behind those that wait": (
        "resumes.eq(suspended & ~ends_suspended & ~flush)",
        "resumes.eq(suspended & ~levels[Kind.DRAFT].any() & ~ends_suspended & ~flush)",
    ),
    "a resumed task is not marked": (
        "self.issue.payload.resumed.eq(~any_preverify & resumes)",
        "self.issue.payload.resumed.eq(0)",
    ),
    "a task that ended as it was suspended is issued again": (
        "with m.Elif(ends_suspended):\n            m.d.pim += suspended.eq(0)",
        "with m.Elif(ends_suspended):\n            pass",
    ),
    "pre-verification is suspended too": (
        "(self.issue.payload.kind == Kind.DRAFT)\n            & levels",
        "levels",
    ),
    "the layer is not finished first": (
        "            & self.preempt\n            & self.layer_boundary",
        "            & self.preempt",
    ),
    "any done ends the running task": (
        "ends_running.eq(self.done.valid & self.running & names_issued)",
        "ends_running.eq(self.done.valid & self.running)",
    ),
    "a flush leaves the suspended task": (
        "m.d.pim += [suspended.eq(0), *(level.eq(0) for level in levels.values())]",
        "m.d.pim += [level.eq(0) for level in levels.values()]",
    ),
    "a flush leaves the running task": (
        "with m.If(flush):\n                m.d.pim += late.eq(1)",
        "with m.If(0):\n                m.d.pim += late.eq(1)",
    ),
    "a flushed offer runs": (
        "self.running.eq(~(doomed | flush))",
        "self.running.eq(~flush)",
    ),
    "a done that crosses a flush is an error": (
        "with m.Elif(self.done.valid & late & names_issued):",
        "with m.Elif(0):",
    ),
    "a done is forgiven beyond the next issue": (
        "                late.eq(0),\n                self.state.eq(Mux(",
        "                self.state.eq(Mux(",
    ),
    "a done of any number is forgiven after a flush": (
        "with m.Elif(self.done.valid & late & names_issued):",
        "with m.Elif(self.done.valid & late):",
    ),
    "the queue takes a task too many": (
        "self.task.ready.eq((queued != entries) & ~self.command.valid)",
        "self.task.ready.eq((levels[Kind.DRAFT] != entries) & ~self.command.valid)",
    ),
    "a task is taken with a command": (
        "self.task.ready.eq((queued != entries) & ~self.command.valid)",
        "self.task.ready.eq(queued != entries)",
    ),
    "idle is raised while a suspension is due": (
        "& Mux(self.running, ~preempts, halted | ~self.pending.any())",
        "& Mux(self.running, 1, halted | ~self.pending.any())",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_hardware_is_caught(name, traffic, monkeypatch):
    before, after = MUTANTS[name]
    source = (files("ahasd.rtl.gtsu") / "unit.py").read_text()
    assert source.count(before) == 1, "the mutant no longer fits the source"
    module = ModuleType("gtsu_mutant")
    exec(compile(source.replace(before, after), "gtsu_mutant", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, "gtsu_mutant", module)
    unit = replace(UNITS["gtsu"], hardware="gtsu_mutant:GtsuUnit")
    params = unit.configurations["test"]
    engine, golden = PysimEngine(unit, params), GoldenEngine(unit, params)
    stimulus = traffic(params, 0)
    seen: dict[str, int] = {}
    for edge in range(12_000):
        pins = stimulus.pins(seen)
        seen = engine.step(pins, 1, edge)
        if seen != golden.step(pins, 1, edge):
            return
    pytest.fail("the mutant was not caught")
