# SPDX-License-Identifier: Apache-2.0
"""`ahasd power` as a user calls it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ahasd.cli import main
from ahasd.rtl.configs import UNITS
from ahasd.rtl.draftctl.params import DraftctlParams, Rule, Token
from ahasd.sim.activity import Recorder
from ahasd.sim.draftctl import DraftLengthControl
from ahasd.sim.registry import make_engine
from ahasd.synth.library import OSU018
from ahasd.synth.power.activity import read

TOLD = {
    "config_sha256": "c" * 64,
    "configuration": "paper",
    "scheme": "ahasd",
    "seed": 7,
    "tokens": 20,
    "trace": "made",
    "dlm": "small",
    "tlm": "large",
    "draft_steps": 20,
    "run_ps": 1_000_000,
    "periods_ps": {"pim": 1250, "npu": 1000},
    "versions": {},
}
needs_osu018 = pytest.mark.skipif(not OSU018.exists(), reason="apt-get install qflow-tech-osu018")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def run(place, monkeypatch) -> Path:
    """Return a run's folder with the pins of a draft-length control that decided on 20 tokens."""
    monkeypatch.setenv("AHASD_CACHE", str(place.parent / "cache"))
    params = DraftctlParams()
    recorder = Recorder()
    engine = make_engine("draftctl", params, "golden", recorder=recorder)
    control = DraftLengthControl(engine, params)
    control.write(rule=Rule.ENTROPY, entropy_limit=1000, k_max=4, min_len=1)
    for i in range(20):
        control.decide(Token(i == 0, 397 * i % 2000, 31 * i % 256))
    recorder.write(place / "runs" / "mine" / "activity", TOLD, until_ps=10**9)
    return place / "runs" / "mine"


