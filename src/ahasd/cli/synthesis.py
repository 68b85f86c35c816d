# SPDX-License-Identifier: Apache-2.0
"""What the commands of synthesis share."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from ahasd import UserError
from ahasd.cli.progress import token_progress
from ahasd.rtl.configs import UNITS
from ahasd.synth.tables import TextTable


def chosen(units: Sequence[str]) -> Iterator[str]:
    """Yield the units to do, all by default, while a bar shows which one is under way.

    Raises
    ------
    UserError
        A unit is not in the catalogue.
    """
    names = list(dict.fromkeys(units)) or list(UNITS)
    for name in names:
        if name not in UNITS:
            raise UserError(f"unknown unit {name!r}; known: {', '.join(UNITS)}")
    with token_progress(names[0], len(names)) as progress:
        for done, name in enumerate(names):
            progress(done, name)
            yield name
        progress(len(names), names[-1])


def show(*tables: TextTable) -> None:
    """Print tables; empty ones are left out."""
    for each in tables:
        if not each.rows:
            continue
        table = Table(title=each.title, caption=each.note or None)
        for i, name in enumerate(each.header):
            table.add_column(name.replace("`", ""), justify="left" if i < each.texts else "right")
        for row in each.rows:
            table.add_row(*row)
        Console().print(table)
