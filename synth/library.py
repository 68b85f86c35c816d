# SPDX-License-Identifier: Apache-2.0
"""Cell libraries: ours in gate equivalents, sky130 without times, osu018, any Liberty files."""

import gzip
import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ahasd import UserError
from ahasd.synth import gate_equivalents, osu018, sky130
from ahasd.synth.clock_gates import COMPOSITE, GateCell

OSU018 = osu018.LIBERTY
GE, OSU, SKY130 = "ge", "osu018", "sky130"
OURS = (GE, OSU, SKY130)
"""Libraries that are no user's files."""
NODES_NM = {OSU: 180, SKY130: 130, "asap7": 7}
"""Feature size by what a library's own name contains."""

UNUSED = ("*lpflow*", "*probe*", "*dly*", "*DLY*", "*_edf*")
"""Cells that no logic should be made of: isolation, probes, delays.

Nor flip-flops with an enable: ABC does not see how many of them a net enables, so it buffers none.
"""

_CELL = re.compile(r"\bcell\s*\(\s*\"?(?P<name>[\w$]+)\"?\s*\)")
_AREA = re.compile(r"\barea\s*:\s*\"?([\d.eE+-]+)")
_FUNCTION = re.compile(r"\bfunction\s*:\s*\"([^\"]*)\"")
_STATE = re.compile(r"\b(ff|latch|ff_bank|latch_bank|statetable)\s*\(")
_PIN = re.compile(r"\bpin\s*\(\s*\"?(\w+)")
_CAPACITANCE = re.compile(r"\bcapacitance\s*:\s*\"?([\d.eE+-]+)")
_LOAD_UNIT = re.compile(r"capacitive_load_unit\s*\(\s*\"?([\d.eE+-]+)\"?\s*,\s*\"?([pf]f)", re.I)
_TIME_UNIT = re.compile(r"\btime_unit\s*:\s*\"?([\d.]+)\s*([pn])s", re.I)
_LIBRARY = re.compile(r"\blibrary\s*\(\s*\"?([\w.\-]+)")
_UNUSED = re.compile(r"\bdont_use\s*:\s*\"?true")
_GATE = re.compile(r"\bclock_gating_integrated_cell\s*:\s*\"?latch_posedge(_\w+)?\b")
_ROLE = re.compile(r"\bclock_gate_(enable|clock|out|test)_pin\s*:\s*\"?true")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Library:
    """A cell library.

    Parameters
    ----------
    name
        `ge`, `osu018`, `sky130` or what the first file calls itself.
    texts
        The files' contents.
    timed
        Whether its delays mean something.
    node_nm
        Feature size; None if it is not known, or there is none.
    nand2_area
        Area of the smallest two-input NAND, in the library's unit.
    buffer
        The smallest buffer, which drives inputs.
    load_ff
        What loads an output: four inverters, fF.
    time_unit_ps
        Unit of its times, ps.
    unsized
        Cells without an area, or with one of 0; none of them may be used.
    states
        Output pin of every flip-flop and latch, the first of two.
    state_areas
        Their areas, and those of clock gates, in the library's unit.
    clock_gate
        The smallest of its clock gates, `COMPOSITE` if it has none but a latch to make one of, None
        if it lacks that, too: then flip-flops with enables have multiplexers.
    """

    name: str
    texts: tuple[str, ...]
    timed: bool
    node_nm: int | None
    nand2_area: float
    buffer: str
    load_ff: float
    time_unit_ps: float
    unsized: frozenset[str]
    states: Mapping[str, str]
    state_areas: Mapping[str, float]
    clock_gate: GateCell | None

    @property
    def unit(self) -> str:
        """Unit of its areas."""
        return "GE" if self.name == GE else "um2"

    @property
    def sha256(self) -> str:
        """Hash of the contents."""
        digest = hashlib.sha256()
        for text in self.texts:
            digest.update(text.encode() + b"\0")
        return digest.hexdigest()

    def write(self, folder: Path) -> list[str]:
        """Write the files into a folder; return their names."""
        names = [f"cells_{i}.lib" for i in range(len(self.texts))]
        for name, text in zip(names, self.texts, strict=True):
            (folder / name).write_text(text)
        return names


