# SPDX-License-Identifier: Apache-2.0
"""Clock gates: folded away, found in libraries, put in where they pay, and the function kept."""

from dataclasses import replace

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.gen.emit import to_rtlil
from ahasd.gen.yosys import YosysError
from ahasd.synth import clock_gates, liberty, passes, sta
from ahasd.synth.clock_gates import COMPOSITE, PAYS_FROM, GateCell, fold_clock_gates
from ahasd.synth.equivalence import prove
from ahasd.synth.flow import synthesise
from ahasd.synth.gate_equivalents import CELLS
from ahasd.synth.hierarchy import REPEATED
from ahasd.synth.library import load
from ahasd.synth.mapping import Request
from ahasd.synth.memories import LATCHES

DFF_GE, GATE_GE, MUX_GE = 5.5, 4.5, 2.33


def request(component, domains=("pim",), library=None, **changes) -> Request:
    design = to_rtlil(component, "unit", domains)
    return Request(module="unit", design=design, library=library or load(), **changes)


NETLIST = {
    "ports": {"a_clk": [2], "b_clk": [3], "on": [4, 5], "data": [6]},
    "cells": {
        "gate_a": ["CG", {"E": 4, "T": "0", "C": 2, "Y": 10}],
        "gate_b": ["CG", {"E": 5, "T": "0", "C": 3, "Y": 11}],
        "free": ["DFF", {"C": 2, "D": 6, "Q": 20}],
        "kept": ["DFF", {"C": 10, "D": 20, "Q": 21}],
        "cleared": ["DFFR", {"C": 10, "D": 21, "R": 6, "Q": 22}],
        "other": ["DFF", {"C": 11, "D": 22, "Q": 23}],
        "logic": ["NAND", {"A": 4, "B": 2, "Y": 24}],
    },
}
CG = GateCell(cell="CG", enable="E", clock="C", output="Y", low=("T",))


def test_flip_flops_behind_gates_are_flip_flops_with_enables():
    folded = fold_clock_gates(NETLIST, CG)
    assert folded.enables == {"kept": 4, "cleared": 4, "other": 5}
    assert folded.netlist == {
        "ports": NETLIST["ports"],
        "cells": {
            "free": ["DFF", {"C": 2, "D": 6, "Q": 20}],
            "kept": ["DFF", {"C": 2, "D": 20, "Q": 21}],
            "cleared": ["DFFR", {"C": 2, "D": 21, "R": 6, "Q": 22}],
            "other": ["DFF", {"C": 3, "D": 22, "Q": 23}],
            "logic": ["NAND", {"A": 4, "B": 2, "Y": 24}],
        },
    }
    assert folded.gates == {name: NETLIST["cells"][name][1] for name in ("gate_a", "gate_b")}


def test_a_netlist_without_gates_stays_what_it_is():
    assert fold_clock_gates(NETLIST, COMPOSITE) == (NETLIST, {}, {})


def test_a_register_with_an_enable_is_its_flip_flops_and_a_gate(parts):
    found = synthesise(request(parts.kept(8)))
    assert found["cells"] == {"DFF": 8, "GATE": 1}
    assert found["area"] == found["sequential_area"] == 8 * DFF_GE + GATE_GE
    assert (found["flops"], found["latches"], found["clock_gates"]) == (8, 0, 1)


def test_too_few_keep_a_multiplexer_each(parts):
    few = PAYS_FROM - 1
    found = synthesise(request(parts.kept(few)))
    assert (found["flops"], found["clock_gates"]) == (few, 0)
    assert found["sequential_area"] == few * DFF_GE
    assert found["area"] - found["sequential_area"] == pytest.approx(few * MUX_GE)
    assert synthesise(request(parts.kept(few + 1)))["clock_gates"] == 1


class Sharing(wiring.Component):
    """Six bits of one clock and five of another, all with one enable."""

    on: Signal
    data: Signal
    held: Signal

    def __init__(self) -> None:
        super().__init__({"on": In(1), "data": In(11), "held": Out(11)})

    def elaborate(self, platform):
        m = Module()
        first, second, other = Signal(4), Signal(2), Signal(5)
        with m.If(self.on):
            m.d.pim += [first.eq(self.data), second.eq(self.data[4:])]
            m.d.npu += other.eq(self.data[6:])
        m.d.comb += self.held.eq(Cat(first, second, other))
        return m


