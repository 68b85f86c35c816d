# SPDX-License-Identifier: Apache-2.0
"""Prove that mapped cells do what their RTL does, register by register, by Yosys' induction.

Registers and outputs of both are matched by name, cells are replaced by the functions that the
library gives them. What is proved: where all that is matched has been equal for four cycles, it
stays equal, whatever the inputs and whatever any other state. That it is equal once, after a reset,
is what `ahasd.synth.power.gates` shows, and which clock and edge a register takes: the proof knows
one clock.
"""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ahasd.gen.yosys import YosysError
from ahasd.synth import passes
from ahasd.synth.flow import Request, mapping

_GOLD = (
    "memory_collect",
    "memory_map",
    "opt_clean",
    "async2sync",
    "simplemap",
    "opt_clean",
    "design -stash gold",
)
_POINTS = re.compile(r"Of those cells (\d+) are proven and (\d+) are unproven")
_UNPROVEN = re.compile(r"^ *Unproven \$equiv \S+: \\(\S+)_gold(?: (\[\d+\]))?", re.MULTILINE)


@dataclass(frozen=True)
class Equivalence:
    """What came of a proof.

    Attributes
    ----------
    points
        Bits of registers and outputs that were matched.
    unproven
        Names of those that may differ.
    """

    points: int
    unproven: tuple[str, ...]


def prove(request: Request, changes: Sequence[str] = ()) -> Equivalence:
    """Map a design and prove the cells equal to it.

    Parameters
    ----------
    request
        What, and how; memories become flip-flops.
    changes
        Passes on the mapped cells before the proof, to plant a fault.

    Raises
    ------
    UserError
        pyosys is missing.
    YosysError
        Yosys failed.
    """
    module = request.module
    read = ["read_rtlil design.il", f"hierarchy -check -top {module}", "proc"]
    read += ["flatten -noscopeinfo"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "design.il").write_text(request.design)
        files = request.library.write(folder)
        (folder / "limits.txt").write_text(
            f"set_driving_cell {request.library.buffer}\n"
            f"set_load {request.library.load_ff} [all_outputs]\n"
        )
        # Without the pass that takes names away, which the registers are matched by.
        mapped = [each for each in mapping(request, files) if each != "opt_clean -purge"]
        log = passes.run(
            [
                *read,
                *_GOLD,
                *read,
                *mapped,
                *changes,
                "opt_clean",
                *(f"read_liberty -ignore_miss_func {file}" for file in files),
                f"hierarchy -top {module}",
                "flatten",
                "async2sync",
                "simplemap",
                "opt_clean",
                "design -stash gate",
                f"design -copy-from gold -as gold {module}",
                f"design -copy-from gate -as gate {module}",
                "equiv_make gold gate equiv",
                "hierarchy -top equiv",
                "opt_clean",
                "equiv_simple -undef",
                "equiv_induct -undef",
                "equiv_status",
            ],
            folder,
        )
    found = _POINTS.findall(log)
    if not found:
        raise YosysError(f"{module}: the proof did not end with a count: {log[-300:]}")
    proven, unproven = map(int, found[-1])
    told = log[log.rindex("EQUIV_STATUS") :]
    names = tuple("".join(match) for match in _UNPROVEN.findall(told))
    return Equivalence(proven + unproven, names or ("?",) * unproven)
