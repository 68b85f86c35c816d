# SPDX-License-Identifier: Apache-2.0
"""Waveforms of traces."""

import re
from collections.abc import Sequence
from pathlib import Path

from vcd.writer import VCDWriter

from ahasd.sim.formal.model import Model


def write_waves(
    model: Model, cycles: Sequence[Sequence[bool | None]], folder: Path, name: str
) -> Path:
    """Write every named net over a trace as VCD, one cycle a time unit; return the file.

    Parameters
    ----------
    model
        The unit with its properties.
    cycles
        Value of every literal in every cycle.
    folder
        Where the file goes; made if missing.
    name
        Of the property.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (re.sub(r"\W+", "-", name).strip("-") + ".vcd")
    # A structure of fields and a field are both nets; a scope and a net may not share a name.
    scopes = {net.rpartition(".")[0] for net in model.nets}
    with path.open("w") as file, VCDWriter(file, timescale="1 ns", comment=name) as writer:
        variables = []
        for net, literals in sorted(model.nets.items()):
            scope, _, last = net.rpartition(".")
            called = f"{last}_" if net in scopes else last
            variable = writer.register_var(
                f"top.{scope}" if scope else "top", called, "wire", size=len(literals)
            )
            variables.append((variable, literals))
        for time, values in enumerate((*cycles, cycles[-1])):
            for variable, literals in variables:
                value = sum(bool(values[literal]) << i for i, literal in enumerate(literals))
                writer.change(variable, time, value)
    return path
