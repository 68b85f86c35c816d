# SPDX-License-Identifier: Apache-2.0
"""Tables of Liberty over slew and load, and the arcs of a cell that have them."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ahasd import UserError
from ahasd.synth.power.liberty import Group


@dataclass(frozen=True)
class Table:
    """Values over input slew and output load, either of which may be missing, in library units."""

    slews: Sequence[float]
    loads: Sequence[float]
    values: Sequence[Sequence[float]]

    def at(self, slew: float, load: float) -> float:
        """Interpolate linearly; outside, the nearest two entries go on."""
        row, across = _place(self.slews, slew)
        column, along = _place(self.loads, load)
        low, high = self.values[row], self.values[min(row + 1, len(self.values) - 1)]
        right = min(column + 1, len(low) - 1)
        below = low[column] + along * (low[right] - low[column])
        above = high[column] + along * (high[right] - high[column])
        return below + across * (above - below)


def _place(axis: Sequence[float], value: float) -> tuple[int, float]:
    """Return the interval of an axis that a value belongs to, and where in it."""
    if len(axis) < 2:
        return 0, 0.0
    left = min(max(bisect_right(axis, value) - 1, 0), len(axis) - 2)
    return left, (value - axis[left]) / (axis[left + 1] - axis[left])


@dataclass(frozen=True)
class Arc:
    """Tables of one arc; a rise and a fall follow each other, so what counts is their mean.

    Attributes
    ----------
    related
        Input that causes it, '' for the pin itself.
    rail
        Supply pin that the energy comes from, '' if only one is told.
    tables
        Of rise and fall.
    """

    related: str
    rail: str
    tables: tuple[Table, ...]

    def at(self, slew: float, load: float) -> float:
        """Return the mean of rise and fall."""
        return fmean(table.at(slew, load) for table in self.tables)


def arcs(
    pins: Mapping[str, Group], templates: Mapping[str, Group], group: str, kinds: Sequence[str]
) -> dict[str, list[Arc]]:
    """Return the arcs of a kind by pin.

    Parameters
    ----------
    pins
        Groups of a cell's pins by name.
    templates
        Of tables, by name.
    group, kinds
        Kind of the arcs' groups, and of the tables in them.
    """
    found: dict[str, list[Arc]] = {}
    for name, pin in pins.items():
        for arc in pin.of(group):
            tables = tuple(_table(each, templates) for each in arc.of(*kinds))
            if tables:
                rail = arc.text("related_pg_pin")
                for related in arc.text("related_pin").split() or [""]:
                    found.setdefault(name, []).append(Arc(related, rail, tables))
    return found


def _table(group: Group, templates: Mapping[str, Group]) -> Table:
    """Return a table, by slew first."""
    template = templates.get(group.arguments[0] if group.arguments else "", Group("", []))
    axes = []
    for i in (1, 2):
        numbers = group.numbers(f"index_{i}") or template.numbers(f"index_{i}")
        if template.text(f"variable_{i}"):
            axes.append((template.text(f"variable_{i}") == "total_output_net_capacitance", numbers))
    values = group.numbers("values")
    by = dict(axes)
    slews, loads = by.get(False, [0.0]), by.get(True, [0.0])
    if len(values) != len(slews) * len(loads):
        raise UserError(
            f"a table of {group.kind} has {len(values)} values, not {len(slews)} times {len(loads)}"
        )
    if axes and axes[0][0]:  # loads first
        rows = [[values[i * len(slews) + j] for i in range(len(loads))] for j in range(len(slews))]
    else:
        rows = [values[j * len(loads) : (j + 1) * len(loads)] for j in range(len(slews))]
    return Table(slews, loads, rows)