@needs_osu018
def test_power_is_shown_and_kept_with_its_origin(run: Path, place: Path, capsys):
    assert main(["power", "--run", "runs/mine"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for word in ("draftctl", "Gates equal RTL at each of the 40 edges", "seed 7", "cccccccccccc"):
        assert word in shown
    path = place / "runs" / "synth" / "power-paper-osu018.json"
    (row,) = json.loads(path.read_text())["rows"]
    # 40 of the 800 cycles that a microsecond has.
    assert row["duty"] == pytest.approx(40 / 800)
    assert row["activity"]["stepped"] == {"pim": 40}
    assert row["activity"]["simulated"] == {"pim": 800}
    assert row["activity"]["answers"] == 20
    # All flip-flops are behind one gate, which is closed at rest.
    assert row["busy_pj"]["clock"] / 40 > 5 * row["idle_pj"]["clock"] / 1024 > 0
    assert row["library_mw"]["busy"] > 1.1 * row["library_mw"]["idle"] > 0
    assert row["idle_pj"]["switching"] == 0
    mean, busy, idle = (row["scaled_mw"][key][0] for key in ("mean", "busy", "idle"))
    assert mean == pytest.approx(0.05 * busy + 0.95 * idle, rel=1e-4)
    before = path.read_bytes()

    assert main(["power", "draftctl", "--run", "runs/mine"]) == 0
    assert path.read_bytes() == before


def _alter(path: Path, more: dict[str, Any], **changes: Any) -> None:
    """Change a record's header and arrays."""
    with np.load(path) as held:
        arrays = {name: held[name].copy() for name in held.files}
    header = json.loads(bytes(arrays["header"])) | more
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    for name, change in changes.items():
        change(arrays[name])
    np.savez_compressed(path, **arrays)


COMMANDS = [
    {"model": "draft", "operation": "first", "length": 5, "cycles": 10, "share": 0.75},
    {"model": "target", "operation": "second", "length": 100, "cycles": 30, "share": 0.25},
]


@needs_osu018
def test_commands_are_weighed_by_what_the_run_has_of_them(run: Path, place: Path, capsys):
    told = {"commands": COMMANDS, "instances": 16, "busy_ps": 200_000}
    _alter(run / "activity" / "draftctl.npz", told)

    assert main(["power", "--run", "runs/mine"]) == 0
    shown = capsys.readouterr().out
    assert "AAU, by command" in shown
    assert "draftctl is one of 16." in " ".join(shown.split())
    (row,) = json.loads((place / "runs/synth/power-paper-osu018.json").read_text())["rows"]
    first, second = row["commands"]
    assert (first["operation"], second["operation"]) == ("first", "second")
    # Edges of 1,250 ps; pJ in a ps are W.
    first_mw, second_mw = (
        1000 * sum(each["busy_pj"].values()) / (each["cycles"] * 1250) for each in row["commands"]
    )
    assert first_mw != pytest.approx(second_mw)
    expected = 0.75 * first_mw + 0.25 * second_mw
    assert row["library_mw"]["busy"] == pytest.approx(expected, rel=1e-4)
    factor = row["scaled_mw"]["busy"][0] / row["library_mw"]["busy"]
    assert first["scaled_mw"][0] == pytest.approx(first_mw * factor, rel=1e-4)
    per_element = sum(second["busy_pj"].values()) / 100
    assert second["scaled_pj_per_element"][0] == pytest.approx(per_element * factor, rel=1e-4)
    # Together they are the record, which says nothing of the run's time.
    whole = sum(sum(each["busy_pj"].values()) for each in row["commands"])
    assert whole == pytest.approx(sum(row["busy_pj"].values()), rel=1e-4)
    assert row["duty"] == pytest.approx(0.2)
    assert row["instances"] == 16
    assert row["scaled_pj_per_answer"] is None


@needs_osu018
def test_pins_that_the_gates_do_not_give_stop_the_command(run: Path):
    def flip(outputs: np.ndarray) -> None:
        outputs[33, -1] ^= 1

    # Behind the first command, so that edges are counted from the record's beginning.
    path = run / "activity" / "draftctl.npz"
    _alter(path, {"commands": COMMANDS, "busy_ps": 1}, outputs=flip)

    with pytest.raises(Exception, match="gates differ from RTL at edge 33 of the record: idle_pim"):
        main(["power", "--run", "runs/mine"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--library", "ge"], "library ge has no power; take --library osu018"),
        (["edc"], "there is no runs/mine/activity/edc.npz; record the pins of a run"),
        (["alu"], "unknown unit 'alu'"),
        (["--run", "nowhere"], "there is no nowhere/activity/ahasd.npz; record the pins of a run"),
        (["--liberty", "nothing.lib"], "cannot read the Liberty file nothing.lib"),
    ],
)
def test_what_cannot_be_done_is_told_with_its_remedy(run: Path, capsys, arguments, told):
    given = arguments if "--run" in arguments else [*arguments, "--run", "runs/mine"]
    if not {"--library", "--liberty"} & set(given) and not OSU018.exists():
        pytest.skip("apt-get install qflow-tech-osu018")
    assert main(["power", *given]) == 2
    error = capsys.readouterr().err
    assert told in " ".join(error.split())
    assert "Traceback" not in error


def test_a_file_under_another_units_name_is_told(run: Path, capsys):
    (run / "activity" / "draftctl.npz").rename(run / "activity" / "edc.npz")
    assert main(["power", "edc", "--run", "runs/mine", "--library", "ge"]) == 2
    assert "holds the pins of draftctl; give the file back its name" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut off"])
def test_a_file_that_is_no_record_is_told(run: Path, capsys, content: bytes):
    (run / "activity" / "draftctl.npz").write_bytes(content)
    assert main(["power", "--run", "runs/mine", "--library", "ge"]) == 2
    assert "holds no recorded pins" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("schema", "ahasd-activity/0", "holds no recorded pins"),
        ("source_sha256", "0" * 64, "recorded before the sources of draftctl changed"),
        ("parameters", {"length_width": 99}, "parameters that this version does not have"),
    ],
)
@needs_osu018
def test_a_record_of_something_else_is_told(run: Path, capsys, key: str, value, told: str):
    _alter(run / "activity" / "draftctl.npz", {key: value})

    assert main(["power", "--run", "runs/mine"]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_a_run_without_hardware_has_no_pins_to_keep(capsys):
    arguments = ["run", "test", "--scheme", "npu-ar", "--baseline", "none", "--activity"]
    assert main(arguments) == 2
    assert "no hardware unit ran" in capsys.readouterr().err


@pytest.mark.full
def test_a_run_keeps_the_pins_of_every_control_unit(place: Path):
    arguments = ["run", "test", "--baseline", "none", "--activity", "--name", "kept"]
    options = ["--set", "hardware.draftctl=true", "--set", "nonlinear.lanes=2"]
    assert main([*arguments, *options]) == 0
    found = {path.stem for path in (place / "runs" / "kept" / "activity").iterdir()}
    assert found == {"aau", "ahasd", "draftctl", *UNITS["ahasd"].parts}
    record = read(place / "runs" / "kept" / "activity" / "aau.npz")
    assert record.params.lanes == 2
    assert sum(each["cycles"] for each in record.header["commands"]) == len(record.clocks)
    assert sum(each["share"] for each in record.header["commands"]) == pytest.approx(1)
    assert 0 < record.busy_ps < record.header["run_ps"]
