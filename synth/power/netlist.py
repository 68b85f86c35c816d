# SPDX-License-Identifier: Apache-2.0
"""A mapped netlist as arrays: what feeds what, in an order in which values settle in one pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ahasd.gen.yosys import YosysError
from ahasd.synth.power.cells import INPUTS, Cell, Cells
from ahasd.synth.power.clocks import Clocks, trace

LOW, HIGH, NOWHERE = 0, 1, 2
"""Nets that are no nets: the constants, and where outputs go that nobody reads."""


@dataclass(frozen=True)
class Functions:
    """Truth tables on nets: row i reads `inputs[i]`, lowest bit first."""

    inputs: np.ndarray
    tables: np.ndarray

    @staticmethod
    def of(rows: Sequence[tuple[Sequence[int], int]]) -> "Functions":
        """Build from nets and tables."""
        inputs = np.full((len(rows), INPUTS), LOW, np.int32)
        for i, (nets, _) in enumerate(rows):
            inputs[i, : len(nets)] = nets
        return Functions(inputs, np.array([table for _, table in rows], np.uint64))


@dataclass(frozen=True)
class Netlist:
    """A netlist.

    Attributes
    ----------
    cells
        Type of every cell with its nets by pin.
    ports
        Nets of every port, lowest bit first.
    nets
        How many there are.
    gates, gate_nets
        Outputs of logic, in an order in which inputs come first.
    level_starts
        Where each level of gates begins, and the end: no gate reads one of its own level.
    sink_starts, sinks
        The gates that read net n: `sinks[sink_starts[n]:sink_starts[n + 1]]`.
    flops
        Next states of flip-flops.
    clear, preset
        Truth tables on the same nets: when they are forced to 0 and to 1.
    flop_sink_starts, flop_sinks
        As for gates: the flip-flops that read a net.
    domains, gates_of
        Numbers of every flip-flop's clock domain and clock gate, `UNGATED` without one.
    clocks
        Nets that are clocks, and what gates them.
    state_nets, state_tables, state_starts
        Nets that flip-flops drive, with the truth table over {state, its inverse}; those of
        flip-flop i begin at `state_starts[i]`.
    """

    cells: Sequence[tuple[Cell, Mapping[str, int]]]
    ports: Mapping[str, Sequence[int]]
    nets: int
    gates: Functions
    gate_nets: np.ndarray
    level_starts: np.ndarray
    sink_starts: np.ndarray
    sinks: np.ndarray
    flops: Functions
    clear: np.ndarray
    preset: np.ndarray
    flop_sink_starts: np.ndarray
    flop_sinks: np.ndarray
    domains: np.ndarray
    gates_of: np.ndarray
    clocks: Clocks
    state_nets: np.ndarray
    state_tables: np.ndarray
    state_starts: np.ndarray


def build(told: Mapping[str, Any], cells: Cells, domains: Sequence[str]) -> Netlist:
    """Return the netlist that `ahasd.synth.flow` found.

    Parameters
    ----------
    told
        Its `ports` and `cells`.
    cells
        The types of its cells.
    domains
        Clock domains; their ports have `_clk` behind the name.

    Raises
    ------
    YosysError
        A flip-flop's clock is neither a port nor behind gates alone, or logic feeds itself.
    """
    numbers: dict[int, int] = {}

    def net(bit: int | str) -> int:
        if isinstance(bit, str):
            return HIGH if bit == "1" else LOW
        return numbers.setdefault(bit, len(numbers) + 3)

    ports = {name: [net(bit) for bit in bits] for name, bits in told["ports"].items()}
    placed = [
        (cells.by_type[kind], {pin: net(bit) for pin, bit in pins.items()})
        for kind, pins in told["cells"].values()
    ]
    from_ports = {ports[f"{name}_clk"][0]: i for i, name in enumerate(domains)}
    clocks = trace(placed, from_ports, (LOW, HIGH, NOWHERE))
    gates: list[tuple[list[int], int]] = []
    outputs: list[int] = []
    flops: list[tuple[Cell, list[int]]] = []
    of_domain: list[int] = []
    gates_of: list[int] = []
    driven: list[tuple[int, int, int]] = []
    for i, (cell, pins) in enumerate(placed):
        if i in clocks.cells:
            continue
        inputs = [pins.get(pin, LOW) for pin in cell.inputs]
        for pin, table in cell.outputs.items():
            out = pins.get(pin, NOWHERE)
            if cell.state is None:
                gates.append((inputs, table))
                outputs.append(out)
            else:
                driven.append((out, table, len(flops)))
        if cell.state is not None:
            clock = clocks.nets.get(pins[cell.state.clock])
            if clock is None or clock.falls:
                raise YosysError(f"a flip-flop {cell.name} has a clock that is no port")
            flops.append((cell, inputs))
            of_domain.append(clock.domain)
            gates_of.append(clock.gate)
    order, level_starts = _levels(gates, outputs)
    gates, outputs = [gates[i] for i in order], [outputs[i] for i in order]
    count = len(numbers) + 3
    sink_starts, sinks = _readers([nets for nets, _ in gates], count)
    flop_sink_starts, flop_sinks = _readers([nets for _, nets in flops], count)
    states = [(cell.state, nets) for cell, nets in flops if cell.state]
    return Netlist(
        cells=placed,
        ports=ports,
        nets=count,
        gates=Functions.of(gates),
        gate_nets=np.array(outputs, np.int32),
        level_starts=np.array(level_starts, np.int32),
        sink_starts=sink_starts,
        sinks=sinks,
        flops=Functions.of([(nets, state.following) for state, nets in states]),
        clear=np.array([state.clear for state, _ in states], np.uint64),
        preset=np.array([state.preset for state, _ in states], np.uint64),
        flop_sink_starts=flop_sink_starts,
        flop_sinks=flop_sinks,
        domains=np.array(of_domain, np.int32),
        gates_of=np.array(gates_of, np.int32),
        clocks=clocks,
        state_nets=np.array([out for out, _, _ in driven], np.int32),
        state_tables=np.array([table for _, table, _ in driven], np.int32),
        state_starts=np.searchsorted(
            [flop for _, _, flop in driven], np.arange(len(flops) + 1)
        ).astype(np.int32),
    )


def _readers(read: Sequence[Sequence[int]], nets: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where the readers of each net begin, and the readers."""
    pairs = sorted({(source, i) for i, sources in enumerate(read) for source in sources})
    starts = np.searchsorted([source for source, _ in pairs], np.arange(nets + 1))
    return starts.astype(np.int32), np.array([reader for _, reader in pairs], np.int32)


def _levels(
    gates: Sequence[tuple[Sequence[int], int]], outputs: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return gates in the order of their levels, and where each level begins."""
    driver = {out: i for i, out in enumerate(outputs) if out != NOWHERE}
    feeds: dict[int, list[int]] = {}
    waiting = []
    for i, (nets, _) in enumerate(gates):
        sources = {driver[source] for source in nets if source in driver}
        waiting.append(len(sources))
        for source in sources:
            feeds.setdefault(source, []).append(i)
    order: list[int] = []
    starts = [0]
    level = [i for i, count in enumerate(waiting) if count == 0]
    while level:
        order += level
        starts.append(len(order))
        after = []
        for gate in level:
            for sink in feeds.get(gate, ()):
                waiting[sink] -= 1
                if waiting[sink] == 0:
                    after.append(sink)
        level = after
    if len(order) < len(gates):
        raise YosysError("logic feeds itself: its values do not settle in one pass")
    return order, starts
