# SPDX-License-Identifier: Apache-2.0
"""Longest paths: reports as ABC and OpenSTA write them, and units against their clocks."""

from dataclasses import replace

import pytest

from ahasd import UserError
from ahasd.gen.emit import to_rtlil
from ahasd.gen.yosys import YosysError
from ahasd.rtl.configs import UNITS, Unit
from ahasd.synth import path, sta
from ahasd.synth import timing as timing_module
from ahasd.synth.blocks import Accumulator
from ahasd.synth.clock_gates import GateCell
from ahasd.synth.flow import synthesise
from ahasd.synth.library import load
from ahasd.synth.mapping import Request
from ahasd.synth.timing import library_clocks_ps, timing
from ahasd.synth.timing_tables import judged, timing_table

LOG = r"""
ABC: WireLoad = "none"  Gates =    602 ( 11.0 %)   Delay =  3735.01 ps  (  4.8 %)
ABC: Path  0 --      67 : 0    1 pi         A =   0.00  Df =  10.7   -1.6 ps  S =  24.9 ps
ABC: Path  1 --     319 : 1    9 clkbuf_1   A =   3.75  Df = 254.2  -83.1 ps  S = 292.0 ps
ABC: Path  2 --     426 : 4   10 nor4_1     A =   6.26  Df =3735.0 -600.7 ps  S =1014.7 ps
ABC: Start-point = pi66 (\level [1]).  End-point = po22 ($auto$MuxGate$2684).
"""
NETLIST = {
    "netnames": {
        "pim_clk": {"hide_name": 0, "bits": [2]},
        "level": {"hide_name": 0, "bits": [3, 4]},
        "deep.in.level": {"hide_name": 0, "bits": [3, 4]},
        "$auto$MuxGate$2684": {"hide_name": 1, "bits": [5]},
        "wanted": {"hide_name": 0, "bits": [6]},
        "out": {"hide_name": 0, "bits": [7]},
    },
    "cells": {
        "u1": {"type": "DFF", "connections": {"C": [2], "D": [5], "Q": [6]}},
        "u2": {"type": "DFF", "connections": {"C": [2], "D": [6], "Q": [4]}},
        "u3": {"type": "INV", "connections": {"A": [5], "Y": [7]}},
    },
}
LIBRARY = replace(
    load(),
    states={"DFF": "Q"},
    clock_gate=GateCell(cell="CG", enable="E", clock="C", output="Y"),
)

STA = """
Startpoint: u2 (rising edge-triggered flip-flop clocked by pim)
Endpoint: u1 (rising edge-triggered flip-flop clocked by pim)
Path Group: pim
Path Type: max

    Delay      Time   Description
   3.1225    3.1225   data arrival time
           7.1258   slack (MET)


Startpoint: u1 (rising edge-triggered flip-flop clocked by npu)
Endpoint: u2 (rising clock gating-check end-point clocked by npu)
Path Group: **clock_gating_default**
Path Type: max

            -0.5000   slack (VIOLATED)
"""
CLOCKS = {"pim": 10417, "npu": 8333}


def test_abcs_report_is_read_and_its_ends_are_registers():
    found = path.read(LOG, NETLIST, LIBRARY)
    assert found == {
        "delay_ps": 3735.01,
        "start": "level[1]",  # the shorter of two names
        "end": "wanted",  # the flip-flop behind the net, which has no name
        "cells": [{"cell": "clkbuf_1", "at_ps": 254.2}, {"cell": "nor4_1", "at_ps": 3735.0}],
    }


def test_a_port_at_the_end_keeps_its_name():
    log = LOG.replace("$auto$MuxGate$2684", r"\out")
    assert path.read(log, NETLIST, LIBRARY)["end"] == "out"


def test_a_net_that_is_gone_is_told_as_abc_calls_it():
    log = LOG.replace("$auto$MuxGate$2684", "$gone")
    assert path.read(log, NETLIST, LIBRARY)["end"] == "$gone"


def test_no_report_is_an_error_unless_there_is_no_logic():
    with pytest.raises(YosysError, match="no delay"):
        path.read("", NETLIST, LIBRARY)
    nothing = "Don't call ABC as there is nothing to map."
    assert path.read(nothing, NETLIST, LIBRARY)["delay_ps"] == 0


def test_opensta_is_judged_by_the_clock_with_the_least_left():
    names = sta.Registers({"top": NETLIST}, "top", LIBRARY)
    found = sta.read(STA, names, CLOCKS, 1000)
    assert found == {"clock": "npu", "delay_ps": 8833.0, "start": "wanted", "end": "level[1]"}
    alone = sta.read(STA.partition("\n\n\n")[0], names, CLOCKS, 1000)
    assert alone == {"clock": "pim", "delay_ps": 3291.2, "start": "level[1]", "end": "wanted"}


def test_opensta_without_paths_gives_none_and_faults_are_told():
    names = sta.Registers({"top": NETLIST}, "top", LIBRARY)
    assert sta.read("No paths found.", names, CLOCKS, 1000) is None
    with pytest.raises(YosysError, match="missing one or more thresholds"):
        sta.read("Error: missing one or more thresholds", names, CLOCKS, 1000)


def test_registers_of_parts_have_the_parts_before_them():
    top = {"netnames": {}, "cells": {"lane_3": {"type": "unit.lane_0", "connections": {}}}}
    names = sta.Registers({"unit": top, "unit.lane_0": NETLIST}, "unit", LIBRARY)
    assert names.of("lane_3/u1") == "lane_3/wanted"
    assert names.of("lane_3/u9") == "lane_3/u9"
    assert names.of("u2") == "u2"


