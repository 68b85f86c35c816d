# SPDX-License-Identifier: Apache-2.0
"""What a model checker decides: cycles, resets and properties of a design as one graph."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from amaranth.back import rtlil
from amaranth.hdl import Fragment

from ahasd.rtl.lib.properties import STEP, Properties, Still
from ahasd.sim.formal.aig import FALSE, TRUE, Aig
from ahasd.sim.formal.netlist import Bit, Netlist, synthesise

RESET_EDGES = 8
"""Edges of every clock under reset before the first cycle, where there are several domains."""


@dataclass(frozen=True)
class Register:
    """A flip-flop of the unit, with the literals of its present value and of its input."""

    names: tuple[str, ...]
    now: int
    data: int

    @property
    def group(self) -> str:
        """Instance or structure that it is in, by its name."""
        return self.names[0].rpartition(".")[0]


class Model:
    """A unit with its properties, ready for proofs.

    A cycle is an edge of the clock. With several domains it is an edge of those whose input
    `edge_<domain>` is 1, so that every interleaving of the clocks is a run. Observers in the
    domain `step` have an edge in every cycle.

    A run starts from any state whatsoever, followed by an edge under reset: what reset does not
    reach, memories above all, starts with any value, and initial values are not believed. With one
    domain, reset is a free input afterwards. With several there are `RESET_EDGES` edges of every
    clock under reset, and it stays off afterwards.

    Parameters
    ----------
    properties
        The unit and what must hold of it.

    Attributes
    ----------
    aig
        The graph.
    registers
        Next value by present value, as `Aig.aiger` takes them.
    assertions
        Violations of each assertion, by name, with all assumptions met so far: one for every
        statement of that name, and for every group of flip-flops that are to keep still, to be
        decided one by one.
    covers
        Each cover, by name, likewise.
    assumptions
        Names of the assumptions.
    still
        Flip-flops that a property on stillness compares, by its name.
    inputs
        Literals of every input, lowest bit first.
    nets
        Literals of every net that has a name, likewise.

    Raises
    ------
    UserError
        pyosys is missing.
    YosysError
        The design cannot be translated.
    """

    def __init__(self, properties: Properties) -> None:
        fragment = Fragment.get(properties, None)  # before the ports, which it may add to
        text = rtlil.convert(fragment, name="top", ports=properties.ports(), emit_src=False)
        netlist = Netlist(synthesise(text))
        self.aig = aig = Aig()
        self.registers: dict[int, int] = {}
        # A value that reset does not set is anything in the first cycle, then the flip-flop's.
        started = aig.free()
        self.registers[started] = TRUE
        several = len(netlist.domains) > 1
        resets = {f"{domain}_rst" for domain in netlist.domains}
        self.inputs = {
            name: [aig.free() for _ in bits]
            for name, bits in netlist.inputs.items()
            if not (several and name in resets)
        }
        edges: dict[str, int] = {}
        for domain in netlist.domains:
            if several and domain != STEP:
                self.inputs.setdefault(f"edge_{domain}", [aig.free()])
            (edges[domain],) = self.inputs.get(f"edge_{domain}", [TRUE])

        leaves: dict[Bit, int] = {}
        for name, bits in netlist.inputs.items():
            leaves |= zip(bits, self.inputs.get(name, [FALSE] * len(bits)), strict=True)
        given = {"0", "1", *leaves}
        held: dict[Bit, int] = {}
        inverted: dict[Bit, bool] = {}
        for output, value in after_reset(netlist, RESET_EDGES if several else 1).items():
            held[output] = aig.free()
            inverted[output] = value is True  # every register of the graph starts at 0
            leaves[output] = held[output] ^ inverted[output]
            if value is None:
                leaves[output] = aig.choose(started, held[output], aig.free())
        for signal in properties.cuts:
            leaves |= {bit: aig.free() for bit in netlist.nets[signal.name] if bit not in given}
        literals = netlist.gates(aig, leaves)

        unit: dict[str, list[Register]] = {domain: [] for domain in netlist.domains}
        for flop in netlist.flops:
            now, data = literals[flop.output], literals[flop.data]
            following = aig.choose(edges[flop.domain], data, now)
            self.registers[held[flop.output]] = following ^ inverted[flop.output]
            if not flop.observer:
                unit[flop.domain].append(Register(flop.names, now, data))
        self.still = {name: unit[still.domain] for name, still in properties.still.items()}
        self.nets = {
            name: [literals[bit] if bit in literals else aig.free() for bit in bits]
            for name, bits in netlist.nets.items()
        }
        self.nets |= {name: bits for name, bits in self.inputs.items() if name not in self.nets}
        every = [register for registers in unit.values() for register in registers]
        moves = {
            name: self._moves(name, still, edges[still.domain], every)
            for name, still in properties.still.items()
        }
        self._collect(netlist, literals, moves)

    def _moves(self, name: str, still: Still, edge: int, every: Iterable[Register]) -> list[int]:
        """Return the violations of a property on stillness, one for each group of flip-flops.

        What holds of every group holds of all, and an engine finds it more easily.
        """
        aig = self.aig

        def any_moves(registers: Iterable[Register]) -> int:
            return aig.any(aig.differ(each.now, each.data) for each in registers)

        (condition,) = self.nets[still.condition.name]
        (reset,) = self.inputs.get(f"{still.domain}_rst", [FALSE])
        allowed = aig.both(aig.both(edge, condition), reset ^ 1)
        if still.settled is not None:
            pattern = re.compile(f"(?:{still.settled})(?:\\[\\d+\\])?$")
            settled = [each for each in every if any(map(pattern.search, each.names))]
            if not settled:
                raise ValueError(f"{name!r}: no flip-flop is called {still.settled!r}")
            allowed = aig.both(allowed, any_moves(settled) ^ 1)
        groups: dict[str, list[Register]] = {}
        for each in self.still[name]:
            groups.setdefault(each.group, []).append(each)
        if not groups:
            raise ValueError(f"{name!r}: the domain {still.domain} has no flip-flop")
        return [aig.both(allowed, any_moves(group)) for group in groups.values()]

    def _collect(
        self, netlist: Netlist, literals: Mapping[Bit, int], moves: Mapping[str, list[int]]
    ) -> None:
        """Gather the properties."""
        aig = self.aig
        found: dict[str, dict[str, list[int]]] = {"assert": {}, "assume": {}, "cover": {}}
        for check in netlist.checks:
            condition = literals[check.condition] ^ (check.kind != "cover")
            group = found[check.kind].setdefault(check.name, [])
            group.append(aig.both(literals[check.enable], condition))
        found["assert"] |= moves

        broken = aig.any(literal for group in found["assume"].values() for literal in group)
        before = aig.free()
        self.registers[before] = aig.either(before, broken)
        met = self.registers[before] ^ 1

        def under_assumptions(kind: str) -> dict[str, list[int]]:
            return {
                name: [aig.both(met, literal) for literal in group]
                for name, group in found[kind].items()
            }

        self.assertions = under_assumptions("assert")
        self.covers = {name: aig.any(group) for name, group in under_assumptions("cover").items()}
        self.assumptions = tuple(found["assume"])


def after_reset(netlist: Netlist, edges: int) -> dict[Bit, bool | None]:
    """Return what flip-flops hold after edges of all clocks under reset, by net; None is anything.

    Computed with three values, from a state and inputs that are unknown in full.
    """
    aig = Aig()
    leaves: dict[Bit, int] = {}
    given: dict[int, bool | None] = {}
    for name, bits in netlist.inputs.items():
        for bit in bits:
            leaves[bit] = aig.free()
            if name in {f"{domain}_rst" for domain in netlist.domains}:
                given[leaves[bit]] = True
    for flop in netlist.flops:
        leaves[flop.output] = aig.free()
    literals = netlist.gates(aig, leaves)
    state: dict[Bit, bool | None] = {}
    for _ in range(edges):
        known = {leaves[output]: value for output, value in state.items()}
        values = aig.evaluate(given | known)
        state = {flop.output: values[literals[flop.data]] for flop in netlist.flops}
    return state
