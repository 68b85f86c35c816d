# SPDX-License-Identifier: Apache-2.0
"""The longest path of units against the clocks that they must keep, in the library's own time."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ahasd import UserError
from ahasd.gen.emit import to_rtlil
from ahasd.gen.manifest import find
from ahasd.synth import sta
from ahasd.synth.flow import synthesise
from ahasd.synth.hierarchy import NONE, boundaries_of
from ahasd.synth.library import Library
from ahasd.synth.mapping import Request
from ahasd.synth.memories import FLOPS
from ahasd.synth.nodes import NODES
from ahasd.synth.passes import tools

DIGITS = 2
"""Of the gates in a row."""
PERIOD_PS = {"pim": 1250, "npu": 1000}
"""Clock periods at the reference node: 800 MHz and 1 GHz."""


def library_clocks_ps(domains: Sequence[str], library: Library) -> dict[str, int]:
    """Return the period of every clock in a library's time, by the slower end of the scaling.

    Empty if the library has no times. One of an unknown node is taken as it is.
    """
    if not library.timed:
        return {}
    node = NODES.get(library.node_nm or 0)
    factor = node.delay.high if node else 1.0
    return {domain: round(PERIOD_PS[domain] / factor) for domain in domains}


def timing(
    name: str,
    configuration: str,
    library: Library,
    *,
    overrides: Mapping[str, str] | None = None,
    memories: str = FLOPS,
    boundaries: str | None = None,
    cached: bool = True,
) -> dict[str, Any]:
    """Map a unit to cells and return its row: the longest path between registers.

    Parameters are those of `ahasd.synth.area.area`.

    By ABC and, where it is installed, by OpenSTA. ABC sees no further than a boundary, OpenSTA
    does: where equal parts are kept apart, there is its path only.

    Raises
    ------
    UserError
        The library has no times; equal parts are kept apart, and OpenSTA is not installed; as
        `ahasd.gen.manifest.find`.
    YosysError
        As `ahasd.synth.flow.synthesise`.
    """
    unit, params = find(name, configuration, dict(overrides or {}))
    clocks = library_clocks_ps(unit.domains, library)
    if not clocks:
        raise UserError(
            f"library {library.name} has placeholders for delays; take --library osu018"
            " (apt-get install qflow-tech-osu018) or files of your own, --liberty PATH"
        )
    module = f"ahasd_{name}"
    design = to_rtlil(unit.load_hardware()(params), module, unit.domains)
    boundaries = boundaries or boundaries_of(design, module)
    if boundaries != NONE and not sta.installed():
        raise UserError(
            f"the longest path of {name} goes across boundaries, which OpenSTA alone can see;"
            " apt-get install opensta, or keep none: --boundaries none"
        )
    request = Request(
        module=module,
        design=design,
        library=library,
        memories=memories,
        clocks_ps=clocks,
        fast=True,
        boundaries=boundaries,
    )
    result = synthesise(request, cached=cached)
    node = NODES.get(library.node_nm or 0)
    scale = (node.delay.low, node.delay.high) if node else (1.0, 1.0)

    def scaled(delay_ps: float) -> list[float]:
        return [round(delay_ps * factor, 1) for factor in scale]

    path, again = result.get("timing"), result.get("sta")
    fastest = min(clocks, key=lambda domain: clocks[domain])
    row = {
        "unit": name,
        "configuration": configuration,
        "overrides": dict(sorted((overrides or {}).items())),
        "memories": memories,
        "parameters": asdict(params),
        "boundaries": boundaries,
        "kept": result["kept"],
        "ge": round(result["area"] / library.nand2_area, DIGITS),
        "clocks_ps": {domain: PERIOD_PS[domain] for domain in unit.domains},
        "library_clocks_ps": clocks,
    }
    if path is not None:
        # ABC knows no clocks: its path is held against the fastest.
        row["path"] = {"clock": fastest, **path, "scaled_ps": scaled(path["delay_ps"])}
    if again is not None:
        row["sta"] = {**again, "scaled_ps": scaled(again["delay_ps"])}
    versions = tools() | ({"opensta": sta.installed()} if again is not None else {})
    return row | {
        "library": {"name": library.name, "sha256": library.sha256, "node_nm": library.node_nm},
        "design_sha256": request.design_sha256,
        "source_sha256": unit.source_sha256(),
        "tools": versions,
    }
