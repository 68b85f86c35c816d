# SPDX-License-Identifier: Apache-2.0
"""Benches for the tests of every unit."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ahasd.sim.bench import Bench, Simulator, available

BUILD_LIMIT_S = 3600


@pytest.fixture(scope="session")
def make_bench(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Bench]:
    """Compile benches; skip the test if the simulator is missing.

    Most of that time goes into Verilator's own library, the same for every unit: it is compiled for
    the first bench, and the others start with its objects.
    """
    library: list[Path] = []

    def make(
        unit: str, configuration: str, simulator: Simulator, verilog: str | None = None
    ) -> Bench:
        if not available(simulator):
            pytest.skip(f"{simulator} is not installed")
        folder = tmp_path_factory.mktemp(f"{unit}-{configuration}-{simulator}")
        build = folder / "build"
        build.mkdir()
        if simulator == "verilator":
            for path in library:
                copy = shutil.copy(path, build)
                # Newer than the makefile that is yet to be written, on which it hangs.
                later = time.time() + BUILD_LIMIT_S
                os.utime(copy, (later, later))
        bench = Bench(unit, configuration, simulator, folder, verilog=verilog)
        if simulator == "verilator" and not library:
            library.extend(build.glob("verilated*.[od]"))
        return bench

    return make
