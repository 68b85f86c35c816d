# SPDX-License-Identifier: Apache-2.0
"""Backend `golden`: the bit- and cycle-exact Python model."""

from typing import Any

from ahasd.rtl.configs import Unit
from ahasd.sim.ports import Pins


class GoldenEngine:
    """A golden model behind the engine interface."""

    changed = None

    def __init__(self, unit: Unit, params: Any) -> None:
        self.model = unit.load_golden()(params)

    def step(self, pins: Pins, clocks: int, time_ps: int) -> dict[str, int]:
        """Take one edge; see `Engine`."""
        return self.model.step(pins, clocks)

    def run(self, pins: Pins, clocks: int, count: int, time_ps: int) -> int:
        """Take `count` edges; see `Engine`."""
        for _ in range(count):
            self.model.step(pins, clocks)
        return count
