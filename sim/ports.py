# SPDX-License-Identifier: Apache-2.0
"""The interface between the system model and a hardware unit, whatever runs behind it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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

    def run(self, pins: Pins, grid: "Grid") -> int | None:
        """Take every edge of a grid with the same pins, but for the cycle counter.

        Returns
        -------
        int or None
            Time [ps] of the first edge that changed state, at which it stopped; None if none did,
            as far as the engine can tell.
        """
        ...


@dataclass(frozen=True)
class Grid:
    """Edges to take in one go, in the order of time; coincident ones are one evaluation.

    Attributes
    ----------
    periods_ps, next_ps
        Period and next edge of every domain.
    until_ps
        Last time at which an edge is taken.
    now
        Pin that counts the cycles of a domain, and the domain's number; None without one. Its
        value in the pins is the cycle of the first edge.
    """

    periods_ps: tuple[int, ...]
    next_ps: tuple[int, ...]
    until_ps: int
    now: tuple[str, int] | None = None

    def edges(self, pins: Pins) -> Iterator[tuple[int, int, Pins]]:
        """Yield time [ps], mask of clocks and pins of every evaluation."""
        following = list(self.next_ps)
        changing = dict(pins)
        while (time_ps := min(following)) <= self.until_ps:
            mask = 0
            for i, period_ps in enumerate(self.periods_ps):
                if following[i] == time_ps:
                    mask |= 1 << i
                    following[i] += period_ps
            yield time_ps, mask, changing
            if self.now is not None and mask >> self.now[1] & 1:
                changing[self.now[0]] += 1


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
