# SPDX-License-Identifier: Apache-2.0
"""`ahasd trace` as a user meets it."""

import json
import sys

import numpy as np
import pytest

from ahasd.cli import main
from ahasd.system.workload.trace import load_trace, read_parts, save_trace

SMALL = ["--requests", "2", "--tokens", "12", "--k-max", "4"]


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pack(path, header, columns):
    """Write header and columns as they are, whether valid or not."""
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, allow_pickle=False, header=text, **columns)


def test_info_tells_of_packaged_made_and_own_traces(capsys):
    assert main(["trace", "info", "smollm2-rtn4"]) == 0
    told = capsys.readouterr().out
    for words in ("SmolLM2-135M-Instruct", "Acceptance by step", "AUC of p_top1", "0.852"):
        assert words in told
    assert main(["trace", "synth", "chat", *SMALL, "--seed", "3", "--out", "own.npz"]) == 0
    capsys.readouterr()
    assert main(["trace", "info", "own.npz", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "ahasd-trace-info/1"
    assert told["rows"] == 24
    assert told["header"]["seed"] == 3
    assert len(told["summary"]["conditional"]) == 4
    assert main(["trace", "info", "iid:0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["alpha"] == pytest.approx(0.5, abs=0.03)


def test_synth_writes_what_the_name_gives_in_place_and_says_what_it_rests_on(capsys, tmp_path):
    assert main(["trace", "synth", "opt-1.3b-6.7b-qa", *SMALL, "--prompt-len", "7"]) == 0
    told = capsys.readouterr().out
    assert "synthetic-opt-1.3b-6.7b-qa.npz: 2 requests, 24 rows, acceptance" in told
    assert "evidence: estimate: nothing published" in told
    assert "look at synthetic:opt-1.3b-6.7b-qa@0.630 and synthetic:opt-1.3b-6.7b-qa@0.730" in told
    made = load_trace("synthetic-opt-1.3b-6.7b-qa.npz")
    assert made.header["prompt_len"] == [7, 7]
    assert made.header["provenance"] == "ahasd trace synth synthetic:opt-1.3b-6.7b-qa --seed 0"
    assert main(["trace", "validate", "synthetic-opt-1.3b-6.7b-qa.npz"]) == 0
    assert "valid, 24 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("iid:0.8", "iid-0.8.npz"),
        ("length:3.2", "length-3.2.npz"),
        ("chat@0.7", "synthetic-chat@0.7.npz"),
        ("0.2/1.1/0.45", "synthetic-0.2-1.1-0.45.npz"),
        ("synthetic:code", "synthetic-code.npz"),
    ],
)
def test_every_kind_of_name_is_written_under_its_own(name, file, capsys):
    assert main(["trace", "synth", name, *SMALL]) == 0
    assert load_trace(file).rows == 24
    first = (load_trace(file).tok, load_trace(file).h_nats)
    assert main(["trace", "synth", name, *SMALL, "--seed", "1", "--force"]) == 0
    assert (load_trace(file).tok != first[0]).any()


def test_equal_commands_give_equal_bytes(tmp_path):
    for out in ("a.npz", "b.npz"):
        assert main(["trace", "synth", "chat", *SMALL, "--out", out]) == 0
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_synth_without_a_name_lists_the_presets(capsys, tmp_path):
    assert main(["trace", "synth"]) == 0
    told = capsys.readouterr().out
    for words in (
        "chat",
        "opt-1.3b-66b-summarisation",
        "measured",
        "derived",
        "estimate",
        "+ 0.05",
    ):
        assert words in told
    assert list(tmp_path.iterdir()) == []


def test_ngram_writes_a_pair(capsys):
    assert main(["trace", "ngram", *SMALL, "--coupling", "maximal"]) == 0
    assert "ngram-maximal.npz: 2 requests, 24 rows" in capsys.readouterr().out
    assert load_trace("ngram-maximal.npz").coupling == "maximal"


def test_nothing_is_replaced_unasked(capsys, tmp_path):
    for command in (
        ["trace", "synth", "chat", *SMALL, "--out", "held.npz"],
        ["trace", "ngram", *SMALL, "--out", "held.npz"],
        ["trace", "plot", "smollm2-rtn4", "--out", "held.svg"],
    ):
        held = tmp_path / command[-1]
        held.write_text("mine")
        assert main(command) == 2
        assert "is there already; choose another --out, or replace it" in capsys.readouterr().err
        assert held.read_text() == "mine"
        assert main([*command, "--force"]) == 0
        assert held.read_bytes() != b"mine"
        capsys.readouterr()


def test_plots_are_drawn_and_equal(tmp_path, capsys):
    for out in ("a.svg", "b.svg", "c.png"):
        assert main(["trace", "plot", "smollm2-rtn4", "--out", out]) == 0
        assert capsys.readouterr().out == f"see {out}\n"
    drawn = [(tmp_path / name).read_bytes() for name in ("a.svg", "b.svg", "c.png")]
    assert drawn[0] == drawn[1]
    assert drawn[0].startswith(b"<?xml")
    assert drawn[2].startswith(b"\x89PNG")


@pytest.mark.parametrize("alpha", ["0", "1"])
def test_a_pair_that_never_or_always_agrees_is_drawn(alpha):
    assert main(["trace", "synth", f"iid:{alpha}", *SMALL, "--out", "pair.npz"]) == 0
    assert main(["trace", "plot", "pair.npz", "--out", "pair.png"]) == 0


def test_without_matplotlib_one_line_says_how_to_get_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["trace", "plot", "smollm2-rtn4"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: plots need matplotlib, which is missing: ")
    assert told.endswith(" -m pip install -e '.[plot]'\n")
    assert list(tmp_path.iterdir()) == []


def test_validate_tells_every_broken_rule_in_a_line_of_its_own(capsys):
    header, columns = read_parts("smollm2-rtn4")
    assert isinstance(header, dict)
    columns = {name: values.copy() for name, values in columns.items()}
    columns["t"][700] = 9
    columns["y"][3] = -1
    columns["h_nats"][5, 2] = np.inf
    columns["p_top2"][9, 9] = 2
    pack("bad.npz", {**header, "prompt_len": [1]}, columns)
    assert main(["trace", "validate", "bad.npz"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    lines = told.err.splitlines()
    assert all(line.startswith("error: bad.npz: ") for line in lines)
    for words in (
        "t must count 0, 1, 2, ... inside each request, but t is 9 at row 700",
        "token ids must lie in 0..49151 (vocab_size - 1), but y is -1 at row 3",
        "every number must be finite, but h_nats is inf at row 5 step 2",
        "probabilities must lie in 0..1, but p_top2 is 2 at row 9 step 9",
    ):
        assert sum(words in line for line in lines) == 1
    assert len(lines) == 5, "and that infinity is above ln V"

    columns = {**read_parts("smollm2-rtn4")[1], "extra": np.zeros(3)}
    pack("bad.npz", header, columns)
    assert main(["trace", "validate", "bad.npz"]) == 2
    assert "no column 'extra'" in capsys.readouterr().err


def test_validate_accepts_what_is_valid(capsys):
    save_trace(load_trace("smollm2-rtn4"), "good.npz")
    assert main(["trace", "validate", "good.npz"]) == 0
    assert capsys.readouterr().out == "good.npz: valid, 781 rows\n"


@pytest.mark.parametrize("source", ["iid:0.8", "length:3.2", "synthetic:chat"])
def test_validate_makes_what_is_made_on_the_spot(capsys, source):
    assert main(["trace", "validate", source, "--seed", "1"]) == 0
    assert capsys.readouterr().out == f"{source}: valid, 4096 rows\n"  # 16 requests of 256 tokens


@pytest.mark.parametrize(("out", "file"), [("a", "a.npz"), ("a.b", "a.b.npz"), ("c.npz", "c.npz")])
def test_a_written_trace_is_called_npz(capsys, tmp_path, out, file):
    assert main(["trace", "synth", "iid:0.8", *SMALL, "--out", out]) == 0
    assert capsys.readouterr().out.startswith(f"{file}: 2 requests")
    assert [path.name for path in tmp_path.iterdir()] == [file]
    assert main(["trace", "synth", "iid:0.8", *SMALL, "--out", out]) == 2
    assert f"{file} is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["info", "nowhere.npz"], "there is no such file and no packaged trace of that name"),
        (["info", "synthetic:chatt"], "there is no preset 'chatt'"),
        (["info", "iid:2"], "error: iid:2: acceptance must lie in 0..1, not 2.0; e.g. iid:0.8"),
        (["validate", "iid:2"], "error: iid:2: acceptance must lie in 0..1"),
        (["info", "iid:0.5", "--seed", "-1"], "seed must not be negative"),
        (["info"], "source"),
        (["validate", "nowhere.npz"], "there is no such file"),
        (["validate", "."], "this is a folder"),
        (["synth", "nothing"], "there is no preset 'nothing'"),
        (["synth", "chat@2"], "acceptance 2.0 needs to lie between"),
        (["synth", "ngram:gumbel"], "use `ahasd trace ngram`"),
        (["synth", "chat", "--requests", "0"], "requests must be at least 1, not 0"),
        (["synth", "chat", "--tokens", "1.5"], "'1.5' is no whole number"),
        (["synth", "chat", "--k-max", "300"], "k_max must be at most 255"),
        (["synth", "chat", "--tokens", "99999999"], "entries; ask for less"),
        (["synth", "chat", *SMALL, "--out", "no/where.npz"], "the trace cannot be written"),
        (["ngram", "--coupling", "best"], "coupling"),
        (["plot", "smollm2-rtn4", "--out", "plot.gif"], "must end in .svg or .png"),
        (["plot", "smollm2-rtn4", "--out", "no/plot.svg"], "cannot write no/plot.svg"),
        (["plot", "nowhere.npz"], "there is no such file"),
        (["draw"], "draw"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(arguments, told, capsys, tmp_path):
    assert main(["trace", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert told.lower() in error.lower()
    assert list(tmp_path.iterdir()) == []
