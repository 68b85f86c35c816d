# SPDX-License-Identifier: Apache-2.0
"""All rows of the comparison with other simulators: computed, recorded, shown.

`docs/validation.json` is a record of them, from which the tables of `docs/validation.md` come: some
rows take longer than a reader of the page should wait.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rich.table import Table

from ahasd.system.devices.markdown import markdown_table
from ahasd.system.validation import dram, gpu, npu, pim
from ahasd.system.validation.rows import ALLOWED, Row

PARTS: dict[str, Callable[[], list[Row]]] = {
    "dram": dram.rows,
    "pim": pim.rows,
    "npu": npu.rows,
    "gpu": gpu.rows,
}
"""What makes the rows of each part."""

QUICK = ("pim", "gpu")
"""Parts that take a second or two together."""

_HEADER = ("case", "unit", "theirs", "ours", "error")


def computed(
    parts: Sequence[str] = tuple(PARTS),
    *,
    progress: Callable[[int, str], None] = lambda done, part: None,
) -> dict[str, list[Row]]:
    """Return the rows of parts, computed now.

    Parameters
    ----------
    parts
        Some of `PARTS`.
    progress
        Called with the number of parts that are over and the name of the next.
    """
    found = {}
    for number, part in enumerate(parts):
        progress(number, part)
        found[part] = PARTS[part]()
    progress(len(parts), "done")
    return found


def document(rows: dict[str, list[Row]]) -> dict[str, Any]:
    """Return the record of rows computed today."""
    return {
        "schema": "ahasd-validation/1",
        "date": datetime.now(UTC).date().isoformat(),
        "parts": {part: [asdict(row) for row in held] for part, held in rows.items()},
    }


def recorded(record: dict[str, Any]) -> dict[str, list[Row]]:
    """Return the rows of a record.

    Raises
    ------
    ValueError
        A row breaks a rule of `Row`.
    """
    return {part: [Row(**each) for each in held] for part, held in record["parts"].items()}


def peers(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return rows by simulator, in the order of their first appearance."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.peer, []).append(row)
    return found


def tables(rows: dict[str, list[Row]]) -> list[Table]:
    """Return a table of each simulator, for a terminal; reasons stand below."""
    made = []
    for peer, held in peers(row for part in rows.values() for row in part).items():
        table = Table(title=peer, caption="\n".join(reasons(held)), caption_justify="left")
        for name in _HEADER:
            table.add_column(name, justify="left" if name in ("case", "unit") else "right")
        for cells in _cells(held):
            table.add_row(*cells)
        made.append(table)
    return made


def markdown(record: dict[str, Any]) -> str:
    """Return what a page shows of a record: a summary, then a table of each simulator."""
    rows = [row for part in recorded(record).values() for row in part]
    far = [row for row in rows if abs(row.error) > ALLOWED]
    near = len(rows) - len(far)
    parts = [f"Computed on {record['date']}: {len(rows)} cases, {near} within {ALLOWED:.0%}."]
    for peer, held in peers(rows).items():
        table = markdown_table(_HEADER, _cells(held), text_columns=2)
        told = [f"- {reason}" for reason in reasons(held)]
        parts.append("\n\n".join([f"### {peer}", table, *(["\n".join(told)] if told else [])]))
    return "\n\n".join(parts)


def reasons(rows: Iterable[Row]) -> list[str]:
    """Return the reasons of those that are too far off, each once with all its cases."""
    cases: dict[str, list[str]] = {}
    for row in rows:
        if abs(row.error) > ALLOWED:
            cases.setdefault(row.reason, []).append(f"{row.case} ({row.error:+.1%})")
    return [f"{'; '.join(told)}: {reason}." for reason, told in cases.items()]


def _cells(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    return [
        (row.case, row.unit, _number(row.theirs), _number(row.ours), f"{row.error:+.1%}")
        for row in rows
    ]


def _number(value: float) -> str:
    """Return a value with four digits or more, none of them lost before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