def test_registers_with_one_enable_have_one_gate_in_each_clock():
    found = synthesise(request(Sharing(), ("pim", "npu"), netlist=True))
    assert (found["flops"], found["clock_gates"]) == (11, 2)
    ports = found["netlist"]["ports"]
    folded = fold_clock_gates(found["netlist"], load().clock_gate or COMPOSITE)
    behind = [folded.netlist["cells"][name][1]["C"] for name in folded.enables]
    assert sorted(behind) == sorted(6 * ports["pim_clk"] + 5 * ports["npu_clk"])


class Mixed(Sharing):
    """Three bits with a reset and eight without, of one clock and one enable."""

    def elaborate(self, platform):
        m = Module()
        reset, other = Signal(3), Signal(8, reset_less=True)
        with m.If(self.on):
            m.d.pim += Cat(reset, other).eq(self.data)
        m.d.comb += self.held.eq(Cat(reset, other))
        return m


def test_what_has_a_reset_in_its_enable_is_counted_apart():
    found = synthesise(request(Mixed(), netlist=True))
    folded = fold_clock_gates(found["netlist"], load().clock_gate or COMPOSITE)
    assert (found["flops"], found["clock_gates"], len(folded.enables)) == (11, 1, 8)


def test_equal_parts_that_are_kept_have_a_gate_each(parts):
    boxes = parts.several(**{f"box_{i}": parts.kept(5) for i in range(3)})
    found = synthesise(request(boxes, boundaries=REPEATED))
    assert found["kept"] == ["box x 3"]
    assert found["clock_gates"] == found["cells"]["GATE"] == 3
    assert found["area"] == 3 * (5 * DFF_GE + GATE_GE)


def test_words_of_a_memory_are_gated_and_latch_arrays_have_gates_of_their_own(parts):
    shelf = parts.shelf(depth=4, width=6)
    flops = synthesise(request(shelf))
    assert (flops["flops"], flops["clock_gates"]) == (4 * 6, 4)
    latches = synthesise(request(shelf, memories=LATCHES))
    assert (latches["latches"], latches["clock_gates"]) == (4 * 6 + 4 + 6, 0)


def library(folder, *without):
    """Return ours without some cells."""
    path = folder / "cells.lib"
    cells = [cell for cell in CELLS if cell.name not in without]
    path.write_text(liberty.text("mine", "", cells))
    return load(paths=[path])


def test_without_a_gate_it_is_a_latch_and_an_and(parts, tmp_path):
    mine = library(tmp_path, "GATE")
    assert mine.clock_gate == COMPOSITE
    found = synthesise(request(parts.kept(8), library=mine, netlist=True))
    assert found["cells"] == {"AND2": 1, "DFF": 8, "LATCHN": 1}
    assert found["area"] == found["sequential_area"] == pytest.approx(8 * 5.5 + 3.5 + 1.33)
    assert (found["flops"], found["latches"], found["clock_gates"]) == (8, 0, 1)
    assert {kind for kind, _ in found["netlist"]["cells"].values()} == set(found["cells"])


def test_pins_for_tests_are_tied_low(parts, tmp_path):
    mine = library(tmp_path)
    tested = replace(mine, clock_gate=GateCell(cell="TESTED", enable="E", clock="C", output="Y"))
    tied = replace(tested, clock_gate=replace(tested.clock_gate or CG, low=("SE", "TE")))
    kinds = {}
    for name, each in (("free", tested), ("tied", tied)):
        found = synthesise(request(parts.kept(4), library=each, netlist=True))
        kinds[name] = next(
            pins for kind, pins in found["netlist"]["cells"].values() if kind != "DFF"
        )
    assert kinds["free"].keys() == {"E", "C", "Y"}
    assert kinds["tied"] == kinds["free"] | {"SE": "0", "TE": "0"}


def test_without_a_latch_enables_keep_their_multiplexers(parts, tmp_path):
    mine = library(tmp_path, "GATE", "LATCH", "LATCHN")
    assert mine.clock_gate is None
    found = synthesise(request(parts.kept(8), library=mine))
    assert found["clock_gates"] == 0
    assert found["area"] == pytest.approx(8 * (DFF_GE + MUX_GE))
    assert prove(request(parts.kept(8), library=mine)).unproven == ()


