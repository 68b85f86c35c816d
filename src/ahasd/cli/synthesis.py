# SPDX-License-Identifier: Apache-2.0
"""What the commands of synthesis share."""

import itertools
import textwrap
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from ahasd.cli.progress import token_progress
from ahasd.gen.manifest import find_unit
from ahasd.rtl.configs import UNITS
from ahasd.synth.silicon import NOT_ON_DIE
from ahasd.synth.tables import TextTable


def chosen(
    units: Sequence[str], steps: Sequence[dict[str, str]] = ({},)
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the units to do, each with every step, while a bar shows the unit.

    By default they are all that are on a DRAM die.

    Raises
    ------
    UserError
        A unit is not in the catalogue.
    """
    names = list(dict.fromkeys(units)) or [name for name in UNITS if name not in NOT_ON_DIE]
    for name in names:
        find_unit(name)
    total = len(names) * len(steps)
    with token_progress(names[0], total) as progress:
        for done, (name, step) in enumerate(itertools.product(names, steps)):
            progress(done, name)
            yield name, step
        progress(total, names[-1])


def show(*tables: TextTable) -> None:
    """Print tables, empty ones left out; row by row where a terminal is too narrow for one.

    Figures are never cut: what is no terminal gets lines as long as they have to be.
    """
    console = Console()
    for each in map(_plain, tables):
        if not each.rows:
            continue
        columns = list(zip(each.header, *each.rows, strict=True))
        widths = [max(map(len, (*name.split(), *values))) for name, *values in columns]
        needed = _table_width(widths)
        if needed > console.width and console.is_terminal:
            _show_rows(console, each)
            continue
        table = Table(title=each.title, caption=each.note or None)
        wraps = _table_width([max(map(len, column)) for column in columns]) > console.width
        for i, (name, width) in enumerate(zip(each.header, widths, strict=True)):
            title = textwrap.fill(name, width) if wraps else name
            table.add_column(title, justify="left" if i < each.texts else "right")
        for row in each.rows:
            table.add_row(*row)
        Console(width=max(needed, console.width)).print(table)


def _plain(table: TextTable) -> TextTable:
    """Return a table without the marks that pages have."""
    header, *rows = (
        tuple(text.replace("`", "") for text in r) for r in (table.header, *table.rows)
    )
    return table._replace(header=header, rows=rows)


def _table_width(widths: Sequence[int]) -> int:
    """Return the characters of a line of columns, with blanks and borders."""
    return sum(width + 3 for width in widths) + 1


def _show_rows(console: Console, table: TextTable) -> None:
    """Print the rows of a table one below the other, a line for each column."""
    console.print(f"{table.title}:", markup=False, highlight=False)
    longest = max(map(len, table.header))
    for row in table.rows:
        for name, value in zip(table.header, row, strict=True):
            told = f"  {name:{longest}}  {value}"
            console.print(told, markup=False, highlight=False, soft_wrap=True)
        console.print()
    if table.note:
        console.print(table.note, markup=False, highlight=False)