def load(name: str = GE, paths: Sequence[Path] = ()) -> Library:
    """Return a library.

    Parameters
    ----------
    name
        `ge`, `osu018` or `sky130`; without meaning if there are paths.
    paths
        Liberty files that together are the library, compressed by gzip or not; a file that is
        given twice counts once.

    Raises
    ------
    UserError
        An unknown name, a library that is not installed, a file that cannot be read or lacks what
        is needed.
    """
    if paths:
        texts = list(dict.fromkeys(map(_text, paths)))
        return _scanned(None, texts, ", ".join(map(str, paths)))
    if name == GE:
        return _scanned(GE, [gate_equivalents.text()], GE)
    if name == SKY130:
        return _scanned(SKY130, [sky130.text()], SKY130)
    if name == OSU:
        if not OSU018.exists():
            raise UserError(
                f"library {OSU} is not installed ({OSU018});"
                " install it with `apt-get install qflow-tech-osu018`"
            )
        text = osu018.corrected(_text(OSU018), _text(osu018.LAYOUTS))
        return _scanned(OSU, [text], OSU)
    raise UserError(
        f"unknown library {name!r}; known: {GE}, {OSU}, {SKY130}, or files by --liberty PATH"
    )


def _text(path: Path) -> str:
    """Read a Liberty file."""
    try:
        held = path.read_bytes()
        return (gzip.decompress(held) if held[:2] == b"\x1f\x8b" else held).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        told = getattr(error, "strerror", None) or error
        raise UserError(f"cannot read the Liberty file {path}: {told}") from error


def _scanned(name: str | None, texts: list[str], where: str) -> Library:
    """Find what the flow needs to know of a library."""
    bare = [_COMMENT.sub("", text) for text in texts]
    called = _LIBRARY.search(bare[0])
    if called is None:
        raise UserError(f"{where} is no Liberty file: it has no group `library`")
    found: dict[str, list[tuple[float, str, float]]] = {"nand2": [], "buffer": [], "inverter": []}
    states: dict[str, str] = {}
    state_areas: dict[str, float] = {}
    unsized: set[str] = set()
    gates: list[tuple[int, float, str, GateCell]] = []
    latches = False
    for text in bare:
        unit = _LOAD_UNIT.search(text)
        scale = float(unit[1]) * (1000 if unit[2].lower() == "pf" else 1) if unit else 1.0
        for cell, body in _cells(text):
            area = _AREA.search(body)
            if area is None or float(area[1]) <= 0:
                unsized.add(cell)
            gate = _clock_gate(cell, body)
            if gate and area:
                gates.append((len(gate.low), float(area[1]), cell, gate))
                state_areas[cell] = float(area[1])
            if state := _STATE.search(body):
                function = _FUNCTION.search(body)
                pins = _PIN.findall(body, 0, function.start()) if function else []
                if pins and area:
                    states[cell] = pins[-1]
                    state_areas[cell] = float(area[1])
                    latches |= state[1] == "latch" and state_areas[cell] > 0
                continue
            kind = "" if gate else _kind(body)
            pin = _CAPACITANCE.search(body)
            if kind and area:
                found[kind].append((float(area[1]), cell, scale * float(pin[1]) if pin else 1.0))
    for kind, cells in found.items():
        if not cells:
            raise UserError(
                f"{where} has no {kind} cell with an area that can be read;"
                " give all files of the library, each with --liberty, whole and undamaged"
            )
    smallest = {kind: min(cells) for kind, cells in found.items()}
    if smallest["nand2"][0] <= 0:
        raise UserError(f"{where}: the area of {smallest['nand2'][1]} must be above 0")
    label = name or called[1]
    time = _TIME_UNIT.search(bare[0])
    nodes = [nm for part, nm in NODES_NM.items() if part in label.lower()]
    return Library(
        name=label,
        texts=tuple(texts),
        timed=name not in (GE, SKY130),
        node_nm=nodes[0] if nodes else None,
        nand2_area=smallest["nand2"][0],
        buffer=smallest["buffer"][1],
        load_ff=round(4 * smallest["inverter"][2], 3),
        time_unit_ps=float(time[1]) * (1000 if time[2].lower() == "n" else 1) if time else 1000.0,
        unsized=frozenset(unsized),
        states=states,
        state_areas=state_areas,
        # Without pins for tests, if possible, and then the smallest.
        clock_gate=min(gates)[-1] if gates else COMPOSITE if latches else None,
    )


