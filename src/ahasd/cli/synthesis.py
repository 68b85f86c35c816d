# SPDX-License-Identifier: Apache-2.0
"""What the commands of synthesis share."""

import itertools
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
