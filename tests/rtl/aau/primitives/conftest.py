# SPDX-License-Identifier: Apache-2.0
"""The primitives as compiled RTL, all those of one variant in one library."""

import ctypes
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Fragment, Module, Shape
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from ahasd.rtl.aau.numerics import VARIANTS, Numerics
from ahasd.rtl.aau.primitives.add.unit import AddUnit
from ahasd.rtl.aau.primitives.exp2.unit import Exp2Unit, TermUnit
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.load.unit import LoadUnit, ScaleUnit
from ahasd.rtl.aau.primitives.log2.unit import Log2Unit
from ahasd.rtl.aau.primitives.multiply.unit import MultiplyUnit
from ahasd.rtl.aau.primitives.normalise.unit import NormaliseUnit
from ahasd.rtl.aau.primitives.pipeline import Primitive
from ahasd.rtl.aau.primitives.recip.unit import RecipUnit
from ahasd.rtl.aau.primitives.rsqrt.unit import RsqrtUnit
from ahasd.rtl.aau.primitives.sigmoid.unit import SigmoidUnit
from ahasd.rtl.aau.primitives.store.unit import StoreUnit
from ahasd.rtl.configs import Unit
from ahasd.sim.rtl.build import LIBRARY, build
from ahasd.sim.rtl.engine import RtlEngine

BOTH = (Format.FP16, Format.BF16)
STORE_WIDTH = 24
SUM_WIDTH = 50


MAKERS: dict[str, Callable[[Numerics], Primitive]] = {
    "exp2": Exp2Unit,
    "term": TermUnit,
    "recip": RecipUnit,
    "rsqrt": RsqrtUnit,
    "log2": Log2Unit,
    "sigmoid": SigmoidUnit,
    "load": lambda numerics: LoadUnit(numerics, tuple(Format)),
    "scale": ScaleUnit,
    "normalise": lambda numerics: NormaliseUnit(SUM_WIDTH, numerics.result_width),
    "add": lambda _: AddUnit(BOTH),
    "multiply": lambda _: MultiplyUnit(BOTH),
    "store": lambda _: StoreUnit(STORE_WIDTH, (*BOTH, Format.INT8)),
    "load_float": lambda numerics: LoadUnit(numerics, BOTH),
    "load_int8": lambda numerics: LoadUnit(numerics, (Format.INT8,)),
    "add_fp16": lambda _: AddUnit((Format.FP16,)),
    "add_bf16": lambda _: AddUnit((Format.BF16,)),
    "multiply_fp16": lambda _: MultiplyUnit((Format.FP16,)),
    "multiply_bf16": lambda _: MultiplyUnit((Format.BF16,)),
    "store_fp16": lambda _: StoreUnit(STORE_WIDTH, (Format.FP16,)),
    "store_int8": lambda _: StoreUnit(STORE_WIDTH, (Format.INT8,)),
}
"""Every primitive; behind an underscore, with the formats of that name alone."""
MAIN = tuple(name for name in MAKERS if "_" not in name)


@dataclass(frozen=True)
class ShelfParams:
    """What stands on a shelf."""

    numerics: Numerics
    names: tuple[str, ...]


class Shelf(wiring.Component):
    """Primitives side by side, each with its ports."""

    def __init__(self, params: ShelfParams) -> None:
        self.parts = {name: MAKERS[name](params.numerics) for name in params.names}
        super().__init__({name: Out(part.signature) for name, part in self.parts.items()})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name, part in self.parts.items():
            m.submodules[f"{name}_unit"] = part
            wiring.connect(m, wiring.flipped(getattr(self, name)), part)
        return m


@dataclass(frozen=True, kw_only=True)
class ShelfUnit(Unit):
    """A shelf as the compiler of units wants it."""

    def load_hardware(self) -> Any:
        return Shelf

    def source_sha256(self) -> str:
        return super().source_sha256() + hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


SHELF = ShelfUnit(name="aau", does="", hardware="", golden="", domains=("pim",), configurations={})


