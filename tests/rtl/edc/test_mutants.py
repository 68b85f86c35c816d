# SPDX-License-Identifier: Apache-2.0
"""Hand-made faults in the EDC's hardware, each of which the comparison with golden must catch."""

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
    "a verdict trains the present index instead of the remembered one": (
        "pht_train.addr.eq(in_flight_read.data.index)",
        "pht_train.addr.eq(Cat(llr, leht[0], leht[-1]))",
    ),
    "a flush leaves LLR counting": (
        "llr_judged.eq(Mux(rejected, 0, llr - judged))",
        "llr_judged.eq(llr - judged)",
    ),
    "a rejection does not roll the history back": (
        "leht_judged.eq(Mux(rejected, lceht, leht))",
        "leht_judged.eq(leht)",
    ),
    "counters wrap instead of saturating": (
        "with m.If(pht_train.data != params.counter_max):",
        "with m.If(1):",
    ),
    "the input does not stall when as many batches are outstanding as LLR can count": (
        "~self.command.valid & (llr != params.max_outstanding)",
        "~self.command.valid",
    ),
    "a held decision is overwritten": (
        "accept.eq(~clearing & (~self.decision.valid | self.decision.ready))",
        "accept.eq(~clearing)",
    ),
    "the table is read before the write of the same cycle": (
        "with m.If(judged & (pht_train.addr == index)):",
        "with m.If(0):",
    ),
    "every verdict commits, accepted or not": (
        "with m.If(accepted):",
        "with m.If(judged):",
    ),
    "a recheck releases without looking": (
        "with m.Elif(self.recheck & accepted & says_go):",
        "with m.Elif(self.recheck & accepted):",
    ),
    "a void trains its entry": (
        "with m.If(void):",
        "with m.If(0):",
    ),
    "a void rechecks": (
        "with m.Elif(self.recheck & accepted & says_go):",
        "with m.Elif(self.recheck & says_go):",
    ),
    "a stop is held beyond its release": (
        "m.d.pim += stopped.eq(0)",
        "pass",
    ),
    "the clear leaves out the last entry": (
        "clearing.eq(clear_index != params.pht_entries - 1)",
        "clearing.eq(clear_index != params.pht_entries - 2)",
    ),
    "idle is raised while a decision waits": (
        "self.idle_pim.eq(~clearing & ~self.decision.valid)",
        "self.idle_pim.eq(~clearing)",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_hardware_is_caught(name, traffic, monkeypatch):
    before, after = MUTANTS[name]
    source = (files("ahasd.rtl.edc") / "unit.py").read_text()
    assert source.count(before) == 1, "the mutant no longer fits the source"
    module = ModuleType("edc_mutant")
    exec(compile(source.replace(before, after), "edc_mutant", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, "edc_mutant", module)
    unit = replace(UNITS["edc"], hardware="edc_mutant:EdcUnit")
    params = unit.configurations["test"]
    engine, golden = PysimEngine(unit, params), GoldenEngine(unit, params)
    stimulus = traffic(params, 0)
    seen: dict[str, int] = {}
    for edge in range(8000):
        pins = stimulus.pins(seen)
        seen = engine.step(pins, 1, edge)
        if seen != golden.step(pins, 1, edge):
            return
    pytest.fail("the mutant was not caught")
