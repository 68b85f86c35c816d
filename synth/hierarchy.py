# SPDX-License-Identifier: Apache-2.0
"""Equal parts of a design, found by content, so that one of a kind is mapped for all of them."""

import hashlib
import re
from collections.abc import Mapping

NONE, REPEATED, PARTS = "none", "repeated", "parts"
BOUNDARIES = (NONE, REPEATED, PARTS)
"""What is kept apart: nothing, equal parts of the top, or all of its parts."""
MANY = 8
"""So many equal parts are kept apart where nothing else is asked for."""

Kinds = Mapping[str, tuple[str, ...]]
"""Instances in the top by the module that they are of."""

_MODULE = re.compile(r"^module (?P<name>\S+)$(?P<body>.*?)^end$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"(?<!\S)[\\$]\S+")
_CELL = re.compile(r"^  cell (?P<type>\S+) (?P<name>\S+)$")
_PORT = re.compile(r"^    connect (?P<port>\S+) (?P<what>.*)$")
_LITERAL = ("attribute ", "parameter ", "memory ")
"""Beginnings of lines whose names are not those of wires and cells."""


def merged(design: str, module: str) -> tuple[str, Kinds]:
    r"""Let equal parts of a top be instances of the first of them.

    Parts are equal if their RTLIL is, but for the names of wires and cells, and that of all within.

    Parameters
    ----------
    design
        RTLIL as Amaranth writes it.
    module
        Name of the top.

    Returns
    -------
    tuple
        The design, in which the other modules are left without use; and all parts by kind.
    """
    found = {f"{each['name']}": each for each in _MODULE.finditer(design)}
    forms = _Forms({name: each["body"] for name, each in found.items()})
    top = found[f"\\{module}"]
    first: dict[str, str] = {}
    kinds: dict[str, tuple[str, ...]] = {}
    lines: list[str] = []
    ports: Mapping[str, str] = {}
    for line in top["body"].split("\n"):
        if cell := _CELL.match(line):
            ports = {}
            if (kind := cell["type"]) in found:
                form, numbers = forms.of(kind)
                chosen = first.setdefault(form, kind)
                names = {number: name for name, number in forms.of(chosen)[1].items()}
                ports = {name: names[number] for name, number in numbers.items()}
                name = chosen.removeprefix("\\")
                kinds[name] = (*kinds.get(name, ()), cell["name"].removeprefix("\\"))
                line = f"  cell {chosen} {cell['name']}"
        elif port := _PORT.match(line):
            line = f"    connect {ports.get(port['port'], port['port'])} {port['what']}"
        lines.append(line)
    return design[: top.start("body")] + "\n".join(lines) + design[top.end("body") :], kinds


def equal(kinds: Kinds) -> Kinds:
    """Return the kinds of which there are several."""
    return {kind: instances for kind, instances in kinds.items() if len(instances) > 1}


def boundaries_of(design: str, module: str) -> str:
    """Return what is kept apart where nothing else is asked for, one of `BOUNDARIES`."""
    _, kinds = merged(design, module)
    return REPEATED if any(len(instances) >= MANY for instances in kinds.values()) else NONE


def kind_name(instances: tuple[str, ...]) -> str:
    """Return what the parts of a kind are called together, `lane x 16`."""
    if len(instances) == 1:
        return instances[0]
    return f"{re.sub(r'_?[0-9]+$', '', instances[0])} x {len(instances)}"


class _Forms:
    """Hashes of modules that do not depend on names, and the number of each name in them."""

    def __init__(self, bodies: Mapping[str, str]) -> None:
        self._bodies = bodies
        self._known: dict[str, tuple[str, dict[str, str]]] = {}

    def of(self, module: str) -> tuple[str, dict[str, str]]:
        if module not in self._known:
            self._known[module] = self._form(self._bodies[module])
        return self._known[module]

    def _form(self, body: str) -> tuple[str, dict[str, str]]:
        numbers: dict[str, str] = {}

        def numbered(text: str) -> str:
            return _NAME.sub(lambda found: numbers.setdefault(found[0], f"<{len(numbers)}>"), text)

        digest = hashlib.sha256()
        ports: Mapping[str, str] = {}
        for line in body.split("\n"):
            if cell := _CELL.match(line):
                kind, ports = cell["type"], {}
                if kind in self._bodies:
                    kind, ports = self.of(kind)
                line = f"cell {kind} {numbered(cell['name'])}"
            elif port := _PORT.match(line):
                line = f"port {ports.get(port['port'], port['port'])} {numbered(port['what'])}"
            elif not line.lstrip().startswith(_LITERAL):
                line = numbered(line)
            digest.update(line.encode() + b"\n")
        return digest.hexdigest(), numbers
