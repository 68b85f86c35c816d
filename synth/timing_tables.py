# SPDX-License-Identifier: Apache-2.0
"""Records of timing as tables: longest paths, and whether clocks are met."""

from collections.abc import Iterator, Sequence
from typing import Any

from ahasd.synth.tables import TextTable, label, span


def timing_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return units with the delay of their longest path, in the library's time and at 28 nm."""
    shown = [
        (
            label(row),
            tool,
            path["clock"],
            f"{row['ge'] / 1000:.2f}",
            f"{path['delay_ps']:.0f}",
            f"{row['library_clocks_ps'][path['clock']]}",
            span(*path["scaled_ps"], digits=0),
            f"{row['clocks_ps'][path['clock']]}",
            judged(row, path),
        )
        for row, tool, path in _paths(rows)
    ]
    header = ("unit", "by", "clock", "kGE", "ps", "of", "at 28 nm, ps", "of", "clock is")
    note = (
        "ABC: logic between registers, neither clock-to-output nor setup, against the fastest"
        " clock. OpenSTA: register to register, with both. No wires in either. All by this library"
        " alone: libraries differ by more than the ranges (docs/area.md)."
    )
    return TextTable("Timing", header, shown, 3, note)


def _paths(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    for row in rows:
        for key, tool in (("path", "ABC"), ("sta", "OpenSTA")):
            if key in row:
                yield row, tool, row[key]


def path_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return where the longest paths begin and end."""
    shown = [(label(row), tool, path["start"], path["end"]) for row, tool, path in _paths(rows)]
    return TextTable("Longest paths", ("unit", "by", "from", "to"), shown, 4)


def judged(row: dict[str, Any], path: dict[str, Any]) -> str:
    """Tell whether a path keeps its clock; ABC, which sees less, can only exclude that."""
    low, high = path["scaled_ps"]
    period_ps = row["clocks_ps"][path["clock"]]
    if low > period_ps:
        return "missed"
    if high > period_ps:
        return "open"
    return "met" if path is row.get("sta") else "not excluded"