def test_a_reset_opens_its_gate(parts):
    """Behind a gate that is closed in a reset, the register would keep what it has."""
    asked = request(parts.kept(8, reset=True), netlist=True)
    found = synthesise(asked)
    (gate,) = fold_clock_gates(found["netlist"], load().clock_gate or COMPOSITE).gates.values()
    assert gate["E"] not in found["netlist"]["ports"]["on"]
    assert prove(asked).unproven == ()


def test_a_gate_that_is_closed_in_a_reset_is_not_proved(parts, monkeypatch):
    gating = clock_gates.gating
    closed = [f"chtype -set $_SDFFCE_PP{i}P_ t:$_SDFFE_PP{i}P_" for i in (0, 1)]
    monkeypatch.setattr(clock_gates, "gating", lambda gate: [*closed, *gating(gate)])
    found = prove(request(parts.kept(8, reset=True)))
    assert {name.partition("[")[0] for name in found.unproven} >= {"held"}


def test_a_gate_of_another_enable_is_not_proved(parts):
    two = parts.several(one=parts.kept(4), other=parts.kept(4))
    plant = ["rename -enumerate -pattern g% t:GATE"]
    plant += [f"connect -port g{i} E one__on" for i in (0, 1)]
    assert prove(request(two)).unproven == ()
    unproven = prove(request(two), plant).unproven
    assert {name.partition(".")[0] for name in unproven} == {"other"}


REFERENCE = """
module unit (input clock, enable, data, output reg held);
  always @(posedge clock) if (enable) held <= data;
endmodule
"""
GATED = f"""
module unit (input clock, enable, data, output reg held);
  wire gated;
  {COMPOSITE.cell} gate (.enable(enable), .clock(clock), .gated(gated));
  always @(posedge gated) held <= data;
endmodule
"""


def compared(folder, gate: str) -> None:
    """Show that a flip-flop behind a gate is one with an enable, whenever inputs change."""
    (folder / "reference.v").write_text(REFERENCE)
    (folder / "gated.v").write_text(GATED + gate)
    passes.run(
        [
            *("read_verilog reference.v", "proc", "design -stash gold"),
            *("read_verilog gated.v", "hierarchy -top unit", "proc", "flatten"),
            "design -stash gate",
            "design -copy-from gold -as gold unit",
            "design -copy-from gate -as gate unit",
            "miter -equiv -flatten -make_assert gold gate miter",
            "hierarchy -top miter",
            "clk2fflogic",
            "opt_clean",
            "sat -verify -prove-asserts -set-init-zero -set-def-inputs -seq 8 miter",
        ],
        folder,
    )


def test_the_composite_is_a_gate(tmp_path):
    compared(tmp_path, clock_gates.FILES["clock_gate.v"])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("if (!clock)", "if (clock)"), ("if (!clock)", ""), ("clock & held", "clock | held")],
)
def test_what_is_no_gate_is_refuted(tmp_path, right, wrong):
    gate = clock_gates.FILES["clock_gate.v"]
    assert right in gate
    with pytest.raises(YosysError, match="proof did fail"):
        compared(tmp_path, gate.replace(right, wrong))


def test_the_way_to_an_enable_is_timed_and_called_by_what_it_enables(parts, osu018):
    if not sta.installed():
        pytest.skip("apt-get install opensta")
    times = []
    for period_ps in (2000, 50_000):
        clocks = {"pim": period_ps}
        asked = request(parts.kept(8, on=32), library=osu018, clocks_ps=clocks)
        found = synthesise(asked)
        assert found["clock_gates"] == 1
        assert found["timing"]["end"].startswith("held")
        assert found["sta"]["start"].startswith("asked")
        assert found["sta"]["end"].startswith("held")
        times.append(found["sta"]["delay_ps"])
    # Of the logic alone: neither half a period nor what a latch may borrow is in it.
    assert times[0] == pytest.approx(times[1], rel=0.2)
    assert times[0] == pytest.approx(found["timing"]["delay_ps"], rel=0.5)
