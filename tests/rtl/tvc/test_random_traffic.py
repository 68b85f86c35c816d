# SPDX-License-Identifier: Apache-2.0
"""Golden model, Amaranth source and compiled RTL agree on every pin of every edge."""

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.tvc.golden import TvcGolden
from ahasd.rtl.tvc.params import Decision, Levels, Reason, Table
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.ports import Grid
from ahasd.sim.registry import Backend, make_engine

STREAMS = ("record", "npu", "command", "request")
COMPILED = [  # a compiler takes its time over words of 64 bits
    pytest.param(name, marks=pytest.mark.slow if name == "paper" else ())
    for name in UNITS["tvc"].configurations
]


def traits(model: TvcGolden, pins: dict[str, int]) -> set[str]:
    """Name what is special about a request that the model is about to take."""
    params, levels = model.params, Levels(**{name: pins[name] for name in Levels._fields})
    found = set()
    for table in Table:
        found.add(f"{len(model.tables[table])} of {table.name}")
    for table, affine in (
        (Table.NVCT, levels.affine_npu),
        (Table.PVCT, levels.affine_preverify),
    ):
        if affine and len(model.tables[table]) > 1:
            line = model.line(table)
            if len({entry.length for entry in model.tables[table]}) == 1:
                found.add(f"equal lengths in {table.name}")
            elif line is None:
                found.add(f"intercept below 0 in {table.name}")
            else:
                found.add(f"{'slope' if line.covariance else 'no slope'} in {table.name}")
    if not model.tables[Table.PVCT]:
        found.add("cold" if levels.cold_preverify_cycles else "probe")
    if (
        model.task
        and (pins["now"] - model.task.start) % (1 << params.time_width) > params.cycles_max
    ):
        found.add("old task")
    return found


def outcome(model: TvcGolden, decision: Decision) -> set[str]:
    """Name what is special about a decision."""
    found: set[str] = {decision.reason.name}
    if decision.length > 1:
        found.add("several tokens")
    if decision.npu_cycles == model.params.cycles_max:
        found.add("saturated")
    if decision.reason is Reason.NO_SLACK:
        found.add("short slack" if decision.slack else "negative slack")
    return found


DECISIONS: dict[Backend, int] = {"rtl": 140, "pysim": 2}
EVERYWHERE = {
    *STREAMS,
    *(reason.name for reason in Reason),
    *("several tokens", "negative slack", "short slack", "saturated"),
    *(
        f"{kind} in {table}"
        for kind in ("slope", "equal lengths", "intercept below 0")
        for table in ("NVCT", "PVCT")
    ),
    *("no slope in NVCT", "cold", "probe"),
}


def compare(backend: Backend, configuration: str, traffic) -> set[str]:
    """Run traffic on a backend and on golden; return what it met."""
    params = UNITS["tvc"].configurations[configuration]
    found: set[str] = set()
    for seed in range(2):
        engine = make_engine("tvc", params, backend)
        golden = GoldenEngine(UNITS["tvc"], params)
        source = traffic(params, seed)
        seen: dict[str, int] = {}
        for edge in range(DECISIONS[backend] * params.decision_cycles // 2):
            pins = source.pins(seen)
            asked = traits(golden.model, pins) if pins["request__valid"] else set()
            seen = engine.step(pins, 1, edge)
            assert seen == golden.step(pins, 1, edge), f"seed {seed}, edge {edge}, {pins}"
            moved = {name for name in STREAMS if pins[f"{name}__valid"] and seen[f"{name}__ready"]}
            found |= moved
            if "request" in moved:
                found |= asked
            if seen["decision__valid"]:
                decision = Decision.unpack(seen["decision__payload"], params)
                found |= outcome(golden.model, decision)
    return found


@pytest.mark.parametrize("configuration", COMPILED)
def test_random_traffic_on_the_rtl_gives_equal_pins_on_every_edge(configuration, traffic):
    entries = UNITS["tvc"].configurations[configuration].table_entries
    counts = {f"{n} of {table.name}" for n in range(entries + 1) for table in Table}
    found = compare("rtl", configuration, traffic)
    assert EVERYWHERE | counts <= found, (EVERYWHERE | counts) - found


@pytest.mark.parametrize("configuration", UNITS["tvc"].configurations)
def test_random_traffic_on_the_source_gives_equal_pins_on_every_edge(configuration, traffic):
    compare("pysim", configuration, traffic)


@pytest.mark.parametrize("configuration", COMPILED)
def test_idle_and_no_input_means_that_an_edge_changes_no_state(configuration, traffic):
    params = UNITS["tvc"].configurations[configuration]
    engine = make_engine("tvc", params, "rtl")
    source = traffic(params, 7)
    seen: dict[str, int] = {}
    rests = 0
    for edge in range(12_000):
        pins = source.pins(seen)
        seen = engine.step(pins, 1, edge)
        quiet = pins | {f"{name}__valid": 0 for name in STREAMS}
        if engine.step(quiet, 1, edge)["idle_pim"]:
            rests += 1
            assert not engine.changed
            assert engine.run(quiet, Grid((1,), (1,), 3, now=("now", 0))) is None
    assert rests > 5


def test_running_many_edges_at_once_stops_at_the_first_that_changes_state(traffic):
    params = UNITS["tvc"].configurations["test"]
    engine = make_engine("tvc", params, "rtl")
    quiet = traffic(params, 0).pins({}) | {f"{name}__valid": 0 for name in STREAMS}
    fifty = Grid(periods_ps=(10,), next_ps=(10,), until_ps=500, now=("now", 0))
    assert engine.run(quiet, fifty) is None
    assert engine.run(quiet | {"request__valid": 1}, fifty) == 10
    assert engine.run(quiet, fifty) == 10, "it is still deciding"
