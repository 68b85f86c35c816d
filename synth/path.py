# SPDX-License-Identifier: Apache-2.0
"""ABC's report of the longest path, with names that the hardware knows.

ABC sees the logic between flip-flops: neither clock-to-output nor setup, no wires.
"""

import re
from collections.abc import Mapping
from typing import Any

from ahasd.gen.yosys import YosysError
from ahasd.synth.library import Library

_DELAY = re.compile(r"^ABC: WireLoad = .*?Delay =\s*([\d.]+) ps", re.MULTILINE)
_STEP = re.compile(
    r"^ABC: Path\s*\d+ --\s*\d+ :\s*\d+\s+\d+ (?P<cell>\S+).*?Df =\s*(?P<at>[\d.]+)", re.MULTILINE
)
_ENDS = re.compile(
    r"^ABC: Start-point = \w+ \((?P<start>.*?)\)\.  End-point = \w+ \((?P<end>.*?)\)\.",
    re.MULTILINE,
)


def read(log: str, netlist: Mapping[str, Any], library: Library) -> dict[str, Any]:
    """Return the longest path that ABC reports.

    Parameters
    ----------
    log
        What Yosys printed.
    netlist
        The mapped module, in the form of Yosys' `write_json`.
    library
        What its cells are of.

    Returns
    -------
    dict
        `delay_ps`; `start` and `end`, registers or ports; `cells` on the way, with the time after
        each, ps.

    Raises
    ------
    YosysError
        There is no report, though there is logic.
    """
    delay, ends = _DELAY.search(log), _ENDS.search(log)
    if delay is None and "there is nothing to map" in log:
        return {"delay_ps": 0.0, "start": "", "end": "", "cells": []}
    if delay is None:
        raise YosysError("ABC reported no delay")
    steps = [(step["cell"], float(step["at"])) for step in _STEP.finditer(log)]
    names = Names(netlist, library)
    return {
        "delay_ps": float(delay[1]),
        "start": names.of(ends["start"]) if ends else "",
        "end": names.of(ends["end"]) if ends else "",
        "cells": [{"cell": cell, "at_ps": at} for cell, at in steps if cell != "pi"],
    }


class Names:
    """Registers and ports behind the nets of a netlist; a clock gate has that of what it gates."""

    def __init__(self, netlist: Mapping[str, Any], library: Library) -> None:
        self._bits: dict[str, list[Any]] = {}
        self._public: dict[Any, str] = {}
        for name, net in netlist["netnames"].items():
            self._bits[name] = net["bits"]
            if not net["hide_name"]:
                for i, bit in enumerate(net["bits"]):
                    shown = f"{name}[{i}]" if len(net["bits"]) > 1 else name
                    best = self._public.get(bit, shown)
                    self._public[bit] = min(best, shown, key=lambda text: (text.count("."), text))
        self._next: dict[Any, Any] = {}
        self._registers: dict[str, Any] = {}
        for name, cell in netlist["cells"].items():
            output = library.states.get(cell["type"])
            if output is not None:
                pins = cell["connections"]
                self._registers[name] = pins[output][0]
                for pin, bits in pins.items():
                    if pin != output:
                        self._next.setdefault(bits[0], pins[output][0])
        gate = library.clock_gate
        for name, cell in netlist["cells"].items():
            if gate is not None and cell["type"] == gate.cell:
                pins = cell["connections"]
                self._registers[name] = self._next.get(pins[gate.output][0])
                self._next.setdefault(pins[gate.enable][0], self._registers[name])

    def of(self, told: str) -> str:
        r"""Return the register or port of a net as ABC names it, `\name [2]`."""
        name, _, index = told.removesuffix("]").partition(" [")
        bits = self._bits.get(name.removeprefix("\\"), [])
        place = int(index) if index else 0
        if place >= len(bits):
            return told
        bit = bits[place]
        after = self._next.get(bit)
        if after is not None and bit not in self._public and after in self._public:
            return self._public[after]
        return self._public.get(bit, told)

    def register(self, cell: str) -> str:
        """Return the register whose flip-flop is a cell; its port or the cell itself if none."""
        return self._public.get(self._registers.get(cell), cell)
