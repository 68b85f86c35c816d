# SPDX-License-Identifier: Apache-2.0
"""What a bench is told, and the cycle-by-cycle check against a golden model."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Protocol

from cocotb.triggers import RisingEdge

VARIABLE = "AHASD_BENCH"
"""Environment variable with the bench's parameters as JSON."""


class Bench:
    """Parameters of a bench run.

    Attributes
    ----------
    manifest
        Of the emitted Verilog.
    configuration
        Name of the unit's configuration.
    seed, gap, stall
        Of the random stimulus; `gap` and `stall` are probabilities per cycle.
    """

    def __init__(self) -> None:
        told = json.loads(os.environ[VARIABLE])
        self.manifest = json.loads(Path(told["manifest"]).read_text())
        self.configuration: str = told["configuration"]
        self.seed: int = told["seed"]
        self.gap: float = told["gap"]
        self.stall: float = told["stall"]

    def rng(self, purpose: str) -> Random:
        """Return a generator of its own for every purpose."""
        return Random(f"{self.seed} {purpose}")


class Stepped(Protocol):
    """A golden model with one clock."""

    def step(self, pins: Mapping[str, int], clocks: int = 1) -> dict[str, int]:
        """Take an edge."""
        ...


class CycleChecker:
    """Compare every output pin with a golden model on every edge."""

    def __init__(self, dut: Any, bench: Bench, clock: Any, golden: Stepped) -> None:
        self._clock = clock
        self._golden = golden
        self._seed = bench.seed
        self._inputs = {}
        self._outputs = {}
        for port in bench.manifest["ports"]:
            pins = self._inputs if port["direction"] == "in" else self._outputs
            pins[port["name"]] = getattr(dut, port["name"])
        self.edges = 0

    async def run(self) -> None:
        """Check until the simulation ends."""
        while True:
            await RisingEdge(self._clock)
            pins = {name: int(pin.value) for name, pin in self._inputs.items()}
            seen = {name: int(pin.value) for name, pin in self._outputs.items()}
            expected = self._golden.step(pins)
            assert seen == expected, (
                f"seed {self._seed}, edge {self.edges}: outputs {seen}, golden {expected}"
            )
            self.edges += 1
