# SPDX-License-Identifier: Apache-2.0
"""A unit on its clocks: handshakes, exact skipping of quiescent cycles, and the cycle account."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ahasd.sim.kernel import CLOCK, Kernel
from ahasd.sim.ports import Engine, Grid

SETTLE_EDGES = 8
"""Quiet edges of each domain that stand for quiescence where an engine cannot tell changes.

More than any synchroniser has stages."""


@dataclass(frozen=True)
class Clock:
    """Rising edges at `phase_ps + n * period_ps`, n = 1, 2, ...; edge 0 is the reset's."""

    period_ps: int
    phase_ps: int = 0

    def edges_until(self, time_ps: int) -> int:
        """Return the number of the last edge at or before a time; 0 if there is none."""
        return max(0, (time_ps - self.phase_ps) // self.period_ps)

    def time_ps(self, edge: int) -> int:
        """Return when an edge comes."""
        return self.phase_ps + edge * self.period_ps


@dataclass
class Cycles:
    """What became of a domain's simulated cycles; `stepped + skipped` is their number."""

    stepped: int = 0
    skipped: int = 0


class QuiescenceError(AssertionError):
    """A unit that called itself idle changed state: its `idle` output is wrong."""


class ClockedUnit:
    """Drive a unit from kernel events.

    Input streams are queues: a payload is offered from the first edge of its domain after it was
    sent until the unit takes it. Output streams are always taken, and handed to their listener at
    the edge of the transfer. Coincident edges of two domains are one evaluation.

    Between transfers the unit is stepped only until it is quiescent: every `idle` output is high,
    nothing is offered, and then one edge of each domain in a row changed nothing. That state is a
    fixed point of every further edge, so skipping those is exact. (An engine that cannot tell
    changes is given `SETTLE_EDGES` of each instead.) A unit with one domain must not even need that
    edge: a change there while idle is an error.

    Parameters
    ----------
    engine
        The unit.
    kernel
        When its edges come.
    clocks
        Clock of every domain, in the order of the catalogue.
    inputs, outputs
        Names of its streams, with their domains.
    levels
        Input pins that are no streams, with their values.
    idle
        Name of the idle output of every domain.
    now
        Name of the pin that counts the cycles of a domain, and the domain; None without one.
    skip
        False clocks every cycle, to check that skipping is exact.
    """

    def __init__(
        self,
        engine: Engine,
        kernel: Kernel,
        clocks: Mapping[str, Clock],
        *,
        inputs: Mapping[str, str],
        outputs: Mapping[str, str],
        levels: Mapping[str, int],
        idle: Mapping[str, str],
        now: tuple[str, str] | None = None,
        skip: bool = True,
    ) -> None:
        self.cycles = {domain: Cycles() for domain in clocks}
        self._engine = engine
        self._kernel = kernel
        self._domains = tuple(clocks)
        self._clocks = tuple(clocks.values())
        self._inputs = {name: self._domains.index(domain) for name, domain in inputs.items()}
        self._outputs = {name: self._domains.index(domain) for name, domain in outputs.items()}
        self._queues: dict[str, deque[int]] = {name: deque() for name in inputs}
        self._listeners: dict[str, Callable[[int], None]] = {}
        self._idle = tuple(idle[domain] for domain in clocks)
        self._now = None if now is None else (now[0], self._domains.index(now[1]))
        self._skip = skip
        self._pins = dict(levels)
        for name in inputs:
            self._pins |= {f"{name}__valid": 0, f"{name}__payload": 0}
        for name in outputs:
            self._pins[f"{name}__ready"] = 1
        self._edges = [0] * len(self._domains)  # the last that were taken or skipped
        self._quiet = [0] * len(self._domains)  # edges in a row that changed nothing
        self._awake = False
        self._wake()  # a unit may have work to do after its reset

    def listen(self, stream: str, taken: Callable[[int], None]) -> None:
        """Call `taken(payload)` for every transfer on an output stream."""
        self._listeners[stream] = taken

    def send(self, stream: str, payload: int) -> None:
        """Offer a payload on an input stream, behind those that were sent before."""
        self._queues[stream].append(payload)
        self._wake()

    def set(self, pin: str, value: int) -> None:
        """Change a level input, from the next edge on."""
        if self._pins[pin] != value:
            self._rest()
            self._pins[pin] = value
            self._wake()

    def finish(self) -> dict[str, Cycles]:
        """Account for the cycles up to now and return the account by domain."""
        self._rest()
        return self.cycles

    def _wake(self) -> None:
        if not self._awake:
            self._awake = True
            self._rest()
            self._quiet = [0] * len(self._domains)
            self._schedule()

    def _schedule(self) -> None:
        time_ps = min(
            clock.time_ps(edge + 1) for clock, edge in zip(self._clocks, self._edges, strict=True)
        )
        self._kernel.at(time_ps, self._on_edge, priority=CLOCK)

    def _rest(self) -> None:
        """Pass over the edges up to now, on which the unit was quiescent.

        Those at this very instant are included: an event now comes after them.
        """
        now_ps = self._kernel.now_ps
        until = [clock.edges_until(now_ps) for clock in self._clocks]
        if until == self._edges:
            return
        if not self._skip:
            grid = Grid(
                periods_ps=tuple(clock.period_ps for clock in self._clocks),
                next_ps=tuple(
                    clock.time_ps(edge + 1)
                    for clock, edge in zip(self._clocks, self._edges, strict=True)
                ),
                until_ps=now_ps,
                now=self._now,
            )
            self._set_now()
            changed_ps = self._engine.run(self._pins, grid)
            if changed_ps is not None:
                self._report(changed_ps)
        for i, domain in enumerate(self._domains):
            count = max(0, until[i] - self._edges[i])
            if self._skip:
                self.cycles[domain].skipped += count
            else:
                self.cycles[domain].stepped += count
            self._edges[i] += count

    def _set_now(self) -> None:
        if self._now is not None:
            pin, domain = self._now
            self._pins[pin] = self._edges[domain]

    def _report(self, time_ps: int) -> None:
        raise QuiescenceError(
            f"{' and '.join(self._idle)} said idle and nothing was offered, yet the edge at"
            f" {time_ps} ps changed the unit's state"
        )

    def _on_edge(self) -> None:
        now_ps = self._kernel.now_ps
        pins = self._pins
        offered = False
        for name, queue in self._queues.items():
            pins[f"{name}__valid"] = int(bool(queue))
            if queue:
                pins[f"{name}__payload"] = queue[0]
                offered = True
        self._set_now()
        mask = 0
        for i, clock in enumerate(self._clocks):
            if clock.time_ps(self._edges[i] + 1) == now_ps:
                mask |= 1 << i
                self._edges[i] += 1
                self.cycles[self._domains[i]].stepped += 1
        seen = self._engine.step(pins, mask, now_ps)
        idle = not offered and all(seen[pin] for pin in self._idle)
        self._settle(mask, idle)
        for name, queue in self._queues.items():
            if mask >> self._inputs[name] & 1 and queue and seen[f"{name}__ready"]:
                queue.popleft()
        for name, domain in self._outputs.items():
            if mask >> domain & 1 and seen[f"{name}__valid"]:
                self._listeners[name](seen[f"{name}__payload"])

    def _settle(self, mask: int, idle: bool) -> None:
        """Go to sleep if the unit is quiescent, else take the next edge too."""
        changed = self._engine.changed
        if idle and changed and len(self._domains) == 1:
            self._report(self._kernel.now_ps)
        for i in range(len(self._domains)):
            if not idle or changed:
                self._quiet[i] = 0
            elif mask >> i & 1:
                self._quiet[i] += 1
        known = changed is not None or len(self._domains) == 1
        enough = 1 if known else SETTLE_EDGES
        self._awake = min(self._quiet) < enough
        if self._awake:
            self._schedule()
