# SPDX-License-Identifier: Apache-2.0
"""What is mapped to cells, and the Yosys commands that do it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ahasd.synth import clock_gates, memories, passes
from ahasd.synth.clock_gates import COMPOSITE
from ahasd.synth.hierarchy import NONE, PARTS
from ahasd.synth.library import UNUSED, Library

NETLIST = (
    "setattr -mod -unset keep_hierarchy *",
    "flatten -noscopeinfo",
    "write_json cells.json",
)
"""Passes that write all cells as one module."""
SMALL = """
strash
&get -n
&fraig -x
&put
scorr
dc2
rewrite -z
resub -K 6
dc2
refactor -z
resub -K 8
dc2
strash
&get -n
&dch -f
&nf -R 30 -F 20 -A 30
&put
"""
"""What ABC does for area: its own script without a goal of time, with more rounds of each step."""
LARGE_BITS = 16_384
"""Bits of memory in cells above which it is ABC's own script: more rounds take a quarter of an hour
and more on so many multiplexers."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be mapped, and how.

    Parameters
    ----------
    module
        Name of the top module.
    design
        RTLIL.
    library
        Cells.
    memories
        One of `ahasd.synth.memories.CHOICES`.
    clocks_ps
        Period by clock domain in the library's own time; the mapper works towards the shortest.
        Empty to map for area.
    fast
        Adders look their carries ahead in the fastest of Yosys' ways, which takes more gates.
    boundaries
        What is kept apart, one of `ahasd.synth.hierarchy.BOUNDARIES`. Equal parts are mapped once,
        and have their areas.
    netlist
        Return the cells and their nets, of all parts together, in place of times.
    """

    module: str
    design: str = field(repr=False)
    library: Library = field(repr=False)
    memories: str = memories.FLOPS
    clocks_ps: Mapping[str, int] = field(default_factory=dict)
    fast: bool = False
    boundaries: str = NONE
    netlist: bool = False

    @property
    def timed(self) -> bool:
        """Whether its longest path is looked for."""
        return bool(self.clocks_ps) and self.boundaries != PARTS and not self.netlist

    @property
    def design_sha256(self) -> str:
        """Hash of the RTLIL."""
        return design_sha256(self.design)


def design_sha256(text: str) -> str:
    """Hash RTLIL."""
    return hashlib.sha256(text.encode()).hexdigest()


def prepare(request: Request, design: str, folder: Path) -> list[str]:
    """Write what `commands` reads into a folder; return the names of Liberty files.

    Parameters
    ----------
    request
        What is to be mapped.
    design
        Its RTLIL, with the parts that are kept.
    folder
        Where Yosys will run.
    """
    library = request.library
    files = library.write(folder)
    (folder / "design.il").write_text(design)
    (folder / "small.abc").write_text(SMALL)
    (folder / "limits.txt").write_text(
        f"set_driving_cell {library.buffer}\nset_load {library.load_ff} [all_outputs]\n"
    )
    for name, text in {**memories.FILES, **clock_gates.FILES}.items():
        (folder / name).write_text(text)
    if library.clock_gate == COMPOSITE:
        passes.run(clock_gates.composed(*_cells(files)), folder)
    return files


def is_large(held: Sequence[memories.Memory], treatment: str) -> bool:
    """Tell whether a design has more bits of memory in cells than are mapped in many rounds."""
    in_cells = (each.bits for each in held if each.treatment(treatment)[0] != memories.MACROS)
    return sum(in_cells) > LARGE_BITS


def commands(request: Request, files: list[str], *, large: bool = False) -> list[str]:
    """Return the commands from a design without processes to cells, and boxes for clock gates.

    Parameters
    ----------
    request
        What is to be mapped.
    files
        Liberty files.
    large
        Map for area in few rounds, see `is_large`.
    """
    cells, unused = _cells(files)
    clocks, gate = request.clocks_ps, request.library.clock_gate
    aim = "" if large else "-script small.abc"
    if clocks:
        aim = f"-constr limits.txt -D {min(clocks.values())}"
    adders = " -extra-map +/choices/kogge-stone.v" if request.fast else ""
    return [
        f"synth -noabc{adders} -run coarse: -top {request.module}",
        *(clock_gates.gating(gate) if gate else []),
        "tee -q -o generic.json stat -json",
        f"dfflibmap {cells} {unused}",
        f"abc {cells} {unused} {aim}",
        # Before nets are merged: ABC's report names those that it was given.
        *(["write_json netlist.json"] if request.timed else []),
        "opt_clean -purge",
    ]


def counting(request: Request, files: list[str]) -> list[str]:
    """Return the commands from mapped cells to their statistics, and their nets if asked for."""
    cells, _ = _cells(files)
    return [
        "design -push-copy",
        *([clock_gates.PUT_IN] if request.library.clock_gate == COMPOSITE else []),
        f"tee -q -o mapped.json stat -json {cells}",
        *(NETLIST if request.netlist else ()),
        "design -pop",
    ]


def _cells(files: list[str]) -> tuple[str, str]:
    """Return what tells a Yosys command the library, and which of its cells not to use."""
    return (
        " ".join(f"-liberty {file}" for file in files),
        " ".join(f"-dont_use {pattern}" for pattern in UNUSED),
    )
