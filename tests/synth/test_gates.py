# SPDX-License-Identifier: Apache-2.0
"""Gates driven with pins: against a naive simulation, and against records that they must equal."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ahasd.gen.yosys import YosysError
from ahasd.synth.power.activity import Activity
from ahasd.synth.power.cells import Cell, Cells, Gating, State
from ahasd.synth.power.gates import GateError, Gates
from ahasd.synth.power.netlist import build

FUNCTIONS: dict[str, Callable[..., int]] = {
    "NAND": lambda a, b: 1 - (a & b),
    "XOR": lambda a, b: a ^ b,
    "MUX": lambda a, b, c: b if c else a,
}


def _cell(name: str, inputs: str, state: State | None = None, **outputs: int) -> Cell:
    return Cell(name, 0.0, tuple(inputs), outputs, state, {}, {}, {})


CELLS = Cells(
    {
        "NAND": _cell("NAND", "AB", Y=0b0111),
        "XOR": _cell("XOR", "AB", Y=0b0110),
        "MUX": _cell("MUX", "ABC", Y=0b11001010),
        "DFF": _cell("DFF", "D", State("K", 0b10, 0, 0), Q=0b1010, N=0b1100),
        "AND": _cell("AND", "AB", Y=0b1000),
        "NOR": _cell("NOR", "AB", Y=0b0001),
        "INV": _cell("INV", "A", Y=0b01),
        "LATCH": replace(_cell("LATCH", "D", Q=0b10), latch="G"),
        "ICG": replace(_cell("ICG", "ET"), gate=Gating("K", "O")),
        # R clears while it is high, and goes before S.
        "DFFR": _cell("DFFR", "DRS", State("K", 0b10101010, 0b11001100, 0b11110000), Q=0b1010),
    },
    voltage=1.0,
    load_unit_pf=1.0,
    energy_unit_pj=1.0,
)


def record(inputs: list[tuple[str, int]], outputs: list[tuple[str, int]], rows: Any) -> Activity:
    """Return an activity from rows of (inputs, outputs, clocks), values by place."""

    def packed(pins: list[tuple[str, int]], side: int) -> np.ndarray:
        lines = [
            b"".join(
                value.to_bytes(-(-width // 8), "little")
                for value, (_, width) in zip(row[side], pins, strict=True)
            )
            for row in rows
        ]
        return np.array([list(line) for line in lines], np.uint8).reshape(len(rows), -1)

    header = {
        "unit": "edc",
        "domains": ["pim", "npu"],
        "periods_ps": {"pim": 1250, "npu": 1000},
        "inputs": inputs,
        "outputs": outputs,
    }
    clocks = np.array([row[2] for row in rows], np.uint8)
    return Activity(header, packed(inputs, 0), packed(outputs, 1), clocks, clocks, "")


GATED: tuple[int, ...] = (270, 271, 272, 273)
"""Clocks behind gates in random designs: of the domains of nets 3, 2, 3, 2."""


def _random_design(draw: random.Random) -> dict[str, Any]:
    """Return a netlist of 60 gates and 12 flip-flops in two domains, without loops in its logic.

    The clocks of a third of the flip-flops have gates, of several kinds: `opens` tells the clock,
    the enable and its value by net.
    """
    width, flops, gates = 10, 12, 60
    data = list(range(6, 6 + width))
    states = list(range(100, 100 + flops))
    inverses = list(range(150, 150 + flops))
    wires: list[Any] = [*data, *states, *inverses, "0", "1"]
    cells = {}
    for i in range(gates):
        kind = draw.choice(list(FUNCTIONS))
        pins = {pin: draw.choice(wires) for pin in CELLS.by_type[kind].inputs}
        cells[f"g{i}"] = [kind, pins | {"Y": 200 + i}]
        wires.append(200 + i)
    for i in range(flops):
        clock = 2 if i % 2 else 3
        if i % 3 == 0:
            clock = GATED[i // 3]
        pins = {"K": clock, "D": draw.choice(wires[-gates:])}
        cells[f"f{i}"] = ["DFF", pins | {"Q": states[i], "N": inverses[i]}]
    opens = {}
    for i, net in enumerate(GATED):
        clock, enable = 2 if i % 2 else 3, draw.choice(range(200, 200 + gates))
        opens[net] = clock, enable, 1
        if i < 1:
            cells[f"c{i}"] = ["ICG", {"K": clock, "E": enable, "T": "0", "O": net}]
            continue
        low, held, other = net + 10, net + 20, 295 + i
        cells[f"i{i}"] = ["INV", {"A": clock, "Y": low}]
        cells[f"l{i}"] = ["LATCH", {"D": enable, "G": low, "Q": held}]
        if i == 1:
            cells[f"c{i}"] = ["AND", {"A": held, "B": clock, "Y": net}]
        elif i == 2:
            cells[f"b{i}"] = ["INV", {"A": other, "Y": net}]
            cells[f"c{i}"] = ["NAND", {"A": clock, "B": held, "Y": other}]
        else:  # open while its enable is low
            cells[f"c{i}"] = ["NOR", {"A": low, "B": held, "Y": net}]
            opens[net] = clock, enable, 0
    order = list(cells)
    draw.shuffle(order)  # no tool writes them in the order of evaluation
    ports = {"pim_clk": [2], "npu_clk": [3], "pim_rst": [4], "npu_rst": [5], "data": data}
    ports["seen"] = [200 + gates - 1 - i for i in range(9)] + states[:3]
    return {"ports": ports, "cells": {name: cells[name] for name in order}, "opens": opens}


def _naive(
    design: dict[str, Any], rows: list[tuple[int, int]]
) -> tuple[list[int], dict[int, int], dict[int, int]]:
    """Simulate by evaluating until nothing changes.

    Returns outputs, changes of every net but clocks, and cycles in which gated clocks are open.

    Changes are counted between settled values, from those after the reset to the states after the
    last edge.
    """
    values: dict[Any, int] = dict.fromkeys(range(300), 0) | {"0": 0, "1": 1}
    states = {name: 0 for name, (kind, _) in design["cells"].items() if kind == "DFF"}
    changes = dict.fromkeys(range(300), 0)
    opened = dict.fromkeys(GATED, 0)
    before: dict[Any, int] | None = None
    outputs = []

    def settle() -> None:
        for _ in range(len(design["cells"])):
            old = dict(values)
            for name, (kind, pins) in design["cells"].items():
                if kind == "DFF":
                    values[pins["Q"]], values[pins["N"]] = states[name], 1 - states[name]
                elif kind == "LATCH":
                    values[pins["Q"]] = values[pins["D"]]  # clocks are low while things settle
                elif kind in FUNCTIONS:
                    inputs = (values[pins[pin]] for pin in CELLS.by_type[kind].inputs)
                    values[pins["Y"]] = FUNCTIONS[kind](*inputs)
            if values == old:
                return

    for number, (word, clocks) in enumerate([(0, 3), *rows]):
        for i, net in enumerate(design["ports"]["data"]):
            values[net] = word >> i & 1
        settle()
        if number:
            outputs.append(sum(values[net] << i for i, net in enumerate(design["ports"]["seen"])))
            assert before is not None
            for net in changes:
                changes[net] += values[net] != before[net]
        rising = {2: clocks & 1, 3: clocks >> 1 & 1}
        for net, (clock, enable, value) in design["opens"].items():
            rising[net] = rising[clock] & (values[enable] == value)
        for net in GATED:
            opened[net] += rising[net] if number else 0
        for name, (kind, pins) in design["cells"].items():
            if kind == "DFF" and rising[pins["K"]]:
                states[name] = values[pins["D"]]
        if not number:
            settle()  # with the states after the reset's edge
        before = dict(values)
    for name, (kind, pins) in design["cells"].items():
        if kind == "DFF":  # what the last edge changed
            for pin in "QN":
                changes[pins[pin]] += states[name] != values[pins["Q"]]
    return outputs, changes, opened


@pytest.mark.parametrize("seed", range(20))
def test_random_circuits_do_what_a_naive_simulation_does(seed: int):
    draw = random.Random(seed)
    design = _random_design(draw)
    rows = [(draw.getrandbits(10), draw.choice((0, 1, 2, 3))) for _ in range(40)]
    outputs, changes, opened = _naive(design, rows)
    told = record(
        [("data", 10)],
        [("seen", 12)],
        [((word,), (out,), clocks) for (word, clocks), out in zip(rows, outputs, strict=True)],
    )
    netlist = build(design, CELLS, ["pim", "npu"])
    gates = Gates(netlist, told)
    toggles = gates.run(told.inputs, told.clocks, told.outputs)

    assert toggles.sum() > 500
    clocks = netlist.clocks.nets
    counted = {}
    for (name, (_, pins)), (_, nets) in zip(design["cells"].items(), netlist.cells, strict=True):
        for pin in pins.keys() & {"Q", "N", "Y", "O"}:
            if name[0] in "gf":
                assert toggles[nets[pin]] == changes[pins[pin]], (name, pin)
            elif pins[pin] in GATED:
                counted[pins[pin]] = gates.opened[clocks[nets[pin]].gate]
    assert counted == opened


COUNTER = {
    # Two bits that count while `on` is high, and that a reset clears at once.
    "ports": {
        "pim_clk": [2],
        "npu_clk": [3],
        "pim_rst": [4],
        "npu_rst": [5],
        "on": [6],
        "out__valid": [10],
        "out__payload": [11, 12],
    },
    "cells": {
        "low_next": ["XOR", {"A": 10, "B": 6, "Y": 20}],
        "carry": ["NAND", {"A": 10, "B": 6, "Y": 21}],
        "no_carry": ["NAND", {"A": 21, "B": "1", "Y": 22}],
        "high_next": ["XOR", {"A": 11, "B": 22, "Y": 23}],
        "low": ["DFFR", {"K": 2, "D": 20, "R": 4, "S": "0", "Q": 10}],
        "high": ["DFFR", {"K": 2, "D": 23, "R": 4, "S": "0", "Q": 11}],
        # Has no reset.
        "copy": ["DFF", {"K": 2, "D": 11, "Q": 12}],
    },
}


def _counted(ons: list[int]) -> Activity:
    """Return the record that a counter must give, by arithmetic."""
    rows, count, copied = [], 0, 0
    for on in ons:
        rows.append(((on,), (count & 1, count >> 1 | copied << 1), 1))
        copied = count >> 1
        count = (count + on) % 4
    return record([("on", 1)], [("out__valid", 1), ("out__payload", 2)], rows)


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_a_counter_counts_whatever_it_powers_up_with(seed: int | None):
    told = _counted([1, 1, 0, 1, 1, 1, 0, 1, 1, 1])
    gates = Gates(build(COUNTER, CELLS, ["pim", "npu"]), told, seed=seed)

    toggles = gates.run(told.inputs, told.clocks, told.outputs)

    # Eight counts after ten edges: the lowest bit changed eight times, the next one four.
    assert [toggles[gates.netlist.ports["out__valid"][0]]] == [8]
    assert [toggles[net] for net in gates.netlist.ports["out__payload"]] == [4, 3]


@pytest.mark.parametrize(
    ("cell", "change", "pin"),
    [
        ("low_next", ["NAND", {"A": 10, "B": 6, "Y": 20}], "out__valid[0]"),
        ("high_next", ["XOR", {"A": 11, "B": 21, "Y": 23}], "out__payload[0]"),
        ("copy", ["DFF", {"K": 2, "D": 10, "Q": 12}], "out__payload[1]"),
        ("low", ["DFFR", {"K": 2, "D": 20, "R": "0", "S": 4, "Q": 10}], "out__valid[0]"),
        ("low", ["DFFR", {"K": 3, "D": 20, "R": 4, "S": "0", "Q": 10}], "out__valid[0]"),
    ],
)
def test_another_cell_is_found_and_the_pin_named(cell: str, change: list[Any], pin: str):
    told = _counted([1, 1, 0, 1, 1, 1, 0, 1])
    broken = COUNTER | {"cells": COUNTER["cells"] | {cell: change}}
    gates = Gates(build(broken, CELLS, ["pim", "npu"]), told)

    with pytest.raises(GateError, match=rf"at edge \d+ of the record: {pin[:-3]}\[{pin[-2]}\]"):
        gates.run(told.inputs, told.clocks, told.outputs)


def test_an_edge_of_no_clock_changes_no_state():
    told = _counted([1, 1, 1])
    gates = Gates(build(COUNTER, CELLS, ["pim", "npu"]), told)

    toggles = gates.run(told.inputs, np.array([0, 2, 0], np.uint8))

    assert toggles[[*gates.netlist.state_nets]].sum() == 0


def test_logic_that_feeds_itself_is_refused():
    loop = COUNTER | {"cells": {"a": ["NAND", {"A": 20, "B": 6, "Y": 20}]}}

    with pytest.raises(YosysError, match="feeds itself"):
        build(loop, CELLS, ["pim", "npu"])


def test_a_clock_that_is_no_port_is_refused():
    gated = COUNTER | {"cells": {"a": ["DFF", {"K": 20, "D": 6, "Q": 21}]}}

    with pytest.raises(YosysError, match="clock that is no port"):
        build(gated, CELLS, ["pim", "npu"])


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ({"a": ["XOR", {"A": 2, "B": 6, "Y": 20}]}, "a clock goes into logic, a cell XOR"),
        # Open while the clock is high, not low.
        (
            {"a": ["LATCH", {"D": 6, "G": 2, "Q": 20}], "b": ["AND", {"A": 2, "B": 20, "Y": 21}]},
            "a latch LATCH is not that of a clock gate",
        ),
        ({"a": ["LATCH", {"D": 6, "G": 6, "Q": 20}]}, "a latch LATCH is not that"),
        # Rises where the clock falls.
        (
            {
                "a": ["NAND", {"A": 2, "B": 6, "Y": 20}],
                "b": ["DFF", {"K": 20, "D": 6, "Q": 21}],
            },
            "no port",
        ),
        ({"a": ["INV", {"A": 2, "Y": 20}], "b": ["DFF", {"K": 20, "D": 6, "Q": 21}]}, "no port"),
        ({"a": ["ICG", {"K": 2, "E": 6, "T": 10, "O": 20}]}, "gate ICG has 2 enables"),
        (
            {
                "a": ["ICG", {"K": 2, "E": 6, "T": "0", "O": 20}],
                "b": ["ICG", {"K": 20, "E": 6, "T": "0", "O": 21}],
            },
            "or a gated clock",
        ),
    ],
)
def test_clocks_that_are_not_understood_are_refused(cells: dict[str, Any], told: str):
    with pytest.raises(YosysError, match=told):
        build(COUNTER | {"cells": cells}, CELLS, ["pim", "npu"])


def test_answers_are_counted_at_edges_of_the_clock_where_only_one_could_be_meant():
    rows = [((1,), (1,), 1), ((0,), (1,), 1), ((1,), (1,), 0), ((1,), (0,), 1), ((1,), (1,), 1)]
    told = record([("out__ready", 1)], [("out__valid", 1)], rows)

    assert told.answers() is None
    assert replace(told, header=told.header | {"domains": ["pim"]}).answers() == 2


def _edges(design: dict[str, Any], told: Activity, seed: int) -> bool:
    """Return whether a design does what is told, from a random state."""
    gates = Gates(build(design, CELLS, ["pim", "npu"]), told, seed=seed)
    try:
        gates.run(told.inputs, told.clocks, told.outputs)
    except GateError:
        return False
    return True


def test_a_reset_goes_on_until_it_has_passed_registers_in_a_row():
    chain = {f"f{i}": ["DFF", {"K": 2, "D": 6 + i, "Q": 7 + i}] for i in range(4)}
    design = {"ports": COUNTER["ports"] | {"seen": [10]}, "cells": chain}
    told = record([("on", 1)], [("seen", 1)], [((1,), (int(i >= 4),), 1) for i in range(6)])

    assert all(_edges(design, told, seed) for seed in range(16))


def test_what_was_never_written_counts_once_it_is_valid():
    design = {
        "ports": COUNTER["ports"],
        "cells": {
            "valid": ["DFFR", {"K": 2, "D": 6, "R": 4, "S": "0", "Q": 10}],
            "low": ["DFF", {"K": 2, "D": 11, "Q": 11}],  # hold what they power up with
            "high": ["DFF", {"K": 2, "D": 12, "Q": 12}],
        },
    }
    pins = [("on", 1)], [("out__valid", 1), ("out__payload", 2)]
    never = record(*pins, [((0,), (0, 0), 1) for _ in range(4)])
    once = record(*pins, [((1,), (int(i > 0), 0), 1) for i in range(4)])

    assert all(_edges(design, never, seed) for seed in range(16))
    assert {_edges(design, once, seed) for seed in range(16)} == {True, False}
