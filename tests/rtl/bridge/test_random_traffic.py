# SPDX-License-Identifier: Apache-2.0
"""Golden model, Amaranth source and compiled RTL agree on every pin of every edge."""

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.sim.registry import make_engine

EDGES = {"rtl": 40_000, "pysim": 20_000}


@pytest.mark.parametrize("backend", ["rtl", pytest.param("pysim", marks=pytest.mark.full)])
@pytest.mark.parametrize("configuration", ["small", "test"])
def test_random_traffic_gives_equal_pins_on_every_edge(backend, configuration, traffic):
    params = UNITS["bridge"].configurations[configuration]
    accesses = 0
    for seed in range(2):
        engine = make_engine("bridge", params, backend)
        golden = make_engine("bridge", params, "golden")
        source = traffic(params, seed)
        for edge in range(EDGES[backend] // 2):
            pins = source.pins()
            seen = engine.step(pins, 1, edge)
            assert seen == golden.step(pins, 1, edge), f"seed {seed}, edge {edge}, {pins}"
            accesses += seen["ar__valid"] | seen["w__valid"] | seen["access__valid"]
    assert accesses > EDGES[backend] // 10_000


@pytest.mark.parametrize("configuration", ["small", "test"])
def test_idle_with_the_line_high_means_that_an_edge_changes_no_state(configuration, traffic):
    params = UNITS["bridge"].configurations[configuration]
    engine = make_engine("bridge", params, "rtl")
    source = traffic(params, 7)
    rests = 0
    for edge in range(20_000):
        pins = source.pins()
        engine.step(pins, 1, edge)
        quiet = pins | {"rx": 1, "b__valid": 0, "r__valid": 0, "answer__valid": 0}
        if edge % 7:
            continue
        for _ in range(2):  # through the synchroniser
            engine.step(quiet, 1, edge)
        if engine.step(quiet, 1, edge)["idle_npu"]:
            rests += 1
            assert not engine.changed
    assert rests > 200
