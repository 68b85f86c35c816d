# SPDX-License-Identifier: Apache-2.0
"""The tables of `docs/energy.md`, computed from the packaged energy tables."""

from functools import partial

from ahasd.system.devices.markdown import markdown_table
from ahasd.system.energy.account import CHARGES, WALL_ONLY
from ahasd.system.energy.table import LEVELS, load_energy

NAMES = ("mobile", "hbm", "gpu")


def values_table(name: str) -> str:
    """Return every row of a table with its source."""
    table = load_energy(name)
    rows = [
        (f"`{key}`", *(f"{getattr(row, level):g}" for level in LEVELS), row.source)
        for key, row in table.rows().items()
    ]
    floor = table.floor_pj_per_bit
    rows.append(("`floor_pj_per_bit`", "", f"{floor.value:g}", "", floor.source))
    return markdown_table(("row", *LEVELS, "source"), rows, text_columns=5)


def charges_table() -> str:
    """Return which events are charged what, and in which style."""
    rows = [
        (
            charge.component,
            f"`{charge.events}`",
            f"`{charge.row}`",
            "wall" if charge.component in WALL_ONLY else "device, wall",
        )
        for charge in CHARGES
    ]
    rows.append(("background", "ranks x time", "`background_w`", "wall"))
    rows.append(("static", "time", "`static_w`", "wall"))
    return markdown_table(("component", "events", "row", "style"), rows, text_columns=4)


TABLES = {
    "energy-charges": charges_table,
    **{f"energy-{name}": partial(values_table, name) for name in NAMES},
}
"""Generator of each marked table in the page, by marker name."""
