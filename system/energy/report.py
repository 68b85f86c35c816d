# SPDX-License-Identifier: Apache-2.0
"""Energy of a run a committed token: three levels, two accounting styles, every split.

Style `device` is the dynamic energy of memory, PIM and NPU, what papers on PIM count. Style `wall`
adds refresh, standby, static power and the link to a slower memory. The floor is the energy of
getting the run's weights and keys/values out of their cells once a pass and once a draft step; its
bytes are counted from the shapes of the models and not from the events that the energy is made of,
so that events which went missing show.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from rich.table import Table

from ahasd.system.devices.work import Events
from ahasd.system.energy.account import (
    COMPONENTS,
    FATES,
    WALL_ONLY,
    EnergyAccount,
    Fate,
    energy_pj,
    standing_pj,
)
from ahasd.system.energy.hardware import Hardware, Priced
from ahasd.system.energy.table import LEVELS, EnergyTable, Level

STYLES = ("device", "wall")
NO_HARDWARE = Hardware()
_PJ_PER_MJ = 10**9
_PS_PER_S = 10**12

Cells = dict[tuple[str, str, str], Fraction]
"""Energy by device, fate and component, pJ."""


def report(
    account: EnergyAccount,
    time_ps: int,
    tokens: int,
    table: EnergyTable,
    cell_bytes: int,
    hardware: Hardware = NO_HARDWARE,
) -> dict[str, Any]:
    """Return the energy of a run, JSON-ready, units in the names.

    Parameters
    ----------
    account
        What happened.
    time_ps
        Length of the run, ps, above 0.
    tokens
        Tokens that were emitted, above 0.
    table
        Energy of every event.
    cell_bytes
        Bytes that the passes and the draft steps of the run need out of the cells, from
        `ModelShape.read_bytes` of each; the floor is made of them.
    hardware
        What control units and AAUs take.

    Raises
    ------
    ValueError
        A number is out of range, or there is no row for something that happened.
    """
    if time_ps < 1 or tokens < 1 or cell_bytes < 0:
        raise ValueError(
            f"time_ps = {time_ps} and tokens = {tokens} must be above 0, "
            f"cell_bytes = {cell_bytes} not below"
        )
    booked = account.events(time_ps)
    prices = Priced(table, hardware)
    found: dict[str, Any] = {
        "table": table.name,
        "time_s": time_ps / _PS_PER_S,
        "tokens": tokens,
        "cell_bytes": cell_bytes,
        "floor_mj_per_token": _mj(8 * cell_bytes * table.floor_pj_per_bit.exact / tokens),
    }
    for level in LEVELS:
        standing = standing_pj(table, hardware, level, account.ranks, time_ps)
        cells = _cells(booked, standing, prices, level)
        total = sum(energy_pj(sum(booked.values(), Events()), prices, level).values(), Fraction(0))
        total += sum(standing.values(), Fraction(0))
        found[level] = {
            "average_w": float(total / time_ps),
            "wall": _split(cells, tokens),
            "device": _split(
                {key: energy for key, energy in cells.items() if key[2] not in WALL_ONLY}, tokens
            ),
        }
        if sum(cells.values(), Fraction(0)) != total:
            raise AssertionError(f"energy by cell does not add up to {float(total)} pJ at {level}")
    if table.sustained_w:
        found["sustained_w"] = {level: getattr(table.sustained_w, level) for level in LEVELS}
    found["events"] = {
        f"{device}.{fate}": {name: count for name, count in asdict(events).items() if count}
        for (device, fate), events in booked.items()
    }
    found["hardware"] = dict(hardware.told)
    return found


def check_floor(found: dict[str, Any]) -> None:
    """Refuse a report that needs less than its reads from the cells do.

    Raises
    ------
    AssertionError
        The energy at some level and style is below the floor: events are missing.
    """
    floor = found["floor_mj_per_token"]
    for level in LEVELS:
        for style in STYLES:
            energy = found[level][style]["mj_per_token"]
            if energy < floor:
                raise AssertionError(
                    f"{energy:.4g} mJ/token ({level}, {style}) is below the {floor:.4g} mJ/token"
                    f" that reading {found['cell_bytes']} bytes from the cells takes: events are"
                    " missing from the account"
                )


def _cells(
    booked: Mapping[tuple[str, Fate], Events],
    standing: Mapping[tuple[str, str], Fraction],
    prices: Priced,
    level: Level,
) -> Cells:
    cells: Cells = {
        (device, fate, component): energy
        for (device, fate), events in booked.items()
        for component, energy in energy_pj(events, prices, level).items()
    }
    return cells | {
        (device, "standing", component): energy for (device, component), energy in standing.items()
    }


def _split(cells: Cells, tokens: int) -> dict[str, Any]:
    """Return a total and its three splits; each is checked to add up to it."""
    total = sum(cells.values(), Fraction(0))
    devices = dict.fromkeys(device for device, _, _ in cells)
    found: dict[str, Any] = {"total_mj": _mj(total), "mj_per_token": _mj(total / tokens)}
    for axis, (name, keys) in enumerate(
        {"device": devices, "fate": FATES, "component": COMPONENTS}.items()
    ):
        parts = _sums(cells, axis, keys)
        if sum(parts.values(), Fraction(0)) != total:
            raise AssertionError(f"energy by {name} does not add up to {float(total)} pJ")
        found[f"by_{name}_mj"] = {key: _mj(energy) for key, energy in parts.items() if energy}
    return found


def _sums(cells: Cells, axis: int, keys: Iterable[str]) -> dict[str, Fraction]:
    return {
        key: sum((energy for cell, energy in cells.items() if cell[axis] == key), Fraction(0))
        for key in keys
    }


def _mj(energy_pj: Fraction) -> float:
    return float(energy_pj / _PJ_PER_MJ)


def energy_table(found: dict[str, Any]) -> Table:
    """Return a report as a table: mJ a token, low to high, split by fate and by component."""
    caption = (
        f"DRAM-read floor {found['floor_mj_per_token']:.4g} mJ/token;"
        " device: dynamic energy of memory, PIM and NPU; wall: all."
    )
    if "sustained_w" in found:
        budget = found["sustained_w"]
        caption += f" A phone gets rid of {budget['low']:g}-{budget['high']:g} W (assumed)."
    shown = Table(title=f"energy, mJ/token, by table {found['table']}", caption=caption)
    shown.add_column("")
    for level in LEVELS:
        shown.add_column(level, justify="right")
    for style in STYLES:
        shown.add_row(style, *(f"{found[level][style]['mj_per_token']:.4g}" for level in LEVELS))
    shown.add_row("average W, wall", *(f"{found[level]['average_w']:.3g}" for level in LEVELS))
    for split in ("fate", "device", "component"):
        shown.add_section()
        for key in found["high"]["wall"][f"by_{split}_mj"]:
            parts = [found[level]["wall"][f"by_{split}_mj"].get(key, 0) for level in LEVELS]
            shown.add_row(f"{split}: {key}", *(f"{e / found['tokens']:.4g}" for e in parts))
    return shown
