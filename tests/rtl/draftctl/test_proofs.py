# SPDX-License-Identifier: Apache-2.0
"""Proofs of the draft-length control, and faults that they must refute."""

import pytest

from ahasd.rtl.draftctl.properties import PROOFS, Answers, Batches
from ahasd.rtl.lib.properties import Offers, Quiescence

pytestmark = pytest.mark.formal

UNIT = "draftctl"

# Fault: (text, replacement, properties, those of them that it violates).
MUTANTS = {
    "every cycle is answered, with a token or not": (
        "self.decision.valid.eq(self.token.valid)",
        "self.decision.valid.eq(1)",
        Answers,
        ["there is no answer but to a token of the cycle before"],
    ),
    "a held decision is overwritten": (
        "accept.eq(~self.decision.valid | self.decision.ready)",
        "accept.eq(1)",
        Answers,
        ["a token stalls where an answer does, and only there"],
    ),
    "the same, seen from the decision": (
        "accept.eq(~self.decision.valid | self.decision.ready)",
        "accept.eq(1)",
        Offers,
        ["decision: an offer that is not taken stays, with its payload"],
    ),
    "an answer is lost where the one before it is taken": (
        "self.decision.valid.eq(self.token.valid)",
        "self.decision.valid.eq(self.token.valid & ~self.decision.valid)",
        Answers,
        ["a token is answered one cycle later"],
    ),
    "idle is raised while a decision waits": (
        "self.idle_pim.eq(~self.decision.valid)",
        "self.idle_pim.eq(1)",
        Quiescence,
        ["idle_pim: an edge without input changes no state"],
    ),
    "idle hangs on a control register": (
        "self.idle_pim.eq(~self.decision.valid)",
        "self.idle_pim.eq(~self.decision.valid & self.keep_tripping_token)",
        Quiescence,
        ["idle_pim lasts until an input comes"],
    ),
    "the place survives the end of its batch": (
        "index.eq(Mux(ends, 0, place))",
        "index.eq(place)",
        Batches,
        ["the place counts the tokens since the batch began"],
    ),
    "a tripping token at k_max is dropped": (
        "with m.If(place >= self.k_max):",
        "with m.If((place >= self.k_max) & ~tripped):",
        Batches,
        ["the token at k_max ends the batch, kept"],
    ),
    "min_len counts a dropped token": (
        "length.eq(place - ~self.keep_tripping_token)",
        "length.eq(place)",
        Batches,
        ["no batch is shorter than min_len, but by k_max", "no batch is empty"],
    ),
    "a tripping token is always kept": (
        "Mux(self.keep_tripping_token, Outcome.KEEP, Outcome.DROP)",
        "Outcome.KEEP",
        Batches,
        ["a token that trips is kept or dropped as the register says"],
    ),
    "a fixed length trips on entropy": (
        "with m.Case(Rule.ENTROPY):",
        "with m.Case(Rule.ENTROPY, Rule.FIXED):",
        Batches,
        ["FIXED ends a batch at k_max only"],
    ),
    "an entropy at its limit trips": (
        "token.entropy > self.entropy_limit",
        "token.entropy >= self.entropy_limit",
        Batches,
        ["ENTROPY trips exactly above its limit"],
    ),
    "the sum wraps": (
        "doubt_with.eq(Mux(doubt_sum[-1], params.doubt_max, doubt_sum))",
        "doubt_with.eq(doubt_sum)",
        Batches,
        [
            "PRODUCT trips exactly where the doubts of the batch add up to more than the limit",
            "LAGGED_PRODUCT leaves out the newest doubt",
        ],
    ),
    "the lagged product does not lag": (
        "doubt_before > self.doubt_limit",
        "doubt_with > self.doubt_limit",
        Batches,
        ["LAGGED_PRODUCT leaves out the newest doubt"],
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
