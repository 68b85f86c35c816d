# SPDX-License-Identifier: Apache-2.0
"""The longest path of units against the clocks that they must keep, in the library's own time."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ahasd import UserError
from ahasd.gen.manifest import find
from ahasd.synth.flow import Request, design, synthesise
from ahasd.synth.library import Library
from ahasd.synth.memories import FLOPS
from ahasd.synth.nodes import NODES
from ahasd.synth.passes import tools

PERIOD_PS = {"pim": 1250, "npu": 1000}
"""Clock periods at the reference node: 800 MHz and 1 GHz."""


def period_ps(domains: Sequence[str]) -> int:
    """Return the period that a unit must keep everywhere: that of its fastest clock."""
    return min(PERIOD_PS[domain] for domain in domains)


def library_period_ps(domains: Sequence[str], library: Library) -> int | None:
    """Return the same in the time of a library, by the slower end of the scaling.

    None if the library has no times. One of an unknown node is taken as it is.
    """
    if not library.timed:
        return None
    node = NODES.get(library.node_nm or 0)
    return round(period_ps(domains) / (node.delay.high if node else 1.0))


def timing(
    name: str,
    configuration: str,
    library: Library,
    *,
    overrides: Mapping[str, str] | None = None,
    memories: str = FLOPS,
    cached: bool = True,
) -> dict[str, Any]:
    """Map a unit to cells and return its row: the longest path between registers, by ABC.

    Parameters are those of `ahasd.synth.area.area`.

    Raises
    ------
    UserError
        The library has no times; as `ahasd.gen.manifest.find`.
    YosysError
        As `ahasd.synth.flow.synthesise`.
    """
    unit, params = find(name, configuration, dict(overrides or {}))
    aim = library_period_ps(unit.domains, library)
    if aim is None:
        raise UserError(
            f"library {library.name} has placeholders for delays; take --library osu018"
            " (apt-get install qflow-tech-osu018) or files of your own, --liberty PATH"
        )
    module = f"ahasd_{name}"
    request = Request(
        module=module,
        design=design(unit.load_hardware()(params), module),
        library=library,
        memories=memories,
        period_ps=aim,
    )
    path = synthesise(request, cached=cached)["timing"]
    node = NODES.get(library.node_nm or 0)
    scale = (node.delay.low, node.delay.high) if node else (1.0, 1.0)
    return {
        "unit": name,
        "configuration": configuration,
        "overrides": dict(sorted((overrides or {}).items())),
        "memories": memories,
        "parameters": asdict(params),
        "clocks": list(unit.domains),
        "period_ps": period_ps(unit.domains),
        "library_period_ps": aim,
        "path": path,
        "scaled_ps": [round(path["delay_ps"] * factor, 1) for factor in scale],
        "library": {"name": library.name, "sha256": library.sha256, "node_nm": library.node_nm},
        "design_sha256": request.design_sha256,
        "source_sha256": unit.source_sha256(),
        "tools": tools(),
    }
