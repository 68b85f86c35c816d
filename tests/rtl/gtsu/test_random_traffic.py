# SPDX-License-Identifier: Apache-2.0
"""Golden model, Amaranth source and compiled RTL agree on every pin of every edge."""

from collections import Counter

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.sim.ports import Grid
from ahasd.sim.registry import make_engine

EDGES = {"rtl": 16_000, "pysim": 6_000}
SEEN_BY_ALL = {
    "accepted",
    "full",
    "issued DRAFT",
    "issued DRAFT again",
    "issued PREVERIFY",
    "issued without a switch",
    "stalled offer",
    "mask raised",
    "done",
    "suspended",
    "undrained while DRAINING",
    "undrained while SWITCHING",
    "flush while running",
    "flush while halted",
    "flush of an offer",
    "dead on arrival",
    "timeout",
    "bad_masks",
    "orphan_done",
}
SEEN_IN_LONG_RUNS = {
    "done while suspended",
    "flush in IDLE",
    "flush in DRAFT",
    "flush in PREVERIFY",
    "flush in DRAINING",
    "flush in SWITCHING",
    "orphan_done in the cycle of its clear",
}


@pytest.mark.parametrize("backend", ["rtl", pytest.param("pysim", marks=pytest.mark.full)])
@pytest.mark.parametrize("configuration", UNITS["gtsu"].configurations)
def test_random_traffic_gives_equal_pins_on_every_edge(backend, configuration, traffic, monitor):
    params = UNITS["gtsu"].configurations[configuration]
    events: Counter[str] = Counter()
    for seed in range(2):
        engine = make_engine("gtsu", params, backend)
        golden = make_engine("gtsu", params, "golden")
        source = traffic(params, seed)
        watch = monitor(params)
        seen: dict[str, int] = {}
        for edge in range(EDGES[backend] // 2):
            pins = source.pins(seen)
            seen = engine.step(pins, 1, edge)
            assert seen == golden.step(pins, 1, edge), f"seed {seed}, edge {edge}, {pins}"
            watch.observe(pins, seen)
        events += watch.events
    expected = SEEN_BY_ALL if backend == "pysim" else SEEN_BY_ALL | SEEN_IN_LONG_RUNS
    assert expected - set(+events) == set()


@pytest.mark.parametrize("configuration", UNITS["gtsu"].configurations)
def test_idle_and_no_input_means_that_an_edge_changes_no_state(configuration, traffic):
    params = UNITS["gtsu"].configurations[configuration]
    engine = make_engine("gtsu", params, "rtl")
    source = traffic(params, 7)
    seen: dict[str, int] = {}
    rests: Counter[int] = Counter()
    for edge in range(10_000):
        pins = source.pins(seen)
        seen = engine.step(pins, 1, edge)
        quiet = pins | {f"{name}__valid": 0 for name in ("task", "done", "command")}
        still = engine.step(quiet, 1, edge)
        if still["idle_pim"]:
            rests[still["state"]] += 1
            assert not engine.changed
            assert engine.run(quiet, Grid((1,), (1,), 3)) is None
        else:
            assert engine.changed or not pins["issue__ready"]
    # Without a mask, and with either mask up; never while it drains or switches.
    assert set(rests) == {0, 1, 2}
    assert min(rests.values()) > 100


def test_running_many_edges_at_once_stops_at_the_first_that_changes_state(traffic):
    params = UNITS["gtsu"].configurations["test"]
    engine = make_engine("gtsu", params, "rtl")
    quiet = traffic(params, 0).pins({}) | {
        "task__valid": 0,
        "done__valid": 0,
        "command__valid": 0,
        "dlm_mask": 1,
        "tlm_mask": 2,
        "drained": 1,
        "issue__ready": 1,
    }
    grid = Grid((1,), (1,), 50)
    assert engine.run(quiet, grid) is None
    assert engine.run(quiet | {"task__valid": 1}, grid) == 1
    seen: dict[str, int] = {}
    for edge in range(200):  # until the task runs
        seen = engine.step(quiet, 1, edge)
    assert seen["running"]
    assert engine.run(quiet | {"layer_boundary": 1}, grid) is None
    assert engine.run(quiet | {"done__valid": 1}, grid) == 1
