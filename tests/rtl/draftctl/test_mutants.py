# SPDX-License-Identifier: Apache-2.0
"""Hand-made faults in the hardware, each of which the comparison with golden must catch."""

import pytest

from ahasd.sim.golden import GoldenEngine
from ahasd.sim.pysim import PysimEngine

pytestmark = pytest.mark.full

MUTANTS = {
    "the doubt survives the end of its batch": (
        "doubt.eq(Mux(ends, 0, doubt_with))",
        "doubt.eq(doubt_with)",
    ),
    "the place survives the end of its batch": ("index.eq(Mux(ends, 0, place))", "index.eq(place)"),
    "a first token inherits the doubt": (
        "doubt_before.eq(Mux(token.first, 0, doubt))",
        "doubt_before.eq(doubt)",
    ),
    "a first token is counted on": (
        "place.eq(Mux(token.first, 0, index) + 1)",
        "place.eq(index + 1)",
    ),
    "the sum wraps": (
        "doubt_with.eq(Mux(doubt_sum[-1], params.doubt_max, doubt_sum))",
        "doubt_with.eq(doubt_sum)",
    ),
    "an entropy at its limit trips": (
        "token.entropy > self.entropy_limit",
        "token.entropy >= self.entropy_limit",
    ),
    "a sum at its limit trips": (
        "doubt_with > self.doubt_limit",
        "doubt_with >= self.doubt_limit",
    ),
    "the lagged product does not lag": (
        "doubt_before > self.doubt_limit",
        "doubt_with > self.doubt_limit",
    ),
    "k_max is overrun by one": ("place >= self.k_max", "place > self.k_max"),
    "k_max is missed once it was lowered": ("place >= self.k_max", "place == self.k_max"),
    "min_len counts a dropped token": (
        "length.eq(place - ~self.keep_tripping_token)",
        "length.eq(place)",
    ),
    "an empty batch ends": ("tripped & length.any() &", "tripped &"),
    "a tripping token is always kept": (
        "Mux(self.keep_tripping_token, Outcome.KEEP, Outcome.DROP)",
        "Outcome.KEEP",
    ),
    "a held decision is overwritten": (
        "accept.eq(~self.decision.valid | self.decision.ready)",
        "accept.eq(1)",
    ),
    "idle is raised while a decision waits": (
        "self.idle_pim.eq(~self.decision.valid)",
        "self.idle_pim.eq(1)",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_hardware_is_caught(name, traffic, mutant):
    unit = mutant("draftctl", *MUTANTS[name])
    params = unit.configurations["test"]
    engine, golden = PysimEngine(unit, params), GoldenEngine(unit, params)
    stimulus = traffic(params, 0)
    for edge in range(4000):
        pins = stimulus.pins()
        if engine.step(pins, 1, edge) != golden.step(pins, 1, edge):
            return
    pytest.fail("the mutant was not caught")
