# SPDX-License-Identifier: Apache-2.0
"""`ahasd compare` without `--ablation`: the matrix as a user meets it."""

import csv
import json

import pytest

from ahasd.cli import main

PAIR = "tiny-draft:tiny-target"
FAST = ["--tokens", "16", "--backend", "golden", "--set", "memory.fidelity=analytic", "--jobs", "1"]


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def compare(*arguments):
    return main(["compare", "test", "--pairs", PAIR, *FAST, *arguments])


@pytest.mark.full
def test_a_matrix_prints_tables_sentences_and_effort_and_leaves_two_files(capsys, tmp_path):
    asked = ["--rules", "svip,fixed", "--configurations", "specpim,+ AAU,+ EDC"]
    assert compare(*asked, "--name", "mine") == 0
    told = capsys.readouterr().out
    for words in (
        "tokens/s, decoding",
        "over specpim, geometric mean",
        "+ EDC over others",
        "+ EDC: x",
        "over + AAU",
        f"{PAIR}, specpim, draft: nothing on the NPU, qkv, attention, projection, ffn, head",
        f"{PAIR}, sync: best fixed k = ",
        "; k = 8: ",
        "matrix: 6 cells, 6 run, 0 taken over",
        "fixed lengths: ",
        "every run with a result is lossless",
    ):
        assert words in told
    folder = tmp_path / "runs" / "mine"
    held = json.loads((folder / "matrix.json").read_text())
    assert held["settings"]["workload.tokens"] == 16
    (fixed,) = held["fixed_lengths"]
    assert fixed["throughput_tokens_s"][str(fixed["best"])] == max(
        fixed["throughput_tokens_s"].values()
    )
    rows = list(csv.DictReader((folder / "matrix.csv").read_text().splitlines()))
    assert len(rows) == len(held["cells"]) == 6 + len(fixed["throughput_tokens_s"])
    assert {row["lossless"] for row in rows} == {"tokens"}
    # What is there is of another matrix now, whose runs are of use all the same.
    assert compare(*asked, "--name", "mine", "--best-k", "none") == 2
    assert "best_k is ['sync'] there" in capsys.readouterr().err
    assert compare(*asked, "--name", "mine", "--best-k", "none", "--force") == 0
    again = capsys.readouterr().out
    assert "matrix: 6 cells, 0 run, 6 taken over" in again
    assert "best fixed" not in again
    assert "fixed lengths" not in again


def test_cells_that_fail_are_told_below_what_the_others_gave(capsys):
    small = ["--set", "gpu.memory_bytes=2000000000", "--set", "gpu.host.capacity_bytes=1000"]
    pairs = ["--pairs", f"palm-8b:palm-30b,{PAIR}", "--rules", "svip", "--configurations", "gpu-sd"]
    assert main(["compare", "test", *pairs, *FAST, *small, "--best-k", "none"]) == 2
    told = capsys.readouterr()
    assert "palm-8b:palm-30b, svip, gpu-sd: " in told.out
    assert "do not fit" in told.out
    assert "matrix: 2 cells, 2 run, 0 taken over" in told.out
    assert told.err.endswith("error: 1 of 2 cells have no result\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--best-k", "npu-ar"], "--best-k: npu-ar has no draft length"),
        (["--best-k", "amusd"], "--best-k: amusd has no draft length"),
        (["--best-k", "some"], "there is no configuration 'some'"),
        (["--set", "mapping.draft_tokens=0"], "mapping.draft_tokens = 0"),
        (["--jobs", "0"], "--jobs 0 must be at least 1"),
        (["--seeds", "0"], "--seeds 0 must be at least 1"),
        (["--no-check"], "--no-check is of an --ablation"),
        (["--set", "scheme=sync"], "scheme = 'sync' has no effect"),
        (["--ablation"], "--pairs is of a matrix"),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(arguments, message, capsys, tmp_path):
    assert main(["compare", "test", "--pairs", PAIR, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_seeds_that_change_nothing_are_told_and_what_is_named_twice_counts_once(capsys):
    once = ["--configurations", "sync,sync", "--seed", "3", "--seeds", "2", "--best-k", "none"]
    assert main(["compare", "test", "--pairs", PAIR, "--rules", "fixed,fixed", *FAST, *once]) == 0
    told = capsys.readouterr().out
    assert "no result depends on the seed" in told
    assert "matrix: 2 cells, 2 run" in told


def test_an_interrupted_matrix_says_where_its_runs_are(capsys, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("ahasd.system.matrix.run.run_matrix", interrupted)
    assert main(["compare", "test", "--pairs", PAIR, *FAST, "--name", "half"]) == 130
    assert capsys.readouterr().err.endswith(
        "interrupted: what was done is in runs/half/cells; the same command goes on\n"
    )
