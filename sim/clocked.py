# SPDX-License-Identifier: Apache-2.0
"""A unit on its clock: handshakes, exact skipping of quiescent cycles, and the cycle account."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ahasd.sim.kernel import CLOCK, Kernel
from ahasd.sim.ports import Engine


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
    """What became of a unit's simulated cycles; `stepped + skipped` is their number."""

    stepped: int = 0
    skipped: int = 0


class QuiescenceError(AssertionError):
    """A unit that called itself idle changed state: its `idle` output is wrong."""


class ClockedUnit:
    """Drive a unit with one clock domain from kernel events.

    Input streams are queues: a payload is offered from the first edge after it was sent until the
    unit takes it. Output streams are always taken, and handed to their listener at the edge of the
    transfer. Between transfers the unit is stepped only until it is quiescent: `idle` high, nothing
    offered, and one more edge taken that changed nothing, as far as the engine can tell.

    Parameters
    ----------
    engine
        The unit.
    kernel, clock
        When its edges come.
    inputs, outputs
        Names of its streams.
    levels
        Input pins that are no streams, with their values.
    idle
        Name of its idle output.
    skip
        False clocks every cycle, to check that skipping is exact.
    """

    def __init__(
        self,
        engine: Engine,
        kernel: Kernel,
        clock: Clock,
        *,
        inputs: Sequence[str],
        outputs: Sequence[str],
        levels: dict[str, int],
        idle: str,
        skip: bool = True,
    ) -> None:
        self.cycles = Cycles()
        self._engine = engine
        self._kernel = kernel
        self._clock = clock
        self._queues: dict[str, deque[int]] = {name: deque() for name in inputs}
        self._listeners: dict[str, Callable[[int], None]] = {}
        self._outputs = tuple(outputs)
        self._idle = idle
        self._skip = skip
        self._pins = dict(levels)
        for name in inputs:
            self._pins |= {f"{name}__valid": 0, f"{name}__payload": 0}
        for name in outputs:
            self._pins[f"{name}__ready"] = 1
        self._edge = 0  # the last edge that was taken or skipped
        self._awake = False
        self._wake()  # a unit may have work to do after its reset

    def listen(self, stream: str, taken: Callable[[int], None]) -> None:
        """Call `taken(payload)` for every transfer on an output stream."""
        self._listeners[stream] = taken

    def send(self, stream: str, payload: int) -> None:
        """Offer a payload on an input stream, behind those that were sent before."""
        self._queues[stream].append(payload)
        self._wake()

    def finish(self) -> Cycles:
        """Account for the cycles up to now and return the account."""
        self._rest_until(self._clock.edges_until(self._kernel.now_ps))
        return self.cycles

    def _wake(self) -> None:
        if self._awake:
            return
        self._awake = True
        # An event at the very instant of an edge comes after it.
        self._rest_until(self._clock.edges_until(self._kernel.now_ps))
        self._kernel.at(self._clock.time_ps(self._edge + 1), self._on_edge, priority=CLOCK)

    def _rest_until(self, edge: int) -> None:
        """Pass over edges on which the unit is quiescent."""
        count = edge - self._edge
        if count <= 0:
            return
        if self._skip:
            self.cycles.skipped += count
        else:
            still = self._engine.run(self._pins, 1, count, self._clock.time_ps(edge))
            self.cycles.stepped += count
            if still != count:
                self._report(self._edge + still + 1)
        self._edge = edge

    def _report(self, edge: int) -> None:
        raise QuiescenceError(
            f"{self._idle} was high and nothing was offered, yet the edge at"
            f" {self._clock.time_ps(edge)} ps changed the unit's state"
        )

    def _on_edge(self) -> None:
        pins = self._pins
        offered = False
        for name, queue in self._queues.items():
            pins[f"{name}__valid"] = int(bool(queue))
            if queue:
                pins[f"{name}__payload"] = queue[0]
                offered = True
        self._edge += 1
        self.cycles.stepped += 1
        seen = self._engine.step(pins, 1, self._kernel.now_ps)
        quiet = bool(seen[self._idle]) and not offered
        if quiet:
            if self._engine.changed:
                self._report(self._edge)
            self._awake = False
        else:
            self._kernel.at(self._clock.time_ps(self._edge + 1), self._on_edge, priority=CLOCK)
        for name, queue in self._queues.items():
            if pins[f"{name}__valid"] and seen[f"{name}__ready"]:
                queue.popleft()
        for name in self._outputs:
            if seen[f"{name}__valid"]:
                self._listeners[name](seen[f"{name}__payload"])
