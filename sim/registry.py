# SPDX-License-Identifier: Apache-2.0
"""Backends by name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from ahasd.rtl.parts import CATALOGUE
from ahasd.sim.activity import Recorder
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.ports import Engine, Pins

Backend = Literal["golden", "pysim", "rtl"]


class _Part:
    """An engine as a part of a golden top."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def step(self, pins: Pins, clocks: int) -> dict[str, int]:
        return self._engine.step(pins, clocks, 0)

    @property
    def changed(self) -> bool:
        return self._engine.changed is not False


def make_engine(
    name: str,
    params: Any,
    backend: Backend,
    *,
    parts: Mapping[str, Backend] | None = None,
    lockstep: Path | None = None,
    recorder: Recorder | None = None,
) -> Engine:
    """Start a unit on a backend.

    Parameters
    ----------
    name
        Unit of the catalogue.
    params
        Its parameters.
    backend
        `golden` is fast to start and to run; `rtl` runs the compiled netlist; `pysim` the Amaranth
        source.
    parts
        Backends of units in a golden top, by name; the others are golden too.
    lockstep
        Compare every edge with the golden model; the folder gets a waveform if they differ.
    recorder
        Keeps the pins of the unit, and of its parts that are not golden.

    Raises
    ------
    UserError
        The backend needs a tool that is missing.
    """
    unit = CATALOGUE[name]
    match backend:
        case "golden":
            others = {
                part: _Part(make_engine(part, getattr(params, part), chosen, recorder=recorder))
                for part, chosen in (parts or {}).items()
            }
            engine: Engine = GoldenEngine(unit, params, **({"parts": others} if others else {}))
        case "pysim":
            from ahasd.sim.pysim import PysimEngine

            engine = PysimEngine(unit, params)
        case "rtl" if unit.wide:
            from ahasd.sim.rtl.verilated import VerilatedEngine

            engine = VerilatedEngine.of(unit, params)
        case "rtl":
            from ahasd.sim.rtl.engine import RtlEngine

            engine = RtlEngine.of(unit, params)
    if recorder is not None:
        engine = recorder.on(name, params, engine)
    if lockstep is None:
        return engine
    from ahasd.sim.lockstep import LockstepEngine
    from ahasd.sim.rtl.engine import WaveEngine

    return LockstepEngine(
        name,
        engine,
        GoldenEngine(unit, params),
        lambda: WaveEngine.of(unit, params),
        lockstep,
    )
