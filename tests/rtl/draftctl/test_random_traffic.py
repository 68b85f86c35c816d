# SPDX-License-Identifier: Apache-2.0
"""Golden model, Amaranth source and compiled RTL agree on every pin of every edge."""

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.draftctl.params import Decision, Outcome
from ahasd.sim.ports import Grid
from ahasd.sim.registry import make_engine

EDGES = {"rtl": 20_000, "pysim": 6_000}


@pytest.mark.parametrize("backend", ["rtl", pytest.param("pysim", marks=pytest.mark.full)])
@pytest.mark.parametrize("configuration", UNITS["draftctl"].configurations)
def test_random_traffic_gives_equal_pins_on_every_edge(backend, configuration, traffic):
    params = UNITS["draftctl"].configurations[configuration]
    found = set()
    for seed in range(2):
        engine = make_engine("draftctl", params, backend)
        golden = make_engine("draftctl", params, "golden")
        source = traffic(params, seed)
        for edge in range(EDGES[backend] // 2):
            pins = source.pins()
            seen = engine.step(pins, 1, edge)
            assert seen == golden.step(pins, 1, edge), f"seed {seed}, edge {edge}, {pins}"
            if seen["decision__valid"]:
                decision = Decision.unpack(seen["decision__payload"])
                found.add((decision.outcome, decision.place > 2))
    # Every outcome, early in a batch and later. A batch that is dropped has another token at least.
    assert found == {(outcome, later) for outcome in Outcome for later in (False, True)}


@pytest.mark.parametrize("configuration", UNITS["draftctl"].configurations)
def test_idle_and_no_input_means_that_an_edge_changes_no_state(configuration, traffic):
    params = UNITS["draftctl"].configurations[configuration]
    engine = make_engine("draftctl", params, "rtl")
    source = traffic(params, 7)
    rests = 0
    for edge in range(5_000):
        pins = source.pins()
        engine.step(pins, 1, edge)
        quiet = pins | {"token__valid": 0}
        if engine.step(quiet, 1, edge)["idle_pim"]:
            rests += 1
            assert not engine.changed
            assert engine.run(quiet, Grid((1,), (1,), 3)) is None
    assert rests > 500
