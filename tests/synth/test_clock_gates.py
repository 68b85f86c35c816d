# SPDX-License-Identifier: Apache-2.0
"""Clock gates: folded away, found in libraries, put in where they pay, and the function kept."""

from ahasd.synth.clock_gates import COMPOSITE, GateCell, fold_clock_gates

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
GATE = GateCell(cell="CG", enable="E", clock="C", output="Y", low=("T",))


def test_flip_flops_behind_gates_are_flip_flops_with_enables():
    folded = fold_clock_gates(NETLIST, GATE)
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
