# SPDX-License-Identifier: Apache-2.0
"""The interface between the system model and a hardware unit, whatever runs behind it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

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

    def advance(self, pins: Pins, grid: "Grid", watch: "Watch") -> "Span":
        """Take the edges of a grid up to the first that `watch` wants to see, but at least one.

        `advance` below does it by `step`, for engines that have nothing faster.
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


@dataclass
class Watch:
    """What ends a span of edges.

    Attributes
    ----------
    transfers
        Output pin and domain: an edge of the domain that sees the pin high.
    levels
        Output pins with their last known values: an evaluation that sees another.
    idle
        Output pins that must all be high for the unit to rest.
    quiet
        Edges of each domain since the unit last did not rest; counted on.
    settle
        As many of each domain end the span.
    """

    transfers: tuple[tuple[str, int], ...]
    levels: Mapping[str, int]
    idle: tuple[str, ...]
    quiet: list[int]
    settle: int


class Span(NamedTuple):
    """Edges that were taken.

    Attributes
    ----------
    seen
        Every output pin before the last evaluation.
    clocks, time_ps
        Domains that had their edge in it, and when it was.
    edges
        Edges taken, by domain.
    """

    seen: dict[str, int]
    clocks: int
    time_ps: int
    edges: tuple[int, ...]


def advance(engine: Engine, pins: Pins, grid: Grid, watch: Watch) -> Span:
    """Do what `Engine.advance` says, edge by edge."""
    edges = [0] * len(grid.periods_ps)
    seen: dict[str, int] = {}
    clocks = time_ps = 0
    for time_ps, clocks, changing in grid.edges(pins):
        seen = engine.step(changing, clocks, time_ps)
        moved = any(clocks >> domain & 1 and seen[pin] for pin, domain in watch.transfers)
        rests = not moved and all(seen[pin] for pin in watch.idle)
        for i in range(len(edges)):
            edges[i] += clocks >> i & 1
            watch.quiet[i] = watch.quiet[i] + (clocks >> i & 1) if rests else 0
        if (
            moved
            or min(watch.quiet) >= watch.settle
            or any(seen[pin] != value for pin, value in watch.levels.items())
        ):
            break
    return Span(seen, clocks, time_ps, tuple(edges))
