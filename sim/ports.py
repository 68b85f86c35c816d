# SPDX-License-Identifier: Apache-2.0
"""The interface between the system model and a hardware unit, whatever runs behind it."""

from collections.abc import Callable, Mapping
from typing import Protocol

Pins = Mapping[str, int]
"""Pin values by the names that the Verilog has, structs packed as the manifest says."""


class Engine(Protocol):
    """One hardware unit, one clock edge at a time: golden model, Amaranth simulator or RTL.

    An engine starts just after one edge of every clock with every reset active.
    """

    def step(self, pins: Pins, clocks: int, time_ps: int) -> dict[str, int]:
        """Take one edge.

        Parameters
        ----------
        pins
            Every input pin except clocks and resets.
        clocks
            Bit i is set if domain i of the unit has its edge now.
        time_ps
            When, for waveforms and messages only.

        Returns
        -------
        dict
            Every output pin, settled, just before the edge.
        """
        ...

    @property
    def changed(self) -> bool | None:
        """Whether the last edge changed any state; None if the engine cannot tell."""
        ...

    def run(self, pins: Pins, clocks: int, count: int, time_ps: int) -> int:
        """Take up to `count` edges with the same pins while nothing changes.

        Returns
        -------
        int
            Edges that were taken and changed no state; less than `count` if one did.
        """
        ...


class Control(Protocol):
    """Drafting control as the PIM sequencer sees it: the EDC, or nothing.

    Calls give the time at which they are made through the kernel; answers come as calls of the
    function given to `listen`, never within the call that caused them.
    """

    def listen(self, decided: Callable[[bool, str], None]) -> None:
        """Register `decided(go, cause)`, called for every decision in order."""
        ...

    def draft(self, entropy_nats: float) -> None:
        """Offer a finished batch with its mean entropy [nat]."""
        ...

    def verdict(self, full: bool) -> None:
        """Give the verdict on the oldest outstanding batch."""
        ...

    def start_sequence(self) -> None:
        """Forget the history of the previous sequence."""
        ...