def test_crossings_are_no_paths():
    script = sta.script("unit", ["a.lib"], CLOCKS, 1000)
    assert "create_clock -name npu -period 8.333000 [get_ports npu_clk]" in script
    for one, other in (("pim", "npu"), ("npu", "pim")):
        assert f"set_false_path -from [get_clocks {one}] -to [get_clocks {other}]" in script


@pytest.mark.parametrize(
    ("scaled", "by_abc", "by_sta"),
    [
        ([900, 1250], "not excluded", "met"),
        ([1200, 1251], "open", "open"),
        ([1251, 1300], "missed", "missed"),
    ],
)
def test_abc_alone_never_says_that_a_clock_is_met(scaled, by_abc, by_sta):
    row = {
        "clocks_ps": {"pim": 1250},
        "path": {"clock": "pim", "scaled_ps": scaled},
        "sta": {"clock": "pim", "scaled_ps": scaled},
    }
    assert judged(row, row["path"]) == by_abc
    assert judged(row, row["sta"]) == by_sta


def test_periods_are_those_of_the_clocks_in_the_librarys_time(osu018):
    # 800 MHz and 1 GHz at 28 nm are 0.120 of the delays at 180 nm.
    assert library_clocks_ps(("pim", "npu"), osu018) == {"pim": 10417, "npu": 8333}
    unknown = replace(osu018, node_nm=None)
    assert library_clocks_ps(("pim",), unknown) == {"pim": 1250}
    assert library_clocks_ps(("pim",), load()) == {}


def test_placeholders_are_no_times():
    with pytest.raises(UserError, match=r"library ge has placeholders.*--liberty PATH"):
        timing("gtsu", "test", load())


def test_a_unit_has_its_longest_path_with_the_registers_at_its_ends(osu018):
    row = timing("draftctl", "test", osu018)
    assert row["clocks_ps"] == {"pim": 1250}
    found = row["path"]
    # In this process no gate is faster than 30 ps or, with a load, slower than 1.5 ns.
    assert 30 * len(found["cells"]) < found["delay_ps"] < 1500 * len(found["cells"])
    assert found["cells"][-1]["at_ps"] == pytest.approx(found["delay_ps"], abs=0.1)
    assert found["scaled_ps"] == pytest.approx(
        [found["delay_ps"] * factor for factor in (0.106, 0.120)], abs=0.1
    )
    for end in (found["start"], found["end"]):
        assert "$" not in end
    again = row.get("sta")
    if not sta.installed():
        pytest.skip("apt-get install opensta")
    assert again is not None
    assert 0.5 * found["delay_ps"] < again["delay_ps"] < 2 * found["delay_ps"]
    assert row["tools"]["opensta"] == sta.installed()


def test_opensta_sees_across_boundaries_that_are_kept(osu018, monkeypatch, parts):
    if not sta.installed():
        pytest.skip("apt-get install opensta")
    boxes = {f"box_{i}": parts.parity(8) for i in range(8)}
    monkeypatch.setattr(Unit, "load_hardware", lambda self: lambda _: parts.several(**boxes))
    kept = timing("draftctl", "test", osu018)
    flat = timing("draftctl", "test", osu018, boundaries="none")
    assert (kept["boundaries"], kept["kept"], "path" in kept) == ("repeated", ["box x 8"], False)
    assert (flat["boundaries"], flat["kept"], "path" in flat) == ("none", [], True)
    # All of the path is within a part.
    assert kept["sta"]["delay_ps"] == pytest.approx(flat["sta"]["delay_ps"], rel=0.1)
    assert kept["sta"]["start"].startswith("box_")
    assert kept["sta"]["end"].partition("/")[0] == kept["sta"]["start"].partition("/")[0]
    assert [row[1] for row in timing_table([kept]).rows] == ["OpenSTA"]
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="apt-get install opensta, or keep none"):
        timing("draftctl", "test", osu018)


def test_fast_adders_are_shorter_paths_and_more_gates(osu018):
    design = to_rtlil(Accumulator(), "unit", ("pim",))
    small, fast = (
        synthesise(
            Request(
                module="unit", design=design, library=osu018, clocks_ps={"pim": 10417}, fast=fast
            )
        )
        for fast in (False, True)
    )
    assert fast["timing"]["delay_ps"] < 0.95 * small["timing"]["delay_ps"]
    assert small["area"] < fast["area"] < 1.5 * small["area"]
    assert fast["flops"] == small["flops"]


def test_without_clocks_it_is_mapped_for_area(osu018):
    unit = UNITS["gtsu"]
    design = to_rtlil(unit.load_hardware()(unit.configurations["test"]), "unit", unit.domains)
    asked = Request(module="unit", design=design, library=osu018)
    small, timed = synthesise(asked), synthesise(replace(asked, clocks_ps={"pim": 10417}))
    assert small["area"] < 0.97 * timed["area"]
    assert (small["flops"], small["clock_gates"]) == (timed["flops"], timed["clock_gates"])


def test_timing_is_of_fast_adders_whose_gates_it_tells(osu018, monkeypatch):
    asked = []

    def spied(request, **options):
        asked.append(request)
        return synthesise(request, **options)

    monkeypatch.setattr(timing_module, "synthesise", spied)
    row = timing("draftctl", "test", osu018)
    assert [request.fast for request in asked] == [True]
    again = synthesise(asked[0])
    assert row["ge"] == pytest.approx(again["area"] / osu018.nand2_area, abs=0.01)
    assert timing_table([row]).rows[0][3] == f"{row['ge'] / 1000:.2f}"


def test_without_opensta_there_is_abcs_path_alone(osu018, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert sta.installed() == ""
    row = timing("draftctl", "test", osu018)
    assert "sta" not in row
    assert "opensta" not in row["tools"]
