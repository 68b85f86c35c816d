# SPDX-License-Identifier: Apache-2.0
"""Recorded pins are those that went in and out, edge by edge."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Fragment

from ahasd import UserError
from ahasd.rtl.configs import UNITS
from ahasd.rtl.draftctl.params import Rule, Token
from ahasd.sim.activity import Recorder
from ahasd.sim.draftctl import DraftLengthControl
from ahasd.sim.ports import Grid, Watch
from ahasd.sim.registry import make_engine

PARAMS = UNITS["draftctl"].configurations["paper"]


class Spy:
    """An engine that remembers what it was asked and what it said."""

    changed = False

    def __init__(self) -> None:
        self._engine = make_engine("draftctl", PARAMS, "golden")
        self.past: list[tuple[dict[str, int], dict[str, int], int, int]] = []

    def step(self, pins: Any, clocks: int, time_ps: int) -> dict[str, int]:
        seen = self._engine.step(pins, clocks, time_ps)
        self.past.append((dict(pins), dict(seen), clocks, time_ps))
        return seen

    def run(self, pins: Any, grid: Grid) -> int | None:
        raise NotImplementedError

    def advance(self, pins: Any, grid: Grid, watch: Watch) -> Any:
        raise NotImplementedError


def _held(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with np.load(path) as found:
        arrays = {name: found[name] for name in found.files}
    return json.loads(bytes(arrays.pop("header"))), arrays


def _values(row: np.ndarray, pins: list[tuple[str, int]]) -> dict[str, int]:
    """Unpack a row as the record's documentation says."""
    values, at = {}, 0
    for name, width in pins:
        size = (width + 7) // 8
        values[name] = int.from_bytes(bytes(row[at : at + size]), "little")
        at += size
    return values


def test_every_edge_is_kept_as_it_was(tmp_path: Path):
    spy, recorder = Spy(), Recorder()
    control = DraftLengthControl(recorder.on("draftctl", PARAMS, spy), PARAMS)
    control.write(rule=Rule.ENTROPY, entropy_limit=0x1234, k_max=5, min_len=1)
    for entropy in (3, 0x1233, 0x1235, 0xFFFF):
        control.decide(Token(False, entropy, 7))

    more = {"draftctl": {"instances": 2}, "edc": {"instances": 3}}
    (path,) = recorder.write(tmp_path / "activity", {"seed": 3}, 6 * 1250, more)
    header, arrays = _held(path)

    assert path.name == "draftctl.npz"
    assert header["unit"] == "draftctl"
    assert (header["seed"], header["instances"]) == (3, 2)
    assert header["domains"] == ["pim"]
    assert len(spy.past) == 8
    assert len(arrays["clocks"]) == 6  # what came later is left out
    for i, (pins, seen, clocks, time_ps) in enumerate(spy.past[:6]):
        assert _values(arrays["inputs"][i], header["inputs"]) == pins
        assert _values(arrays["outputs"][i], header["outputs"]) == seen
        assert arrays["clocks"][i] == clocks
        assert arrays["times_ps"][i] == time_ps


def test_an_engine_behaves_alike_with_and_without_a_recorder():
    params = UNITS["gtsu"].configurations["test"]
    names = ("task", "done", "command", "issue")
    pins = {f"{name}__payload": 0 for name in names} | {f"{name}__valid": 0 for name in names}
    pins |= dict.fromkeys(("layer_boundary", "compute_request", "preempt"), 0)
    pins |= {"issue__ready": 1, "drained": 1, "dlm_mask": 1, "tlm_mask": 2}
    pins |= {"switch_cycles": 3, "drain_max_cycles": 9, "task__valid": 1}
    plain = make_engine("gtsu", params, "golden")
    recorded = make_engine("gtsu", params, "golden", recorder=Recorder())
    assert plain.step(pins, 1, 1250) == recorded.step(pins, 1, 1250)
    pins["task__valid"] = 0
    grid = Grid((1250,), (2500,), 50_000)
    spans = []
    for engine in (plain, recorded):
        watch = Watch((("issue__valid", 0),), {"mask": 0}, ("idle_pim",), [0], 1)
        spans.append((engine.advance(pins, grid, watch), watch.quiet))
    assert spans[0] == spans[1]
    assert spans[0][0].edges[0] > 1
    assert plain.run(pins, Grid((1250,), (60_000,), 61_000)) == recorded.run(
        pins, Grid((1250,), (60_000,), 61_000)
    )


def test_a_parts_edges_have_the_tops_times(tmp_path: Path):
    params = UNITS["ahasd"].configurations["test"]
    recorder = Recorder()
    top = make_engine("ahasd", params, "golden", parts={"tvc": "golden"}, recorder=recorder)
    hardware: Any = UNITS["ahasd"].load_hardware()(params)
    Fragment.get(hardware, None)
    pins = {
        "__".join(map(str, path)): 0
        for path, member, _ in hardware.signature.flatten(hardware)
        if member.flow.name == "In"
    }
    times_ps = [1000, 1250, 2000, 2500, 3000, 3750]
    for now, time_ps in enumerate(times_ps):
        top.step(pins | {"now": now}, 2 if time_ps % 1000 == 0 else 1, time_ps)
    paths = recorder.write(tmp_path, {}, until_ps=10_000)

    whole, part = (_held(tmp_path / f"{name}.npz")[1] for name in ("ahasd", "tvc"))
    assert [path.name for path in paths] == ["tvc.npz", "ahasd.npz"]
    assert list(whole["times_ps"]) == times_ps
    assert set(part["times_ps"]) <= set(times_ps)
    assert list(part["times_ps"][:2]) == times_ps[:2]


def test_a_run_without_hardware_leaves_nothing_to_record(tmp_path: Path):
    with pytest.raises(UserError, match="no hardware unit ran"):
        Recorder().write(tmp_path / "activity", {}, 0)
    assert not (tmp_path / "activity").exists()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    recorder = Recorder()
    recorder.on("draftctl", PARAMS, Spy())
    with pytest.raises(UserError, match="cannot write"):
        recorder.write(tmp_path / "file", {}, 0)
