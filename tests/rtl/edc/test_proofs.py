# SPDX-License-Identifier: Apache-2.0
"""Proofs of the EDC, and faults that they must refute."""

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.edc.golden import EdcGolden
from ahasd.rtl.edc.properties import PROOFS, Ports, Releases, Training
from ahasd.rtl.edc.unit import EdcUnit
from ahasd.rtl.lib.properties import Quiescence
from ahasd.sim.formal.aig import replay
from ahasd.sim.formal.model import Model

pytestmark = pytest.mark.formal

UNIT = "edc"

# Fault: (text, replacement, properties, those of them that it violates).
MUTANTS = {
    "a flush leaves LLR counting": (
        "llr_judged.eq(Mux(rejected, 0, llr - judged))",
        "llr_judged.eq(llr - judged)",
        Ports,
        ["LLR is the drafts taken less the verdicts, since the last flush or start"],
    ),
    "drafts do not stall when as many batches are outstanding as LLR can count": (
        "~self.command.valid & (llr != params.max_outstanding)",
        "~self.command.valid",
        Ports,
        ["LLR never exceeds its maximum", "no draft is taken while LLR is at its maximum"],
    ),
    "the same, seen from a held stop": (
        "~self.command.valid & (llr != params.max_outstanding)",
        "~self.command.valid",
        Releases,
        ["a stop is held for fewer verdicts than the maximum of LLR"],
    ),
    "a held decision is overwritten": (
        "accept.eq(~clearing & (~self.decision.valid | self.decision.ready))",
        "accept.eq(~clearing)",
        Ports,
        [
            "a decision that is not taken stays, with its payload",
            "a decision that is not taken stalls every input",
        ],
    ),
    "a draft beside a verdict is not answered": (
        "                answered.eq(1),\n                answer.go",
        "                answered.eq(~judged),\n                answer.go",
        Ports,
        [
            "a draft is answered one cycle later",
            "drafts and answers taken differ by the answer on offer",
        ],
    ),
    "a draft is answered before it is taken": (
        "        with m.If(take_draft):\n            m.d.comb += [\n                answered",
        "        with m.If(self.draft.valid):\n            m.d.comb += [\n                answered",
        Ports,
        ["there is no answer but to a draft of the cycle before"],
    ),
    "a verdict trains the present index instead of the remembered one": (
        "pht_train.addr.eq(in_flight_read.data.index)",
        "pht_train.addr.eq(Cat(llr, leht[0], leht[-1]))",
        Training,
        ["a verdict trains the entry that predicted its batch"],
    ),
    "the in-flight FIFO is read one entry late": (
        "in_flight_read.addr.eq(oldest)",
        "in_flight_read.addr.eq(oldest + 1)",
        Training,
        ["a verdict trains the entry that predicted its batch"],
    ),
    "counters wrap instead of saturating": (
        "with m.If(pht_train.data != params.counter_max):",
        "with m.If(1):",
        Training,
        ["a verdict moves a counter by one and saturates; a void one leaves it"],
    ),
    "a void verdict trains": (
        "with m.If(void):\n            m.d.comb += trained.eq(pht_train.data)",
        "with m.If(0):\n            m.d.comb += trained.eq(pht_train.data)",
        Training,
        ["a verdict moves a counter by one and saturates; a void one leaves it"],
    ),
    "the table is read before the write of the same cycle": (
        "with m.If(judged & (pht_train.addr == index)):",
        "with m.If(0):",
        Training,
        ["a prediction is the high bit of what was last written"],
    ),
    "a rejection does not train": (
        "pht_write.en.eq(judged)",
        "pht_write.en.eq(judged & ~rejected)",
        Training,
        [
            "a flush trains exactly one entry",
            "the PHT is written once a verdict, and else only by the clear",
        ],
    ),
    "a verdict without a batch trains": (
        "pht_write.en.eq(judged)",
        "pht_write.en.eq(take_verdict)",
        Training,
        [
            "a flush trains exactly one entry",
            "the PHT is written once a verdict, and else only by the clear",
        ],
    ),
    "the clear leaves out the last entry": (
        "clearing.eq(clear_index != params.pht_entries - 1)",
        "clearing.eq(clear_index != params.pht_entries - 2)",
        Training,
        [
            "after reset or its command the clear takes as many cycles as entries",
            "a verdict moves what was last written",
            "the clear resets every entry",
        ],
    ),
    "the clear writes another value": (
        "pht_write.data.eq(params.counter_reset)",
        "pht_write.data.eq(params.counter_max)",
        Training,
        ["the clear resets every entry"],
    ),
    "a release by a rejection is told as one by an empty queue": (
        "with m.If(rejected):\n                m.d.comb += [answered",
        "with m.If(0):\n                m.d.comb += [answered",
        Releases,
        ["a rejection releases a held stop one cycle later"],
    ),
    "a void verdict does not release": (
        "with m.Elif(~llr_judged.any()):",
        "with m.Elif(accepted & ~llr_judged.any()):",
        Releases,
        [
            "the last verdict, if no rejection, releases a held stop one cycle later",
            "a held stop has a batch outstanding",
        ],
    ),
    "a verdict releases what was not held": (
        "with m.Elif(judged & stopped):",
        "with m.Elif(judged):",
        Releases,
        ["a release is a go, after a verdict on a held stop"],
    ),
    "idle is raised while a decision waits": (
        "self.idle_pim.eq(~clearing & ~self.decision.valid)",
        "self.idle_pim.eq(~clearing)",
        Quiescence,
        ["idle_pim: an edge without input changes no state"],
    ),
    "idle hangs on a control register": (
        "self.idle_pim.eq(~clearing & ~self.decision.valid)",
        "self.idle_pim.eq(~clearing & ~self.decision.valid & self.recheck)",
        Quiescence,
        ["idle_pim lasts until an input comes"],
    ),
    "a counter runs on while idle": (
        "oldest.eq(oldest_judged)]",
        "oldest.eq(oldest_judged), stop_count.eq(stop_count + 1)]",
        Quiescence,
        ["idle_pim: an edge without input changes no state"],
    ),
    "a memory is written while idle": (
        "in_flight_write.en.eq(take_draft)",
        "in_flight_write.en.eq(accept)",
        Quiescence,
        ["idle_pim: an edge without input changes no state"],
    ),
}


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_every_property_holds(proof, holds_as_recorded):
    holds_as_recorded(UNIT, proof)


