# SPDX-License-Identifier: Apache-2.0
"""What a cell does and what that takes, from its Liberty group, in pJ, pF and nW."""

import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ahasd import UserError
from ahasd.synth.library import Library, evaluator
from ahasd.synth.power.liberty import Group, cells, head

INPUTS = 6
"""Most inputs of a function: a truth table has 64 bits."""

_SCALE = {"f": 1e-3, "p": 1.0, "n": 1e3, "u": 1e6, "m": 1e9}


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


@dataclass(frozen=True)
class State:
    """What a flip-flop does; functions are truth tables over the cell's `inputs`.

    Attributes
    ----------
    clock
        Pin whose rising edge it takes.
    following
        Next state.
    clear, preset
        When it is forced to 0 and to 1.
    """

    clock: str
    following: int
    clear: int
    preset: int


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes
    ----------
    name
        Its type.
    leakage_nw
        Mean over its states.
    inputs
        Input pins but for a clock, in the order of the truth tables: input i is bit i of a row.
    outputs
        Truth table of every output pin; of a flip-flop, over its state alone.
    state
        Of a flip-flop; None of others.
    capacitance_pf
        Of every pin.
    energies
        Arcs of internal energy by pin; of outputs a change of the output, of inputs one of the
        input that leaves the output.
    slews
        Arcs of the output transition by pin.
    """

    name: str
    leakage_nw: float
    inputs: tuple[str, ...]
    outputs: Mapping[str, int]
    state: State | None
    capacitance_pf: Mapping[str, float]
    energies: Mapping[str, Sequence[Arc]]
    slews: Mapping[str, Sequence[Arc]]


@dataclass(frozen=True)
class Cells:
    """The cells of a netlist.

    Attributes
    ----------
    by_type
        The cells.
    voltage
        Supply, V.
    load_unit_pf, energy_unit_pj
        Units of the tables.
    """

    by_type: Mapping[str, Cell]
    voltage: float
    load_unit_pf: float
    energy_unit_pj: float


def read(library: Library, wanted: Collection[str]) -> Cells:
    """Read the cells of these types from a library.

    Raises
    ------
    UserError
        The library lacks the tables of power, or has a cell that cannot be simulated.
    """
    found: dict[str, Cell] = {}
    units = head(library.texts[0])
    for text in library.texts:
        top = head(text)
        templates = {
            group.arguments[0]: group for group in top.of("lu_table_template", "power_lut_template")
        }
        leakage = _quantity(top.text("leakage_power_unit", "1nW"))
        load = _load_pf(top)
        for name, group in cells(text, wanted).items():
            found[name] = _cell(name, group, templates, leakage * 1e-3, load)
    missing = sorted(set(wanted) - found.keys())
    if missing:
        raise UserError(f"library {library.name} has no cell {missing[0]}")
    if not any(cell.energies for cell in found.values()):
        raise UserError(
            f"library {library.name} has no tables of internal power; take --library osu018"
            " (apt-get install qflow-tech-osu018) or files of your own, --liberty PATH"
        )
    conditions = next(units.of("operating_conditions"), units)
    voltage = float(units.text("nom_voltage") or conditions.text("voltage", "0"))
    if voltage <= 0:
        raise UserError(f"library {library.name} does not say its voltage: nom_voltage is missing")
    return Cells(found, voltage, _load_pf(units), _load_pf(units))


def _quantity(text: str) -> float:
    """Return a unit such as `1nW` or `100pW` in the same of pico."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([fpnum])\w*\s*", text, re.I)
    if match is None:
        raise UserError(f"no unit that is known: {text!r}")
    return float(match[1]) * _SCALE[match[2].lower()]


def _load_pf(top: Group) -> float:
    told = top.values.get("capacitive_load_unit", ["1", "pf"])
    return _quantity(f"{told[0]}{told[1]}")


def _cell(
    name: str, group: Group, templates: Mapping[str, Group], leakage_nw: float, load_pf: float
) -> Cell:
    """Return a cell from its group."""
    states = [*group.of("ff")]
    if any(True for _ in group.of("latch", "latch_bank", "ff_bank", "statetable")):
        raise UserError(f"cell {name} is no flip-flop: power takes memories as flip-flops only")
    pins = {pin.arguments[0]: pin for pin in group.of("pin")}
    clock = states[0].text("clocked_on").strip(" ()") if states else ""
    if states and clock not in pins:
        raise UserError(f"cell {name} is not clocked by a pin's rising edge but by {clock!r}")
    inputs = tuple(
        pin for pin, each in pins.items() if each.text("direction") == "input" and pin != clock
    )
    if len(inputs) > INPUTS:
        raise UserError(f"cell {name} has {len(inputs)} inputs; at most {INPUTS} are simulated")
    names = tuple(states[0].arguments) if states else inputs
    leaks = [float(each.text("value")) for each in group.of("leakage_power")]
    told = group.text("cell_leakage_power")
    return Cell(
        name=name,
        leakage_nw=(float(told) if told else fmean(leaks) if leaks else 0.0) * leakage_nw,
        inputs=inputs,
        outputs={
            pin: truth(each.text("function"), names)
            for pin, each in pins.items()
            if each.text("function")
        },
        state=State(
            clock,
            truth(states[0].text("next_state"), inputs),
            truth(states[0].text("clear", "0"), inputs),
            truth(states[0].text("preset", "0"), inputs),
        )
        if states
        else None,
        capacitance_pf={
            pin: float(each.text("capacitance", "0")) * load_pf for pin, each in pins.items()
        },
        energies=_arcs(pins, templates, "internal_power", ("rise_power", "fall_power", "power")),
        slews=_arcs(pins, templates, "timing", ("rise_transition", "fall_transition")),
    )


def truth(function: str, names: Sequence[str]) -> int:
    """Return a function as a truth table: bit r is its value where input i is bit i of r."""
    evaluate = evaluator(function)
    return sum(
        evaluate({name: row >> i & 1 for i, name in enumerate(names)}) << row
        for row in range(1 << len(names))
    )


def _arcs(
    pins: Mapping[str, Group], templates: Mapping[str, Group], group: str, kinds: Sequence[str]
) -> dict[str, list[Arc]]:
    """Return the arcs of a kind by pin."""
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