def _cells(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and bodies of the cells of a file."""
    starts = list(_CELL.finditer(text))
    ends = [*(start.start() for start in starts), len(text)][1:]
    for start, end in zip(starts, ends, strict=True):
        yield start["name"], text[start.end() : end]


def _clock_gate(cell: str, body: str) -> GateCell | None:
    """Return a cell as a clock gate for rising edges, None if it is none or not to be used."""
    unused = _UNUSED.search(body) or any(fnmatchcase(cell, pattern) for pattern in UNUSED)
    if unused or not _GATE.search(body):
        return None
    pins: dict[str, list[str]] = {"enable": [], "clock": [], "out": [], "test": []}
    places = list(_PIN.finditer(body))
    for place, end in zip(places, [*(each.start() for each in places[1:]), None], strict=True):
        for role in _ROLE.findall(body, place.end(), len(body) if end is None else end):
            pins[role].append(place[1])
    if [len(pins[role]) for role in ("enable", "clock", "out")] != [1, 1, 1]:
        return None
    return GateCell(
        cell=cell,
        enable=pins["enable"][0],
        clock=pins["clock"][0],
        output=pins["out"][0],
        low=tuple(pins["test"]),
    )


def _kind(body: str) -> str:
    """Tell by its function whether a cell is a NAND2, a buffer or an inverter; '' for others."""
    functions = _FUNCTION.findall(body)
    if len(functions) != 1 or _UNUSED.search(body):
        return ""
    function = functions[0]
    names = sorted(set(re.findall(r"[A-Za-z_]\w*", function)))
    if not 1 <= len(names) <= 2:
        return ""
    evaluate = evaluator(function)
    rows = itertools.product((0, 1), repeat=len(names))
    truth = [evaluate(dict(zip(names, row, strict=True))) for row in rows]
    return {
        (1, 1, 1, 0): "nand2",
        (0, 1): "buffer",
        (1, 0): "inverter",
    }.get(tuple(truth), "")


def evaluator(function: str) -> Callable[[dict[str, int]], int]:
    """Return what evaluates a Liberty function on the values of its inputs."""
    tokens = re.findall(r"[A-Za-z_]\w*|[01]|[!()&*|+^']", function)

    def either(at: int, row: dict[str, int]) -> tuple[int, int]:
        value, at = exclusive(at, row)
        while at < len(tokens) and tokens[at] in "|+":
            right, at = exclusive(at + 1, row)
            value |= right
        return value, at

    def exclusive(at: int, row: dict[str, int]) -> tuple[int, int]:
        value, at = both(at, row)
        while at < len(tokens) and tokens[at] == "^":
            right, at = both(at + 1, row)
            value ^= right
        return value, at

    def both(at: int, row: dict[str, int]) -> tuple[int, int]:
        value, at = single(at, row)
        while at < len(tokens) and tokens[at] not in ")|+^":
            right, at = single(at + (tokens[at] in "&*"), row)  # a blank means and, too
            value &= right
        return value, at

    def single(at: int, row: dict[str, int]) -> tuple[int, int]:
        token = tokens[at]
        if token == "!":
            value, at = single(at + 1, row)
            return 1 - value, at
        if token == "(":
            value, at = either(at + 1, row)
            at += 1
        else:
            value, at = (int(token) if token in "01" else row[token]), at + 1
        while at < len(tokens) and tokens[at] == "'":
            value, at = 1 - value, at + 1
        return value, at

    return lambda row: either(0, row)[0]
