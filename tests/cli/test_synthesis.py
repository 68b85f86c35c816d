# SPDX-License-Identifier: Apache-2.0
"""`ahasd area` and `ahasd timing` as a user calls them."""

import json

import pytest

from ahasd.cli import main
from ahasd.synth.library import OSU018


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
    assert sorted(entry.name for entry in place.rglob("*") if entry.is_file()) == [path.name]


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


def test_a_record_of_something_else_is_not_replaced(place, capsys):
    path = place / "runs" / "synth" / "area-test-ge.json"
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
