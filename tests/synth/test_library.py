# SPDX-License-Identifier: Apache-2.0
"""Libraries: ours, Debian's, the user's."""

import gzip

import pytest

from ahasd import UserError
from ahasd.gen.emit import to_rtlil
from ahasd.synth import gate_equivalents, library
from ahasd.synth.clock_gates import COMPOSITE, GateCell
from ahasd.synth.flow import synthesise
from ahasd.synth.gate_equivalents import CELLS
from ahasd.synth.library import load
from ahasd.synth.mapping import Request
from ahasd.synth.osu018 import corrected

CELL = """
  cell ({name}) {{
    area : {area};
    pin (A) {{ direction : input; capacitance : 0.002; }}
    pin (B) {{ direction : input; capacitance : 0.002; }}
    pin (Y) {{ direction : output; function : "{function}"; }}
  }}
"""
FLOP = """
  cell ("FLOP") {
    area : 9;
    ff (IQ, IQN) { clocked_on : "C"; next_state : "D"; }
    pin (D) { direction : input; }
    pin (C) { direction : input; }
    pin (QN) { direction : output; function : "IQN"; }
    pin (Q) { direction : output; function : "IQ"; }
  }
"""


def written(folder, *cells, head='time_unit : "1ns"; capacitive_load_unit (1, pf);'):
    path = folder / "cells.lib"
    path.write_text(
        f"/*\n{cell('FAKE', 0.1, '!(A*B)')}*/\nlibrary (mine_130) {{\n{head}\n{''.join(cells)}}}\n"
    )
    return path


def cell(name, area, function):
    return CELL.format(name=name, area=area, function=function)


GATE = """
  cell ({name}) {{
    area : {area};
    clock_gating_integrated_cell : "latch_{edge}";
    pin (EN) {{ direction : input; clock_gate_enable_pin : true; }}
    pin (CK) {{ direction : input; clock_gate_clock_pin : "true"; }}
    {test}
    pin (M) {{ direction : internal; internal_node : "M"; }}
    pin (GCK) {{ direction : output; clock_gate_out_pin : true; state_function : "CK*M"; }}
    statetable ("CK EN", "M") {{ table : "L L : - : L, L H : - : H, H - : - : N"; }}
  }}
"""
TEST = "pin (SE) { direction : input; clock_gate_test_pin : true; }"
LATCH = """
  cell (HOLD) {{
    area : {area};
    latch (IQ, IQN) {{ enable : "G"; data_in : "D"; }}
    pin (D) {{ direction : input; }}
    pin (G) {{ direction : input; }}
    pin (Q) {{ direction : output; function : "IQ"; }}
  }}
"""


def gate(name, area, edge="posedge", test=""):
    return GATE.format(name=name, area=area, edge=edge, test=test)


NEEDED = (cell("NAND", 3, "!(A*B)"), cell("NOT", 2, "!A"), cell("DRIVE", 4, "A"))


@pytest.mark.parametrize(
    ("name", "ge"),
    [
        ("INV", 0.67),
        ("NAND2", 1.0),
        ("NOR3", 1.33),
        ("AOI22", 1.67),
        ("XOR2", 2.0),
        ("MUX2", 2.3),
        ("DFF", 5.5),
    ],
)
def test_gate_equivalents_are_those_of_textbooks(name, ge):
    (found,) = [each for each in CELLS if each.name == name]
    assert float(found.area) == pytest.approx(ge, abs=0.035)


def test_our_library_is_its_own_unit_and_has_no_times():
    ours = load()
    assert (ours.name, ours.nand2_area, ours.unit, ours.timed) == ("ge", 1.0, "GE", False)
    assert ours.buffer == "BUF"
    assert ours.state_areas["DFF"] == 5.5
    assert set(ours.states) == {"DFF", "DFFR", "DFFS", "LATCH", "LATCHN"}
    assert ours.clock_gate == GateCell(cell="GATE", enable="E", clock="C", output="Y")
    # Between sky130's (17.5168 um2 over a NAND2 of 3.7536) and ASAP7's (0.26244 over 0.05832).
    assert ours.state_areas["GATE"] == pytest.approx(4.58, abs=0.09)


