# SPDX-License-Identifier: Apache-2.0
"""Proofs of the AAU, and faults that they must refute."""

import pytest

from ahasd.rtl.aau.properties import PROOFS
from ahasd.rtl.lib.properties import Offers, Quiescence

pytestmark = pytest.mark.formal

UNIT = "aau"

# Fault: (file, text, replacement, properties, those of them that it violates).
MUTANTS = {
    "idle is raised while a row is ended": (
        "unit",
        "self.idle_pim.eq(phase == Phase.IDLE)",
        "self.idle_pim.eq(~telling)",
        Quiescence,
        [
            "idle_pim: an edge without input changes no state",
            "idle_pim lasts until an input comes",
        ],
    ),
    "a summary is withdrawn": (
        "unit",
        "self.summary.valid.eq(telling)",
        "self.summary.valid.eq(telling & self.command.valid)",
        Offers,
        ["summary: an offer that is not taken stays, with its payload"],
    ),
    "a state is withdrawn": (
        "unit",
        "self.state_out.valid.eq(exporting)",
        "self.state_out.valid.eq(exporting & self.command.valid)",
        Offers,
        ["state_out: an offer that is not taken stays, with its payload"],
    ),
    "a pass goes on while a result waits": (
        "sequencer",
        "blocked.eq(self.shows & ~self.result_ready)",
        "blocked.eq(0)",
        Offers,
        ["result: an offer that is not taken stays, with its payload"],
    ),
}


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_every_property_holds(proof, holds_as_recorded):
    holds_as_recorded(UNIT, proof)


@pytest.mark.parametrize("fault", MUTANTS)
def test_a_fault_is_refuted(fault, mutant, refute):
    file, before, after, properties, names = MUTANTS[fault]
    refute(mutant(UNIT, before, after, file), properties, names, depth=14)


def test_every_property_has_a_fault_that_violates_it(recorded):
    proved = {row["property"] for row in recorded(UNIT) if row["verdict"] != "reached"}
    assert proved == {name for *_, names in MUTANTS.values() for name in names}
