# SPDX-License-Identifier: Apache-2.0
"""The command line as a user meets it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from ahasd.cli import main
from ahasd.system.results import comparable
from ahasd.system.workload.trace import load_trace, save_trace


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_run_prints_the_table_and_leaves_the_folder(capsys, tmp_path):
    assert main(["run", "test", "--backend", "golden", "--name", "mine"]) == 0
    told = capsys.readouterr()
    for words in (
        "throughput",
        "ahasd (golden)",
        "sync",
        "EDC reject recall",
        "TVC asked",
        "lossless",
    ):
        assert words in told.out
    assert "48/48" in told.err, "progress goes to standard error"
    assert sorted(path.name for path in (tmp_path / "runs" / "mine").iterdir()) == [
        "config.toml",
        "requests.jsonl",
        "results.json",
        "stats.csv",
    ]


def test_a_run_of_a_trace_without_tokens_claims_positions_alone(capsys, tmp_path):
    trace = load_trace("smollm2-rtn4")
    save_trace(replace(trace, header={**trace.header, "coupling": "bernoulli"}), "mine.npz")
    run = ["run", "test", "--tokens", "8", "--set", "memory.fidelity=analytic", "--scheme", "sync"]
    assert main([*run, "--trace", "mine.npz", "--baseline", "none"]) == 0
    told = capsys.readouterr().out
    assert "positions accounted for: 8 came out once, in order" in told
    assert "lossless" not in told


@pytest.mark.full
def test_backends_lockstep_and_no_skip_give_identical_results(tmp_path):
    told = {}
    for name, options in {
        "golden": ["--backend", "golden"],
        "rtl": ["--backend", "rtl"],
        "mixed": ["--backend", "golden", "--set", "backend.tvc=rtl"],
        "lockstep": ["--lockstep"],
        "no-skip": ["--no-skip"],
    }.items():
        assert main(["run", "test", "--tokens", "8", "--out", name, *options]) == 0
        (path,) = (tmp_path / name).glob("*/results.json")
        told[name] = comparable(json.loads(path.read_text()))
    assert all(results == told["golden"] for results in told.values())


@pytest.mark.full
def test_a_finished_run_can_be_run_again_from_its_own_configuration(tmp_path):
    main(["run", "test", "--rule", "svip", "--out", "first", "--backend", "golden"])
    (config,) = (tmp_path / "first").glob("*/config.toml")
    main(["run", str(config), "--out", "second"])
    first, second = (
        comparable(json.loads(next((tmp_path / out).glob("*/results.json")).read_text()))
        for out in ("first", "second")
    )
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nothing"], "unknown run 'nothing': choose one of default, test"),
        (["run", "test", "--scheme", "x"], "--scheme"),
        (["run", "test", "--tokens", "x"], "--tokens"),
        (["run", "test", "--set", "a.b=1"], "unknown key a"),
        (["run", "test", "--set", "noequals"], "--set takes key=value, not 'noequals'"),
        (["run", "test", "--set", "seed=1", "--set", "seed=2"], "--set seed is given twice"),
        (["run", "test", "--trace", "missing.npz"], "missing.npz"),
        (["run", "test", "--nonsense"], "--nonsense"),
        (["run", "test", "--tokens", "1.5"], "'1.5' is no whole number"),
        (["run", "test", "--rule", "svip", "--set", "draft.rule=fixed"], "draft.rule is given by"),
        (["run", "test", "--trace", ""], "workload.trace = ''"),
        (["run", "test", "extra"], "unexpected arguments: ['extra']"),
        (["run", "test", "--lockstep", "--backend", "golden"], "lockstep compares with golden"),
        (["gen", "edc", "--module", "../evil"], "module name '../evil' is no plain Verilog"),
        (["run", "missing.toml"], "missing.toml"),
        (["run", "test", "--name", "a/b"], "name: 'a/b' is no folder name"),
        (["gen", "tvx"], "unknown unit 'tvx'"),
        (["gen", "edc", "--config", "x"], "no configuration 'x'"),
        (["run", "test", "--set", "backend.tvc=rtl"], "backend.tvc is chosen for a unit"),
        (["run", "test", "--set", "draft.k_max=17"], "draft.k_max = 17 is longer than a batch"),
        (["run", "test", "--set", "hardware.configuration=test"], "is longer than a batch"),
        (["run", "test", "--set", "platform.dlm_ranks=all"], "has none to switch"),
        (["compare", "test", "--pairs", "opt-1.3b"], "pair 'opt-1.3b' must be DRAFT:TARGET"),
        (["compare", "test", "--configurations", "each"], "there is no configuration 'each'"),
        (["compare", "test", "--rules", "svip", "--dlm", "opt-1.3b"], "give --pairs"),
        (["compare", "test", "--rules", "none"], "draft.rule = 'none': must be one of"),
        (["compare", "test", "--seeds", "0"], "--seeds 0 must be at least 1"),
        (["compare", "nothing", "--ablation"], "unknown run 'nothing'"),
        (["run", "test", "--scheme", "sync", "--lockstep"], "backend.lockstep compares hardware"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_bad_input_is_one_line_and_code_2_and_writes_nothing(arguments, message, capsys, tmp_path):
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert message in told.err
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_is_told_in_one_line_with_the_rank_map_below(capsys, tmp_path):
    assert main(["run", "test", "--dlm", "palm-8b", "--tlm", "palm-62b"]) == 2
    first, header, _, draft, target = capsys.readouterr().err.splitlines()
    assert first.startswith("error: palm-8b + palm-62b do not fit on mobile-paper: ")
    assert header.split()[1:4] == ["model", "|", "ranks"]
    assert draft.split()[1:6] == ["palm-8b", "(draft)", "|", "0", "|"]
    assert target.split()[1:8] == ["palm-62b", "(target)", "|", "16", "|", "0xFFFF", "|"]
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_the_same_name_but_another_configuration_is_refused_before_it_starts(capsys):
    assert main(["run", "test", "--backend", "golden", "--name", "mine"]) == 0
    capsys.readouterr()
    arguments = ["run", "test", "--backend", "golden", "--name", "mine", "--seed", "3"]
    assert main(arguments) == 2
    assert "choose another --name, or replace it with --force" in capsys.readouterr().err
    assert main([*arguments, "--force"]) == 0


def _interrupt(process: subprocess.Popen[str]) -> str:
    """Return what an interrupted process says on its error output; none is left behind."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=60)[1]
    finally:
        process.kill()


