# SPDX-License-Identifier: Apache-2.0
"""`ahasd fpga`: what it lists, builds, tests and refuses."""

import json

import pytest

from ahasd.cli import main
from ahasd.sim.bridge import selftest
from ahasd.synth.fpga import build as flow

ROW = {
    "board": "hx8k",
    "unit": "board",
    "configuration": "test",
    "overrides": {},
    "design_sha256": "0" * 64,
    "seed": 7,
    "utilisation": {"ICESTORM_LC": {"available": 7680, "used": 768}},
    "clocks_mhz": {"npu, pim": {"achieved": 11.0, "asked": 12.0}},
    "critical_paths": [
        {
            "clock": "npu, pim",
            "from": "a",
            "to": "b",
            "delay_ns": 90.9,
            "logic_ns": 30.0,
            "cells": 9,
        }
    ],
    "bitstream": {"file": "top.bin", "bytes": 4, "sha256": "1" * 64},
    "tools": {"amaranth": "0.5"},
    "seconds": 61.0,
}


def test_without_a_board_all_are_listed(capsys):
    assert main(["fpga"]) == 0
    printed = capsys.readouterr().out
    assert "hx8k" in printed
    assert "ulx3s" in printed


def test_a_build_is_printed_and_recorded_without_its_time(monkeypatch, tmp_path, capsys):
    asked = {}

    def build(board, folder, **options):
        asked.update(options, board=board.name, folder=folder)
        return dict(ROW)

    monkeypatch.setattr(flow, "build", build)
    words = ["--out", str(tmp_path / "out"), "--record", str(tmp_path), "--seed", "7"]
    assert main(["fpga", "hx8k", "--set", "ahasd.gtsu.ranks=4", *words]) == 0
    assert asked == {
        "board": "hx8k",
        "folder": tmp_path / "out",
        "configuration": "test",
        "overrides": {"ahasd.gtsu.ranks": "4"},
        "seed": 7,
    }
    (row,) = json.loads((tmp_path / "fpga-hx8k.json").read_text())["rows"]
    assert row == {key: value for key, value in ROW.items() if key != "seconds"}
    printed = capsys.readouterr().out
    assert "10%" in printed
    assert "missed" in printed, "11 MHz are less than the 12 asked for"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fpga", "--self-test", "rtl"], "need a board; `ahasd fpga` lists them"),
        (["fpga", "de10"], "unknown board 'de10'; known: hx8k, ulx3s"),
        (["fpga", "hx8k", "--config", "huge"], "unit board has no configuration 'huge'"),
        (["fpga", "hx8k", "--self-test", "/dev/none"], "cannot open the port /dev/none"),
        (["fpga", "hx8k", "--self-test", "rlt"], "give a serial port, or `rtl` or `golden`"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(words, message, capsys, monkeypatch):
    monkeypatch.setattr(flow, "missing_tools", lambda board: [])
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_a_self_test_of_a_port_without_a_board_fails_and_says_so(capsys):
    assert main(["fpga", "hx8k", "--self-test", "loop://"]) == 1
    assert "FAILED: no answer to POP" in capsys.readouterr().out


def test_the_self_test_of_a_golden_board_is_told_step_by_step(capsys, monkeypatch):
    steps, whole = [selftest.identity, selftest.units.gtsu], selftest.self_test
    monkeypatch.setattr(selftest, "self_test", lambda client, params: whole(client, params, steps))
    assert main(["fpga", "hx8k", "--self-test", "golden"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["identity", "ok"], ["gtsu", "ok"]]
