# SPDX-License-Identifier: Apache-2.0
"""The plots of `ahasd area --plot` and of docs/area.md, from the rows of a record."""

from collections.abc import Callable, Sequence
from typing import Any

from ahasd.synth.memories import FLOPS, MACROS
from ahasd.synth.plots import Part, Series, curves, tree_map
from ahasd.synth.tables import standard
from ahasd.system.devices.aau_tables import lanes_us
from ahasd.system.devices.tables import PAIRS

Rows = Sequence[dict[str, Any]]
RANK = ("ahasd", "aau")
"""What a rank needs."""


def plots(rows: Rows) -> dict[str, str]:
    """Return the plots for which there are rows, by name, as SVG."""
    drawn = {name: draw(rows) for name, draw in _PLOTS.items()}
    return {name: text for name, text in drawn.items() if text}


def _parts(rows: Rows) -> str:
    """Draw what the top and the AAU are made of."""
    of = standard(rows)
    for kind in (MACROS, FLOPS):
        held = [of.get((unit, kind), {}) for unit in RANK]
        parts = [
            Part(row["unit"], name, ge / 1000)
            for row in held
            for name, ge in row.get("parts", {}).items()
        ]
        if all("parts" in row for row in held):
            return tree_map(f"Parts of the top and of the AAU, memories as {kind}", parts, "kGE")
    return ""


def _swept(rows: Rows, unit: str, kind: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the rows of a unit by its size, where nothing else is changed.

    Of two of a size, it is that with kept boundaries.
    """
    keys, size = _SIZES[unit]
    found = {
        size(row["parameters"]): row
        for row in rows
        if (row["unit"], row["memories"]) == (unit, kind) and set(row["overrides"]) <= keys
    }
    return sorted(found.items())


_SIZES: dict[str, tuple[set[str], Callable[[dict[str, Any]], int]]] = {
    "aau": ({"lanes"}, lambda of: of["lanes"]),
    "edc": (
        {"bucket_width", "llr_width"},
        lambda of: 1 << 2 * of["bucket_width"] + of["llr_width"],
    ),
    "queues": (
        {"draft_batches", "feedback_entries", "preverify_entries"},
        lambda of: of["draft_batches"],
    ),
}
"""What the size of a unit is, and the parameters that change it."""


def _lanes(rows: Rows) -> str:
    """Draw the time of a draft token's operators against the area of an AAU, by its lanes."""
    found = _swept(rows, "aau", FLOPS)
    if len(found) < 2:
        return ""
    times = {lanes: lanes_us(lanes) for lanes, _ in found}
    return curves(
        "Lanes of the AAU: operators of a draft token, against area",
        "kGE of an AAU",
        "us a draft token",
        [
            Series(
                draft,
                [(row["ge"] / 1000, times[lanes][i]) for lanes, row in found],
                [f"{lanes}" for lanes, _ in found] if i == 0 else (),
            )
            for i, (draft, _) in enumerate(PAIRS)
        ],
    )


def _pht(rows: Rows) -> str:
    """Draw the area of an EDC against its table of counters."""
    title = "EDC: area against the size of its table"
    return _sized(rows, "edc", title, "counters of two bits")


def _queues(rows: Rows) -> str:
    """Draw the area of the queues against their depth."""
    title = "Queues: area against their depth"
    return _sized(rows, "queues", title, "batches of the draft queue")


def _sized(rows: Rows, unit: str, title: str, label: str) -> str:
    """Draw 28 nm logic of a unit against a size, for each kind of memory."""
    series = []
    for kind, told in ((FLOPS, "flip-flops"), (MACROS, "latch arrays, macros")):
        found = _swept(rows, unit, kind)
        if len(found) < 2:
            continue
        for end, name in enumerate(("low", "high")):
            points = [(x, 1e6 * row["silicon_mm2"]["logic"][end]) for x, row in found]
            series.append(Series(f"{told}, {name}", points))
    return curves(title, label, "um2, 28 nm logic", series) if series else ""


_PLOTS: dict[str, Callable[[Rows], str]] = {
    "area-parts": _parts,
    "area-lanes": _lanes,
    "area-pht": _pht,
    "area-queues": _queues,
}
