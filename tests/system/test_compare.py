# SPDX-License-Identifier: Apache-2.0
"""The ablation's runs and tables, on outcomes made up for it."""

from types import SimpleNamespace
from typing import Any

import pytest

from ahasd.sim.clocked import Cycles
from ahasd.system import compare
from ahasd.system.compare import (
    BackendDifference,
    ablation,
    ablation_table,
    explanations,
    tvc_table,
)
from ahasd.system.config import load_config


@pytest.fixture
def runs(monkeypatch):
    """Replace the simulation: keep what it is given, and let `runs.change` alter an outcome."""
    kept = SimpleNamespace(
        configs=[], change=lambda config, outcome: None, progress=[], pools=set()
    )

    def simulate(config, trace, ranks, *, pool, progress):
        kept.pools.add(id(pool))
        outcome = SimpleNamespace(
            time_s=1.0, cycles={"pim": Cycles(3, 5)}, counters={"pim.SWITCHES": 2}
        )
        kept.configs.append(config)
        kept.change(config, outcome)
        progress(7)
        return outcome

    monkeypatch.setattr(compare, "simulate", simulate)
    monkeypatch.setattr(compare, "metrics", lambda outcome: {"time_s": outcome.time_s})
    monkeypatch.setattr(compare, "pass_shares", lambda outcome: {"weights.memory": outcome.time_s})
    return kept


def ablate(runs, check=True, **overrides):
    nothing: Any = None
    config = load_config("test", overrides)
    return ablation(
        config, nothing, nothing, check=check, progress=lambda *seen: runs.progress.append(seen)
    )


def test_every_step_runs_in_both_backends_and_changes_nothing_but_what_it_says(runs):
    steps = ablate(runs, **{"tvc.max_length": 5, "tvc.otherwise": "wait", "backend.skip": False})
    seen = [
        (
            each.scheme,
            each.nonlinear.unit,
            each.tvc.otherwise,
            each.backend.ahasd,
            each.memory.contention,
        )
        for each in runs.configs
    ]
    assert seen == [
        (scheme, unit, otherwise, backend, contention)
        for scheme, unit, otherwise in (
            ("async", "npu", "wait"),
            ("async", "aau", "wait"),
            ("async-edc", "aau", "wait"),
            ("ahasd", "aau", "continue"),
            ("ahasd", "aau", "wait"),
        )
        for backend, contention in (("rtl", True), ("golden", True), ("golden", False))
    ]
    assert all(each.tvc.max_length == 5 and not each.backend.skip for each in runs.configs)
    assert len(runs.pools) == 1
    assert [step["step"] for step in steps] == [
        "async",
        "+ AAU",
        "+ EDC",
        "+ TVC",
        "+ TVC, waiting",
    ]
    assert all(step["checked"] and set(step["wall_s"]) == {"rtl", "golden"} for step in steps)
    assert steps[0]["metrics"] == {"time_s": 1.0}
    assert steps[0]["pass_shares"] == {"weights.memory": 1.0}
    assert runs.progress[:2] == [("async (rtl)", 7), ("async (golden)", 7)]


def test_without_a_check_the_configured_backend_runs_alone(runs):
    steps = ablate(runs, check=False, **{"backend.ahasd": "golden"})
    assert [each.backend.ahasd for each in runs.configs] == ["golden"] * 10
    assert not any(step["checked"] for step in steps)


def test_what_contends_in_no_case_is_not_run_again_without(runs):
    for quiet in ({"memory.contention": False}, {"memory.fidelity": "analytic"}):
        runs.configs.clear()
        steps = ablate(runs, check=False, **quiet)
        assert len(runs.configs) == 5
        assert all(step["without_contention"] is None for step in steps)


@pytest.mark.parametrize(
    "changed", [{"time_s": 2.0}, {"cycles": {"pim": Cycles(4, 4)}}, {"counters": {}}]
)
def test_a_difference_in_metrics_cycles_or_counters_is_a_fault(runs, changed):
    def change(config, outcome):
        if config.scheme == "ahasd" and config.backend.ahasd == "golden":
            vars(outcome).update(changed)

    runs.change = change
    with pytest.raises(BackendDifference, match=r"\+ TVC: rtl and golden give different"):
        ablate(runs)


