# SPDX-License-Identifier: Apache-2.0
"""The matrix: cells, resumption, failures, tables."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict

import pytest

from ahasd import UserError
from ahasd.system import matrix
from ahasd.system.matrix import Cell, cells, run_matrix, speed_table, speedup_table
from ahasd.system.simulate import InvariantError

BASE, SETTINGS = "test", {"workload.tokens": 12, "backend.ahasd": "golden"}
PAIR = "tiny-draft:tiny-target"


def wanted(rules=("svip", "fixed"), configurations=("sync", "async")):
    return cells([PAIR], rules, configurations, [0])


def test_cells_are_all_combinations_pair_by_pair():
    found = cells(["a:b", "c:d"], ["x", "y"], ["sync", "async"], [0, 1])
    assert len(found) == len(set(found)) == 16
    assert [each.pair for each in found] == ["a:b"] * 8 + ["c:d"] * 8


@pytest.mark.parametrize("pair", ["one", "a:b:c", ":b", ""])
def test_a_pair_is_two_names(pair):
    with pytest.raises(UserError, match="must be DRAFT:TARGET"):
        cells([pair], ["svip"], ["sync"], [0])


def test_what_is_done_is_not_run_again(tmp_path, monkeypatch):
    first = run_matrix(wanted(), BASE, SETTINGS, tmp_path, jobs=1)
    assert [each["cell"]["configuration"] for each in first] == ["sync", "sync", "async", "async"]
    assert all("metrics" in each for each in first)
    ran = []
    run_cell = matrix.run_cell
    monkeypatch.setattr(
        matrix, "run_cell", lambda cell, *more: ran.append(cell) or run_cell(cell, *more)
    )
    assert run_matrix(wanted(), BASE, SETTINGS, tmp_path, jobs=1) == first
    assert ran == []
    # Another length is another run; so is another version of the sources.
    run_matrix(wanted(), BASE, {**SETTINGS, "workload.tokens": 13}, tmp_path, jobs=1)
    assert len(ran) == 4
    monkeypatch.setattr(matrix, "code_digest", lambda: "other sources")
    run_matrix(wanted(), BASE, SETTINGS, tmp_path, jobs=1)
    assert len(ran) == 8


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
    assert "metrics" in found[1]
    assert "-" in list(speed_table(found, ["gpu-sd"]).columns[2].cells)


_KILLED = f"""
from pathlib import Path
from ahasd.system.matrix import cells, run_matrix
if __name__ == "__main__":
    wanted = cells(["{PAIR}"], ["svip", "fixed", "adaedl"], ["sync", "async", "+ EDC"], [0])
    run_matrix(wanted, "{BASE}", {SETTINGS!r}, Path("killed"), jobs=2)
"""


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
    kept = {path: path.read_text() for path in folder.glob("*.json")}
    assert kept
    all_of_it = wanted(("svip", "fixed", "adaedl"), ("sync", "async", "+ EDC"))
    resumed = run_matrix(all_of_it, BASE, SETTINGS, tmp_path / "killed", jobs=1)
    assert resumed == run_matrix(all_of_it, BASE, SETTINGS, tmp_path / "whole", jobs=1)
    assert all(json.loads(text) in resumed for text in kept.values())


def test_a_broken_invariant_ends_its_cell_alone(tmp_path, monkeypatch):
    def simulate(config, *more, **options):
        raise InvariantError("not lossless")

    monkeypatch.setattr(matrix, "simulate", simulate)
    found = run_matrix(wanted(("svip",), ("sync",)), BASE, SETTINGS, tmp_path, jobs=1)
    assert [each["error"] for each in found] == ["not lossless"]


def found(configuration, speed, pair=PAIR, seed=0):
    cell = Cell(pair=pair, rule="svip", configuration=configuration, seed=seed)
    return {"cell": asdict(cell), "metrics": {"throughput_tokens_s": speed}}


def cells_of(table):
    return [list(column.cells) for column in table.columns]


def test_speeds_are_means_with_a_confidence_interval():
    made = [found("sync", 10.0), found("sync", 12.0, seed=1), found("sync", 14.0, seed=2)]
    # Standard deviation 2, t of two degrees 4.303: 4.303 x 2 / sqrt 3.
    assert cells_of(speed_table(made, ["sync"]))[2] == ["12.00 ± 4.97"]
    assert cells_of(speed_table(made[:1], ["sync"]))[2] == ["10.00"]


def test_speed_ups_are_geometric_means_beside_the_paper():
    made = [
        found("gpu-sd", 10.0),
        found("async", 40.0),
        found("gpu-sd", 10.0, "x:y"),
        found("async", 10.0, "x:y"),
    ]
    names, here, least, most, paper = cells_of(speedup_table(made, ["gpu-sd", "async", "+ EDC"]))
    assert names == ["gpu-sd", "async", "+ EDC"]
    assert here == ["1.00", "2.00", "-"]
    assert (least[1], most[1]) == ("1.00", "4.00")
    assert paper == ["1.0", "2.2", "3.4"]
    # The paper's figures are over the GPU, and stand beside nothing else.
    assert cells_of(speedup_table(made, ["async"]))[4] == ["-"]
