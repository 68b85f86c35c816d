# SPDX-License-Identifier: Apache-2.0
"""Record the pins of units in a run: what gates are driven with, and compared to, later.

Edges that a run skips change no state and are not recorded; the times of those that are tell how
many were skipped.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.hdl import Fragment

from ahasd import UserError
from ahasd.gen.manifest import ports
from ahasd.rtl.configs import UNITS
from ahasd.sim.ports import Engine, Grid, Pins, Span, Watch, advance

SCHEMA = "ahasd-activity/1"


class _Columns:
    """Pins as bytes: one after the other in the manifest's order, each from its lowest bit on."""

    def __init__(self, listed: list[dict[str, Any]], direction: str) -> None:
        self.pins = [
            (port["name"], port["width"]) for port in listed if port["direction"] == direction
        ]
        self._sizes = [(name, -(-width // 8)) for name, width in self.pins]
        self._held = bytearray()

    def add(self, values: Pins) -> None:
        """Append the pins at an edge."""
        self._held += b"".join(values[name].to_bytes(size, "little") for name, size in self._sizes)

    def rows(self, edges: int) -> np.ndarray:
        """Return the first edges, a row each."""
        size = sum(size for _, size in self._sizes)
        return np.frombuffer(self._held, np.uint8).reshape(-1, size)[:edges]


class RecordingEngine:
    """An engine whose pins are kept; see `Engine`."""

    def __init__(self, recorder: "Recorder", name: str, params: Any, engine: Engine) -> None:
        self.name, self.params = name, params
        component = UNITS[name].load_hardware()(params)
        Fragment.get(component, None)  # Amaranth warns of hardware that nobody elaborates
        listed = ports(component)
        self._recorder = recorder
        self._engine = engine
        self._inputs, self._outputs = _Columns(listed, "in"), _Columns(listed, "out")
        self._clocks: list[int] = []
        self._times_ps: list[int] = []

    @property
    def changed(self) -> bool | None:
        """See `Engine`."""
        return self._engine.changed

    def step(self, pins: Pins, clocks: int, time_ps: int) -> dict[str, int]:
        """Take an edge and keep it; see `Engine`.

        A part of a top is told no time: it is the top's.
        """
        if time_ps:
            self._recorder.time_ps = time_ps
        seen = self._engine.step(pins, clocks, time_ps)
        self._inputs.add(pins)
        self._outputs.add(seen)
        self._clocks.append(clocks)
        self._times_ps.append(self._recorder.time_ps)
        return seen

    def run(self, pins: Pins, grid: Grid) -> int | None:
        """Take every edge of a grid; see `Engine`."""
        for time_ps, clocks, now in grid.edges(pins):
            self.step(now, clocks, time_ps)
            if self.changed:
                return time_ps
        return None

    def advance(self, pins: Pins, grid: Grid, watch: Watch) -> Span:
        """Take edges up to what is watched for; see `Engine`."""
        return advance(self, pins, grid, watch)

    def write(self, path: Path, told: Mapping[str, Any], until_ps: int) -> None:
        """Write what was recorded up to a time."""
        unit = UNITS[self.name]
        edges = sum(time_ps <= until_ps for time_ps in self._times_ps)
        header = {
            "schema": SCHEMA,
            "unit": self.name,
            "domains": unit.domains,
            "parameters": asdict(self.params),
            "source_sha256": unit.source_sha256(),
            "inputs": self._inputs.pins,
            "outputs": self._outputs.pins,
            **told,
        }
        np.savez_compressed(
            path,
            header=np.frombuffer(json.dumps(header, sort_keys=True).encode(), np.uint8),
            inputs=self._inputs.rows(edges),
            outputs=self._outputs.rows(edges),
            clocks=np.array(self._clocks[:edges], np.uint8),
            times_ps=np.array(self._times_ps[:edges], np.int64),
        )


class Recorder:
    """Keeps the pins of the units of a run.

    Attributes
    ----------
    time_ps
        Of the last edge.
    """

    def __init__(self) -> None:
        self.time_ps = 0
        self._engines: list[RecordingEngine] = []

    def on(self, name: str, params: Any, engine: Engine) -> Engine:
        """Return an engine that does the same and is recorded."""
        self._engines.append(RecordingEngine(self, name, params, engine))
        return self._engines[-1]

    def write(
        self,
        folder: Path,
        told: Mapping[str, Any],
        until_ps: int,
        of_unit: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> list[Path]:
        """Write a file for each unit; return their paths.

        Parameters
        ----------
        folder
            Where they go; it is made.
        told
            What they say of the run.
        until_ps
            Later edges are left out, such as those that read counters after the end.
        of_unit
            What else the file of a unit says, by its name.

        Raises
        ------
        UserError
            No unit ran, or the folder cannot be written.
        """
        if not self._engines:
            raise UserError("no hardware unit ran in this run, so there are no pins to record")
        paths = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for engine in self._engines:
                paths.append(folder / f"{engine.name}.npz")
                more = (of_unit or {}).get(engine.name, {})
                engine.write(paths[-1], {**told, **more}, until_ps)
        except OSError as error:
            raise UserError(f"cannot write {folder}: {error.strerror or error}") from error
        return paths
