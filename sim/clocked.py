# SPDX-License-Identifier: Apache-2.0
"""A unit on its clocks: handshakes, exact skipping of quiescent cycles, and the cycle account."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ahasd.sim.kernel import CLOCK, Kernel
from ahasd.sim.ports import Engine, Grid, Span, Watch

SETTLE_EDGES = 8
"""Quiet edges of each domain after which a unit of several domains rests.

More than it takes a change to cross all synchronisers and what follows them; proved for the units
of the catalogue (docs/proofs.md)."""

FAR_PS = 10**9
"""Longest span of edges if nothing else is due [ps]."""

NEVER = 1 << 62
"""More edges than there are."""


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


class _Stream:
    """A stream's pins and its domain's number."""

    def __init__(self, name: str, domain: int) -> None:
        self.name, self.domain = name, domain
        self.valid, self.ready = f"{name}__valid", f"{name}__ready"
        self.payload = f"{name}__payload"


class QuiescenceError(AssertionError):
    """A unit that called itself idle changed state: its `idle` output is wrong."""


class ClockedUnit:
    """Drive a unit from kernel events.

    Input streams are queues: a payload is offered from the first edge of its domain after it was
    sent until the unit takes it. What output streams give is handed to their listener at the edge
    of the transfer, and a change of a watched output at the evaluation that shows it. Coincident
    edges of two domains are one evaluation.

    Between transfers the unit is stepped only until it is quiescent: every `idle` output is high
    and nothing is transferred, for one edge of a unit with one domain, for `SETTLE_EDGES` of each
    domain of one with several, whose synchronisers settle meanwhile. That state is a fixed point of
    every further edge, so skipping those is exact; an engine that can tell checks that the last
    edge before a rest changed nothing. The rule looks at pins alone, so the cycles that are stepped
    are the same on every engine.

    Parameters
    ----------
    engine
        The unit.
    kernel
        When its edges come.
    clocks
        Clock of every domain, in the order of the catalogue.
    inputs, outputs
        Names of its streams, with their domains. An output is taken when `<name>__ready` is 1,
        which it is unless `set` changes it.
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
        self._queues: dict[str, deque[int]] = {name: deque() for name in inputs}
        self._inputs = [
            _Stream(name, self._domains.index(domain)) for name, domain in inputs.items()
        ]
        self._outputs = [
            _Stream(name, self._domains.index(domain)) for name, domain in outputs.items()
        ]
        self._listeners: dict[str, Callable[[int], None]] = {}
        self._levels: dict[str, int] = {}
        self._level_listeners: dict[str, Callable[[int], None]] = {}
        self._idle = tuple(idle[domain] for domain in clocks)
        self._settle = 1 if len(clocks) == 1 else SETTLE_EDGES
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

    def watch(self, pin: str, value: int, changed: Callable[[int], None]) -> None:
        """Call `changed(value)` when an output pin has another value than it had, at first `value`.

        Only pins that do not change while the unit rests can be watched.
        """
        self._levels[pin] = value
        self._level_listeners[pin] = changed

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
        """Take this edge, and those after it on which there is nothing to see or to do."""
        pins = self._pins
        transfers = []
        for stream in self._inputs:
            queue = self._queues[stream.name]
            pins[stream.valid] = int(bool(queue))
            if queue:
                pins[stream.payload] = queue[0]
                transfers.append((stream.ready, stream.domain))
        for stream in self._outputs:
            if pins[stream.ready]:
                transfers.append((stream.valid, stream.domain))
        self._set_now()
        now_ps = self._kernel.now_ps
        next_ps = self._kernel.next_ps
        grid = Grid(
            periods_ps=tuple(clock.period_ps for clock in self._clocks),
            next_ps=tuple(
                clock.time_ps(edge + 1)
                for clock, edge in zip(self._clocks, self._edges, strict=True)
            ),
            # Whatever else happens may change an input, and comes after an edge at its instant.
            until_ps=now_ps + FAR_PS if next_ps is None else max(now_ps, next_ps - 1),
            now=self._now,
        )
        offered = any(self._queues.values())
        settle = NEVER if offered else self._settle
        watch = Watch(tuple(transfers), self._levels, self._idle, self._quiet, settle)
        span = self._engine.advance(pins, grid, watch)
        for i, domain in enumerate(self._domains):
            self._edges[i] += span.edges[i]
            self.cycles[domain].stepped += span.edges[i]
        if span.time_ps == now_ps:
            self._react(span)
        else:
            self._kernel.at(span.time_ps, self._react, span, priority=CLOCK)

    def _react(self, span: Span) -> None:
        """Hand over what the last edge of a span transferred; rest or take the next edge."""
        mask, seen = span.clocks, span.seen
        offered = any(self._queues.values())
        if offered:
            self._quiet = [0] * len(self._quiet)
        self._awake = offered or min(self._quiet) < self._settle
        if not self._awake and self._engine.changed:
            self._report(span.time_ps)
        if self._awake:
            self._schedule()
        # What a listener sets counts from the next edge on.
        taken = [
            stream
            for stream in self._outputs
            if mask >> stream.domain & 1 and seen[stream.valid] and self._pins[stream.ready]
        ]
        for stream in self._inputs:
            queue = self._queues[stream.name]
            if mask >> stream.domain & 1 and queue and seen[stream.ready]:
                queue.popleft()
        for stream in taken:
            self._listeners[stream.name](seen[stream.payload])
        for pin, value in list(self._levels.items()):
            if seen[pin] != value:
                self._levels[pin] = seen[pin]
                self._level_listeners[pin](seen[pin])
