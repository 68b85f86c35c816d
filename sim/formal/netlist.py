# SPDX-License-Identifier: Apache-2.0
"""A design as gates and flip-flops: RTLIL through the Yosys of `pyosys`, and its netlist read."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from ahasd import UserError, install_hint
from ahasd.gen.yosys import YosysError
from ahasd.sim.formal.aig import FALSE, TRUE, Aig

# No `opt`: whatever it would make of undefined values must not shape what is proved.
COMMANDS = (
    "read_rtlil design.il",
    "hierarchy -check -top top",
    "proc -noopt",
    "flatten -noscopeinfo",
    "memory_collect",
    "memory_map",
    "dffunmap",
    "techmap",
    "aigmap",
    "setattr -set keep 1 t:$_DFF_*",  # a flip-flop that nothing reads is a flip-flop too
    "opt_clean",
    "write_json design.json",
)
RUN = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for command in sys.argv[1:]:
    libyosys.run_pass(command, design)
"""

Bit = int | str
"""A net's number, or the constant `0` or `1`."""


def tool(name: str) -> Path:
    """Return a file of the package pyosys.

    Raises
    ------
    UserError
        The package is not installed.
    """
    found = find_spec("pyosys")
    if found is None or found.origin is None:
        raise UserError(f"proofs need pyosys, which is missing: {install_hint('formal')}")
    return Path(found.origin).parent / name