@pytest.mark.full
def test_an_interrupted_run_leaves_nothing_half_written(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "ahasd", "run", "test", "--tokens", "900000"]
        + [f"--set={model}.max_context=2000000" for model in ("dlm", "tlm")],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    time.sleep(3)
    err = _interrupt(process)
    assert process.returncode == 130
    assert "interrupted: nothing was written" in err
    assert "Traceback" not in err
    assert not (tmp_path / "runs").exists()


def test_help_teaches_with_schemes_and_examples(capsys):
    assert main(["run", "--help"]) == 0
    told = capsys.readouterr().out
    for words in ("npu-ar", "async-edc", "ahasd run test --lockstep", "--no-skip", "results.json"):
        assert words in told


@pytest.mark.full
def test_the_ablation_checks_every_step_and_leaves_a_file(capsys, tmp_path):
    assert main(["compare", "test", "--ablation", "--tokens", "8", "--name", "mine"]) == 0
    told = capsys.readouterr().out
    for words in ("async", "+ TVC", "golden = RTL", "yes", "NVCT affine, p95 error"):
        assert words in told
    again = ["compare", "test", "--ablation", "--tokens", "9", "--name", "mine", "--no-check"]
    assert main(again) == 2
    assert "workload.tokens is 8 there, 9 here" in capsys.readouterr().err
    assert main(["compare", "test", "--ablation", "--out", "runs/mine/ablation.json"]) == 2
    assert "is no folder" in capsys.readouterr().err
    steps = json.loads((tmp_path / "runs/mine/ablation.json").read_text())["steps"]
    assert [step["metrics"]["scheme"] for step in steps] == [
        "async",
        "async",
        "async-edc",
        "ahasd",
        "ahasd",
    ]
    assert all(step["checked"] and set(step["wall_s"]) == {"golden", "rtl"} for step in steps)


def test_gen_without_a_unit_lists_the_catalogue(capsys):
    assert main(["gen"]) == 0
    assert "edc: entropy-history-aware drafting control" in capsys.readouterr().out


def test_gen_writes_verilog_and_manifest(capsys, tmp_path):
    assert main(["gen", "edc", "--config", "test", "--out", "hw", "--set", "llr_width=1"]) == 0
    assert capsys.readouterr().out.split() == ["hw/ahasd_edc.v", "hw/ahasd_edc.json"]
    assert json.loads((tmp_path / "hw/ahasd_edc.json").read_text())["parameters"]["llr_width"] == 1


