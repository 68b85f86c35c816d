# SPDX-License-Identifier: Apache-2.0
"""OpenSTA on the mapped netlist, where it is installed: a second opinion, with flip-flops' times.

Only paths from register to register within a clock count: crossings and ports have no times.
"""

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ahasd.gen.yosys import YosysError
from ahasd.synth.clock_gates import COMPOSITE, PUT_CHECKS_IN, GateCell
from ahasd.synth.library import Library
from ahasd.synth.path import Names

_PATH = re.compile(
    r"^Startpoint: (?P<start>\S+).*?^Endpoint: (?P<end>\S+).*?clocked by (?P<clock>\w+)\)"
    r".*?^\s*(?P<slack>-?[\d.]+)\s+slack \(",
    re.MULTILINE | re.DOTALL,
)


def installed() -> str:
    """Return the version of OpenSTA, '' if there is none."""
    command = shutil.which("sta")
    if command is None:
        return ""
    done = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def writing(gate: GateCell | None) -> list[str]:
    """Return the Yosys commands that write what OpenSTA reads.

    Names of cells are the same in both files, but that those of a composite clock gate, in the
    Verilog alone, have a number behind its name, with a dot between.
    """
    return [
        "setundef -zero",
        "opt_clean -purge",
        "rename -enumerate -pattern u%",
        "write_json sta.json",
        *([PUT_CHECKS_IN] if gate == COMPOSITE else []),
        "write_verilog -noattr -noexpr -nohex -simple-lhs sta.v",
    ]


def script(
    module: str, files: Sequence[str], clocks_ps: Mapping[str, int], time_unit_ps: float
) -> str:
    """Return what OpenSTA is to do.

    Parameters
    ----------
    module
        Name of the top.
    files
        Liberty files.
    clocks_ps
        Period by clock domain; its port has `_clk` behind the name.
    time_unit_ps
        Of the library.
    """
    lines = [f"read_liberty {file}" for file in files]
    lines += ["read_verilog sta.v", f"link_design {module}"]
    for name, period_ps in clocks_ps.items():
        period = period_ps / time_unit_ps
        lines.append(f"create_clock -name {name} -period {period:.6f} [get_ports {name}_clk]")
    lines += [
        f"set_false_path -from [get_clocks {one}] -to [get_clocks {other}]"
        for one in clocks_ps
        for other in clocks_ps
        if one != other
    ]
    return "\n".join([*lines, "report_checks -path_delay max -format full -digits 6", "exit", ""])


class Registers:
    """Names of the registers behind the cells of a netlist, those in parts kept apart included."""

    def __init__(
        self, modules: Mapping[str, Mapping[str, Any]], top: str, library: Library
    ) -> None:
        self._top = top
        self._types = {name: cell["type"] for name, cell in modules[top]["cells"].items()}
        self._names = {name: Names(netlist, library) for name, netlist in modules.items()}

    def of(self, cell: str) -> str:
        """Return the register of a cell as OpenSTA names it, `part/u1`, `u1`, or `u1.c2` in it."""
        part, _, own = cell.rpartition("/")
        own = own.partition(".")[0]
        module = self._types.get(part, self._top)
        return "/".join(filter(None, (part, self._names[module].register(own))))


def read(
    said: str, registers: Registers, clocks_ps: Mapping[str, int], time_unit_ps: float
) -> dict[str, Any] | None:
    """Return the path that leaves the least of its clock's period, from OpenSTA's report.

    Returns
    -------
    dict
        `clock`; `delay_ps`, the shortest period that this path allows; `start` and `end`. None
        if no register leads to another.

    Raises
    ------
    YosysError
        OpenSTA says something else.
    """
    found = []
    for path in _PATH.finditer(said):
        period_ps = clocks_ps[path["clock"]]
        delay_ps = round(period_ps - float(path["slack"]) * time_unit_ps, 2)
        found.append((delay_ps / period_ps, path["clock"], delay_ps, path["start"], path["end"]))
    if not found and "No paths found" in said:
        return None
    if not found:
        raise YosysError(f"OpenSTA reported no path: {said.strip()[-300:]}")
    _, clock, delay_ps, start, end = max(found)
    return {
        "clock": clock,
        "delay_ps": delay_ps,
        "start": registers.of(start),
        "end": registers.of(end),
    }


def run(folder: Path, text: str) -> str:
    """Run OpenSTA on a script in a folder; return what it said."""
    (folder / "sta.tcl").write_text(text)
    done = subprocess.run(
        ["sta", "-no_splash", "-exit", "sta.tcl"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr
