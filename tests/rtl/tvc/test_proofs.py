# SPDX-License-Identifier: Apache-2.0
"""Proofs of the TVC, and faults that they must refute."""

import pytest

from ahasd.rtl.lib.properties import Quiescence
from ahasd.rtl.tvc.params import TvcParams
from ahasd.rtl.tvc.properties import (
    LEMMA,
    PROOFS,
    Answers,
    Bounds,
    Program,
    Timing,
    decision_program,
)

pytestmark = pytest.mark.formal

UNIT = "tvc"

ANSWER = """self.decision.valid.eq(estimator.answer.valid),
            estimator.answer.ready.eq(self.decision.ready),
            self.decision.payload.eq(Mux(self.decision.valid, estimator.answer.payload, 0)),"""
MADE_UP = """self.decision.valid.eq(1),
            estimator.answer.ready.eq(1),
            self.decision.payload.eq(self.now),"""

# Fault: (text, replacement, properties, those of them that it violates).
MUTANTS = {
    "a recording is a step short": (
        "positive(measured.factor), params.scale_steps",
        "positive(measured.factor), params.scale_steps - 1",
        Program,
        [LEMMA],
    ),
    "a request keeps what max_length says, whatever is available": (
        "smaller(self.request.payload.available_tokens, self.max_length)",
        "self.max_length",
        Program,
        [LEMMA],
    ),
    "no decision comes": (
        "self.decision.valid.eq(estimator.answer.valid)",
        "self.decision.valid.eq(0)",
        Timing,
        ["a decision comes decision_cycles after its request"],
    ),
    "an error is a decision, at times": (
        "self.decision.valid.eq(estimator.answer.valid)",
        "self.decision.valid.eq(estimator.answer.valid | (self.bad_record & self.now[0]))",
        Timing,
        [
            "there is no decision but decision_cycles after a request",
            "a decision that is not taken stays, with its payload",
        ],
    ),
    "a command waits for a recording": (
        "self.command.ready.eq(1)",
        "self.command.ready.eq(~ended)",
        Timing,
        ["a command is taken at once"],
    ),
    "an end that waits stalls a start": (
        "self.npu.ready.eq(alone & ~(ended & ends))",
        "self.npu.ready.eq(alone & ~ended)",
        Timing,
        ["nothing but a command stalls a start"],
    ),
    "a record goes before an end that waits": (
        "self.record.ready.eq(record_turn & estimator.measure.ready)",
        "self.record.ready.eq(alone & estimator.measure.ready)",
        Timing,
        ["a record is taken when nothing is computed and no end waits"],
    ),
    "a request does not wait for news of the NPU": (
        "request_turn.eq(record_turn & ~self.npu.valid & ~self.record.valid)",
        "request_turn.eq(record_turn & ~self.record.valid)",
        Timing,
        ["a request is taken when a record could be, alone, while no decision stalls"],
    ),
    "what is decided is made up": (
        ANSWER,
        MADE_UP,
        Answers,
        [
            "a length is at most max_length, and what was available",
            "tokens are inserted, one or more, with reason INSERT and no other",
            "the reason is NO_TASK if and only if no task ran when the request was taken",
        ],
    ),
    "the payload shows what was": (
        "Mux(self.decision.valid, estimator.answer.payload, 0)",
        "Mux(self.decision.valid, estimator.answer.payload, self.now)",
        Answers,
        ["the payload is 0 while there is no decision"],
    ),
    "idle is raised while an end waits": (
        "self.idle_pim.eq(estimator.idle & ~ended)",
        "self.idle_pim.eq(estimator.idle)",
        Quiescence,
        ["idle_pim: an edge without input changes no state", "idle_pim lasts until an input comes"],
    ),
    "no end is taken": (
        "self.npu.ready.eq(alone & ~(ended & ends))",
        "self.npu.ready.eq(alone & ~ends)",
        Bounds,
        ["an end is taken within decision_cycles, commands apart"],
    ),
    "a request goes before a record": (
        "record_turn.eq(alone & ~ended)",
        "record_turn.eq(alone & ~ended & ~self.request.valid)",
        Bounds,
        ["a record is taken within decision_cycles + record_cycles, commands and ends apart"],
    ),
}


QUICK = ("a recording is a step short", "an error is a decision, at times")


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_every_property_holds(proof, holds_as_recorded):
    holds_as_recorded(UNIT, proof)


@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, marks=() if fault in QUICK else pytest.mark.slow) for fault in MUTANTS],
)
def test_a_fault_is_refuted(fault, tvc_mutant, refute):
    before, after, properties, names = MUTANTS[fault]
    refute(tvc_mutant(before, after), properties, names)


def test_every_property_has_a_fault_that_violates_it(recorded):
    proved = {row["property"] for row in recorded(UNIT) if row["verdict"] != "reached"}
    assert proved == {name for *_, names in MUTANTS.values() for name in names}


@pytest.mark.parametrize("params", [TvcParams(), TvcParams(table_entries=8, cycles_width=20)])
def test_the_steps_of_a_decision_add_up_to_its_cycles(params):
    assert 1 + sum(cycles for *_, cycles in decision_program(params)) == params.decision_cycles