def test_doctor_names_what_is_missing_and_how_to_get_it(capsys, monkeypatch):
    assert main(["doctor"]) == 0
    assert "MISSING C++" not in capsys.readouterr().out
    monkeypatch.setenv("PATH", os.devnull)
    assert main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert "MISSING C++ compiler, for the rtl backend: no C++ compiler found" in told
    assert "apt-get install g++" in told


def test_doctor_tells_of_a_place_that_cannot_be_written(capsys, monkeypatch):
    monkeypatch.setenv("AHASD_CACHE", "/proc/nowhere")
    assert main(["doctor"]) == 1
    assert "/proc cannot be written; set AHASD_CACHE" in " ".join(capsys.readouterr().out.split())


def test_doctor_tells_of_every_extra_in_one_form(capsys, monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("ahasd.cli.doctor.version", missing)
    monkeypatch.setattr(sys, "executable", "/my tools/python")
    assert main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert "MISSING amaranth: '/my tools/python' -m pip install -e .\n" in told
    for package, extra in (
        ("cocotb, for benches", "sim"),
        ("pyosys, for synthesis and proofs", "synth"),
        ("matplotlib, for plots", "plot"),
        ("systemrdl-compiler, to export the register map", "registers"),
        ("pytest, for tests", "dev"),
    ):
        assert f"MISSING {package}: '/my tools/python' -m pip install -e '.[{extra}]'\n" in told


def test_nobody_words_the_hint_anew():
    root = Path(__file__).parents[2]
    folders = [root / name for name in ("src", "gen", "rtl", "sim", "synth", "system", "tb")]
    found = [path for each in folders for path in each.rglob("*.py")]
    assert [path.name for path in found if "pip install" in path.read_text()] == ["__init__.py"]


def test_keys_that_a_rule_file_needs_are_told_with_an_example(capsys):
    assert main(["run", "--rule", "file"]) == 2
    assert capsys.readouterr().err == (
        "error: run default: missing keys draft.path, draft.name;"
        " e.g. --set draft.path=margin.py --set draft.name=Margin\n"
    )
    assert main(["run", "--rule", "file", "--set", "draft.path=a.py"]) == 2
    told = capsys.readouterr().err
    assert told.endswith("draft.name (class or function in it); e.g. --set draft.name=Margin\n")


def test_every_configuration_key_is_listed_with_its_meaning(capsys):
    assert main(["run", "--keys"]) == 0
    told = capsys.readouterr().out
    for words in ("`verification.take`", "`draft.lambda0`", "`svip`, `adaedl`", "`dlm`"):
        assert words in told
    empty = [line for line in told.splitlines()[2:] if line.split("|")[4].strip() == ""]
    assert empty == []


def test_a_reader_that_goes_away_ends_the_output_quietly():
    done = subprocess.run(
        f"{sys.executable} -m ahasd run --keys | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("| key")
    assert done.stderr == ""


@pytest.mark.full
def test_an_interrupt_while_the_libraries_load_is_one_line_too(tmp_path):
    slow = "import time\nprint('loading', flush=True)\ntime.sleep(60)\n"
    (tmp_path / "cyclopts.py").write_text(slow)
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; from ahasd.cli import main; sys.exit(main([]))"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "loading\n"
    err = _interrupt(process)
    assert process.returncode == 130
    assert err == "interrupted: nothing was written\n"


def test_a_terminal_without_unicode_gets_the_help_all_the_same():
    done = subprocess.run(
        [sys.executable, "-m", "ahasd", "run", "--help"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert b"Simulate" in done.stdout


def test_lockstep_of_the_draft_length_control_alone_says_how_many_decisions_were_equal(capsys):
    alone = ["--scheme", "sync", "--set", "baseline=none", "--set", "hardware.draftctl=true"]
    assert main(["run", "test", *alone, "--lockstep", "--tokens", "12"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"control \(rtl\): \d+ decisions, each equal to golden, \d+ otherwise", told)


@pytest.mark.full
def test_lockstep_says_how_many_edges_were_equal(capsys):
    assert main(["run", "test", "--lockstep"]) == 0
    assert "stepped, each equal to golden" in capsys.readouterr().out


def test_version_is_told(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("ahasd 0.")


def test_output_that_cannot_be_written_is_one_line():
    done = subprocess.run(
        f"{sys.executable} -m ahasd gen > /dev/full",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot write the output: ")
