# SPDX-License-Identifier: Apache-2.0
"""Clock gates: the cell that a library has for them, and netlists without them.

A gate takes its enable while the clock is low and lets the next pulse through if that was 1. So,
with a clock that reaches all registers at once, a flip-flop behind a gate is one with an enable.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True, kw_only=True)
class GateCell:
    """A cell that gates a clock of which the rising edge counts.

    Parameters
    ----------
    cell
        Its type.
    enable, clock, output
        Pins.
    low
        Pins that are tied to 0: those for tests.
    """

    cell: str
    enable: str
    clock: str
    output: str
    low: tuple[str, ...] = ()


COMPOSITE = GateCell(cell="ahasd_clock_gate", enable="enable", clock="clock", output="gated")
"""A latch and an AND, for a library whose clock gates are none or cannot be used."""


PAYS_FROM = 4
"""Flip-flops that a gate must hold: fewer keep their multiplexers.

By area two or three would do: a gate is 4.5 gate equivalents, a multiplexer 2.33. But each gated
clock has to be balanced with the others, for which four is the usual limit.
"""

GATE, CHECK = "clock_gate", "clock_check"

_COMPOSED = f"""
module {COMPOSITE.cell} (input {COMPOSITE.enable}, {COMPOSITE.clock}, output {COMPOSITE.output});
  reg held;
  always @* if (!{COMPOSITE.clock}) held = {COMPOSITE.enable};
  assign {COMPOSITE.output} = {COMPOSITE.clock} & held;
endmodule
"""

_CHECKED = f"""
module {COMPOSITE.cell} (input {COMPOSITE.enable}, {COMPOSITE.clock}, output {COMPOSITE.output});
  (* keep *) reg taken;
  always @(posedge {COMPOSITE.clock}) taken <= {COMPOSITE.enable};
  assign {COMPOSITE.output} = {COMPOSITE.clock};
endmodule
"""
"""The composite for static timing: its enable must be there at the edge, as a flip-flop's input.

A latch would borrow time from the pulse after it, and a path that does so has no slack of its own.
"""

FILES = {f"{GATE}.v": _COMPOSED, f"{CHECK}.v": _CHECKED}
"""What `composed` reads, by file name."""
PUT_IN, PUT_CHECKS_IN = (f"techmap -map {name}.il" for name in (GATE, CHECK))
"""Commands that put into a netlist what `composed` writes."""


def composed(cells: str, unused: str) -> list[str]:
    """Return the Yosys commands that map the composite by itself, so that ABC sees no clock.

    Parameters
    ----------
    cells, unused
        What tells a command the library, and which of its cells not to use.
    """
    script = []
    for name in (GATE, CHECK):
        script += [
            "design -reset",
            f"read_verilog {name}.v",
            f"synth -noabc -top {COMPOSITE.cell}",
            f"dfflibmap {cells} {unused}",
            f"abc {cells} {unused}",
            "opt_clean -purge",
            # Cells are numbered after the gate that they are made of, with a dot between.
            "rename -enumerate -pattern c%",
            f"tee -q -o {name}.json stat -json {cells}",
            f"write_rtlil {name}.il",
        ]
    return script


def gating(gate: GateCell) -> list[str]:
    """Return the Yosys commands that gate clocks of flip-flops with enables.

    A reset that goes before the enable would be lost behind a gate, so that the enable has to be on
    in a reset: thus `SDFFCE`, in which the enable goes first.
    """
    kinds = ("$_DFF_P_", "$_SDFF_PP?_", "$_DFFE_PP_", "$_SDFFCE_PP?P_")
    kinds += ("$_DFF_P??_", "$_DFFE_P??P_", "$_DLATCH_?_")
    allowed = " ".join(f"-cell {kind} 01" for kind in kinds)
    pins = f"{gate.enable}:{gate.clock}:{gate.output}"
    low = "".join(f" -tie_lo {pin}" for pin in gate.low)
    return [
        f"dfflegalize -mince {PAYS_FROM} {allowed}",
        # One net for enables that are the same, which is what `clockgate` goes by.
        "opt_merge",
        "opt_clean",
        f"clockgate -min_net_size {PAYS_FROM} -pos {gate.cell} {pins}{low}",
    ]


class Folded(NamedTuple):
    """A netlist without clock gates.

    Attributes
    ----------
    netlist
        Ports and cells; the flip-flops have the clock itself.
    enables
        Net by flip-flop that was behind a gate: it keeps its state at an edge where that is 0.
        What clears or presets it at any time does so still.
    gates
        The pins' nets by gate that was left out.
    """

    netlist: dict[str, Any]
    enables: dict[str, Any]
    gates: dict[str, Mapping[str, Any]]


def fold_clock_gates(netlist: Mapping[str, Any], gate: GateCell) -> Folded:
    """Turn clock gates and the flip-flops behind them into flip-flops with enables.

    Parameters
    ----------
    netlist
        `ports`; and `cells`, by name a type and the net of each pin, as
        `ahasd.synth.flow.synthesise` returns them.
    gate
        Which cells are gates.
    """
    gates = {name: pins for name, (kind, pins) in netlist["cells"].items() if kind == gate.cell}
    behind = {pins[gate.output]: pins for pins in gates.values()}
    cells: dict[str, Any] = {}
    enables: dict[str, Any] = {}
    for name, (kind, pins) in netlist["cells"].items():
        if name in gates:
            continue
        # The output of a gate leads to clocks alone: it was put in between.
        gated = {pin: behind[net] for pin, net in pins.items() if net in behind}
        for nets in gated.values():
            enables[name] = nets[gate.enable]
        cells[name] = [kind, pins | {pin: nets[gate.clock] for pin, nets in gated.items()}]
    return Folded({**netlist, "cells": cells}, enables, gates)