class Stream(RtlEngine):
    """A compiled shelf that takes whole arrays of pins, one row an edge."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        # Called with addresses, which costs less than pointers do.
        self._step = ctypes.CDLL(str(folder / LIBRARY)).ahasd_step
        self._step.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p]

    def rows(self, pins: np.ndarray) -> np.ndarray:
        """Return the output words before every edge."""
        seen = np.empty((len(pins), len(self._out.array)), dtype=np.uint64)
        address_in = range(pins.ctypes.data, pins.ctypes.data + pins.nbytes, pins.strides[0])
        address_out = range(seen.ctypes.data, seen.ctypes.data + seen.nbytes, seen.strides[0])
        step, model = self._step, self._model
        for row_in, row_out in zip(address_in, address_out, strict=True):
            step(model, 1, row_in, row_out)
        return seen

    def place(self, name: str) -> tuple[bool, int]:
        """Return whether a pin is an input, and its word."""
        for side in (self._in, self._out):
            for pin in side.pins:
                if pin.name == name:
                    assert pin.words == 1
                    return side is self._in, pin.offset
        raise KeyError(name)

    @property
    def input_words(self) -> int:
        return len(self._in.array)


Columns = dict[str, Any]
"""Operands or results of a primitive by member; those of a struct by `member.field`."""


class Runner:
    """Primitives of a variant, run together, each on operands of its own."""

    def __init__(self, numerics: Numerics, names: tuple[str, ...]) -> None:
        params = ShelfParams(numerics, names)
        shelf = Shelf(params)
        Fragment.get(shelf, None)  # Amaranth complains of hardware that is never built
        self.parts = shelf.parts
        self._engine = Stream(build(SHELF, params))
        self._members = {
            name: {key: member for key, member in part.signature.members.items() if key != "enable"}
            for name, part in self.parts.items()
        }

    def run(
        self, operands: dict[str, Columns], enabled: np.ndarray
    ) -> dict[str, tuple[np.ndarray, Columns]]:
        """Return what stands on the outputs at every edge, and of which row of operands.

        Parameters
        ----------
        operands
            By primitive; columns of up to as many rows as `enabled` has edges set.
        enabled
            For every edge, whether the pipelines move. At the others, operands are noise.
        """
        rng = np.random.default_rng(len(enabled))
        noise = rng.integers(0, 1 << 63, (len(enabled), self._engine.input_words), dtype=np.uint64)
        pins = np.zeros_like(noise)
        counts = {}
        for name, columns in operands.items():
            pins[:, self._engine.place(f"{name}__enable")[1]] = enabled
            for key, member in self._members[name].items():
                if member.flow == Out:  # a port of the shelf has the other direction
                    continue
                values = _packed(key, member.shape, columns)
                counts[name] = len(values)
                _, word = self._engine.place(f"{name}__{key}")
                edges = np.flatnonzero(enabled)[: len(values)]
                width = Shape.cast(member.shape).width
                pins[:, word] = noise[:, word] & np.uint64((1 << width) - 1)
                pins[edges, word] = values
        seen = self._engine.rows(pins)
        before = np.cumsum(enabled) - enabled  # enabled edges before each edge
        results = {}
        for name in operands:
            row = before - self.parts[name].latency
            edges = np.flatnonzero((row >= 0) & (row < counts[name]))
            assert row[edges[-1]] == counts[name] - 1
            found: Columns = {}
            for key, member in self._members[name].items():
                if member.flow == Out:
                    _, word = self._engine.place(f"{name}__{key}")
                    found |= _unpacked(key, member.shape, seen[edges, word])
            results[name] = row[edges], found
        return results


def _packed(key: str, shape: Any, columns: Columns) -> np.ndarray:
    if isinstance(shape, data.StructLayout):
        parts = [
            (np.asarray(columns[f"{key}.{name}"]) & ((1 << field.width) - 1)) << field.offset
            for name, field in shape
        ]
        return np.bitwise_or.reduce(np.broadcast_arrays(*parts)).astype(np.uint64)
    values = np.asarray(columns[key])
    return (values & ((1 << Shape.cast(shape).width) - 1)).astype(np.uint64)


def _unpacked(key: str, shape: Any, words: np.ndarray) -> Columns:
    words = words.astype(np.int64)
    if isinstance(shape, data.StructLayout):
        return {
            f"{key}.{name}": _signed(words >> field.offset, Shape.cast(field.shape))
            for name, field in shape
        }
    return {key: _signed(words, Shape.cast(shape))}


def _signed(words: np.ndarray, shape: Shape) -> np.ndarray:
    words = words & ((1 << shape.width) - 1)
    return words - ((words >> (shape.width - 1)) << shape.width) if shape.signed else words


@pytest.fixture(scope="session")
def make_runner() -> Callable[..., Runner]:
    """Compile primitives of a variant: by default every one, in all formats together."""
    return lambda variant, names=None: Runner(VARIANTS[variant], names or MAIN)


@pytest.fixture(scope="session")
def runner(make_runner: Callable[..., Runner]) -> Callable[..., Runner]:
    """Do the same once for what was asked for before."""
    return cache(make_runner)


@pytest.fixture
def single_formats() -> tuple[str, ...]:
    """Name the primitives for some formats alone."""
    return tuple(name for name in MAKERS if name not in MAIN)


@pytest.fixture(scope="session")
def shelf() -> Callable[[str], Shelf]:
    """Return the hardware of all primitives of a variant."""
    return lambda variant: Shelf(ShelfParams(VARIANTS[variant], tuple(MAKERS)))
