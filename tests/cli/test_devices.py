# SPDX-License-Identifier: Apache-2.0
"""`ahasd devices` as a user meets it."""

import json
import sys

import pytest

from ahasd.cli import main
from ahasd.system.validation import record
from ahasd.system.validation.rows import Row

pytestmark = pytest.mark.full

SMALL = ["devices", "--dlm", "tiny-draft", "--tlm", "tiny-target", "--context", "64"]
FOLDER = "runs/devices-mobile-paper"


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def files(tmp_path, folder=FOLDER):
    return sorted(path.name for path in (tmp_path / folder).iterdir())


def test_it_prints_tables_and_leaves_figures_and_plots(capsys, tmp_path):
    assert main(SMALL) == 0
    told = capsys.readouterr()
    for words in ("Rates of mobile-paper", "Roofline: tiny-draft drafts", "Where the time goes"):
        assert words in told.out
    assert told.out.endswith(f"see {FOLDER}/\n")
    assert "5/5" in told.err, "progress goes to standard error"
    plots = ["access.svg", "gemv.svg", "roofline.svg", "utilisation.svg"]
    assert files(tmp_path) == sorted(["devices.json", *plots])
    held = json.loads((tmp_path / FOLDER / "devices.json").read_text())
    assert held["schema"] == "ahasd-devices/1"
    assert held["config"]["dlm"]["name"] == "tiny-draft"

    other = [*SMALL, "--no-plots", "--set", "platform.pim.gops=512"]
    assert main(other) == 2
    assert "platform.pim.gops is 102.4 there, 512" in capsys.readouterr().err
    assert main([*other, "--name", "fast", "--json"]) == 0
    told = capsys.readouterr()
    shown = json.loads(told.out)
    assert shown == json.loads((tmp_path / "runs/devices-fast/devices.json").read_text())
    assert shown["rates"][0]["limits_bytes_s"]["compute"] == 256e9
    assert "see runs/devices-fast/" in told.err
    assert files(tmp_path, "runs/devices-fast") == ["devices.json"]


@pytest.mark.slow
def test_without_matplotlib_there_are_tables_and_one_line(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(SMALL) == 0
    told = capsys.readouterr().out
    assert "Rates of mobile-paper" in told
    assert "no plots: they need matplotlib, which is missing: " in told
    assert told.endswith(" -m pip install -e '.[plot]'\n")
    assert files(tmp_path) == ["devices.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["devices", "nokia"], "unknown platform 'nokia': choose one of mobile-jedec"),
        (["devices", "none.toml"], "cannot read platform file none.toml"),
        (["devices", "--context", "0"], "--context 0 must be at least 1"),
        (["devices", "--context", "1.5"], "no whole number"),
        (
            ["devices", "--context", "5000"],
            "4096 tokens that llama2-7b was made for: give a smaller",
        ),
        (["devices", "--set", "draft.rule=svip"], "depend on keys of platform, dlm, tlm, memory"),
        (["devices", "--set", "platform.pim.gops=0"], "pim.gops = 0: must be"),
        (["devices", "--set", "platform.dram=hbm2"], "choose another platform.dram"),
        (["devices", "--set", "memory.fidelity=analytic"], "leave memory.fidelity"),
        (["devices", "--dlm", "palm-8b"], "one vocabulary"),
        (["devices", "--name", "a/b"], "is no folder name"),
        (["devices", "--out", "/dev/null"], "is no folder"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(arguments, message, capsys, tmp_path):
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    assert message in told
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_is_told_with_the_rank_map_below(capsys, tmp_path):
    assert main(["devices", "--dlm", "palm-8b", "--tlm", "palm-62b"]) == 2
    first, *rest = capsys.readouterr().err.splitlines()
    assert "do not fit on mobile-paper" in first
    assert len(rest) == 4
    assert list(tmp_path.iterdir()) == []


def test_validate_computes_the_rows_and_prints_them(capsys, tmp_path, monkeypatch):
    rows = [Row(peer="Peer", case="one", unit="ms", theirs=10.0, ours=10.5)]
    monkeypatch.setattr(record, "computed", lambda progress: {"gpu": rows})
    assert main(["devices", "--validate"]) == 0
    told = capsys.readouterr().out
    assert "Peer" in told
    assert "+5.0%" in told
    assert main(["devices", "--validate", "--json"]) == 0
    assert record.recorded(json.loads(capsys.readouterr().out)) == {"gpu": rows}
    assert list(tmp_path.iterdir()) == []


def test_a_query_that_a_unit_does_not_hold_is_told_in_one_line(capsys):
    heads = [f"--set=dlm.{key}" for key in ("head_dim=1025", "heads=1", "kv_heads=1")]
    arguments = [*SMALL, *heads, "--set=platform.pim.input_buffer_bytes=2048"]
    assert main(arguments) == 2
    told = capsys.readouterr().err.strip().splitlines()[-1]
    # FP16 elements.
    assert told.startswith("error: a query of tiny-draft has 2050 bytes, a PIM unit holds platform")
    exact = [each.replace("=1025", "=1024") for each in arguments]
    assert main([*exact, "--no-plots"]) == 0
