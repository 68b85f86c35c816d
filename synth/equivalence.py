# SPDX-License-Identifier: Apache-2.0
"""Prove that mapped cells do what their RTL does, register by register, by Yosys' induction.

Registers and outputs of both are matched by name, cells are replaced by the functions that the
library gives them. What is proved: where all that is matched has been equal for four cycles, it
stays equal, whatever the inputs and whatever any other state. That it is equal once, after a reset,
is what `ahasd.synth.power.gates` shows, and which clock and edge a register takes: the proof knows
one clock.
"""

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ahasd.gen.yosys import YosysError
from ahasd.synth import passes
from ahasd.synth.clock_gates import Folded, GateCell, fold_clock_gates
from ahasd.synth.mapping import Request, commands, prepare

_GOLD = (
    "memory_collect",
    "memory_map",
    "opt_clean",
    "async2sync",
    "simplemap",
    "opt_clean",
    "design -stash gold",
)
_ENABLED = re.compile(r"^\$_(DFF|DFFSR)_(\w+)_$")
_POINTS = re.compile(r"Of those cells (\d+) are proven and (\d+) are unproven")
_UNPROVEN = re.compile(r"^ *Unproven \$equiv \S+: \\(\S+)_gold(?: (\[\d+\]))?", re.MULTILINE)


@dataclass(frozen=True)
class Equivalence:
    """What came of a proof.

    Attributes
    ----------
    points
        Bits of registers and outputs that were matched.
    unproven
        Names of those that may differ.
    """

    points: int
    unproven: tuple[str, ...]


def prove(request: Request, changes: Sequence[str] = ()) -> Equivalence:
    """Map a design and prove the cells equal to it.

    Parameters
    ----------
    request
        What, and how; memories become flip-flops.
    changes
        Passes on the mapped cells before the proof, to plant a fault.

    Raises
    ------
    UserError
        pyosys is missing.
    YosysError
        Yosys failed.
    """
    module = request.module
    read = ["read_rtlil design.il", f"hierarchy -check -top {module}", "proc"]
    read += ["flatten -noscopeinfo"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = prepare(request, request.design, folder)
        # Without the pass that takes names away, which the registers are matched by.
        mapped = [each for each in commands(request, files) if each != "opt_clean -purge"]
        passes.run(
            [
                *read,
                *mapped,
                *changes,
                "opt_clean",
                *(f"read_liberty -ignore_miss_func {file}" for file in files),
                f"hierarchy -top {module}",
                "flatten",
                "write_json cells.json",
            ],
            folder,
        )
        _fold(folder / "cells.json", module, request.library.clock_gate)
        log = passes.run(
            [
                *read,
                *_GOLD,
                "read_json cells.json",
                f"hierarchy -top {module}",
                "async2sync",
                "simplemap",
                "opt_clean",
                "design -stash gate",
                f"design -copy-from gold -as gold {module}",
                f"design -copy-from gate -as gate {module}",
                "equiv_make gold gate equiv",
                "hierarchy -top equiv",
                "opt_clean",
                "equiv_simple -undef",
                "equiv_induct -undef",
                "equiv_status",
            ],
            folder,
        )
    found = _POINTS.findall(log)
    if not found:
        raise YosysError(f"{module}: the proof did not end with a count: {log[-300:]}")
    proven, unproven = map(int, found[-1])
    told = log[log.rindex("EQUIV_STATUS") :]
    names = tuple("".join(match) for match in _UNPROVEN.findall(told))
    return Equivalence(proven + unproven, names or ("?",) * unproven)


def _fold(file: Path, module: str, gate: GateCell | None) -> None:
    """Fold the clock gates of a flat module in the form of Yosys' `write_json`."""
    told = json.loads(file.read_text())
    cells = told["modules"][module]["cells"]
    netlist = {
        name: (cell["type"], {pin: bits[0] for pin, bits in cell["connections"].items()})
        for name, cell in cells.items()
    }
    folded = fold_clock_gates({"cells": netlist}, gate) if gate else Folded({}, {}, {})
    for name in folded.gates:
        del cells[name]
    for name, enable in folded.enables.items():
        cell, (_, pins) = cells[name], folded.netlist["cells"][name]
        cell["type"] = _ENABLED.sub(r"$_\1E_\2P_", cell["type"])
        cell["connections"] = {pin: [net] for pin, net in pins.items()} | {"E": [enable]}
        cell["port_directions"]["E"] = "input"
    # The cells' own modules are put in already.
    told["modules"] = {module: told["modules"][module]}
    file.write_text(json.dumps(told))
