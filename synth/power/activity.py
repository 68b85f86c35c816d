# SPDX-License-Identifier: Apache-2.0
"""A record of a unit's pins in a run: see `ahasd run --activity`."""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from ahasd import UserError
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.configs import UNITS

SCHEMA = "ahasd-activity/1"


@dataclass(frozen=True)
class Stretch:
    """Edges of a record that belong together.

    Attributes
    ----------
    first, end
        Where they begin, and where what follows does.
    share
        Of the run's work that they stand for, by time.
    command
        What was done in them; empty of a record of the run itself.
    """

    first: int
    end: int
    share: float
    command: Mapping[str, Any]


@dataclass(frozen=True)
class Activity:
    """What went in and out of a unit at the edges that a run did not skip.

    Attributes
    ----------
    header
        What the file says of the unit and the run.
    inputs, outputs
        A row of bytes for each edge, pins one after the other, as it sees them.
    clocks
        Domains that have the edge, bit i the unit's i-th; none where only inputs changed.
    times_ps
        When it was.
    sha256
        Hash of the file.
    """

    header: dict[str, Any]
    inputs: np.ndarray
    outputs: np.ndarray
    clocks: np.ndarray
    times_ps: np.ndarray
    sha256: str

    @property
    def unit(self) -> str:
        """Name of the unit."""
        return self.header["unit"]

    @property
    def params(self) -> Any:
        """Its parameters; see `params_of`."""
        return params_of(self.unit, self.header["parameters"])

    @property
    def stepped(self) -> dict[str, int]:
        """Edges that were taken, by domain."""
        return self.stepped_in(0, len(self.clocks))

    def stepped_in(self, first: int, end: int) -> dict[str, int]:
        """Return the edges that were taken in a part of the record, by domain."""
        return {
            domain: int((self.clocks[first:end] >> i & 1).sum())
            for i, domain in enumerate(self.header["domains"])
        }

    @property
    def stretches(self) -> list[Stretch]:
        """Its commands where they are told, weighed by the run's; else the record as a whole."""
        commands = self.header.get("commands")
        if commands is None:
            return [Stretch(0, len(self.clocks), 1.0, {})]
        ends = list(accumulate(each["cycles"] for each in commands))
        return [
            Stretch(end - each["cycles"], end, each["share"], each)
            for each, end in zip(commands, ends, strict=True)
        ]

    @property
    def instances(self) -> int:
        """Units of this kind that the run has."""
        return self.header.get("instances", 1)

    @property
    def busy_ps(self) -> int:
        """Time that a unit works in the run.

        Where commands were tried beside the run it is told; else it is that of the edges taken, of
        the domain with the most of it.
        """
        if "busy_ps" in self.header:
            return self.header["busy_ps"]
        return self.recorded_ps(0, len(self.clocks))

    def recorded_ps(self, first: int, end: int) -> int:
        """Return the time of the edges taken in a part of the record."""
        periods = self.header["periods_ps"]
        taken = self.stepped_in(first, end)
        return max(count * periods[domain] for domain, count in taken.items())

    def column(self, pins: Sequence[tuple[str, int]], name: str) -> tuple[int, int]:
        """Return first byte and width of a pin among the inputs or outputs that are listed."""
        at = 0
        for pin, width in pins:
            if pin == name:
                return at, width
            at += -(-width // 8)
        raise KeyError(name)

    def answers(self) -> int | None:
        """Return how many payloads the output streams gave.

        None if clocks could be mistaken, since a record does not say which of two domains a stream
        belongs to; and of commands, which have answers of many sizes.
        """
        if len(self.header["domains"]) > 1 or "commands" in self.header:
            return None
        inputs, outputs = self.header["inputs"], self.header["outputs"]
        count = 0
        for name, _ in outputs:
            if name.endswith("__valid"):
                ready = name.removesuffix("valid") + "ready"
                valid = self.outputs[:, self.column(outputs, name)[0]]
                taken = self.inputs[:, self.column(inputs, ready)[0]]
                count += int((valid & taken & self.clocks & 1).sum())
        return count


def params_of(unit: str, told: Mapping[str, Any]) -> Any:
    """Return the parameters of the catalogue that are equal to those of a record.

    Raises
    ------
    UserError
        The catalogue has none.
    """
    held = [*UNITS[unit].configurations.values()]
    if unit in UNITS["ahasd"].parts:
        held += [getattr(top, unit) for top in UNITS["ahasd"].configurations.values()]
    if unit == "aau":
        held += [AauParams(lanes=1 << i) for i in range(6)]
    for params in held:
        if json.loads(json.dumps(asdict(params))) == told:
            return params
    raise UserError(
        f"the record of {unit} is of parameters that this version does not have;"
        " record again with `ahasd run --activity`"
    )


def read(path: Path) -> Activity:
    """Read a record.

    Raises
    ------
    UserError
        It is missing or no record of ours, or its unit's sources have changed since.
    """
    try:
        content = path.read_bytes()
        with np.load(io.BytesIO(content), allow_pickle=False) as held:
            header = json.loads(bytes(held["header"]))
            if header["schema"] != SCHEMA:
                raise ValueError("schema")
            found = Activity(
                header,
                *(held[name] for name in ("inputs", "outputs", "clocks", "times_ps")),
                sha256=hashlib.sha256(content).hexdigest(),
            )
    except FileNotFoundError:
        raise UserError(
            f"there is no {path}; record the pins of a run with `ahasd run --activity`, which keeps"
            " those of the control units and, where the run has an AAU, of the AAU; no part has any"
        ) from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(
            f"{path} holds no recorded pins: {error}; record again with `ahasd run --activity`"
        ) from None
    if found.unit != path.stem:
        raise UserError(
            f"{path} holds the pins of {found.unit}; give the file back its name, {found.unit}.npz"
        )
    if UNITS[found.unit].source_sha256() != header["source_sha256"]:
        raise UserError(
            f"{path} was recorded before the sources of {found.unit} changed;"
            " record again with `ahasd run --activity`"
        )
    return found
