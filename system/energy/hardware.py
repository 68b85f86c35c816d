# SPDX-License-Identifier: Apache-2.0
"""What control units and AAUs take in a run: from records of their gates under the pins of a run.

The records are those of `ahasd power` in `synth/results`, one for each cell library. A unit of a
run is looked up by its parameters: what has no record is not counted, and the report says so.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from ahasd.system.energy.table import LEVELS, EnergyTable, Range

AAU, CONTROL = "aau", "control"
COMPONENTS = {"aau": AAU, "ahasd": CONTROL, "draftctl": CONTROL}
"""Component of each unit that is counted."""
BUSY = {AAU: "aau_pj_per_cycle", CONTROL: "control_pj_per_step"}
IDLE = {AAU: "aau_idle_w", CONTROL: "control_idle_w"}
"""Rows by component."""


Row = Mapping[str, Any]


class Part(NamedTuple):
    """Equal units of a run.

    Attributes
    ----------
    unit
        Name in the catalogue.
    params
        Parameters.
    instances
        How many there are.
    """

    unit: str
    params: Any
    instances: int


@dataclass(frozen=True)
class Measured:
    """What one unit takes, over the ranges of all records.

    Attributes
    ----------
    idle_w
        While nobody asks it: clocks and assumed leakage.
    busy_pj
        Beyond that, an event: a cycle of work of an AAU, a draft step of a control unit.
    records
        Where that is from, by cell library.
    """

    idle_w: Range
    busy_pj: Range
    records: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Hardware:
    """What the hardware of a run takes.

    Attributes
    ----------
    rows
        pJ an event and W of all units together, by key.
    told
        What a report says of it, by unit.
    """

    rows: Mapping[str, Range] = field(default_factory=dict)
    told: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Priced:
    """Rows of a table and of the hardware of a run; see `ahasd.system.energy.account.Prices`."""

    table: EnergyTable
    hardware: Hardware

    def row(self, key: str) -> Range:
        """Return a row of the hardware, or else of the table; ValueError if neither has it."""
        return self.hardware.rows.get(key) or self.table.row(key)


def hardware_of(parts: Iterable[Part], records: Sequence[Row] | None = None) -> Hardware:
    """Return what the units of a run take; those without a record count as nothing.

    Parameters
    ----------
    parts
        The units.
    records
        Rows of records of power; None are those of the package.
    """
    rows: dict[str, Range] = {}
    told: dict[str, Any] = {}
    for unit, params, instances in parts:
        component = COMPONENTS[unit]
        found = measured(unit, params, records)
        told[unit] = {"instances": instances, "component": component}
        if found is None:
            nothing = Range(low=0, mid=0, high=0, source="no record")
            told[unit] |= {"counted": False, "why": "no record of its power has these parameters"}
            for key in (BUSY[component], IDLE[component]):
                rows.setdefault(key, nothing)
            continue
        told[unit] |= {
            "counted": True,
            "idle_w": {level: getattr(found.idle_w, level) for level in LEVELS},
            "busy_pj": {level: getattr(found.busy_pj, level) for level in LEVELS},
            "records": {name: dict(origin) for name, origin in found.records.items()},
        }
        for key, one, times in (
            (BUSY[component], found.busy_pj, 1),
            (IDLE[component], found.idle_w, instances),
        ):
            rows[key] = _sum(rows.get(key), one, times)
    return Hardware(rows, told)


def _sum(held: Range | None, one: Range, times: int) -> Range:
    """Return a row with units added to it."""
    values = {
        level: getattr(one, level) * times + (getattr(held, level) if held else 0)
        for level in LEVELS
    }
    return Range(**values, source=one.source)


def measured(unit: str, params: Any, records: Sequence[Row] | None = None) -> Measured | None:
    """Return what a unit with these parameters takes; None if no record is of it.

    Low and high are the ends of all libraries' ranges, mid is their mean.
    """
    told = json.loads(json.dumps(asdict(params)))
    held = _packaged() if records is None else records
    rows = [row for row in held if row["unit"] == unit and row["parameters"] == told]
    if not rows:
        return None
    source = "records of gates: " + ", ".join(row["library"]["name"] for row in rows)
    idle = [
        (mw + leakage) / 1000
        for row in rows
        for mw, leakage in zip(row["scaled_mw"]["idle"], row["assumed_leakage_mw"], strict=True)
    ]
    busy = [pj for row in rows for pj in _busy_pj(row)]
    return Measured(
        idle_w=_range(idle, source),
        busy_pj=_range(busy, source),
        records={row["library"]["name"]: _origin(row) for row in rows},
    )


def _busy_pj(row: Row) -> Iterator[float]:
    """Yield both ends of the energy of an event beyond that of an idle unit, pJ."""
    scaled, activity = row["scaled_mw"], row["activity"]
    if COMPONENTS[row["unit"]] == AAU:
        per_event_ps = row["periods_ps"]["pim"]
    else:
        cycles = activity["stepped"].items()
        busy_ps = max(count * row["periods_ps"][domain] for domain, count in cycles)
        per_event_ps = busy_ps / activity["run"]["draft_steps"]
    for busy_mw, idle_mw in zip(scaled["busy"], scaled["idle"], strict=True):
        yield max(0.0, busy_mw - idle_mw) * per_event_ps / 1000


def _range(values: list[float], source: str) -> Range:
    """Return the ends of some figures and their mean."""
    low, high = min(values), max(values)
    mid = min(max(sum(values) / len(values), low), high)
    return Range(low=low, mid=mid, high=high, source=source)


def _origin(row: Row) -> dict[str, Any]:
    """Return what a report says of a record."""
    activity = row["activity"]
    return {
        "node_nm": row["library"]["node_nm"],
        "library_sha256": row["library"]["sha256"],
        "design_sha256": row["design_sha256"],
        "activity_sha256": activity["sha256"],
        "config_sha256": activity["run"]["config_sha256"],
    }


@cache
def _packaged() -> tuple[Row, ...]:
    """Return the rows of the package's records, in a fixed order."""
    folder = files("ahasd.synth") / "results"
    paths = sorted(
        (path for path in folder.iterdir() if path.name.startswith("power-")),
        key=lambda path: path.name,
    )
    return tuple(
        row for path in paths for row in json.loads(path.read_text(encoding="utf-8"))["rows"]
    )
