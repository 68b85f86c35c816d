# SPDX-License-Identifier: Apache-2.0
"""Backend `pysim`: the Amaranth simulator, slow, for debugging a unit's Python source."""

from typing import Any

from amaranth.hdl import ClockDomain, Module, Signal, Value
from amaranth.sim import Simulator

from ahasd.rtl.configs import Unit
from ahasd.sim.ports import Grid, Pins, Span, Watch, advance

HALF_CYCLE = 1e-9
"""The simulator's own time per half cycle; the system's time never enters it."""


class PysimEngine:
    """A unit in the Amaranth simulator behind the engine interface."""

    changed: bool | None = None

    def __init__(self, unit: Unit, params: Any) -> None:
        component = unit.load_hardware()(params)
        top = Module()
        top.submodules.unit = component
        # One signal, so that coincident edges come in one step of the simulator.
        self._clock_bits = Signal(len(unit.domains))
        self._reset_bits = Signal(len(unit.domains))
        for i, name in enumerate(unit.domains):
            domain = ClockDomain(name)
            top.domains += domain
            reset: Any = domain.rst
            top.d.comb += [domain.clk.eq(self._clock_bits[i]), reset.eq(self._reset_bits[i])]
        self._inputs: dict[str, Value] = {}
        self._outputs: dict[str, Value] = {}
        for path, member, value in component.signature.flatten(component):
            group = self._inputs if member.flow.name == "In" else self._outputs
            group["__".join(map(str, path))] = Value.cast(value).as_unsigned()  # as on wires
        self._pins: Pins = dict.fromkeys(self._inputs, 0)
        self._clocks = (1 << len(unit.domains)) - 1
        self._reset = self._clocks
        self._seen: dict[str, int] = {}
        self._simulator = Simulator(top)
        self._simulator.add_testbench(self._drive)
        self.step(self._pins, self._clocks, 0)
        self._reset = 0

    async def _drive(self, context: Any) -> None:
        while True:
            context.set(self._reset_bits, self._reset)
            for name, signal in self._inputs.items():
                context.set(signal, self._pins[name])
            self._seen = {name: context.get(signal) for name, signal in self._outputs.items()}
            context.set(self._clock_bits, self._clocks)
            await context.delay(HALF_CYCLE)
            context.set(self._clock_bits, 0)
            await context.delay(HALF_CYCLE)

    def step(self, pins: Pins, clocks: int, time_ps: int) -> dict[str, int]:
        """Take one edge; see `Engine`."""
        self._pins, self._clocks = pins, clocks
        self._simulator.advance()
        self._simulator.advance()
        return self._seen

    def run(self, pins: Pins, grid: Grid) -> int | None:
        """Take every edge of a grid; see `Engine`."""
        for time_ps, clocks, now in grid.edges(pins):
            self.step(now, clocks, time_ps)
            if self.changed:
                return time_ps
        return None

    def advance(self, pins: Pins, grid: Grid, watch: Watch) -> Span:
        """Take edges up to what is watched for; see `Engine`."""
        return advance(self, pins, grid, watch)
