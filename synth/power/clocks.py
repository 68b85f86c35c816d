# SPDX-License-Identifier: Apache-2.0
"""Which nets are clocks, and which of them a gate holds still.

A clock gate is a cell of the library, or a latch that is open while the clock is low and an AND or
its like of its output and the clock. At an edge the latch has what its input has settled to,
so that without delays it is a wire: what the enable is before the edge opens a gate in a cycle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ahasd.gen.yosys import YosysError
from ahasd.synth.power.cells import Cell

Placed = tuple[Cell, Mapping[str, int]]
"""A cell with its nets by pin."""

UNGATED = -1

_INVERTER = 0b01


@dataclass(frozen=True)
class ClockGate:
    """A gate, open in a cycle of its domain if the net `enable` is `opens` before the edge."""

    domain: int
    enable: int
    opens: int = 1


class Clock(NamedTuple):
    """A net that changes twice a cycle.

    Attributes
    ----------
    domain
        Number of its domain.
    gate
        Number of the gate that lets it, `UNGATED` of one that changes in every cycle.
    falls
        It falls at the domain's edge.
    """

    domain: int
    gate: int = UNGATED
    falls: bool = False


@dataclass(frozen=True)
class Clocks:
    """The clocks of a netlist.

    Attributes
    ----------
    gates
        Clock gates.
    nets
        Clocks by net.
    cells
        Numbers of the cells that only drive clocks.
    """

    gates: Sequence[ClockGate]
    nets: Mapping[int, Clock]
    cells: frozenset[int]


def trace(placed: Sequence[Placed], ports: Mapping[int, int], constants: Sequence[int]) -> Clocks:
    """Follow clocks from their ports through buffers, inverters and gates.

    Parameters
    ----------
    placed
        All cells.
    ports
        Domain by the net of its clock's port.
    constants
        Nets that never change.

    Raises
    ------
    YosysError
        Logic makes a clock that is no gate, or a latch that is open while the clock is high.
    """
    nets = {net: Clock(domain) for net, domain in ports.items()}
    readers: dict[int, list[int]] = {}
    for i, (cell, pins) in enumerate(placed):
        if cell.state is None and cell.latch is None:
            for pin in (cell.gate.clock,) if cell.gate else cell.inputs:
                readers.setdefault(pins.get(pin, constants[0]), []).append(i)
    gates: list[ClockGate] = []
    driving: set[int] = set()
    waiting = list(nets)
    while waiting:
        net = waiting.pop()
        for i in readers.get(net, ()):
            cell, pins = placed[i]
            output, clock, gate = _behind(cell, pins, net, nets[net], constants)
            if gate is not None:
                clock = clock._replace(gate=len(gates))
                gates.append(gate)
            driving.add(i)
            nets[output] = clock
            waiting.append(output)
    for cell, pins in placed:
        if cell.latch is not None:
            clock = nets.get(pins[cell.latch])
            if clock is None or clock.gate != UNGATED or not clock.falls:
                raise YosysError(f"a latch {cell.name} is not that of a clock gate")
    return Clocks(gates, nets, frozenset(driving))


def _behind(
    cell: Cell, pins: Mapping[str, int], net: int, clock: Clock, constants: Sequence[int]
) -> tuple[int, Clock, ClockGate | None]:
    """Return what a cell on a clock drives, that clock, and the gate that the cell is, if any."""
    if cell.gate is not None:
        enables = [pins[pin] for pin in cell.inputs if pins.get(pin, constants[0]) not in constants]
        if len(enables) == 1 and clock.gate == UNGATED and not clock.falls:
            return pins[cell.gate.output], clock, ClockGate(clock.domain, enables[0])
        raise YosysError(f"a clock gate {cell.name} has {len(enables)} enables, or a gated clock")
    ((pin, table),) = cell.outputs.items()
    if len(cell.inputs) == 1:
        return pins[pin], clock._replace(falls=clock.falls ^ (table == _INVERTER)), None
    if len(cell.inputs) == 2 and clock.gate == UNGATED:
        place = [pins[each] for each in cell.inputs].index(net)
        enable = pins[cell.inputs[1 - place]]
        # What comes out for a clock of 0 and 1, each with an enable of 0 and 1.
        low, high = (
            [table >> (phase << place | value << (1 - place)) & 1 for value in (0, 1)]
            for phase in (int(clock.falls), int(not clock.falls))
        )
        if low[0] == low[1] and high[0] != high[1]:
            opens = high.index(1 - low[0])
            return (
                pins[pin],
                Clock(clock.domain, falls=bool(low[0])),
                ClockGate(clock.domain, enable, opens),
            )
    raise YosysError(f"a clock goes into logic, a cell {cell.name} that is no gate of one")
