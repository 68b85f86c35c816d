# SPDX-License-Identifier: Apache-2.0
"""The area of units of the catalogue: rows of a record, each with where it comes from."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ahasd.gen.emit import to_rtlil
from ahasd.gen.manifest import find
from ahasd.synth.flow import synthesise
from ahasd.synth.hierarchy import PARTS, boundaries_of
from ahasd.synth.library import Library
from ahasd.synth.mapping import Request
from ahasd.synth.memories import FLOPS, MACROS
from ahasd.synth.nodes import NODES, REFERENCE_NM
from ahasd.synth.passes import tools
from ahasd.synth.silicon import shares_percent, silicon_mm2

DIGITS = 6
"""Of the derived figures in a record; more would be noise of floating point."""


def area(
    name: str,
    configuration: str,
    library: Library,
    *,
    overrides: Mapping[str, str] | None = None,
    memories: str = FLOPS,
    boundaries: str | None = None,
    parts: bool = False,
    cached: bool = True,
) -> dict[str, Any]:
    """Map a unit to cells and return its row.

    Parameters
    ----------
    name, configuration, overrides
        As for `ahasd.gen.manifest.find`.
    library
        Cells.
    memories
        What becomes of memories, one of `ahasd.synth.memories.CHOICES`.
    boundaries
        What is kept apart, one of `ahasd.synth.hierarchy.BOUNDARIES`; equal parts of which there
        are many, by default.
    parts
        Map it a second time with the boundaries of its submodules kept, for their areas.
    cached
        Take results from the cache.

    Raises
    ------
    UserError
        As `ahasd.gen.manifest.find` and `ahasd.synth.flow.synthesise`.
    YosysError
        As `ahasd.synth.flow.synthesise`.
    """
    unit, params = find(name, configuration, dict(overrides or {}))
    changed = {
        key: value
        for key, value in sorted((overrides or {}).items())
        if find(name, configuration, {key: value})[1] != unit.configurations[configuration]
    }
    module = f"ahasd_{name}"
    text = to_rtlil(unit.load_hardware()(params), module, unit.domains)
    boundaries = boundaries or boundaries_of(text, module)

    def request(boundaries: str) -> Request:
        return Request(
            module=module,
            design=text,
            library=library,
            memories=memories,
            boundaries=boundaries,
        )

    whole = request(boundaries)
    result = synthesise(whole, cached=cached)
    row = {
        "unit": name,
        "configuration": configuration,
        "overrides": changed,
        "memories": memories,
        "parameters": asdict(params),
        "boundaries": boundaries,
        "kept": result["kept"],
        **figures(result, library),
    }
    if parts:
        split = result if boundaries == PARTS else synthesise(request(PARTS), cached=cached)
        row["parts"] = {
            part: round(held / library.nand2_area, DIGITS) for part, held in split["parts"].items()
        }
    return row | {
        "library": {"name": library.name, "sha256": library.sha256, "node_nm": library.node_nm},
        "design_sha256": whole.design_sha256,
        "source_sha256": unit.source_sha256(),
        "tools": tools(),
    }


def figures(result: Mapping[str, Any], library: Library) -> dict[str, Any]:
    """Return the figures of a row: what the flow found, in gate equivalents, and as silicon."""
    ge = result["area"] / library.nand2_area
    sequential = result["sequential_area"] / library.nand2_area
    macro_bits = sum(held["bits"] for held in result["memories"] if held["as"] == MACROS)
    mm2 = silicon_mm2(ge, macro_bits)
    found = {
        "area": result["area"],
        "area_unit": library.unit,
        "ge": ge,
        "sequential_ge": sequential,
        "combinational_ge": ge - sequential,
        "flops": result["flops"],
        "latches": result["latches"],
        "clock_gates": result["clock_gates"],
        "cells": sum(result["cells"].values()),
        "memory": result["memories"],
        "macro_bits": macro_bits,
        "silicon_mm2": {conversion: list(span) for conversion, span in mm2.items()},
        "shares_percent": shares_percent(mm2),
    }
    node = NODES.get(library.node_nm or 0)
    if node is not None:
        # Cells alone, for comparison: the conversions above go by gates, not by this.
        found[f"cells_um2_scaled_to_{REFERENCE_NM}nm"] = result["area"] * node.area
    return {key: _rounded(value) for key, value in found.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, Mapping):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return value
