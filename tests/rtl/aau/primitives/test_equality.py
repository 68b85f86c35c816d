# SPDX-License-Identifier: Apache-2.0
"""The compiled RTL of every primitive equals its golden model, bit for bit."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from ahasd.gen.emit import to_verilog
from ahasd.rtl.aau.numerics import VARIANTS, Numerics
from ahasd.rtl.aau.primitives.add.golden import add
from ahasd.rtl.aau.primitives.exp2.golden import exp2, term
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import bit_length
from ahasd.rtl.aau.primitives.load.golden import Constant, Real, load, scale
from ahasd.rtl.aau.primitives.log2.golden import logarithm
from ahasd.rtl.aau.primitives.multiply.golden import multiply
from ahasd.rtl.aau.primitives.normalise.golden import normalise
from ahasd.rtl.aau.primitives.recip.golden import recip
from ahasd.rtl.aau.primitives.rsqrt.golden import rsqrt
from ahasd.rtl.aau.primitives.sigmoid.golden import sigmoid
from ahasd.rtl.aau.primitives.store.golden import store

Columns = dict[str, Any]
BOTH = (Format.FP16, Format.BF16)
STORE_WIDTH, SUM_WIDTH = 24, 50


def by_format(function, formats, form, *columns):
    """Apply a golden function of one format to rows of mixed formats."""
    pieces = [function(each, *(column[form == each] for column in columns)) for each in formats]
    found = np.empty((len(form), len(pieces[0])), dtype=np.int64)
    for each, piece in zip(formats, pieces, strict=True):
        found[form == each] = np.stack(piece, axis=1)
    return found.T


def codes(rng, rows):
    """Return codes of 16 bits: of random exponents, so near ones meet; and special values."""
    corners = [
        *(0, 1, 0x3FF, 0x400, 0x7F, 0x80, 0x3C00, 0x3F80, 0x7BFF, 0x7F7F),
        *(0x7C00, 0x7C01, 0x7F80, 0x7F81, 0x7FFF),
        # Half a step of the largest numbers and around it, and factors just above 1: rounding
        # carries into an infinity.
        *(0x4BFF, 0x4C00, 0x4C01, 0x7BFE, 0x3C01, 0x7AFF, 0x7B00, 0x7B01, 0x7F7E, 0x3F81),
    ]
    corners = np.array(corners + [0x8000 | code for code in corners])
    a = rng.integers(0, 1 << 16, rows)
    near = (a + (rng.integers(-3, 4, rows) << 10) + rng.integers(-40, 41, rows)) & 0x7FFF
    near |= rng.integers(0, 2, rows) << 15
    b = np.where(rng.random(rows) < 0.5, near, rng.integers(0, 1 << 16, rows))
    pairs = np.stack(np.meshgrid(corners, corners)).reshape(2, -1)
    a[: pairs.shape[1]], b[: pairs.shape[1]] = pairs
    return a, b


def cases(numerics: Numerics, rows: int, seed: int) -> dict[str, tuple[Columns, Columns]]:
    """Return operands and expected results of every primitive.

    What has few enough operands gets them all.
    """
    rng = np.random.default_rng(seed)
    found: dict[str, tuple[Columns, Columns]] = {}

    def every(width: int) -> np.ndarray:
        """Return all numbers of a width, or random ones and corners if they are too many."""
        if 1 << width <= rows:
            return np.arange(1 << width)
        chosen = rng.integers(0, 1 << width, rows)
        middle = 1 << (width - 1)
        chosen[:96] = np.concatenate(
            [start + np.arange(-16, 16) for start in (0, middle, 2 * middle)]
        )
        return np.clip(chosen, 0, 2 * middle - 1)

    depth = every(numerics.depth_width)
    power = exp2(depth, numerics)
    fields = {"power.mantissa": power.mantissa, "power.shift": power.shift}
    found["exp2"] = {"depth": depth}, fields
    found["term"] = fields, {"term": term(power, numerics)}

    mantissa = every(numerics.result_width - 1) | 1 << (numerics.result_width - 1)
    found["recip"] = {"mantissa": mantissa}, {"result": recip(mantissa, numerics)}
    found["log2"] = {"mantissa": mantissa}, {"result": logarithm(mantissa, numerics)}
    both = every(numerics.result_width)
    odd, low = both >> (numerics.result_width - 1), 1 << (numerics.result_width - 1)
    mantissa = both | low
    expected = {"result": rsqrt(mantissa, odd, numerics)}
    found["rsqrt"] = {"mantissa": mantissa, "odd": odd}, expected

    scaled = every(numerics.scaled_width) - numerics.scaled_max
    scaled = np.minimum(scaled, numerics.scaled_max)
    found["sigmoid"] = {"scaled": scaled}, {"result": sigmoid(scaled, numerics)}

    value = rng.integers(1, 1 << SUM_WIDTH, rows) >> rng.integers(0, SUM_WIDTH, rows)
    value = np.maximum(value, 1)
    kept, exponent = normalise(value, numerics.result_width)
    found["normalise"] = {"value": value}, {"mantissa": kept, "exponent": exponent}

    _loads(found, numerics, rows, rng)
    _floats(found, rows, rng)
    return found


def _loads(found, numerics, rows, rng):
    form = rng.integers(0, 4, rows)
    code = rng.integers(0, 1 << 32, rows) >> rng.integers(0, 32, rows)
    # Around powers of two, where rounding carries out of a mantissa.
    near = (1 << np.arange(32))[:, None] + np.array([-1, 0, 1])
    near = np.concatenate([near, -near], axis=None) & 0xFFFFFFFF
    code[: 4 * len(near)], form[: 4 * len(near)] = (
        np.repeat(near, 4),
        np.tile(list(Format), len(near)),
    )
    for name, formats in (
        ("load", tuple(Format)),
        ("load_float", BOTH),
        ("load_int8", (Format.INT8,)),
    ):
        if name == "load_float":
            form, code = np.repeat(BOTH, 1 << 16), np.tile(np.arange(1 << 16), 2)
            form, code = form[:rows], code[:rows]
        if name == "load_int8":
            form, code = np.full(256, Format.INT8), np.arange(256)
        masks = np.array([(1 << each.width) - 1 for each in Format])
        code = code & masks[form]
        real = Real(*by_format(lambda each, c: load(c, each, numerics), formats, form, code))
        expected = {f"number.{key}": column for key, column in real._asdict().items()}
        found[name] = {"code": code, "form": form}, expected
    width = numerics.mantissa_width
    top = 1 << (width - 1)
    real = Real(
        rng.integers(0, 2, rows),
        np.where(rng.random(rows) < 0.05, 0, rng.integers(0, top, rows) | top),
        rng.integers(-127, 129, rows),
        (rng.random(rows) < 0.05).astype(int),
        (rng.random(rows) < 0.05).astype(int),
    )
    real = real._replace(infinite=real.infinite & ~real.nan)
    near = rng.integers(-numerics.fraction_width - 4, numerics.integer_width + 2, rows)
    constant = np.where(rng.random(rows) < 0.9, near - real.exponent, rng.integers(-256, 256, rows))
    factor = rng.integers(0, top, rows) | top
    # Halves, whose rounding depends on what they lie beside.
    tie = rng.random(rows) < 0.2
    factor = np.where(tie, top, factor)
    pair = Constant(factor, np.clip(constant, -256, 255))  # arrays do as numbers do
    scaled = scale(real, pair, numerics)
    found["scale"] = (
        {f"number.{key}": column for key, column in real._asdict().items()}
        | {f"constant.{key}": column for key, column in pair._asdict().items()},
        {f"scaled.{key}": column for key, column in scaled._asdict().items()},
    )


def _floats(found, rows, rng):
    a, b = codes(rng, rows)
    mixed = rng.integers(0, 2, rows)
    for name, function in (("add", add), ("multiply", multiply)):
        for suffix, form in (("", mixed), ("_fp16", 0 * mixed), ("_bf16", 0 * mixed + 1)):
            formats = BOTH if suffix == "" else (Format(form[0]),)
            (result,) = by_format(
                lambda each, x, y, f=function: (f(x, y, each),), formats, form, a, b
            )
            found[name + suffix] = {"a": a, "b": b, "form": form}, {"result": result}
    shift = np.maximum(rng.integers(-STORE_WIDTH, STORE_WIDTH + 1, rows), 0)
    mantissa = rng.integers(0, 1 << STORE_WIDTH, rows) >> shift
    keep = rng.integers(0, STORE_WIDTH, rows)  # ties need zeros below, but for what breaks them
    cut = mantissa >> keep << keep | rng.integers(0, 2, rows)
    mantissa = np.where(rng.random(rows) < 0.5, cut, mantissa)
    mantissa = mantissa << np.where(mantissa == 0, 0, STORE_WIDTH - bit_length(mantissa))
    number = {
        "sign": rng.integers(0, 2, rows),
        "mantissa": mantissa,
        "exponent": np.where(
            rng.random(rows) < 0.6,
            np.where(
                rng.random(rows) < 0.5, rng.integers(-3, 9, rows), rng.integers(-20, 40, rows)
            ),
            rng.integers(-512, 512, rows),
        ),
        "infinite": (rng.random(rows) < 0.03).astype(int),
        "nan": (rng.random(rows) < 0.03).astype(int),
    }
    everything = (*BOTH, Format.INT8)
    mixed = rng.integers(0, 3, rows)
    for name, form in (("store", mixed), ("store_fp16", 0 * mixed), ("store_int8", 0 * mixed + 2)):
        formats = everything if name == "store" else (Format(form[0]),)
        (code,) = by_format(
            lambda each, s, m, e, i, n: (store(s, m, e, STORE_WIDTH, each, infinite=i, nan=n),),
            formats,
            form,
            *number.values(),
        )
        operands = {f"number.{key}": column for key, column in number.items()}
        found[name] = operands | {"form": form}, {"code": code}


def differences(name, rows, found, operands, expected):
    """List the members in which outputs differ, with the first of them."""
    told = []
    for key, column in expected.items():
        differ = found[key] != column[rows]
        if key == "number.exponent":  # has no meaning of zeros
            differ &= expected["number.mantissa"][rows] != 0
        for edge in np.flatnonzero(differ)[:1]:
            row = rows[edge]
            shown = {k: int(np.broadcast_to(v, column.shape)[row]) for k, v in operands.items()}
            told.append(f"{name} {shown}: {key} {found[key][edge]}, not {column[row]}")
    return told


def compare(runner, numerics, rows, enabled, seed=0):
    wanted = cases(numerics, rows, seed)
    wanted = {name: case for name, case in wanted.items() if name in runner.parts}
    assert set(wanted) == set(runner.parts)
    found = runner.run({name: operands for name, (operands, _) in wanted.items()}, enabled)
    told = []
    for name, (operands, expected) in wanted.items():
        seen, outputs = found[name]
        told += differences(name, seen, outputs, operands, expected)
    assert told == []


def without_stalls(rows):
    return np.ones(rows + 16, dtype=np.int64)


def with_stalls(rows):
    enabled = np.random.default_rng(1).integers(0, 2, 3 * rows)
    assert enabled.sum() > rows + 16
    return enabled


def test_many_operands_give_what_the_golden_model_gives(runner):
    compare(runner("default"), VARIANTS["default"], 1 << 16, without_stalls(1 << 16))


def test_a_stalled_edge_leaves_no_trace(runner):
    compare(runner("default"), VARIANTS["default"], 1 << 13, with_stalls(1 << 13), seed=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "rows"), [("cheap", 1 << 16), ("default", 1 << 18), ("accurate", 1 << 20)]
)
def test_every_operand_gives_what_the_golden_model_gives(runner, variant, rows):
    # As many rows as the longest single operand has values.
    assert 1 << VARIANTS[variant].depth_width == rows
    assert 1 << VARIANTS[variant].result_width <= rows
    compare(runner(variant), VARIANTS[variant], rows, without_stalls(rows))
    compare(runner(variant), VARIANTS[variant], 1 << 13, with_stalls(1 << 13), seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_units_of_some_formats_give_what_the_golden_models_give(runner, single_formats, seed):
    units = runner("default", single_formats)
    compare(units, VARIANTS["default"], 1 << 18, without_stalls(1 << 18), seed)


PYOSYS = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for command in sys.argv[1:]:
    libyosys.run_pass(command, design)
"""


def from_verilog(component, module, *, debug):
    """Return the unit as C++, read back from its Verilog."""
    with TemporaryDirectory() as name:
        (Path(name) / "unit.v").write_text(to_verilog(component, module))
        commands = ("read_verilog unit.v", "proc", "write_cxxrtl -g0 unit.cc")
        command = [sys.executable, "-c", PYOSYS, *commands]
        subprocess.run(command, cwd=name, check=True, capture_output=True)
        return (Path(name) / "unit.cc").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_verilog_as_it_is_written_gives_the_same(
    variant, make_runner, single_formats, monkeypatch, tmp_path
):
    monkeypatch.setenv("AHASD_CACHE", str(tmp_path))
    monkeypatch.setattr("ahasd.gen.emit.to_cxx", from_verilog)
    for names in (None, single_formats):
        units = make_runner(variant, names)
        compare(units, VARIANTS[variant], 1 << 16, without_stalls(1 << 16))
