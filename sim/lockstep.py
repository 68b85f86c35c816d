# SPDX-License-Identifier: Apache-2.0
"""Two engines side by side, compared on every edge."""

from collections.abc import Callable
from pathlib import Path

from ahasd import UserError
from ahasd.sim.ports import Engine, Grid, Pins, Span, Watch, advance
from ahasd.sim.rtl.engine import WaveEngine

WINDOW_CYCLES = 200
"""Edges before a difference that the waveform shows."""


class LockstepError(UserError):
    """The backend under test and the golden model differ."""


class LockstepEngine:
    """Run an engine with a reference beside it and stop at the first difference.

    Parameters
    ----------
    name
        Unit, for the message.
    engine, reference
        The two to compare; results are the first one's.
    waves
        Starts an engine that writes waveforms; the stimulus is replayed on it after a difference.
    folder
        Where the waveform goes.
    """

    def __init__(
        self,
        name: str,
        engine: Engine,
        reference: Engine,
        waves: Callable[[], WaveEngine],
        folder: Path,
    ) -> None:
        self._name = name
        self._engine = engine
        self._reference = reference
        self._waves = waves
        self._folder = folder
        self._past: list[tuple[int, int, tuple[int, ...]]] = []
        self._names: tuple[str, ...] = ()

    @property
    def changed(self) -> bool | None:
        """See `Engine`."""
        return self._engine.changed

    def step(self, pins: Pins, clocks: int, time_ps: int) -> dict[str, int]:
        """Take one edge on both; see `Engine`.

        Raises
        ------
        LockstepError
            An output differs. The waveform of the last cycles has been written.
        """
        self._names = self._names or tuple(pins)
        self._past.append((time_ps, clocks, tuple(pins[name] for name in self._names)))
        seen = self._engine.step(pins, clocks, time_ps)
        expected = self._reference.step(pins, clocks, time_ps)
        if seen != expected:
            raise self._difference(seen, expected, time_ps)
        return seen

    def run(self, pins: Pins, grid: Grid) -> int | None:
        """Take edges on both, which are quiescent; see `Engine`."""
        changed_ps = self._engine.run(pins, grid)
        self._reference.run(pins, grid)
        return changed_ps

    def advance(self, pins: Pins, grid: Grid, watch: Watch) -> Span:
        """Take edges on both up to what is watched for; see `Engine`."""
        return advance(self, pins, grid, watch)

    def _difference(self, seen: Pins, expected: Pins, time_ps: int) -> LockstepError:
        pin = next(name for name in expected if seen[name] != expected[name])
        path = self._folder / f"lockstep-{self._name}.vcd"
        path.parent.mkdir(parents=True, exist_ok=True)
        engine = self._waves()
        first = len(self._past) - WINDOW_CYCLES
        for i, (at_ps, clocks, values) in enumerate(self._past):
            pins = dict(zip(self._names, values, strict=True))
            if i >= first:
                engine.sample(pins, at_ps)
            engine.step(pins, clocks, at_ps)
        path.write_text(engine.vcd())
        return LockstepError(
            f"unit {self._name} differs from its golden model at {time_ps} ps: {pin} is"
            f" {seen[pin]:#x}, golden says {expected[pin]:#x}; the {WINDOW_CYCLES} cycles before"
            f" are in {path}"
        )
