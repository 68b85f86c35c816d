# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: whole or absent, and never another run's."""

import csv
import json
from copy import deepcopy

import pytest

from ahasd import UserError
from ahasd.system import results
from ahasd.system.config import load_config
from ahasd.system.results import check_folder, comparable, document, speedups, write_folder
from ahasd.system.simulate import prepare, simulate
from ahasd.system.stats import flat


@pytest.fixture(scope="module")
def once():
    config = load_config("test", {"backend.ahasd": "golden", "workload.tokens": 12})
    trace, ranks = prepare(config)
    outcomes = [simulate(config.with_scheme(s), trace, ranks) for s in ("async-edc", "sync")]
    return config, document(config, trace, outcomes, [0.1, 0.2])


@pytest.fixture
def finished(once):
    config, told = once
    return config, deepcopy(told)


RECORDS = [{"request": 0, "completion_tokens": 7}, {"request": 1, "completion_tokens": 5}]


def test_results_hold_schema_seed_backend_versions_and_commit(finished):
    _, told = finished
    assert told["schema"] == "ahasd-results/5"
    assert told["seed"] == 0
    assert told["backend"]["ahasd"] == "golden"
    assert told["backend"]["skip"]
    assert {"ahasd", "python", "amaranth", "numpy"} <= set(told["provenance"]["versions"])
    assert "git" in told["provenance"]
    assert [run["scheme"] for run in told["runs"]] == ["async-edc", "sync"]
    cycles = told["timing"]["cycles"]["async-edc"]["npu"]
    assert cycles["stepped"] + cycles["skipped"] == cycles["simulated"]
    assert "backend" not in told["config"]


def test_the_speedup_is_over_every_other_run_by_decoding_throughput(finished):
    _, told = finished
    assert speedups(
        [{"scheme": s, "throughput_tokens_s": t} for s, t in (("a", 6), ("b", 4), ("c", 12))]
    ) == {"b": 1.5, "c": 0.5}
    first, second = (run["throughput_tokens_s"] for run in told["runs"])
    assert told["speedup"] == {"sync": first / second}
    assert speedups(told["runs"][:1]) == {}


def test_what_may_differ_between_backends_is_set_apart(finished):
    _, told = finished
    assert set(told) - set(comparable(told)) == {"backend", "timing", "provenance"}


def test_a_folder_holds_config_results_and_a_row_a_metric(finished, tmp_path):
    config, told = finished
    folder = tmp_path / "runs" / "mine"
    write_folder(folder, config, told, RECORDS)
    assert {path.name for path in folder.iterdir()} == {
        "config.toml",
        "requests.jsonl",
        "results.json",
        "stats.csv",
    }
    lines = (folder / "requests.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == RECORDS
    assert json.loads((folder / "results.json").read_text()) == told
    with (folder / "stats.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(len(flat(run)) - 1 for run in told["runs"])
    throughput = next(
        row for row in rows if (row["scheme"], row["metric"]) == ("sync", "throughput_tokens_s")
    )
    assert float(throughput["value"]) == told["runs"][1]["throughput_tokens_s"]
    assert [path.name for path in folder.parent.iterdir()] == ["mine"], "nothing else is left"


def test_a_failure_half_way_leaves_the_old_folder_and_nothing_else(finished, tmp_path, monkeypatch):
    config, told = finished
    folder = tmp_path / "mine"
    write_folder(folder, config, told, RECORDS)
    before = (folder / "results.json").read_bytes()

    def fail(path, runs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(results, "_write_stats", fail)
    with pytest.raises(UserError, match=f"cannot write {folder}: No space left on device"):
        write_folder(folder, config, told | {"seed": 1}, RECORDS)
    assert (folder / "results.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_folder_of_the_same_configuration_is_replaced_and_of_another_refused(finished, tmp_path):
    config, told = finished
    folder = tmp_path / "mine"
    check_folder(folder, config, force=False)
    write_folder(folder, config, told, RECORDS)
    same = load_config("test", {"workload.tokens": 12, "backend.ahasd": "pysim", "name": "mine"})
    check_folder(folder, same, force=False)
    write_folder(folder, config, told, RECORDS)
    other = load_config("test", {"workload.tokens": 12, "seed": 5})
    with pytest.raises(UserError, match=r"another configuration \(seed is 0 there, 5 here\)"):
        check_folder(folder, other, force=False)
    check_folder(folder, other, force=True)


def test_files_of_the_user_in_a_run_folder_stay(finished, tmp_path):
    config, told = finished
    folder = tmp_path / "mine"
    write_folder(folder, config, told, RECORDS)
    (folder / "plots.txt").write_text("mine")
    write_folder(folder, config, told, RECORDS)
    assert (folder / "plots.txt").read_text() == "mine"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("content", [None, "not toml [", b"\xff\xfe"])
def test_a_folder_that_is_no_run_is_refused_even_by_force(finished, tmp_path, force, content):
    config, _ = finished
    (tmp_path / "precious.txt").write_text("mine")
    if content is not None:
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / "config.toml").write_bytes(data)
    with pytest.raises(UserError, match="holds no run of ahasd"):
        check_folder(tmp_path, config, force=force)


def test_a_place_that_cannot_hold_a_folder_is_refused_before_the_run(finished, tmp_path):
    config, _ = finished
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "a" / "b"):
        with pytest.raises(UserError, match="file is no folder"):
            check_folder(folder, config, force=False)
