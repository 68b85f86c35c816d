# SPDX-License-Identifier: Apache-2.0
"""From a component to cells: one flow for every library, its results kept by content."""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ahasd import UserError
from ahasd.gen.cache import cache_folder
from ahasd.gen.yosys import YosysError
from ahasd.synth import clock_gates, hierarchy, mapping, memories, passes, path, sta
from ahasd.synth.clock_gates import COMPOSITE
from ahasd.synth.hierarchy import NONE, PARTS, Kinds
from ahasd.synth.library import OURS, Library
from ahasd.synth.mapping import Request, counting, prepare

_MEMORY = re.compile(r"^  memory ", re.MULTILINE)
_FLOP = re.compile(r"\$_(S|A|AL)?DFF")
_LATCH = re.compile(r"\$_DLATCH")


def synthesise(request: Request, *, cached: bool = True) -> dict[str, Any]:
    """Map a design to cells; return what came of it, from the cache if it has been done before.

    Parameters
    ----------
    request
        What, and how.
    cached
        Take a result from the cache.

    Returns
    -------
    dict
        - area, sequential_area: in the library's unit, macros left out
        - cells: how many by type
        - flops, latches: bits of state, without clock gates
        - clock_gates: how many there are
        - memories: name, words, width, bits, what each became and why
        - kept: parts that were kept apart, and how many of each there are
        - parts: with the boundaries of all parts, area by part, and `own` for what is in none
        - timing: with clocks, of a design in one piece: see `ahasd.synth.path.read`
        - sta: with clocks, where OpenSTA is installed: see `ahasd.synth.sta.read`
        - netlist: where asked for, the nets of every port and the type and nets of every cell

    Raises
    ------
    UserError
        The cache cannot be written, pyosys is missing.
    YosysError
        Yosys failed, or left a cell that is not of the library.
    """
    design, kinds = request.design, {}
    if request.boundaries != NONE:
        design, kinds = hierarchy.merged(design, request.module)
        kinds = kinds if request.boundaries == PARTS else hierarchy.equal(kinds)
    analysis = ["read_rtlil design.il", f"hierarchy -check -top {request.module}"]
    analysis += [f"setattr -mod -set keep_hierarchy 1 {kind}" for kind in kinds]
    analysis += ["proc", "flatten -noscopeinfo"]
    treatment = request.memories if _MEMORY.search(design) else ""
    digest = hashlib.sha256()
    for text in (
        request.design,
        request.library.sha256,
        json.dumps([analysis, mapping.commands(request, ["cells.lib"]), treatment, kinds]),
        request.boundaries,
        "netlist" if request.netlist else "",
        json.dumps(memories.FILES),
        json.dumps([passes.tools(), dict(request.clocks_ps), sta.installed()]),
        *(
            Path(each).read_text(encoding="utf-8")
            for each in (
                __file__,
                clock_gates.__file__,
                hierarchy.__file__,
                mapping.__file__,
                memories.__file__,
                path.__file__,
                sta.__file__,
            )
        ),
    ):
        digest.update(text.encode() + b"\0")
    entry = cache_folder() / "synth" / f"{request.module}-{digest.hexdigest()[:32]}.json"
    try:
        if cached and (kept := _kept(entry)):
            return kept
        entry.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".work-", dir=entry.parent) as name:
            result = _map(request, design, kinds, analysis, Path(name))
        aside = entry.with_name(f".{entry.name}.{os.getpid()}")
        aside.write_text(json.dumps(result), encoding="utf-8")
        aside.replace(entry)
    except OSError as error:
        raise UserError(
            f"cannot keep netlists in {cache_folder()}: {error};"
            " choose another place with AHASD_CACHE"
        ) from error
    except YosysError as error:
        if request.library.name in OURS:
            raise
        raise UserError(
            f"{request.module} cannot be mapped to the cells of {request.library.name}: {error};"
            " give all files of the library, each with --liberty, whole and undamaged"
        ) from error
    # As it will be read the next time.
    return json.loads(json.dumps(result))


