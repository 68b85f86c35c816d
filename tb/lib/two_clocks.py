# SPDX-License-Identifier: Apache-2.0
"""The check against a golden model of a unit with two clocks."""

from collections.abc import Mapping
from typing import Any, Protocol

from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from ahasd.tb.lib.bench import Bench


def defined(pin: Any) -> int:
    """Return an input's value, with 0 for X: masters of AXI drive that where nothing is valid."""
    value = pin.value
    return value if isinstance(value, int) else int(value.resolve("zeros"))


class Stepped(Protocol):
    """A golden model with several clocks."""

    def step(self, pins: Mapping[str, int], clocks: int) -> dict[str, int]:
        """Take an edge of those clocks whose bits are set."""
        ...


class EdgeChecker:
    """Compare every output pin with a golden model on every edge of either clock.

    Parameters
    ----------
    dut, bench
        Design, and what the bench was told.
    golden
        In its state after a reset.
    """

    def __init__(self, dut: Any, bench: Bench, golden: Stepped) -> None:
        self._golden = golden
        self._seed = bench.seed
        self._inputs = {}
        self._outputs = {}
        for port in bench.manifest["ports"]:
            group = self._inputs if port["direction"] == "in" else self._outputs
            group[port["name"]] = getattr(dut, port["name"])
        self.edges = 0
        self._mask = 0
        self._time = -1
        self._inputs_seen: dict[str, int] = {}
        self._seen: dict[str, int] = {}

    async def watch(self, clock: Any, bit: int) -> None:
        """Note the edges of one clock, until cancelled."""
        while True:
            await RisingEdge(clock)
            now = get_sim_time("step")
            if now != self._time:  # else the other clock has its edge, too: one evaluation
                self._compare()
                self._time = now
                self._inputs_seen = {name: defined(pin) for name, pin in self._inputs.items()}
                self._seen = {name: int(pin.value) for name, pin in self._outputs.items()}
            self._mask |= bit

    def _compare(self) -> None:
        """Step the golden model with the edges that were noted last."""
        if not self._mask:
            return
        seen = self._seen
        expected = self._golden.step(self._inputs_seen, self._mask)
        different = {
            name: (seen[name], expected[name]) for name in expected if seen[name] != expected[name]
        }
        assert not different, f"seed {self._seed}, edge {self.edges}: {different}"
        self.edges += 1
        self._mask = 0
