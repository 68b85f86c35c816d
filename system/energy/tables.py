# SPDX-License-Identifier: Apache-2.0
"""The tables of `docs/energy.md`, computed from the packaged energy tables."""

from functools import partial

from ahasd.system.accounting import parts
from ahasd.system.config import load_config
from ahasd.system.devices.markdown import markdown_table
from ahasd.system.energy.account import CHARGES, IDLE, WALL_ONLY
from ahasd.system.energy.hardware import BUSY, COMPONENTS, measured
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
    rows += [(name, "units x time", f"`{key}`", "wall") for name, (_, key) in IDLE.items()]
    return markdown_table(("component", "events", "row", "style"), rows, text_columns=4)


def hardware_table() -> str:
    """Return what the units of the default run's hardware take, one of each."""
    config = load_config("default", {"hardware.draftctl": True})
    rows = []
    for unit, params, instances in parts(config):
        found = measured(unit, params)
        if found is None:
            rows.append((f"`{unit}`", str(instances), "no record", "", "", ""))
            continue
        idle = [f"{1000 * getattr(found.idle_w, level):.3g}" for level in LEVELS]
        busy = [f"{getattr(found.busy_pj, level):.3g}" for level in LEVELS]
        cells = ", ".join(found.records)
        event = BUSY[COMPONENTS[unit]].removeprefix(f"{COMPONENTS[unit]}_pj_per_")
        rows.append((f"`{unit}`", str(instances), " / ".join(idle), event, " / ".join(busy), cells))
    header = ("unit", "in the run", "idle, mW", "event", "pJ an event", "records of")
    return markdown_table(header, rows, text_columns=6)


TABLES = {
    "energy-charges": charges_table,
    "energy-hardware": hardware_table,
    **{f"energy-{name}": partial(values_table, name) for name in NAMES},
}
"""Generator of each marked table in the page, by marker name."""