def synthesise(rtlil: str) -> dict[str, Any]:
    """Return the module `top` of a design as gates, in the form of Yosys' `write_json`.

    Raises
    ------
    YosysError
        Yosys failed or warned.
    UserError
        pyosys is missing.
    """
    tool("yosys-abc")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "design.il").write_text(rtlil)
        done = subprocess.run(
            [sys.executable, "-c", RUN, *COMMANDS],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        said = [line for line in done.stdout.splitlines() if line.startswith(("Warning", "ERROR"))]
        if done.returncode or said:
            raise YosysError("\n".join(said) or done.stderr.strip())
        return json.loads((folder / "design.json").read_text())["modules"]["top"]


@dataclass(frozen=True)
class Flop:
    """A flip-flop of one bit, or a bit of a memory word."""

    output: Bit
    data: Bit
    domain: str
    names: tuple[str, ...]
    """Those of its net, the deepest in the hierarchy first; `?` if it has none."""

    @property
    def observer(self) -> bool:
        """Whether it belongs to the properties, not to the unit."""
        return "." not in self.names[0] and self.names[0] != "?"


@dataclass(frozen=True)
class Check:
    """An assertion, assumption or cover."""

    kind: str
    name: str
    condition: Bit
    enable: Bit


class Netlist:
    """A flattened design of and gates, inverters and flip-flops.

    Parameters
    ----------
    module
        From `synthesise`.
    """

    def __init__(self, module: Mapping[str, Any]) -> None:
        self.nets: dict[str, list[Bit]] = {
            name: net["bits"] for name, net in module["netnames"].items() if not net["hide_name"]
        }
        names: dict[Bit, list[str]] = {}
        for name, bits in self.nets.items():
            for i, bit in enumerate(bits):
                names.setdefault(bit, []).append(f"{name}[{i}]" if len(bits) > 1 else name)
        clocks: dict[Bit, str] = {
            port["bits"][0]: name.removesuffix("_clk")
            for name, port in module["ports"].items()
            if name.endswith("_clk") and port["direction"] == "input"
        }
        self.domains = sorted(clocks.values())
        self.inputs: dict[str, list[Bit]] = {
            name: port["bits"]
            for name, port in module["ports"].items()
            if port["direction"] == "input" and port["bits"][0] not in clocks
        }
        self.flops: list[Flop] = []
        ranked: list[tuple[int, Check]] = []
        self._gates: dict[Bit, tuple[Bit, ...]] = {}
        self._unnamed = count(-1, -1)

        def read(bit: Bit) -> Bit:
            # Every use of an undefined constant is a net of its own.
            return bit if bit in ("0", "1") or isinstance(bit, int) else next(self._unnamed)

        def names_of(bit: Bit) -> tuple[str, ...]:
            found = names.get(bit, ["?"])
            return tuple(sorted(found, key=lambda name: (-name.count("."), len(name))))

        for cell in module["cells"].values():
            pins = {name: read(bits[0]) for name, bits in cell["connections"].items() if bits}
            match cell["type"]:
                case "$_AND_":
                    self._gates[pins["Y"]] = pins["A"], pins["B"]
                case "$_NOT_":
                    self._gates[pins["Y"]] = (pins["A"],)
                case "$_DFF_P_" | "$_DFF_PP0_" | "$_DFF_PP1_" as kind:
                    called = names_of(pins["Q"])
                    if pins["C"] not in clocks:
                        raise YosysError(f"{called[0]} has a clock of its own")
                    output, data = pins["Q"], pins["D"]
                    if "R" in pins:
                        held = next(self._unnamed)
                        self._set_while(pins["R"], kind[-2] == "1", held, output)
                        output = next(self._unnamed)
                        self._set_while(pins["R"], kind[-2] == "1", data, output)
                        output, data = held, output
                    self.flops.append(Flop(output, data, clocks[pins["C"]], called))
                case "$check":
                    rank = int(cell["parameters"]["PRIORITY"], 2)  # falls in order of source
                    ranked.append((-rank, _check(cell, pins["A"], pins["EN"])))
                case other:
                    raise YosysError(f"a cell of type {other} is no gate")
        self.checks = [check for _, check in sorted(ranked, key=lambda pair: pair[0])]

    def _set_while(self, reset: Bit, value: bool, source: Bit, target: Bit) -> None:
        """Make a net that is a source, but a fixed value while an asynchronous reset is on."""
        off = next(self._unnamed)
        self._gates[off] = (reset,)
        if value:
            inverse, neither = next(self._unnamed), next(self._unnamed)
            self._gates |= {
                inverse: (source,),
                neither: (off, inverse),
                target: (neither,),
            }
        else:
            self._gates[target] = off, source

    def gates(self, aig: Aig, leaves: Mapping[Bit, int]) -> dict[Bit, int]:
        """Build all gates; return the literal of every net.

        Parameters
        ----------
        aig
            What to build in.
        leaves
            Literal by net for inputs and flip-flops; a net without a driver and an undefined
            constant become free variables.
        """
        literals: dict[Bit, int] = {"0": FALSE, "1": TRUE, **leaves}
        waiting: list[Bit] = [*self._gates, *(flop.data for flop in self.flops)]
        waiting += [bit for check in self.checks for bit in (check.condition, check.enable)]
        open_nets: set[Bit] = set()
        while waiting:
            bit = waiting[-1]
            if bit in literals:
                waiting.pop()
                continue
            fanins = self._gates.get(bit)
            if fanins is None:
                literals[bit] = aig.free()
                continue
            missing = [fanin for fanin in fanins if fanin not in literals]
            if missing:
                if bit in open_nets:
                    raise YosysError("the netlist has a combinational loop")
                open_nets.add(bit)
                waiting += missing
                continue
            inputs = [literals[fanin] for fanin in fanins]
            literals[bit] = inputs[0] ^ 1 if len(inputs) == 1 else aig.both(*inputs)
        return literals


def _check(cell: Mapping[str, Any], condition: Bit, enable: Bit) -> Check:
    """Read a `$check` cell."""
    parameters = cell["parameters"]
    kind = parameters["FLAVOR"]
    name = parameters["FORMAT"].rstrip()  # Yosys marks strings that look like numbers with a space
    if not name:
        raise YosysError(f"a property of kind {kind} has no message")
    if int(parameters["TRG_WIDTH"], 2) or "trg_on_gclk" in cell.get("attributes", {}):
        raise YosysError(f"{name!r} belongs into the domain comb")
    return Check(kind, name, condition, enable)
