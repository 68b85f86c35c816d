# SPDX-License-Identifier: Apache-2.0
"""Proofs of the GTSU, and faults that they must refute."""

import pytest

from ahasd.rtl.gtsu.properties import PROOFS, Errors, Gates, Idle, Switches, Tasks
from ahasd.rtl.lib.properties import Offers

pytestmark = pytest.mark.formal

# Fault: (text, replacement, properties, those of them that it violates).
MUTANTS = {
    "overlapping masks are raised": (
        "chosen.any() & ~(self.dlm_mask & self.tlm_mask).any()",
        "chosen.any()",
        Gates,
        ["never are ranks of both kinds under the mask"],
    ),
    "the old mask stays up until the new one is raised": (
        "                    self.mask.eq(0),\n                    self.state.eq(State.SWITCHING),",
        "                    self.state.eq(State.SWITCHING),",
        Gates,
        ["a mask does not change while it is up"],
    ),
    "the same, seen by its switch": (
        "                    self.mask.eq(0),\n                    self.state.eq(State.SWITCHING),",
        "                    self.state.eq(State.SWITCHING),",
        Switches,
        ["no mask is up while the ranks are switched, nor after an error"],
    ),
    "a late command is not waited for": (
        "with m.Elif((draining | switching) & ~self.drained):",
        "with m.Elif(draining & ~self.drained):",
        Gates,
        ["a mask is raised only in a cycle after one that found the ranks drained"],
    ),
    "the masks are confused": (
        "Mux(any_preverify, self.tlm_mask, self.dlm_mask)",
        "Mux(any_preverify, self.dlm_mask, self.tlm_mask)",
        Gates,
        ["a mask is raised with a task of its kind on offer"],
    ),
    "every rank is granted": (
        "self.compute_request & self.mask & self.running.replicate(params.ranks)",
        "self.compute_request & self.running.replicate(params.ranks)",
        Gates,
        ["no rank is granted that is not under the mask"],
    ),
    "a task is issued under the mask of the other kind": (
        "next_is_up.eq(mask_is_up & (self.issue.payload.kind == any_preverify))",
        "next_is_up.eq(mask_is_up)",
        Gates,
        ["no rank is granted to a task of the other kind"],
    ),
    "a flushed offer runs": (
        "self.running.eq(~(doomed | flush)),",
        "self.running.eq(~flush),",
        Gates,
        ["no rank is granted but to a task that was issued, and is not done or flushed"],
    ),
    "the task runs on while the unit drains": (
        "            m.d.pim += [\n                self.running.eq(0),\n",
        "            m.d.pim += [\n",
        Gates,
        ["no rank is granted while the unit drains or switches"],
    ),
    "ranks are granted that did not ask": (
        "self.compute_request & self.mask & self.running.replicate(params.ranks)",
        "self.mask & self.running.replicate(params.ranks)",
        Gates,
        ["no rank is granted without a request"],
    ),
    "a switch waits for the ranks before it begins": (
        "drain.eq(~next_is_up)]",
        "drain.eq(~next_is_up & self.drained)]",
        Switches,
        [
            "a task that waits while none runs is offered, or a switch begins, one cycle later",
        ],
    ),
    "the drain budget is not used up": (
        "m.d.pim += budget.eq(budget - 1)",
        "pass",
        Switches,
        [
            "a switch goes on for at most drain_max_cycles with commands in flight",
            "a switch times out when, and only when, it has used up drain_max_cycles",
        ],
    ),
    "a large drain_max_cycles is taken as it is": (
        "self.drain_max_cycles > DRAIN_LIMIT_CYCLES,",
        "0,",
        Switches,
        ["a switch goes on for at most drain_max_cycles with commands in flight"],
    ),
    "a switch without a task never ends": (
        "m.d.comb += rest.eq(1)\n            with m.Elif(next_is_up)",
        "pass\n            with m.Elif(next_is_up)",
        Switches,
        ["draining ends when the ranks are found drained"],
    ),
    "the gap is a cycle too long": (
        "with m.If(switch_left[1:].any()):",
        "with m.If(switch_left.any()):",
        Switches,
        ["a switch goes on for at most switch_cycles with the ranks drained and no mask up"],
    ),
    "the gap is cut short": (
        "switch_left.eq(self.switch_cycles),",
        "switch_left.eq(self.switch_cycles >> 1),",
        Switches,
        ["a mask is raised only after switch_cycles without one"],
    ),
    "a switch is given up without an error": (
        "m.d.pim += [self.timeout.eq(1), self.mask.eq(0), self.state.eq(State.IDLE)]",
        "m.d.pim += [self.mask.eq(0), self.state.eq(State.IDLE)]",
        Switches,
        [
            "a switch times out when, and only when, it has used up drain_max_cycles",
            "a switch ends in an offer, in an error, or with nothing to be offered",
        ],
    ),
    "the mask survives a time-out": (
        "m.d.pim += [self.timeout.eq(1), self.mask.eq(0), self.state.eq(State.IDLE)]",
        "m.d.pim += [self.timeout.eq(1), self.state.eq(State.IDLE)]",
        Switches,
        ["no mask is up while the ranks are switched, nor after an error"],
    ),
    "bad masks do not halt the unit": (
        "halted.eq(self.timeout | self.bad_masks)",
        "halted.eq(self.timeout)",
        Errors,
        ["after timeout or bad_masks nothing is issued, runs or is granted until the clear"],
    ),
    "a flush clears errors": (
        "with m.If(self.command.valid & (self.command.payload == Command.CLEAR_ERRORS)):",
        "with m.If(self.command.valid):",
        Errors,
        [
            "timeout stays until errors are cleared",
            "bad_masks stays until errors are cleared",
            "orphan_done stays until errors are cleared",
        ],
    ),
    "a flush keeps the suspended task": (
        "m.d.pim += [suspended.eq(0), *(level.eq(0) for level in levels.values())]",
        "m.d.pim += [*(level.eq(0) for level in levels.values())]",
        Tasks,
        [
            "what waits is what was taken and suspended, less what was offered, ended and flushed",
        ],
    ),
    "the queue takes a task too many": (
        "self.task.ready.eq((queued != entries) & ~self.command.valid)",
        "self.task.ready.eq((levels[Kind.DRAFT] != entries) & ~self.command.valid)",
        Tasks,
        ["no task is taken while task_entries are queued"],
    ),
    "a task overwrites the one before it": (
        "writes[kind].addr.eq(oldest + levels[kind][: params.pointer_width])",
        "writes[kind].addr.eq(oldest)",
        Tasks,
        ["a task is offered in its turn, as it was sent, and once"],
    ),
    "a task is offered twice": (
        "oldest.eq(oldest + pop),",
        "oldest.eq(oldest + (pop & ~levels[kind][1:].any())),",
        Tasks,
        ["a task is offered in its turn, as it was sent, and once"],
    ),
    "a task is offered when there is none": (
        "any_task.eq(any_preverify | resumes | (levels[Kind.DRAFT].any() & ~flush))",
        "any_task.eq(1)",
        Tasks,
        ["nothing is offered that was not taken"],
    ),
    "drafts go first": (
        "any_preverify.eq(levels[Kind.PREVERIFY].any() & ~flush)",
        "any_preverify.eq(levels[Kind.PREVERIFY].any() & ~flush & ~levels[Kind.DRAFT].any())",
        Tasks,
        ["no draft is offered while a pre-verification waits"],
    ),
    "a resumed task has the number of the last": (
        "[self.issue.payload.id.eq(suspended_id), suspended.eq(0)]",
        "[suspended.eq(0)]",
        Tasks,
        ["what is resumed is the draft that was suspended"],
    ),
    "a suspended draft goes last": (
        "resumes.eq(suspended & ~ends_suspended & ~flush)",
        "resumes.eq(suspended & ~ends_suspended & ~flush & ~levels[Kind.DRAFT].any())",
        Tasks,
        ["a suspended draft goes before every other"],
    ),
    "a task is suspended in the middle of a layer": (
        "            & self.layer_boundary\n",
        "",
        Tasks,
        ["a task is suspended only at a layer boundary, with preempt set, and if it drafts"],
    ),
    "a done waits for the offer": (
        "self.done.ready.eq(1)",
        "self.done.ready.eq(~self.issue.valid)",
        Tasks,
        ["done and command never stall"],
    ),
    "a flush withdraws the offer": (
        "            with m.If(self.issue.ready):",
        "            with m.If(self.issue.ready | flush):",
        Offers,
        ["issue: an offer that is not taken stays, with its payload"],
    ),
    "idle is raised while a suspension is due": (
        "Mux(self.running, ~preempts, halted",
        "Mux(self.running, 1, halted",
        Idle,
        ["idle_pim: whatever the levels, an edge without input changes no state"],
    ),
    "idle is raised while a task is on offer": (
        "~(self.issue.valid | draining | switching)",
        "~(draining | switching)",
        Idle,
        ["idle_pim: an edge without input changes no state"],
    ),
    "idle hangs on the ranks": (
        "halted | ~self.pending.any())",
        "(halted | ~self.pending.any()) & self.drained)",
        Idle,
        ["idle_pim lasts until an input comes"],
    ),
}


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.properties.__name__)
def test_every_property_holds(proof, holds_as_recorded):
    holds_as_recorded("gtsu", proof)


@pytest.mark.parametrize("fault", MUTANTS)
def test_a_fault_is_refuted(fault, mutant, refute):
    before, after, properties, names = MUTANTS[fault]
    refute(mutant("gtsu", before, after), properties, names)


def test_every_property_has_a_fault_that_violates_it(recorded):
    proved = {row["property"] for row in recorded("gtsu") if row["verdict"] != "reached"}
    assert proved == {name for *_, names in MUTANTS.values() for name in names}
