# SPDX-License-Identifier: Apache-2.0
"""Proofs of the top, and faults that they must refute."""

from functools import partial

import pytest

from ahasd.rtl.ahasd.properties import (
    FEEDBACK_CYCLES,
    INPUTS,
    PROOFS,
    ROUNDS,
    Batches,
    Commands,
    Feedback,
    Outstanding,
)
from ahasd.rtl.lib.properties import Settling
from ahasd.sim.clocked import SETTLE_EDGES

# Each of them has the netlist of the whole top to build.
pytestmark = pytest.mark.formal

UNIT = "ahasd"
STILL = f"idle without input for {ROUNDS} rounds, no state changes"
settles = partial(Settling, inputs=INPUTS, rounds=ROUNDS)
SETTLING_CYCLES = 30
"""The EDC's clear after reset, the rounds, and an edge."""

# Fault: (text, replacement, properties, those of them that it violates).
MUTANTS = {
    "a batch is decided before its last word": (
        "with m.If(left == 1):\n                            m.d.pim += state.eq(State.READY)",
        "with m.If(left >= 1):\n                            m.d.pim += state.eq(State.READY)",
        Batches,
        [
            "no decision without a batch that is complete",
            "only a batch that is complete is offered to the EDC",
        ],
    ),
    "words are taken while a batch waits": (
        "with m.Case(State.READY):\n",
        "with m.Case(State.READY):\n                m.d.comb += self.draft.ready.eq(1)\n",
        Batches,
        ["no word is taken while a batch waits"],
    ),
    "a fresh batch is dropped": (
        "with m.If(~self._delivered & ~fresh):",
        "with m.If(~self._delivered & fresh):",
        Batches,
        ["a batch is dropped only if its epoch has ended"],
    ),
    "a decision drops its batch": (
        "with m.If(decided):\n                    m.d.pim += state.eq(State.HEAD)",
        "with m.If(decided):\n                    m.d.pim += state.eq(State.COLLECT)",
        Batches,
        ["a batch that is granted enters the queue, its header unchanged"],
    ),
    "a header goes into the queue before the decision": (
        "m.d.pim += state.eq(Mux(enabled, State.OFFER, State.GRANT))",
        "m.d.pim += state.eq(Mux(enabled, State.OFFER, State.HEAD))",
        Batches,
        ["no header enters the queue without its decision"],
    ),
    "tokens of a batch go without its header": (
        (
            "                with m.If(decided & grants):\n"
            "                    m.d.pim += state.eq(State.HEAD)"
        ),
        (
            "                with m.If(decided & grants):\n"
            "                    m.d.pim += state.eq(State.TOKENS)"
        ),
        Batches,
        ["no token enters the queue without its header"],
    ),
    "a batch loses its last token": (
        (
            "m.d.comb += self._events.tokens_pushed.eq(passed)\n"
            "                    m.d.pim += [index.eq(index + 1), left.eq(left - 1)]\n"
            "                    with m.If(left == 1):"
        ),
        (
            "m.d.comb += self._events.tokens_pushed.eq(passed)\n"
            "                    m.d.pim += [index.eq(index + 1), left.eq(left - 1)]\n"
            "                    with m.If(left <= 2):"
        ),
        Batches,
        ["a batch enters the queue whole, with nothing between its words"],
    ),
    "tokens change places": (
        "read.addr.eq(index)",
        "read.addr.eq(~index)",
        Batches,
        ["a token enters the queue in its place, unchanged"],
    ),
    "a cut is an error": (
        "with m.If((given.kind != Kind.CUT) | left.any()):",
        "with m.If(1):",
        Batches,
        [
            "a cut enters the queue, unchanged",
            "a word out of place is given to the queue as an error, and nothing else is",
        ],
    ),
    "feedback comes between offer and decision": (
        "                & (self._state != State.AWAIT)\n",
        "",
        Batches,
        ["no feedback is on offer between a batch's offer and its decision"],
    ),
    "feedback is withdrawn for a batch": (
        "with m.Elif(~self.feedback.valid & ~verdict.valid",
        "with m.Elif(~self._delivered & ~verdict.valid",
        Batches,
        ["feedback: an offer that is not taken stays"],
    ),
    "a release takes the place of a grant": (
        "                & (self._state != State.GRANT)\n",
        "",
        Batches,
        ["decision: an offer that is not taken stays"],
    ),
    "void verdicts are not passed on": (
        "with m.If(judged & self.host.control.edc_enable):",
        "with m.If(judged & ~report.void & self.host.control.edc_enable):",
        Outstanding,
        ["what is outstanding are the batches that were granted and not judged"],
    ),
    "a start is a verdict": (
        "judged.eq(delivered & (report.event == Event.VERDICT))",
        "judged.eq(delivered)",
        Outstanding,
        ["every verdict finds its batch in the EDC"],
    ),
    "the EDC is not asked": (
        "with m.If(edc.draft.ready):",
        "with m.If(1):",
        Outstanding,
        ["the EDC answers what it was asked and says nothing else before"],
    ),
    "feedback leaves its queue that nobody took": (
        "queues.feedback_out.ready.eq(self.feedback.ready & takes)",
        "queues.feedback_out.ready.eq(takes)",
        Feedback,
        ["feedback is delivered as it leaves its queue"],
    ),
    "a verdict stays": (
        "with m.If(verdict.ready):\n            m.d.pim += verdict.valid.eq(0)",
        "with m.If(0):\n            m.d.pim += verdict.valid.eq(0)",
        Feedback,
        [
            f"feedback is delivered within {FEEDBACK_CYCLES} cycles in which nobody stalls",
            "every verdict goes to the EDC that is on, once",
        ],
    ),
    "every verdict ends a pass": (
        "with m.If(starts | (judged & report.last)):",
        "with m.If(starts | judged):",
        Feedback,
        ["every start of a pass goes to the TVC, and the last verdict as its end, once"],
    ),
    "a command is given again and again": (
        "m.d.pim += held.valid.eq(~held.ready)",
        "m.d.pim += held.valid.eq(1)",
        Commands,
        [
            f"{unit}: a command is given as long as it is not taken, once"
            for unit in ("EDC", "TVC", "GTSU")
        ],
    ),
    "a command overtakes the one before": (
        "m.d.comb += source.ready.eq(~held.valid)\n",
        (
            "m.d.comb += source.ready.eq(1)\n"
            "        with m.If(held.valid):\n"
            "            m.d.pim += held.payload.eq(source.payload)\n"
        ),
        Commands,
        [
            f"{unit}: {name}"
            for unit in ("EDC", "TVC", "GTSU")
            for name in ("a command is unchanged", "a command is taken when none waits")
        ],
    ),
    "idle_pim while the EDC clears its table": (
        "units = (self.host, self.edc, self.tvc, queues, self.gtsu)",
        "units = (self.host, self.tvc, queues, self.gtsu)",
        settles,
        [f"pim: {STILL}"],
    ),
    "idle_pim with feedback on offer": (
        "units = (self.host, self.edc, self.tvc, queues, self.gtsu)",
        "units = (self.host, self.edc, self.tvc, self.gtsu)",
        settles,
        [f"pim: {STILL}"],
    ),
    "idle_pim with a task on offer": (
        "units = (self.host, self.edc, self.tvc, queues, self.gtsu)",
        "units = (self.host, self.edc, self.tvc, queues)",
        settles,
        [f"pim: {STILL}"],
    ),
    "idle_pim with a grant on offer": (
        "                & (self._state == State.COLLECT)\n",
        "",
        settles,
        [f"pim: {STILL}"],
    ),
    "idle_npu with a response on offer": (
        "                self.host.idle_npu\n                & (queues.idle_npu | waits)\n",
        "                (queues.idle_npu | waits)\n",
        settles,
        [f"npu: {STILL}"],
    ),
    "idle_npu while a word is taken": (
        "waits = queues.batch_out.valid & ~self.batch_out.ready",
        "waits = queues.batch_out.valid",
        settles,
        [f"npu: {STILL}"],
    ),
}


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_every_property_holds(proof, holds_as_recorded):
    holds_as_recorded(UNIT, proof)


@pytest.mark.slow  # each builds a model of the whole top
@pytest.mark.parametrize("fault", MUTANTS)
def test_a_fault_is_refuted(fault, mutant, refute):
    before, after, properties, names = MUTANTS[fault]
    depth = SETTLING_CYCLES if properties is settles else None
    refute(mutant(UNIT, before, after), properties, names, depth=depth)


def test_every_property_has_a_fault_that_violates_it(recorded):
    proved = {row["property"] for row in recorded(UNIT) if row["verdict"] != "reached"}
    assert proved == {name for *_, names in MUTANTS.values() for name in names}


def test_a_rest_comes_after_more_edges_than_it_takes_to_settle():
    assert SETTLE_EDGES >= ROUNDS
