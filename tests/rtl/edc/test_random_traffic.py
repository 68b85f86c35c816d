# SPDX-License-Identifier: Apache-2.0
"""Golden model, Amaranth source and compiled RTL agree on every pin of every edge."""

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.sim.ports import Grid
from ahasd.sim.registry import make_engine

EDGES = {"rtl": 20_000, "pysim": 8_000}


@pytest.mark.parametrize("backend", ["rtl", pytest.param("pysim", marks=pytest.mark.full)])
@pytest.mark.parametrize("configuration", UNITS["edc"].configurations)
def test_random_traffic_gives_equal_pins_on_every_edge(backend, configuration, traffic):
    params = UNITS["edc"].configurations[configuration]
    moved = set()
    for seed in range(2):
        engine = make_engine("edc", params, backend)
        golden = make_engine("edc", params, "golden")
        source = traffic(params, seed)
        seen: dict[str, int] = {}
        for edge in range(EDGES[backend] // 2):
            pins = source.pins(seen)
            seen = engine.step(pins, 1, edge)
            assert seen == golden.step(pins, 1, edge), f"seed {seed}, edge {edge}, {pins}"
            moved |= {
                name
                for name in ("draft", "verdict", "command")
                if pins[f"{name}__valid"] and seen[f"{name}__ready"]
            }
            moved |= {seen["decision__payload"]} if seen["decision__valid"] else set()
    # Every stream moved and every kind of decision was seen.
    assert {"draft", "verdict", "command", 0, 1, 3, 5, 7, 9} <= moved


@pytest.mark.parametrize("configuration", UNITS["edc"].configurations)
def test_idle_and_no_input_means_that_an_edge_changes_no_state(configuration, traffic):
    params = UNITS["edc"].configurations[configuration]
    engine = make_engine("edc", params, "rtl")
    source = traffic(params, 7)
    seen: dict[str, int] = {}
    rests = 0
    for edge in range(10_000):
        pins = source.pins(seen)
        seen = engine.step(pins, 1, edge)
        quiet = pins | {f"{name}__valid": 0 for name in ("draft", "verdict", "command")}
        if engine.step(quiet, 1, edge)["idle_pim"]:
            rests += 1
            assert not engine.changed
            assert engine.run(quiet, Grid((1,), (1,), 3)) is None
    assert rests > 1000


def test_running_many_edges_at_once_stops_at_the_first_that_changes_state(traffic):
    params = UNITS["edc"].configurations["test"]
    engine = make_engine("edc", params, "rtl")
    quiet = traffic(params, 0).pins({}) | dict.fromkeys(
        ("draft__valid", "verdict__valid", "command__valid"), 0
    )
    fifty = Grid(periods_ps=(10,), next_ps=(10,), until_ps=500)
    assert engine.run(quiet, fifty) == 10, "it is still clearing its table"
    for edge in range(params.pht_entries):
        engine.step(quiet, 1, edge)
    assert engine.run(quiet, fifty) is None
    assert engine.run(quiet | {"draft__valid": 1}, fifty) == 10
    assert engine.step(quiet, 1, 0)["outstanding"] == 1