@pytest.mark.parametrize("fault", MUTANTS)
def test_a_fault_is_refuted(fault, mutant, refute):
    before, after, properties, names = MUTANTS[fault]
    refute(mutant(UNIT, before, after), properties, names)


def test_every_property_has_a_fault_that_violates_it(recorded):
    proved = {row["property"] for row in recorded(UNIT) if row["verdict"] != "reached"}
    assert proved == {name for *_, names in MUTANTS.values() for name in names}


def test_what_is_proved_behaves_as_the_golden_model(traffic):
    unit = UNITS[UNIT]
    params = unit.configurations["test"]
    model = Model(Ports(EdcUnit(params)))
    golden = EdcGolden(params)
    stimulus = traffic(params, 5)
    seen: dict[str, int] = {}
    expected, given = [], []
    for _ in range(1500):
        pins = stimulus.pins(seen)
        seen = golden.step(pins)
        expected.append(seen)
        given.append(
            {
                literal: bool(value >> i & 1)
                for name, value in pins.items()
                for i, literal in enumerate(model.inputs[name])
            }
        )
    for values, outputs in zip(replay(model.aig, model.registers, given), expected, strict=True):
        for name, value in outputs.items():
            literals = model.nets[name]
            assert sum(bool(values[bit]) << i for i, bit in enumerate(literals)) == value
