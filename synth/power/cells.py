# SPDX-License-Identifier: Apache-2.0
"""What a cell does and what that takes, from its Liberty group, in pJ, pF and nW."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ahasd import UserError
from ahasd.synth.library import Library, evaluator
from ahasd.synth.power.arcs import Arc, arcs
from ahasd.synth.power.liberty import Group, cells, head

INPUTS = 6
"""Most inputs of a function: a truth table has 64 bits."""

_SCALE = {"f": 1e-3, "p": 1.0, "n": 1e3, "u": 1e6, "m": 1e9}


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
class Gating:
    """Pins of a clock gate; its other inputs open it."""

    clock: str
    output: str


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
        Truth table of every output pin; of a flip-flop, over its state alone; of a latch while it
        is open; none of a clock gate.
    state
        Of a flip-flop; None of others.
    capacitance_pf
        Of every pin.
    energies
        Arcs of internal energy by pin; of outputs a change of the output, of inputs one of the
        input that leaves the output.
    slews
        Arcs of the output transition by pin.
    latch
        Of a latch, the pin that opens it while it is high; None of others.
    gate
        Of a clock gate; None of others.
    """

    name: str
    leakage_nw: float
    inputs: tuple[str, ...]
    outputs: Mapping[str, int]
    state: State | None
    capacitance_pf: Mapping[str, float]
    energies: Mapping[str, Sequence[Arc]]
    slews: Mapping[str, Sequence[Arc]]
    latch: str | None = None
    gate: Gating | None = None


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
    states, latches = [*group.of("ff")], [*group.of("latch")]
    gating = group.text("clock_gating_integrated_cell")
    if any(group.of("latch_bank", "ff_bank")) or (any(group.of("statetable")) and not gating):
        raise UserError(f"cell {name} is no flip-flop: power takes memories as flip-flops only")
    if gating and not gating.startswith("latch_posedge"):
        raise UserError(f"clock gate {name} is a {gating}; power takes latch_posedge only")
    pins = {pin.arguments[0]: pin for pin in group.of("pin")}
    clock = states[0].text("clocked_on").strip(" ()") if states else ""
    if states and clock not in pins:
        raise UserError(f"cell {name} is not clocked by a pin's rising edge but by {clock!r}")
    gate = _gate(pins) if gating else None
    latch = latches[0].text("enable").strip(" ()") if latches and not gating else None
    if latch is not None and latch not in pins:
        raise UserError(f"latch {name} is not open while a pin is high but by {latch!r}")
    held = {clock, latch, gate.clock if gate else ""}
    inputs = tuple(
        pin for pin, each in pins.items() if each.text("direction") == "input" and pin not in held
    )
    if len(inputs) > INPUTS:
        raise UserError(f"cell {name} has {len(inputs)} inputs; at most {INPUTS} are simulated")
    names = tuple(states[0].arguments) if states else inputs
    functions = {pin: each.text("function") for pin, each in pins.items() if each.text("function")}
    if latch is not None:
        functions = _open_latch(latches[0], functions)
    leaks = [float(each.text("value")) for each in group.of("leakage_power")]
    told = group.text("cell_leakage_power")
    return Cell(
        name=name,
        leakage_nw=(float(told) if told else fmean(leaks) if leaks else 0.0) * leakage_nw,
        inputs=inputs,
        outputs={} if gate else {pin: truth(each, names) for pin, each in functions.items()},
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
        energies=arcs(pins, templates, "internal_power", ("rise_power", "fall_power", "power")),
        slews=arcs(pins, templates, "timing", ("rise_transition", "fall_transition")),
        latch=latch,
        gate=gate,
    )


def _gate(pins: Mapping[str, Group]) -> Gating:
    """Return the pins of a clock gate."""

    def marked(mark: str) -> str:
        return next(pin for pin, each in pins.items() if each.text(mark) == "true")

    return Gating(marked("clock_gate_clock_pin"), marked("clock_gate_out_pin"))


def _open_latch(latch: Group, functions: Mapping[str, str]) -> dict[str, str]:
    """Return a latch's outputs as functions of its inputs, which they are while it is open."""
    state, inverse = latch.arguments
    data = latch.text("data_in")
    return {
        pin: re.sub(rf"\b{inverse}\b", f"!({data})", re.sub(rf"\b{state}\b", f"({data})", each))
        for pin, each in functions.items()
    }


def truth(function: str, names: Sequence[str]) -> int:
    """Return a function as a truth table: bit r is its value where input i is bit i of r."""
    evaluate = evaluator(function)
    return sum(
        evaluate({name: row >> i & 1 for i, name in enumerate(names)}) << row
        for row in range(1 << len(names))
    )
