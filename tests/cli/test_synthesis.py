# SPDX-License-Identifier: Apache-2.0
"""`ahasd area` and `ahasd timing` as a user calls them."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from ahasd.cli import main
from ahasd.cli import synthesis as commands
from ahasd.rtl.configs import UNITS
from ahasd.synth.library import OSU018
from ahasd.synth.tables import TextTable


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("AHASD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def test_area_shows_units_and_keeps_rows_with_their_origin(place, capsys):
    assert main(["area", "gtsu", "draftctl", "--config", "test", "--parts"]) == 0
    shown = capsys.readouterr().out
    for word in ("gtsu", "draftctl", "draft_queue", "kGE", "Parts of gtsu", "see runs/synth/"):
        assert word in shown
    path = place / "runs" / "synth" / "area-test-ge.json"
    before = json.loads(path.read_text())
    assert [row["unit"] for row in before["rows"]] == ["draftctl", "gtsu"]

    assert main(["area", "gtsu", "--config", "test", "--set", "ranks=4"]) == 0
    assert "gtsu ranks=4" in capsys.readouterr().out
    after = json.loads(path.read_text())
    assert [row for row in after["rows"] if not row["overrides"]] == before["rows"]
    past = path.with_name("history-test-ge.json")
    assert {entry for entry in place.rglob("*") if entry.is_file()} == {path, past}
    lines = json.loads(past.read_text())["rows"]
    assert [(line["unit"], line["overrides"]) for line in lines] == [
        ("gtsu", {}),
        ("draftctl", {}),
        ("gtsu", {"ranks": "4"}),
    ]
    assert main(["area", "gtsu", "draftctl", "--config", "test"]) == 0
    assert json.loads(past.read_text())["rows"] == lines  # nothing changed


def test_a_sweep_keeps_a_row_for_each_step_and_draws_what_it_is_for(place, capsys):
    sizes = ["--sweep", "bucket_width=1,2,1", "--sweep", "llr_width=2,1,1"]
    assert main(["area", "edc", "--config", "test", "--plot", *sizes]) == 0
    shown = capsys.readouterr().out
    assert "see runs/synth/area-pht.svg" in shown
    rows = json.loads((place / "runs" / "synth" / "area-test-ge.json").read_text())["rows"]
    default = UNITS["edc"].configurations["test"]
    found = {(row["parameters"]["bucket_width"], row["parameters"]["llr_width"]) for row in rows}
    assert found == {(1, 2), (2, 1), (1, 1)}
    for row in rows:
        # What is as it was anyway is no change.
        assert row["overrides"] == {
            key: str(row["parameters"][key])
            for key in ("bucket_width", "llr_width")
            if row["parameters"][key] != getattr(default, key)
        }


def test_a_second_run_gives_the_same_bytes(place):
    texts = []
    for extra in ([], ["--no-cache"]):
        assert main(["area", "draftctl", "--config", "test", "--out", "x", *extra]) == 0
        texts.append((place / "x" / "area-test-ge.json").read_bytes())
    assert texts[0] == texts[1]


def test_the_top_is_shown_as_a_share_of_dies_with_a_verdict(place, capsys, monkeypatch):
    from ahasd.synth import area as synthesis

    held = synthesis.area
    monkeypatch.setattr(
        synthesis,
        "area",
        lambda name, *rest, **options: held("gtsu", *rest, **options) | {"unit": name},
    )
    assert main(["area", "ahasd", "--config", "test"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Of a DRAM die" in shown
    assert "(ahasd, without the AAU, " in shown
    assert "`paper`: 1.34 mm2 with the AAU, 2.68 %" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["area", "nonesuch"], "unknown unit 'nonesuch'; known: aau, ahasd"),
        (["area", "gtsu", "nonesuch", "--config", "test"], "unknown unit 'nonesuch'"),
        (["area", "gtsu", "--config", "huge"], "no configuration 'huge'; known: paper"),
        (["area", "gtsu", "--library", "tsmc"], "unknown library 'tsmc'"),
        (["area", "gtsu", "--liberty", "none.lib"], "cannot read the Liberty file none.lib"),
        (["area", "gtsu", "--set", "ranks=0"], "unit gtsu: ranks"),
        (["area", "gtsu", "--memories", "paper"], "memories"),
        (["area", "gtsu", "--boundaries", "some"], "boundaries"),
        (["area", "gtsu", "--sweep", "ranks"], "--sweep takes key=value, not 'ranks'"),
        (["area", "gtsu", "--sweep", "ranks=4,x"], "ranks of unit gtsu must be an integer"),
        (
            ["area", "gtsu", "--sweep", "ranks=2,4", "--sweep", "queue=1"],
            "their number must be equal, not ranks 2, queue 1",
        ),
        (["area", "Gtsu"], "unknown unit 'Gtsu', perhaps gtsu; known:"),
        (["area", "gtsu", "--blocks"], "--blocks are no units; leave out units"),
        (
            ["area", "gtsu", "--sweep", "ranks=2,4", "--set", "ranks=8"],
            "ranks is given by --set and by --sweep; choose one",
        ),
        (["gen", "--set", "ranks=4"], "--set and --module need a unit"),
        (["timing", "gtsu", "--library", "ge"], "placeholders for delays"),
        (["timing", "nonesuch", "--library", "ge"], "unknown unit 'nonesuch'"),
    ],
)
def test_what_a_user_can_mend_is_one_line(place, capsys, arguments, said):
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("kind", ["area", "history"])
def test_a_record_of_something_else_is_not_replaced(place, capsys, kind):
    path = place / "runs" / "synth" / f"{kind}-test-ge.json"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    assert main(["area", "draftctl", "--config", "test"]) == 2
    assert "is no record of ours" in capsys.readouterr().err
    assert path.read_text() == "mine"


def test_timing_shows_paths_and_keeps_rows(place, capsys):
    if not OSU018.exists():
        pytest.skip("apt-get install qflow-tech-osu018")
    assert main(["timing", "draftctl", "--config", "test"]) == 0
    shown = capsys.readouterr().out
    for word in ("Timing", "Longest paths", "ABC", "pim", "No wires"):
        assert word in shown
    told = json.loads((place / "runs" / "synth" / "timing-test-osu018.json").read_text())
    assert [row["unit"] for row in told["rows"]] == ["draftctl"]


TABLE = TextTable(
    "Power",
    ("unit", "a header of many words", "mW"),
    [("gtsu ranks=4 (macros)", "0.30-0.32", "1,234.5678"), ("`edc`", "0.1", "2")],
    note="and a note below the figures",
)


@pytest.mark.parametrize("columns", [1, 20, 45, 120])
@pytest.mark.parametrize("terminal", [False, True])
def test_no_figure_is_cut_however_narrow_the_output_is(monkeypatch, capsys, columns, terminal):
    monkeypatch.setenv("COLUMNS", f"{columns}")
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    commands.show(TABLE)
    shown = capsys.readouterr().out
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    for row in TABLE.rows:
        for value in row:
            assert value.strip("`") in shown
    assert "`" not in shown
    if not terminal:
        heights = [line for line in shown.splitlines() if "gtsu ranks=4 (macros)" in line]
        assert [all(value in line for value in TABLE.rows[0]) for line in heights] == [True]


def test_commands_that_share_a_folder_lose_no_row(place):
    names = ("draftctl", "gtsu", "exp2", "log2", "recip")
    with ThreadPoolExecutor(len(names)) as pool:
        ended = pool.map(
            lambda name: (
                subprocess.run(
                    [sys.executable, "-m", "ahasd", "area", name, "--config", "test"],
                    cwd=place,
                    capture_output=True,
                    check=False,
                ).returncode
            ),
            names,
        )
        assert list(ended) == [0] * len(names)
    for kind in ("area", "history"):
        held = json.loads((place / "runs" / "synth" / f"{kind}-test-ge.json").read_text())["rows"]
        assert sorted(row["unit"] for row in held) == sorted(names)


def test_a_papers_area_stands_only_beside_its_own_sizes(capsys):
    shown = []
    for configuration in ("small", "paper"):
        assert main(["area", "edc", "--config", configuration]) == 0
        line = next(line for line in capsys.readouterr().out.splitlines() if "edc " in line)
        shown.append(line.split()[-2])
    assert shown == ["-", "50"]  # 0.05 mm2 in the paper's table


def test_a_plot_without_rows_says_what_it_needs(capsys):
    assert main(["area", "draftctl", "--config", "test", "--plot"]) == 0
    assert "nothing to draw: plots need rows of the top" in capsys.readouterr().out


def test_a_closed_output_ends_quietly(place):
    command = f"{sys.executable} -m ahasd gen >&-"
    ended = subprocess.run(["sh", "-c", command], cwd=place, capture_output=True, check=False)
    assert b"Traceback" not in ended.stderr
