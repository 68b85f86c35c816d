# SPDX-License-Identifier: Apache-2.0
"""Power: Liberty tables and a circuit whose energy is worked out by hand."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from ahasd import UserError
from ahasd.synth import sta
from ahasd.synth.library import Library, load
from ahasd.synth.nodes import NODES
from ahasd.synth.power import energy, liberty
from ahasd.synth.power.arcs import Table
from ahasd.synth.power.cells import read, truth
from ahasd.synth.power.netlist import build
from ahasd.synth.power.power import split

LIBRARY = """
library (tiny) {
  time_unit : "1ns"; voltage_unit : "1V"; leakage_power_unit : "10pW";
  capacitive_load_unit (100, ff);
  nom_voltage : 2.0;
  /* loads come first in one, slews in the other */
  power_lut_template (by_load) {
    variable_1 : total_output_net_capacitance; variable_2 : input_transition_time;
    index_1 ("1, 2"); index_2 ("1, 2, 3");
  }
  power_lut_template (by_slew) { variable_1 : input_transition_time; index_1 ("0, 1"); }
  cell (INV) {
    area : 1; cell_leakage_power : 3;
    pin (A) { direction : input; capacitance : 0.1; }
    pin (Y) {
      direction : output; function : "!A";
      internal_power () {
        related_pin : "A";
        rise_power (by_load) {
          index_1 ("0, 1"); index_2 ("0, 1");
          values ("0.2, 0.6", \\
                  "0.4, 0.8");
        }
        fall_power (scalar) { values ("0.1"); }
      }
      timing () { related_pin : "A"; rise_transition (scalar) { values ("0.5"); } }
    }
  }
  cell (NAND2) {
    area : 1;
    leakage_power () { value : 1; when : "A"; } leakage_power () { value : 2; when : "!A"; }
    pin (A) { direction : input; capacitance : 0.1; }
    pin (B) { direction : input; capacitance : 0.1; }
    pin (Y) {
      direction : output; function : "(A B)'";
      internal_power () { related_pin : "A B"; power (scalar) { values ("0.3"); } }
      internal_power () { related_pin : "A"; power (scalar) { values ("0.9"); } }
    }
  }
  cell (BUF) {
    area : 1;
    pin (A) { direction : input; capacitance : 0.1; }
    pin (Y) {
      direction : output; function : "A";
      timing () { related_pin : "A"; rise_transition (by_slew) { values ("0.25, 9"); } }
    }
  }
  cell (DFF) {
    area : 4; cell_leakage_power : 5;
    ff (IQ, IQN) { clocked_on : "C"; next_state : "D"; clear : "!R"; }
    pin (C) {
      direction : input; clock : true; capacitance : 0.05;
      internal_power () {
        rise_power (by_slew) { values ("0.6, 1.0"); }
        fall_power (scalar) { values ("0.1"); }
      }
    }
    pin (D) {
      direction : input; capacitance : 0.2;
      internal_power () { power (by_slew) { values ("0.0, 1.0"); } }
    }
    pin (R) { direction : input; capacitance : 0.1; }
    pin (Q) {
      direction : output; function : "IQ";
      internal_power () { related_pin : "C"; power (scalar) { values ("0.6"); } }
      timing () { related_pin : "C"; rise_transition (scalar) { values ("1"); } }
    }
    pin (N) { direction : output; function : "IQN"; }
  }
  cell (LATCH) {
    area : 3; cell_leakage_power : 2;
    latch (IQ, IQN) { enable : "G"; data_in : "D"; }
    pin (D) { direction : input; capacitance : 0.06; }
    pin (G) {
      direction : input; capacitance : 0.08;
      internal_power () { power (scalar) { values ("0.25"); } }
    }
    pin (Q) {
      direction : output; function : "IQ";
      internal_power () { related_pin : "D"; power (scalar) { values ("0.4"); } }
    }
  }
  cell (AND2) {
    area : 2;
    pin (A) { direction : input; capacitance : 0.1; }
    pin (B) { direction : input; capacitance : 0.1; }
    pin (Y) {
      direction : output; function : "A B";
      internal_power () { related_pin : "A"; power (scalar) { values ("0.35"); } }
      timing () { related_pin : "A"; rise_transition (scalar) { values ("7"); } }
    }
  }
  cell (ICG) {
    area : 5; cell_leakage_power : 4;
    clock_gating_integrated_cell : "latch_posedge";
    statetable ("CK E", "M") { table : "L L : - : L, L H : - : H, H - : - : N"; }
    pin (CK) {
      direction : input; capacitance : 0.07; clock_gate_clock_pin : true;
      internal_power () { rise_power (scalar) { values ("0.2"); } }
    }
    pin (E) {
      direction : input; capacitance : 0.03; clock_gate_enable_pin : true;
      internal_power () { power (scalar) { values ("0.15"); } }
    }
    pin (M) { direction : internal; internal_node : "M"; }
    pin (O) {
      direction : output; state_function : "CK M"; clock_gate_out_pin : true;
      internal_power () {
        related_pin : "CK";
        power (by_load) { index_1 ("0, 1"); index_2 ("0, 1"); values ("0.4, 0.4", "0.9, 0.9"); }
      }
      timing () { related_pin : "CK"; rise_transition (scalar) { values ("7"); } }
    }
  }
}
"""
CIRCUIT = {
    "ports": {"pim_clk": [2], "pim_rst": [3], "data": [4], "held": [6]},
    "cells": {
        "flop": ["DFF", {"C": 2, "D": 4, "R": "1", "Q": 5}],
        "inverter": ["INV", {"A": 5, "Y": 6}],
    },
}


@pytest.fixture
def tiny(tmp_path: Path) -> Library:
    """Return a library of four cells with round figures; its loads are in 100 fF."""
    path = tmp_path / "tiny.lib"
    path.write_text(LIBRARY)
    return load(paths=[path])


def test_tables_interpolate_between_their_entries_and_go_on_beyond():
    table = Table([1.0, 3.0], [10.0, 20.0], [[1.0, 2.0], [5.0, 8.0]])

    assert table.at(1, 10) == 1
    assert table.at(3, 20) == 8
    assert table.at(2, 10) == pytest.approx(3)  # half way from 1 to 5
    assert table.at(2, 15) == pytest.approx(4)  # half way from 1.5 to 6.5
    assert table.at(1, 30) == pytest.approx(3)  # one more step of 1
    assert Table([0.0], [0.0], [[7.0]]).at(123, 456) == 7


def test_a_functions_truth_table_has_its_first_input_in_the_lowest_bit():
    assert truth("A B", "AB") == 0b1000
    assert truth("A & !B", "AB") == 0b0010
    assert truth("(A^B)' | C", ["A", "B", "C"]) == 0b11111001
    assert truth("0", "A") == 0


def test_cells_are_read_with_their_units(tiny: Library):
    cells = read(tiny, ["INV", "NAND2", "DFF"])
    inverter, nand, flop = (cells.by_type[name] for name in ("INV", "NAND2", "DFF"))

    assert cells.voltage == 2
    assert cells.load_unit_pf == cells.energy_unit_pj == pytest.approx(0.1)
    assert inverter.capacitance_pf["A"] == pytest.approx(0.01)
    assert inverter.leakage_nw == pytest.approx(0.03)
    assert nand.leakage_nw == pytest.approx(0.015)  # the mean of 1 and 2 times 10 pW
    assert nand.outputs == {"Y": 0b0111}
    assert [arc.related for arc in nand.energies["Y"]] == ["A", "B", "A"]
    assert flop.inputs == ("D", "R")
    assert flop.state is not None
    assert (flop.state.clock, flop.state.following, flop.state.clear) == ("C", 0b1010, 0b0011)
    assert flop.outputs == {"Q": 0b1010, "N": 0b1100}
    # Loads first: 0.6 is that of load 0 and slew 1.
    (arc,) = inverter.energies["Y"]
    assert arc.tables[0].at(1, 0) == 0.6


def test_a_circuits_energy_is_that_worked_out_by_hand(tiny: Library):
    cells = read(tiny, ["INV", "DFF", "BUF"])
    netlist = build(CIRCUIT, cells, ["pim"])
    slew = energy.drive_slew(tiny, cells)
    found = energy.energies(netlist, cells, ["pim"], slew=slew, load_ff=40)
    data, held = netlist.ports["data"][0], netlist.ports["held"][0]
    (kept,) = netlist.state_nets[netlist.state_nets > 2]

    assert slew == 0.25  # the buffer's own at no slew
    # Half C V^2: 20 fF at D, 10 fF at the inverter, 40 fF at the port; 2 V.
    assert found.switching_pj[[data, kept, held]] == pytest.approx([0.04, 0.02, 0.08])
    # D at slew 0.25; Q alone; the inverter at slew 1 and load 0.4: rise 0.6 + 0.4 * 0.2, fall 0.1.
    expected = [0.1 * 0.25, 0.1 * 0.6, 0.1 * (0.68 + 0.1) / 2]
    assert found.internal_pj[[data, kept, held]] == pytest.approx(expected)
    # A cycle is a rise and a fall, and 5 fF by 2 V squared.
    assert found.clock_pj == {"pim": pytest.approx(0.1 * 0.8 + 0.005 * 4)}
    assert found.leakage_nw == pytest.approx(0.08)

    toggles = np.zeros(netlist.nets, np.int64)
    toggles[[data, kept, held]] = 3, 2, 2
    parts = split(found, toggles, {"pim": 10}, np.zeros(0))
    assert parts["clock"] == pytest.approx(1.0)
    assert parts["internal"] == pytest.approx(3 * 0.025 + 2 * 0.06 + 2 * 0.039)
    assert parts["switching"] == pytest.approx(3 * 0.04 + 2 * 0.02 + 2 * 0.08)


def test_no_net_is_slower_than_the_tables_go(tmp_path: Path):
    found = []
    for slew in (1, 9):
        path = tmp_path / f"{slew}.lib"
        told = 'rise_transition (scalar) { values ("1"); }'
        path.write_text(LIBRARY.replace(told, told.replace("1", str(slew))))
        cells = read(load(paths=[path]), ["INV", "DFF", "BUF"])
        netlist = build(CIRCUIT, cells, ["pim"])
        found.append(energy.energies(netlist, cells, ["pim"], slew=0.25, load_ff=40))
    assert found[0].internal_pj == pytest.approx(found[1].internal_pj)
    assert found[0].internal_pj.max() > 0


GATED = {f"flop{i}": ["DFF", {"C": 9, "D": 4, "R": "1", "Q": 20 + i}] for i in range(8)}
GATES = {
    "cell": {"gate": ["ICG", {"CK": 2, "E": 5, "O": 9}]},
    "latch and gate": {
        "low": ["INV", {"A": 2, "Y": 7}],
        "latch": ["LATCH", {"D": 5, "G": 7, "Q": 8}],
        "gate": ["AND2", {"A": 2, "B": 8, "Y": 9}],
    },
}


@pytest.mark.parametrize("kind", GATES)
def test_energy_of_a_gate_and_eight_flip_flops_worked_by_hand(tiny: Library, kind: str):
    cells = read(tiny, ["INV", "LATCH", "AND2", "ICG", "DFF", "BUF"])
    ports = {"pim_clk": [2], "pim_rst": [3], "data": [4], "enable": [5]}
    ungated = {"extra": ["DFF", {"C": 2, "D": 4, "R": "1", "Q": 30}]}
    design = {"ports": ports, "cells": GATED | GATES[kind] | ungated}
    netlist = build(design, cells, ["pim"])
    slew = energy.drive_slew(tiny, cells)
    found = energy.energies(netlist, cells, ["pim"], slew=slew, load_ff=20)
    (enable,) = netlist.ports["enable"]

    # Two changes of a clock pin take (0.7 + 0.1) * 0.1 pJ at a port's slew, however many there are;
    # its 5 fF at 2 V another 0.02.
    flop = 0.08 + 0.02
    if kind == "cell":
        # In every cycle the gate's clock pin, 7 fF; if it is open its output, twice: it drives the
        # 20 fF of a port in place of 40, as if a buffer were between.
        every, opened = flop + 2 * 0.02 + 0.028, 2 * 0.05
        expected = {enable: (0.015, 0.5 * 0.003 * 4)}
        leakage = 0.04
    else:
        # In every cycle the inverter, into 8 fF, and the latch's pin; 10 fF of each of two gates.
        (low,) = [net for net, clock in netlist.clocks.nets.items() if clock.falls]
        (latch,) = netlist.gate_nets
        inverter = 0.1 * (0.2 + 0.4 * slew + 0.2 * 0.08 / 1 + 0.1) / 2
        every = flop + 2 * (inverter + 0.025) + 0.008 * 4 + 2 * 0.01 * 4
        opened = 2 * 0.035
        expected = {enable: (0.0, 0.5 * 0.006 * 4), latch: (0.04, 0.5 * 0.01 * 4)}
        leakage = 0.02 + 0.03
        assert found.internal_pj[low] == 0
    assert found.clock_pj == {"pim": pytest.approx(every)}
    assert found.gated_pj == pytest.approx([opened + 8 * flop])
    for net, (internal, switching) in expected.items():
        assert found.internal_pj[net] == pytest.approx(internal)
        assert found.switching_pj[net] == pytest.approx(switching)
    assert found.leakage_nw == pytest.approx(9 * 0.05 + leakage)

    parts = split(found, np.zeros(netlist.nets), {"pim": 10}, np.array([3]))
    assert parts["clock"] == pytest.approx(10 * every + 3 * (opened + 8 * flop))


def test_energy_of_several_supply_pins_adds_up(tmp_path: Path):
    told = 'internal_power () { related_pin : "A B"; power (scalar) { values ("0.3"); } }'
    parts = [
        f'internal_power () {{ related_pg_pin : {rail}; related_pin : "A";'
        f' power (scalar) {{ values ("{value}"); }} }}'
        for rail, value in (("VDD", 0.3), ("VDD", 0.5), ("VSS", 0.2))
    ]
    path = tmp_path / "rails.lib"
    path.write_text(
        LIBRARY.replace(told, "\n".join(parts)).replace('values ("0.9")', 'values ("0.4")')
    )
    cells = read(load(paths=[path]), ["NAND2"])
    nand = {
        "ports": {"pim_clk": [2], "y": [5]},
        "cells": {"g": ["NAND2", {"A": 3, "B": 4, "Y": 5}]},
    }
    netlist = build(nand, cells, ["pim"])
    found = energy.energies(netlist, cells, ["pim"], slew=0.1, load_ff=0)

    # VDD: the mean of 0.3 and 0.5; VSS 0.2; the arc without a supply pin 0.4; in 0.1 pJ.
    assert found.internal_pj[netlist.ports["y"][0]] == pytest.approx(0.1 * (0.4 + 0.2 + 0.4))


@pytest.mark.parametrize(
    ("replace", "by", "wanted", "told"),
    [
        ("nom_voltage : 2.0;", "", "INV", "does not say its voltage"),
        ("internal_power", "ignored", "INV", "no tables of internal power"),
        ("latch (IQ, IQN)", "latch_bank (IQ, IQN, 2)", "LATCH", "LATCH is no flip-flop"),
        ('enable : "G"', 'enable : "!G"', "LATCH", "not open while a pin is high but by '!G'"),
        ('"latch_posedge"', '"latch_negedge"', "ICG", "ICG is a latch_negedge"),
        ('clocked_on : "C"', 'clocked_on : "!C"', "DFF", "not clocked by a pin's rising edge"),
        ('values ("0.0, 1.0")', 'values ("0.0")', "DFF", "has 1 values, not 2 times 1"),
        ('"10pW"', '"ten"', "INV", "no unit that is known"),
        ("cell (INV)", "cell (INV)", "NOR7", "has no cell NOR7"),
    ],
)
def test_libraries_that_cannot_serve_say_why(
    tmp_path: Path, replace: str, by: str, wanted: str, told: str
):
    path = tmp_path / "broken.lib"
    path.write_text(LIBRARY.replace(replace, by))

    with pytest.raises(UserError, match=told):
        read(load(paths=[path]), [wanted])


def test_text_that_ends_too_soon_is_told():
    with pytest.raises(UserError, match="cut off"):
        liberty.cells("cell (INV) { pin (", ["INV"])


def test_an_attribute_without_semicolon_is_one_word():
    (cell,) = liberty.cells("cell (A) {\n area : 3\n footprint : x\n pin (Y) { } }", "A").values()

    assert cell.values == {"area": ["3"], "footprint": ["x"]}
    assert [group.kind for group in cell.groups] == ["pin"]


def test_energy_of_a_node_is_as_the_square_of_the_voltage():
    low, high = NODES[180].energy_factors(1.8)

    assert NODES[180].energy_factors(0.9) == pytest.approx((4 * low, 4 * high))
    assert NODES[28].energy_factors(0.9) == (1, 1)


def _polynomial(node: str, voltage: float) -> float:
    """Return energy at a voltage by the coefficients of Stillmaker and Baas."""
    squared, linear, constant = {
        "180": (0, 24.64, -17.98),
        "130": (7.171, -6.709, 2.904),
        "HP45": (1.018, -0.3107, 0.1539),
        "LP45": (1.103, -0.362, 0.2767),
        "HP32": (0.8367, -0.4341, 0.1701),
        "LP32": (0.9559, -0.7823, 0.471),
        "HP20": (0.373, -0.1582, 0.04104),
        "LP20": (0.2632, -0.14, 0.06841),
        "HP7": (0.1776, -0.09097, 0.02447),
        "LP7": (0.09365, -0.03409, 0.02043),
    }[node]
    return squared * voltage**2 + linear * voltage + constant


def _at_28(process: str) -> float:
    share = np.log(32 / 28) / np.log(32 / 20)
    return (
        _polynomial(f"{process}32", 0.9) ** (1 - share) * _polynomial(f"{process}20", 0.9) ** share
    )


@pytest.mark.parametrize(
    ("node", "names", "voltage"),
    [(180, ("180", "180"), 1.8), (45, ("LP45", "HP45"), 1.0), (7, ("HP7", "LP7"), 0.7)],
)
def test_factors_of_energy_are_those_of_the_published_polynomials(
    node: int, names: tuple[str, str], voltage: float
):
    processes = [
        name[:2] if name[0] in "HL" else process
        for name, process in zip(names, ("HP", "LP"), strict=True)
    ]
    factors = [
        _at_28(process) / _polynomial(name, voltage)
        for process, name in zip(processes, names, strict=True)
    ]

    assert NODES[node].energy_factors(voltage) == pytest.approx(factors, rel=0.005)


def test_factors_above_the_polynomials_range_span_two_ways_to_go_on():
    low, high = NODES[130].energy_factors(1.8)

    assert low == pytest.approx(_at_28("HP") / _polynomial("130", 1.8), rel=0.005)
    assert high == pytest.approx(_at_28("LP") / _polynomial("130", 1.2) / 1.5**2, rel=0.005)


@pytest.mark.full
@pytest.mark.skipif(shutil.which("sta") is None, reason="apt-get install opensta")
def test_opensta_sees_the_same_leakage_and_switching_of_a_flip_flop(
    tmp_path: Path, osu018: Library
):
    (tmp_path / "a.v").write_text(
        "module a(input pim_clk, input d, output q);\n"
        "  DFFPOSX1 f(.CLK(pim_clk), .D(d), .Q(q));\nendmodule\n"
    )
    (file,) = osu018.write(tmp_path)
    lines = [f"read_liberty {file}", "read_verilog a.v", "link_design a"]
    lines += ["create_clock -name c -period 10 [get_ports pim_clk]"]
    lines += ["set_load 0.025 [all_outputs]", "set_power_activity -global -activity 0.1"]
    lines += ["report_power -instances [get_cells f] -digits 8", "exit", ""]
    said = sta.run(tmp_path, "\n".join(lines))
    _, switching_w, leakage_w, _ = map(float, said.splitlines()[-1].split()[:4])

    design = {
        "ports": {"pim_clk": [2], "d": [3], "q": [4]},
        "cells": {"f": ["DFFPOSX1", {"CLK": 2, "D": 3, "Q": 4}]},
    }
    cells = read(osu018, ["DFFPOSX1"])
    netlist = build(design, cells, ["pim"])
    found = energy.energies(netlist, cells, ["pim"], slew=0.1, load_ff=25)
    (held,) = netlist.ports["q"]

    assert found.leakage_nw * 1e-9 == pytest.approx(leakage_w, rel=1e-4)
    # A tenth of a change a cycle of 10 ns.
    assert 0.1 * found.switching_pj[held] / 10_000 == pytest.approx(switching_w, rel=1e-4)