@pytest.mark.parametrize("function", ["!(A*B)", "!(A&B)", "!(B A)", "(!A)|(!B)", "A'+B'", "(A B)'"])
def test_a_nand_is_known_by_what_it_does(tmp_path, function):
    path = written(tmp_path, cell("ODD", 1, function), cell("MUCH", 7, "!(A*B)"), *NEEDED[1:])
    assert load(paths=[path]).nand2_area == 1.0


@pytest.mark.parametrize("function", ["!(A+B)", "!(A^B)", "A*B", "!A*B", "!(A*B*C)", "1"])
def test_what_does_something_else_is_none(tmp_path, function):
    path = written(tmp_path, cell("ODD", 1, function), *NEEDED)
    assert load(paths=[path]).nand2_area == 3.0


def test_a_users_file_is_read_compressed_or_not(tmp_path):
    path = written(tmp_path, *NEEDED, FLOP)
    packed = tmp_path / "cells.lib.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    plain, unpacked = load(paths=[path]), load(paths=[packed])
    assert plain == unpacked
    assert (plain.name, plain.unit, plain.timed) == ("mine_130", "um2", True)
    assert (plain.nand2_area, plain.buffer) == (3.0, "DRIVE")  # not the one in a comment
    assert plain.load_ff == 8.0  # four inverters of 0.002 pF
    assert plain.time_unit_ps == 1000
    assert (plain.states, plain.state_areas) == ({"FLOP": "QN"}, {"FLOP": 9.0})


def test_cells_of_several_files_are_one_library(tmp_path):
    first = written(tmp_path, *NEEDED[:1])
    second = tmp_path / "second.lib"
    second.write_text(f'library (more) {{ time_unit : "1ps"; {"".join(NEEDED[1:])} }}')
    both = load(paths=[first, second])
    assert both.name == "mine_130"
    assert both.sha256 != load(paths=[second, first]).sha256


def test_a_cell_that_says_not_to_be_used_is_not(tmp_path):
    unused = cell("CHEAP", 1, "!(A*B)").replace("area", "dont_use : true;\n    area")
    assert load(paths=[written(tmp_path, unused, *NEEDED)]).nand2_area == 3.0


@pytest.mark.parametrize(
    ("cells", "lacks"), [(NEEDED[1:], "nand2"), (NEEDED[:2], "buffer"), (NEEDED[::2], "inverter")]
)
def test_a_library_without_what_the_flow_needs_is_refused(tmp_path, cells, lacks):
    with pytest.raises(UserError, match=rf"cells\.lib has no {lacks} cell.*--liberty"):
        load(paths=[written(tmp_path, *cells)])


def test_a_clock_gate_is_the_smallest_of_those_without_pins_for_tests(tmp_path):
    cells = [
        gate("TESTED", 5, "posedge_precontrol", TEST),
        gate("LARGE", 9),
        gate("SMALL", 7),
        gate("FALLS", 1, "negedge"),
        gate("AFTER", 1, "posedgeobs"),
        gate("lpflow_GATE", 1),
        gate("NEVER", 1).replace("area", "dont_use : true;\n    area"),
        gate("CLOCKLESS", 1).replace("clock_gate_clock_pin", "nothing"),
    ]
    found = load(paths=[written(tmp_path, *NEEDED, *cells)])
    assert found.clock_gate == GateCell(cell="SMALL", enable="EN", clock="CK", output="GCK")
    assert found.state_areas["SMALL"] == 7
    assert "SMALL" not in found.states
    alone = load(paths=[written(tmp_path, *NEEDED, cells[0])])
    assert alone.clock_gate == GateCell(
        cell="TESTED", enable="EN", clock="CK", output="GCK", low=("SE",)
    )


