# SPDX-License-Identifier: Apache-2.0
"""How the area of units came to be: a line for each change of a figure, beside the record.

A record says what is; this says what was. A unit that is mapped again with the same result adds
nothing, so that the file changes when an area does.
"""

from collections.abc import Sequence
from typing import Any

KEYS = ("unit", "overrides", "memories", "boundaries")
"""What a line is of; one of the same follows upon another."""
FIGURES = ("ge", "macro_bits")


def extended(
    held: Sequence[dict[str, Any]], row: dict[str, Any], *, version: str, date: str
) -> list[dict[str, Any]]:
    """Return a history with an area's row, if it is not what was last.

    Parameters
    ----------
    held
        Lines, the oldest first.
    row
        As `ahasd.synth.area.area` returns it.
    version, date
        Of this package, and the day.
    """
    before = latest(held, row)
    if before is not None and all(before[figure] == row[figure] for figure in FIGURES):
        return list(held)
    line = {
        "date": date,
        "version": version,
        **{key: row[key] for key in (*KEYS, "kept")},
        **{figure: row[figure] for figure in FIGURES},
        "design_sha256": row["design_sha256"],
        "tools": row["tools"],
    }
    return [*held, line]


def latest(held: Sequence[dict[str, Any]], row: dict[str, Any]) -> dict[str, Any] | None:
    """Return the last line that is of the same as a row, None if there is none."""
    return next(
        (line for line in reversed(held) if all(line[key] == row[key] for key in KEYS)), None
    )


def changes(held: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return every line that follows upon another, with that one before it; the newest first."""
    pairs = []
    for i, line in enumerate(held):
        before = latest(held[:i], line)
        if before is not None:
            pairs.append((before, line))
    return pairs[::-1]
