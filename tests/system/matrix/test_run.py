# SPDX-License-Identifier: Apache-2.0
"""Cells and their runs: configurations, resumption, failures."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import pytest

from ahasd import UserError
from ahasd.system.drafting.fixed import FixedOptions
from ahasd.system.matrix import run as matrix
from ahasd.system.matrix.cells import CONFIGURATIONS, SETS, Cell, cells, labels, resolved
from ahasd.system.matrix.run import run_matrix
from ahasd.system.simulate import InvariantError

BASE, SETTINGS = "test", {"workload.tokens": 12, "backend.ahasd": "golden"}
PAIR = "tiny-draft:tiny-target"


def wanted(rules=("svip", "fixed"), configurations=("sync", "async")):
    return cells([PAIR], rules, configurations, [0])


def results(found):
    """Return what must not depend on when and where a cell was run."""
    return [{key: value for key, value in each.items() if key != "timing"} for each in found]


def test_cells_are_all_combinations_pair_by_pair():
    found = cells(["a:b", "c:d"], ["x", "y"], ["sync", "async"], [0, 1])
    assert len(found) == len(set(found)) == 16
    assert [each.pair for each in found] == ["a:b"] * 8 + ["c:d"] * 8


@pytest.mark.parametrize("pair", ["one", "a:b:c", ":b", ""])
def test_a_pair_is_two_names(pair):
    with pytest.raises(UserError, match="must be DRAFT:TARGET"):
        cells([pair], ["svip"], ["sync"], [0])


def test_sets_of_configurations_have_names_and_each_comes_once():
    assert labels(["sync", "baselines", "sync"])[0] == "sync"
    assert set(labels(["baselines"])) == {*SETS["baselines"]}
    assert labels(["all", "ablation"]) == [*CONFIGURATIONS]
    with pytest.raises(UserError, match="no configuration 'asinc'; choose from gpu-ar"):
        labels(["asinc"])


def test_a_fixed_length_takes_the_place_of_the_rule_and_its_options():
    settings = {"draft.k_max": 12, "draft.confidence": 0.3, "workload.tokens": 9}
    cell = Cell(pair=PAIR, rule="hf-confidence", configuration="specpim", seed=3, k=5)
    config = resolved(cell, BASE, settings)
    assert config.draft == FixedOptions(k=5, k_max=12)
    assert config.mapping.draft_tokens == 5
    assert (config.scheme, config.seed, config.workload.tokens) == ("specpim", 3, 9)


def test_where_no_rule_makes_a_difference_all_rules_share_a_run(tmp_path, monkeypatch):
    ran = []
    run_cell = matrix.run_cell
    monkeypatch.setattr(
        matrix, "run_cell", lambda cell, *more: ran.append(cell) or run_cell(cell, *more)
    )
    asked = wanted(("svip", "adaedl"), ("npu-ar", "amusd", "sync"))
    found = run_matrix(asked, BASE, SETTINGS, tmp_path, jobs=1)
    assert [each.configuration for each in ran] == ["npu-ar", "amusd", "sync", "sync"]
    assert [each["cell"]["rule"] for each in found] == ["svip", "adaedl"] * 3
    assert found[0]["metrics"] == found[1]["metrics"]
    assert [each["timing"]["taken_over"] for each in found] == [False, True] * 2 + [False] * 2


@pytest.mark.full
def test_what_is_done_is_not_run_again(tmp_path, monkeypatch):
    first = run_matrix(wanted(), BASE, SETTINGS, tmp_path, jobs=1)
    assert [each["cell"]["configuration"] for each in first] == ["sync", "sync", "async", "async"]
    assert all(each["lossless"] == "tokens" and "metrics" in each for each in first)
    assert all(sum(each["pass_shares"].values()) == pytest.approx(1) for each in first)
    timing = first[-1]["timing"]
    assert 0 < timing["hardware_s"] + timing["memory_s"] < timing["wall_s"]
    assert "hardware_s" not in first[0]["timing"]
    ran = []
    run_cell = matrix.run_cell
    monkeypatch.setattr(
        matrix, "run_cell", lambda cell, *more: ran.append(cell) or run_cell(cell, *more)
    )
    again = run_matrix(wanted(), BASE, SETTINGS, tmp_path, jobs=1)
    assert results(again) == results(first)
    assert all(each["timing"]["taken_over"] for each in again)
    assert ran == []
    # Another length is another run; so is another version of the sources.
    run_matrix(wanted(), BASE, {**SETTINGS, "workload.tokens": 13}, tmp_path, jobs=1)
    assert len(ran) == 4
    monkeypatch.setattr(matrix, "code_digest", lambda: "other sources")
    run_matrix(wanted(), BASE, SETTINGS, tmp_path, jobs=1)
    assert len(ran) == 8


def test_a_trace_without_tokens_asserts_positions_alone(tmp_path, monkeypatch):
    prepare = matrix.prepare

    def bernoulli(config):
        trace, ranks = prepare(config)
        return replace(trace, header={**trace.header, "coupling": "bernoulli"}), ranks

    monkeypatch.setattr(matrix, "prepare", bernoulli)
    (found,) = run_matrix(wanted(("svip",), ("sync",)), BASE, SETTINGS, tmp_path, jobs=1)
    assert found["lossless"] == "positions"


def test_a_cell_that_cannot_run_says_why_and_the_rest_goes_on(tmp_path):
    settings = {**SETTINGS, "gpu.memory_bytes": "2000000000", "gpu.host.capacity_bytes": "1000"}
    found = run_matrix(
        cells(["palm-8b:palm-30b", PAIR], ["svip"], ["gpu-sd"], [0]),
        BASE,
        settings,
        tmp_path,
        jobs=1,
    )
    assert "do not fit" in found[0]["error"]
    assert "lossless" not in found[0]
    assert "metrics" in found[1]


def test_a_broken_invariant_ends_its_cell_alone(tmp_path, monkeypatch):
    def simulate(config, *more, **options):
        raise InvariantError("not lossless")

    monkeypatch.setattr(matrix, "simulate", simulate)
    found = run_matrix(wanted(("svip",), ("sync",)), BASE, SETTINGS, tmp_path, jobs=1)
    assert [each["error"] for each in found] == ["not lossless"]
    assert not (tmp_path / "cells").exists()  # it may be mended next time


def test_the_contents_of_named_files_are_part_of_a_cell(tmp_path):
    rule, trace = tmp_path / "rule.py", tmp_path / "trace.npz"
    settings = {**SETTINGS, "draft.path": str(rule), "draft.name": "Mine"}
    (cell,) = wanted(("file",), ("sync",))
    places = set()
    for text in ("one", "two"):
        rule.write_text(text)
        places.add(matrix.cell_path(tmp_path, resolved(cell, BASE, settings)))
        trace.write_text(text)
        (plain,) = wanted(("svip",), ("sync",))
        named = {**SETTINGS, "workload.trace": str(trace)}
        places.add(matrix.cell_path(tmp_path, resolved(plain, BASE, named)))
    assert len(places) == 4


@pytest.mark.parametrize("damage", ['{"cell": {}, "met', "{}", "[]", ""])
def test_a_damaged_cell_runs_anew(damage, tmp_path):
    asked = wanted(("svip",), ("sync",))
    first = run_matrix(asked, BASE, SETTINGS, tmp_path, jobs=1)
    (kept,) = (tmp_path / "cells").iterdir()
    kept.write_text(damage)
    again = run_matrix(asked, BASE, SETTINGS, tmp_path, jobs=1)
    assert results(again) == results(first)
    assert not again[0]["timing"]["taken_over"]


def test_what_may_be_otherwise_next_time_is_told_and_not_kept(tmp_path, monkeypatch):
    simulate = matrix.simulate

    def failing(config, *more, **options):
        if config.scheme == "sync":
            raise MemoryError("no room")
        return simulate(config, *more, **options)

    monkeypatch.setattr(matrix, "simulate", failing)
    asked = wanted(("svip",), ("sync", "pim-sd"))
    found = run_matrix(asked, BASE, SETTINGS, tmp_path, jobs=1)
    assert found[0]["error"] == "MemoryError: no room"
    assert "metrics" in found[1]
    monkeypatch.setattr(matrix, "simulate", simulate)
    found = run_matrix(asked, BASE, SETTINGS, tmp_path, jobs=1)
    assert [each["timing"]["taken_over"] for each in found] == [False, True]
    assert "metrics" in found[0]


def test_cells_of_a_process_that_died_say_so(tmp_path, monkeypatch):
    def run_grouped(function, tasks, groups, workers):
        assert (list(groups), workers) == ([PAIR] * 4, 2)
        yield 2, function(*tasks[2])
        raise BrokenProcessPool

    monkeypatch.setattr(matrix, "run_grouped", run_grouped)
    found = run_matrix(wanted(), BASE, SETTINGS, tmp_path, jobs=2)
    told = [each.get("error", "") for each in found]
    assert all("run the same command again, with fewer --jobs" in told[i] for i in (0, 1, 3))
    assert told[2] == ""
    assert len(list((tmp_path / "cells").iterdir())) == 1


_KILLED = f"""
from pathlib import Path
from ahasd.system.matrix.cells import cells
from ahasd.system.matrix.run import run_matrix
if __name__ == "__main__":
    wanted = cells(["{PAIR}"], ["svip", "fixed"], ["sync", "async", "+ EDC"], [0])
    run_matrix(wanted, "{BASE}", {SETTINGS!r}, Path("killed"), jobs=2)
"""


@pytest.mark.full
def test_a_matrix_that_was_killed_goes_on_to_the_same_results(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(_KILLED)
    folder = tmp_path / "killed" / "cells"
    process = subprocess.Popen([sys.executable, script], cwd=tmp_path, start_new_session=True)
    until = time.monotonic() + 120
    while len(list(folder.glob("*.json"))) < 2 and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = {path: json.loads(path.read_text()) for path in folder.glob("*.json")}
    assert kept
    all_of_it = wanted(("svip", "fixed"), ("sync", "async", "+ EDC"))
    resumed = run_matrix(all_of_it, BASE, SETTINGS, tmp_path / "killed", jobs=1)
    whole = run_matrix(all_of_it, BASE, SETTINGS, tmp_path / "whole", jobs=1)
    assert results(resumed) == results(whole)
    assert sum(each["timing"]["taken_over"] for each in resumed) == len(kept)
    assert all(each in results(resumed) for each in results(kept.values()))