def test_a_latch_that_has_an_area_makes_a_clock_gate(tmp_path):
    def found(*cells):
        return load(paths=[written(tmp_path, *NEEDED, *cells)]).clock_gate

    assert found() is None
    assert found(FLOP) is None
    assert found(LATCH.format(area=0)) is None
    assert found(LATCH.format(area=8)) == COMPOSITE


def test_areas_of_osu018_are_those_of_its_layouts(osu018):
    sizes = "MACRO A\n SIZE 3.2 BY 10 ;\nEND A\nMACRO B\n SIZE 5.6 BY 10.0 ;\n"
    cells = "cell (A) {\n foot : x;\n area : 23;\n}\ncell (B) {\n area : 0;\n pin () {}\n}\n"
    others = "cell (C) {\n area : 4;\n}\n"
    assert corrected(cells + others, sizes) == (
        cells.replace("23", "32").replace("area : 0", "area : 56") + others
    )
    # The latch has none in Liberty.
    assert osu018.state_areas["LATCH"] == 56
    assert osu018.clock_gate == COMPOSITE


def test_what_is_no_library_is_refused(tmp_path):
    path = tmp_path / "x.lib"
    path.write_text("library of Alexandria")
    with pytest.raises(UserError, match="is no Liberty file"):
        load(paths=[path])
    path.write_bytes(gzip.compress(b"library (a) {}")[:-6])
    with pytest.raises(UserError, match=r"cannot read the Liberty file .*x\.lib"):
        load(paths=[path])
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="cannot read"):
        load(paths=[path])
    with pytest.raises(UserError, match="No such file"):
        load(paths=[tmp_path / "none.lib"])


def test_a_nand_without_area_is_refused(tmp_path):
    path = written(tmp_path, cell("NAND", 0, "!(A*B)"), *NEEDED[1:])
    with pytest.raises(UserError, match="area of NAND must be above 0"):
        load(paths=[path])


def test_a_name_that_is_none_is_refused():
    with pytest.raises(UserError, match="unknown library 'x'; known: ge, osu018"):
        load("x")


def test_osu018_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(library, "OSU018", tmp_path / "none")
    with pytest.raises(UserError, match="apt-get install qflow-tech-osu018"):
        load("osu018")


def test_osu018_is_what_debian_has(osu018):
    assert (osu018.node_nm, osu018.nand2_area, osu018.time_unit_ps) == (180, 24.0, 1000)
    assert osu018.states["DFFPOSX1"] == "Q"


def test_a_library_on_one_line_and_a_file_given_twice_are_the_same_library(tmp_path):
    whole = written(
        tmp_path,
        cell("ND", 3, "!(A*B)"),
        cell("BF", 3, "A"),
        cell("IV", 2, "!A"),
        FLOP,
    )
    line = tmp_path / "line.lib"
    line.write_text(" ".join(whole.read_text().split()))
    expected = load(paths=[whole])
    assert load(paths=[whole, whole]) == expected
    found = load(paths=[line])
    assert found.nand2_area == expected.nand2_area == 3
    assert found.states == expected.states == {"FLOP": "QN"}  # the first of two


@pytest.mark.parametrize("text", ["library(x) { }", 'library (x) { cell ("ND") { area : many; } }'])
def test_a_library_without_cells_is_told(tmp_path, text):
    path = tmp_path / "bare.lib"
    path.write_text(text)
    with pytest.raises(UserError, match="has no nand2 cell with an area that can be read"):
        load(paths=[path])


def test_a_cell_without_an_area_is_not_used_for_nothing(parts, tmp_path):
    text = gate_equivalents.text()
    start = text.index("cell (DFF)")
    bare = text[:start] + text[start:].replace("area : 5.50", "area : 0", 1)
    path = tmp_path / "free.lib"
    path.write_text(bare.replace("gate_equivalents", "free"))
    asked = Request(
        module="m", design=to_rtlil(parts.register(2), "m", ("pim",)), library=load(paths=[path])
    )
    with pytest.raises(UserError, match="library free gives no area for DFF, of which m is made"):
        synthesise(asked)