def step(name, time_s, idle, blocked, checked=False, without=None, **more):
    joules = {style: {"mj_per_token": time_s} for style in ("device", "wall")}
    found = {
        "delayed_s": {"npu": 0.5, "pim": 0.25},
        "energy": dict.fromkeys(("low", "mid", "high"), joules),
        "throughput_tokens_s": 100 / time_s,
        "mean_acceptance_length_tokens": 3.0,
        "drafted_per_token": 1.5,
        "flushed_per_token": 0.25,
        "time_s": time_s,
        "npu": {"busy": 1 - idle - blocked, "idle": idle, "blocked": blocked},
        **more,
    }
    ideal = without and step(name, without, idle, blocked)["metrics"]
    return {"step": name, "metrics": found, "checked": checked, "without_contention": ideal}


def rows(table):
    """Return a table's cells by the label of their row."""
    labels, *columns = (list(column.cells) for column in table.columns)
    return {label: [cells[i] for cells in columns] for i, label in enumerate(labels)}


def test_changes_are_against_the_step_before():
    found = rows(
        ablation_table([step("a", 10, 0.2, 0.1), step("b", 8, 0.125, 0.0), step("c", 9, 0.0, 0.0)])
    )
    assert found["tokens/s"] == ["10.000", "12.500", "11.111"]
    assert found["NPU finish, s"] == ["10.00", "8.00", "9.00"]
    assert found["  change"] == ["", "-20.0%", "+12.5%"]
    # 30 % of 10 s, 12.5 % of 8 s, nothing.
    assert found["NPU waste, s"] == ["3.00", "1.00", "0.00"]
    assert found["  change, s"] == ["", "-2.00", "-1.00"]
    assert "golden = RTL" not in found
    assert found["mJ/token, wall"][0] == "10"
    assert "uncontended tokens/s" not in found
    checked = rows(ablation_table([step("a", 10, 0.2, 0.1, checked=True)]))
    assert checked["golden = RTL"] == ["yes"]


def test_figures_without_contention_stand_beside():
    found = rows(
        ablation_table([step("a", 10, 0.2, 0.1, without=8), step("b", 8, 0.1, 0.0, without=6)])
    )
    assert found["NPU delayed, s"] == ["0.50", "0.50"]
    assert found["PIM delayed, s"] == ["0.25", "0.25"]
    assert found["uncontended tokens/s"] == ["12.500", "16.667"]
    assert found["uncontended finish, s"] == ["8.00", "6.00"]
    assert found["  change, uncontended"] == ["", "-25.0%"]
    assert found["uncontended waste, s"] == ["2.40", "0.60"]


def test_the_table_of_the_tvc_has_the_steps_with_one():
    tvc = {
        "asked": 9,
        "inserted": 4,
        "harmful_s": 0.25,
        "prediction_error": {"nvct": {"ratio": {"mean": 0.125, "p95": None}}},
    }
    table = tvc_table([step("a", 10, 0.2, 0.1), step("b", 8, 0.1, 0.0, tvc=tvc)])
    assert [column.header for column in table.columns] == ["", "b"]
    found = rows(table)
    assert found["asked for"] == ["9"]
    assert found["inserted"] == ["4"]
    assert found["starved meanwhile, s"] == ["0.250"]
    assert found["NVCT ratio, mean error"] == ["12.50%"]
    assert found["NVCT ratio, p95 error"] == ["-"]
    assert found["run to the end"] == ["-"]


def test_every_step_is_explained_against_the_one_before():
    def explained(name, speed, npu_s, tokens):
        more = {
            "scheme": "async",
            "prefill_s": 0.0,
            "passes": 10,
            "throughput_tokens_s": speed,
            "mean_acceptance_length_tokens": tokens,
            "npu": {"idle": 0.0, "blocked": 0.0, "states_s": {"verifying": npu_s}},
            "pim": {"busy": 0.5, "blocked": 0.0},
            "drafted_per_token": 1.0,
        }
        made = step(name, 10.0, 0.0, 0.0, **more)
        return made | {"pass_shares": {"weights.memory": 1.0}}

    first, second = explanations([explained("a", 2.0, 9.0, 2.0), explained("b", 1.0, 9.0, 1.0)])
    assert first.startswith("a: the verifier binds, in passes 90.0% of the time")
    assert second.startswith("b: x0.50 over a; the verifier binds")
    assert "mostly tokens/pass 2.00 -> 1.00 (x0.50)" in second