def _kept(entry: Path) -> dict[str, Any] | None:
    """Return what the cache has; None where it has nothing, or something that is damaged."""
    try:
        kept = json.loads(entry.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return kept if isinstance(kept, dict) and "kept" in kept else None


def _map(
    request: Request, design: str, kinds: Kinds, analysis: list[str], folder: Path
) -> dict[str, Any]:
    """Run the flow in a folder on a design whose parts of these kinds are kept apart."""
    library = request.library
    files = prepare(request, design, folder)
    passes.run([*analysis, "memory_collect", "write_json memories.json"], folder)
    held = memories.found(json.loads((folder / "memories.json").read_text()))
    script = [*analysis]
    replaced = memories.commands(held, request.memories)
    if replaced:
        script = ["read_verilog -lib black_box.v", *analysis, "memory_collect", *replaced]
    timed_again = request.timed and bool(sta.installed())
    large = mapping.is_large(held, request.memories)
    script += [*mapping.commands(request, files, large=large), *counting(request, files)]
    script += sta.writing(library.clock_gate) if timed_again else ()
    log = passes.run(script, folder)

    mapped = json.loads((folder / "mapped.json").read_text())
    generic = json.loads((folder / "generic.json").read_text())
    result = _figures(mapped["design"], generic["design"], library, kinds)
    if library.clock_gate == COMPOSITE and result["clock_gates"]:
        # Its latch is counted as one already.
        own = json.loads((folder / "clock_gate.json").read_text())["design"]
        result["sequential_area"] += result["clock_gates"] * (
            own["area"] - _state_area(own["num_cells_by_type"], library)
        )
    free = [cell for cell in result["cells"] if cell in library.unsized]
    if free:
        raise UserError(
            f"library {library.name} gives no area for {', '.join(free)}, of which {request.module}"
            " is made; correct the Liberty file"
        )
    foreign = [cell for cell in result["cells"] if cell.startswith("$")]
    if foreign:
        raise YosysError(f"{request.module}: cells that library {library.name} lacks: {foreign}")
    result["memories"] = [
        _told(memory, request, part)
        for memory in held
        for part in kinds.get(memory.module, (memory.module.removeprefix(request.module),))
    ]
    result["kept"] = [hierarchy.kind_name(instances) for instances in kinds.values()]
    if request.boundaries == PARTS:
        areas = {
            hierarchy.kind_name(instances): round(
                len(instances) * mapped["modules"][f"\\{kind}"].get("area", 0.0), 6
            )
            for kind, instances in kinds.items()
        }
        areas["own"] = round(result["area"] - sum(areas.values()), 6)
        result["parts"] = areas
    if request.netlist:
        kept = json.loads((folder / "cells.json").read_text())["modules"][request.module]
        result["netlist"] = {
            "ports": {name: port["bits"] for name, port in kept["ports"].items()},
            "cells": {
                name: [cell["type"], {pin: bits[0] for pin, bits in cell["connections"].items()}]
                for name, cell in kept["cells"].items()
            },
        }
    if request.timed and not kinds:
        netlist = json.loads((folder / "netlist.json").read_text())["modules"][request.module]
        result["timing"] = path.read(log, netlist, library)
    if timed_again:
        unit_ps = library.time_unit_ps
        said = sta.run(folder, sta.script(request.module, files, request.clocks_ps, unit_ps))
        modules = json.loads((folder / "sta.json").read_text())["modules"]
        names = sta.Registers(modules, request.module, library)
        result["sta"] = sta.read(said, names, request.clocks_ps, unit_ps)
    return result


def _figures(
    mapped: Mapping[str, Any], generic: Mapping[str, Any], library: Library, kinds: Kinds
) -> dict[str, Any]:
    """Return area and counts of a design, of which instances of kinds are no cells."""
    cells = {
        cell: count
        for cell, count in sorted(mapped.get("num_cells_by_type", {}).items())
        if cell not in kinds
    }
    states = generic.get("num_cells_by_type", {})
    gate = library.clock_gate
    return {
        "area": round(mapped.get("area", 0.0), 6),
        "sequential_area": round(_state_area(cells, library), 6),
        "cells": cells,
        "flops": sum(count for cell, count in states.items() if _FLOP.match(cell)),
        "latches": sum(count for cell, count in states.items() if _LATCH.match(cell)),
        "clock_gates": states.get(gate.cell, 0) if gate else 0,
    }


def _state_area(cells: Mapping[str, int], library: Library) -> float:
    """Return the area of what has a state; not the figure of `stat`, which leaves latches out."""
    return sum(library.state_areas.get(cell, 0.0) * count for cell, count in cells.items())


def _told(memory: memories.Memory, request: Request, part: str) -> dict[str, Any]:
    """Return a memory of a part, '' for the top, as a document tells it."""
    treatment, why = memory.treatment(request.memories)
    return {
        "name": ".".join(each for each in (part, memory.cell.lstrip("\\")) if each),
        "words": memory.words,
        "width": memory.width,
        "bits": memory.bits,
        "reads": memory.reads,
        "as": treatment,
        "why": why,
    }
