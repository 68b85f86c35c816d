# SPDX-License-Identifier: Apache-2.0
"""Energy of every net's change and of every clock's cycle, from the tables of the cells.

Simplified: a transition comes as slow as the mean of what causes it, rise and fall alike; arcs that
depend on other inputs count alike; wires and the tree of a clock have no capacitance. Since that
tree is missing, a clock is as steep as a port wherever it goes, and a clock gate drives no more
than an output port: behind it there would be buffers. For the same reason no net is slower than
the tables go: parts that are mapped apart do not see how much a net between them drives.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from ahasd.synth.library import Library
from ahasd.synth.power.arcs import Arc
from ahasd.synth.power.cells import Cell, Cells
from ahasd.synth.power.clocks import UNGATED, Clock
from ahasd.synth.power.netlist import NOWHERE, Netlist


@dataclass(frozen=True)
class Energies:
    """What things take.

    Attributes
    ----------
    switching_pj, internal_pj
        One change of each net: of the charge on it, and inside the cells around it.
    clock_pj
        One cycle by domain: in the flip-flops that wait for the edge, in clock gates, open or not,
        and on the clock pins of these.
    gated_pj
        One cycle in which a clock gate is open, by gate: in itself, in the flip-flops behind it and
        on their clock pins.
    leakage_nw
        Of all cells.
    """

    switching_pj: np.ndarray
    internal_pj: np.ndarray
    clock_pj: Mapping[str, float]
    gated_pj: np.ndarray
    leakage_nw: float


def drive_slew(library: Library, cells: Cells) -> float:
    """Return the slew of ports, in the library's unit: the smallest buffer with four inverters."""
    buffer = cells.by_type[library.buffer]
    load = library.load_ff / 1000 / cells.load_unit_pf
    arcs = next(iter(buffer.slews.values()))
    return fmean(arc.at(arc.tables[0].slews[0], load) for arc in arcs)


def energies(
    netlist: Netlist, cells: Cells, domains: Sequence[str], *, slew: float, load_ff: float
) -> Energies:
    """Return the energies of a netlist.

    Parameters
    ----------
    netlist, cells, domains
        The netlist, as it was built.
    slew
        Of ports and clocks, in the library's unit.
    load_ff
        On every output port, fF.
    """
    capacitance_pf = np.zeros(netlist.nets)
    clocks = netlist.clocks.nets
    outputs: set[int] = set()
    for cell, pins in netlist.cells:
        for pin, net in pins.items():
            if _drives(cell, pin):
                outputs.add(net)
            else:
                capacitance_pf[net] += cell.capacitance_pf[pin]
    for nets in netlist.ports.values():
        for net in outputs.intersection(nets):
            capacitance_pf[net] += load_ff / 1000
    slews = _slews(netlist, capacitance_pf / cells.load_unit_pf, slew)

    switching_pj = 0.5 * capacitance_pf * cells.voltage**2
    internal_pj = np.zeros(netlist.nets)
    clock_pj = dict.fromkeys(domains, 0.0)
    gated_pj = np.zeros(len(netlist.clocks.gates))

    def book(clock: Clock, change_pj: float) -> None:
        """Add two changes a cycle."""
        if clock.gate == UNGATED:
            clock_pj[domains[clock.domain]] += 2 * change_pj
        else:
            gated_pj[clock.gate] += 2 * change_pj

    leakage_nw = 0.0
    for cell, pins in netlist.cells:
        leakage_nw += cell.leakage_nw
        for pin, arcs in cell.energies.items():
            net = pins.get(pin, NOWHERE)
            load_pf = capacitance_pf[net]
            load = (min(load_pf, load_ff / 1000) if net in clocks else load_pf) / cells.load_unit_pf
            energy = cells.energy_unit_pj * _by_rail(
                arcs, lambda arc, net=net, pins=pins: slews[pins.get(arc.related, net)], load
            )
            if net in clocks:
                book(clocks[net], energy)
            else:
                internal_pj[net] += energy
    for net, clock in clocks.items():
        book(clock, switching_pj[net])
    internal_pj[NOWHERE] = switching_pj[NOWHERE] = 0.0
    return Energies(switching_pj, internal_pj, clock_pj, gated_pj, leakage_nw)


def _drives(cell: Cell, pin: str) -> bool:
    return pin in cell.outputs or (cell.gate is not None and pin == cell.gate.output)


def _slews(netlist: Netlist, loads: np.ndarray, slew: float) -> np.ndarray:
    """Return the slew of every net but clocks, in one pass from ports and flip-flops."""
    slews = np.full(netlist.nets, slew)
    kinds = {cell.name: cell for cell, _ in netlist.cells}.values()
    slowest = max(
        (
            table.slews[-1]
            for cell in kinds
            for arcs in cell.energies.values()
            for arc in arcs
            for table in arc.tables
        ),
        default=slew,
    )
    drivers = {
        net: (cell, pins, pin)
        for cell, pins in netlist.cells
        for pin, net in pins.items()
        if _drives(cell, pin)
    }
    for net in (*netlist.state_nets, *netlist.gate_nets):
        if net != NOWHERE:
            cell, pins, pin = drivers[net]
            arcs = cell.slews.get(pin, ())
            if arcs:
                found = fmean(
                    arc.at(slews[pins.get(arc.related, NOWHERE)], loads[net]) for arc in arcs
                )
                slews[net] = min(found, slowest)
    return slews


def _by_rail(arcs: Iterable[Arc], slew_of, load: float) -> float:
    """Return the mean energy of arcs, those of several supply pins added."""
    rails: dict[str, list[float]] = {}
    for arc in arcs:
        rails.setdefault(arc.rail, []).append(arc.at(slew_of(arc), load))
    return sum(fmean(each) for each in rails.values())
