# SPDX-License-Identifier: Apache-2.0
"""Backends by name."""

from pathlib import Path
from typing import Any, Literal

from ahasd.rtl.configs import UNITS
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.ports import Engine

Backend = Literal["golden", "pysim", "rtl"]


def make_engine(
    name: str, params: Any, backend: Backend, *, lockstep: Path | None = None
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
    lockstep
        Compare every edge with the golden model; the folder gets a waveform if they differ.

    Raises
    ------
    UserError
        The backend needs a tool that is missing.
    """
    unit = UNITS[name]
    match backend:
        case "golden":
            engine: Engine = GoldenEngine(unit, params)
        case "pysim":
            from ahasd.sim.pysim import PysimEngine

            engine = PysimEngine(unit, params)
        case "rtl":
            from ahasd.sim.rtl.engine import RtlEngine

            engine = RtlEngine.of(unit, params)
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
