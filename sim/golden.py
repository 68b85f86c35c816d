# SPDX-License-Identifier: Apache-2.0
"""Backend `golden`: the bit- and cycle-exact Python model."""

from typing import Any

from ahasd.rtl.configs import Unit
from ahasd.sim.ports import Grid, Pins, Span, Watch, advance


class GoldenEngine:
    """A golden model behind the engine interface.

    A model of several clock domains tells in `changed` whether its last edge changed anything.
    """

    def __init__(self, unit: Unit, params: Any, **options: Any) -> None:
        self.model = unit.load_golden()(params, **options)

    @property
    def changed(self) -> bool | None:
        """See `Engine`."""
        return getattr(self.model, "changed", None)

    def step(self, pins: Pins, clocks: int, time_ps: int) -> dict[str, int]:
        """Take one edge; see `Engine`."""
        return self.model.step(pins, clocks)

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
