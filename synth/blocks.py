# SPDX-License-Identifier: Apache-2.0
"""Building blocks, synthesised and held against an estimate that was made before the hardware.

The estimate counted transistors of generic gates over four, and 5.5 for a flip-flop. So an XOR is 3
there and 2 among our cells, of which multipliers are mostly made. A block that differs is therefore
also counted in the estimate's way, which tells the yardstick's part from the block's.
"""

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Module, Shape, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ahasd.gen.emit import to_rtlil
from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.add.unit import AddUnit
from ahasd.rtl.aau.primitives.exp2.unit import Exp2Unit
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.log2.unit import Log2Unit
from ahasd.rtl.aau.primitives.multiply.unit import MultiplyUnit
from ahasd.rtl.aau.primitives.recip.unit import RecipUnit
from ahasd.rtl.aau.primitives.rsqrt.unit import RsqrtUnit
from ahasd.synth import passes
from ahasd.synth.flow import synthesise
from ahasd.synth.library import Library, load
from ahasd.synth.mapping import Request, design_sha256

FLOP_GE = 5.5
TRANSISTORS = {
    "$_NOT_": 2,
    "$_NAND_": 4,
    "$_NOR_": 4,
    "$_AND_": 6,
    "$_OR_": 6,
    "$_ANDNOT_": 6,
    "$_ORNOT_": 6,
    "$_XOR_": 12,
    "$_XNOR_": 12,
    "$_MUX_": 12,
}
"""Of generic gates in static CMOS, as `stat -tech cmos` of Yosys counts them."""
AGREEMENT = 0.15
CELLS = "cells"


class Multiplier(wiring.Component):
    """Multiply two numbers of a shape within a cycle, without registers."""

    a: Signal
    b: Signal
    product: Signal

    def __init__(self, shape: Shape) -> None:
        width = 2 * shape.width
        product = signed(width) if shape.signed else unsigned(width)
        super().__init__({"a": In(shape), "b": In(shape), "product": Out(product)})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        m.d.comb += self.product.eq(self.a * self.b)
        return m


class Accumulator(wiring.Component):
    """Multiply two signed bytes and add the product to 32 bits each cycle."""

    a: Signal
    b: Signal
    total: Signal

    def __init__(self) -> None:
        super().__init__({"a": In(signed(8)), "b": In(signed(8)), "total": Out(signed(32))})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        m.d.pim += self.total.eq(self.total + self.a * self.b)
        return m


class Table(wiring.Component):
    """A table of 512 words of two bits, read in two places at once and written at an edge."""

    write: Signal
    write_index: Signal
    write_data: Signal
    index: list[Signal]
    data: list[Signal]

    def __init__(self) -> None:
        super().__init__(
            {
                "write": In(1),
                "write_index": In(9),
                "write_data": In(2),
                "index": In(9).array(2),
                "data": Out(2).array(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        m.submodules.memory = memory = Memory(shape=2, depth=512, init=[])
        write = memory.write_port(domain="pim")
        m.d.comb += [
            write.en.eq(self.write),
            write.addr.eq(self.write_index),
            write.data.eq(self.write_data),
        ]
        for index, data in zip(self.index, self.data, strict=True):
            read = memory.read_port(domain="comb")
            m.d.comb += [read.addr.eq(index), data.eq(read.data)]
        return m


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block and its estimate.

    Parameters
    ----------
    name
        What it is.
    make
        What makes its hardware.
    estimate_ge
        What was estimated.
    """

    name: str
    make: Callable[[], wiring.Component]
    estimate_ge: int


def catalogue() -> tuple[Block, ...]:
    """Return the blocks."""
    numerics = Numerics(exp2_segments=32, recip_segments=64)
    return (
        Block(name="multiply 16 x 16", make=lambda: Multiplier(unsigned(16)), estimate_ge=2984),
        Block(name="multiply 18 x 18", make=lambda: Multiplier(unsigned(18)), estimate_ge=3766),
        Block(name="INT8 MAC, 32 bits", make=lambda: Accumulator(), estimate_ge=1387),
        Block(name="FP16 multiply", make=lambda: MultiplyUnit([Format.FP16]), estimate_ge=1866),
        Block(name="FP16 add", make=lambda: AddUnit([Format.FP16]), estimate_ge=1671),
        Block(name="BF16 multiply", make=lambda: MultiplyUnit([Format.BF16]), estimate_ge=1309),
        Block(name="BF16 add", make=lambda: AddUnit([Format.BF16]), estimate_ge=1506),
        Block(name="exp2, 32 segments", make=lambda: Exp2Unit(numerics), estimate_ge=1510),
        Block(
            name="reciprocal, 64 segments",
            make=lambda: RecipUnit(numerics),
            estimate_ge=1824,
        ),
        Block(
            name="rsqrt, 64 segments",
            make=lambda: RsqrtUnit(Numerics(rsqrt_segments=64, rsqrt_newton=False)),
            estimate_ge=1890,
        ),
        Block(
            name="log2, 64 segments",
            make=lambda: Log2Unit(numerics),
            estimate_ge=1635,
        ),
        Block(name="table 512 x 2", make=lambda: Table(), estimate_ge=14973),
    )


def measure(block: Block, library: Library | None = None, *, cached: bool = True) -> dict[str, Any]:
    """Synthesise a block; return its row.

    Returns
    -------
    dict
        `ge` in cells, `logic_ge` of it without registers, `estimate_ge`, `flops`, and where it
        comes from; `counted_ge`, in the estimate's way, if the cells do not agree with it;
        `agrees_in`, see `agreement`.

    Raises
    ------
    UserError, YosysError
        As `ahasd.synth.flow.synthesise`.
    """
    library = library or load()
    text = to_rtlil(block.make(), "block")
    request = Request(module="block", design=text, library=library)
    result = synthesise(request, cached=cached)
    ge = result["area"] / library.nand2_area
    row = {
        "block": block.name,
        "ge": round(ge, 2),
        "logic_ge": round(ge - result["sequential_area"] / library.nand2_area, 2),
        "estimate_ge": block.estimate_ge,
        "flops": result["flops"],
        "design_sha256": design_sha256(text),
        "tools": passes.tools(),
    }
    if agreement(row) != CELLS:
        row["counted_ge"] = round(counted_ge(text), 2)
    return row | {"agrees_in": agreement(row)}


def counted_ge(text: str) -> float:
    """Return the gates of a design, top `block`, by transistors of generic gates over four."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "design.il").write_text(text)
        commands = ["synth -flatten -top block", "tee -q -o cells.json stat -json"]
        passes.run(["read_rtlil design.il", *commands], folder)
        told = json.loads((folder / "cells.json").read_text())
    cells: Mapping[str, int] = told["design"]["num_cells_by_type"]
    flops = sum(count for cell, count in cells.items() if "DFF" in cell)
    return sum(TRANSISTORS.get(cell, 0) * count for cell, count in cells.items()) / 4 + (
        FLOP_GE * flops
    )


def agreement(row: Mapping[str, Any]) -> str:
    """Tell in which count a row is within `AGREEMENT` of its estimate; '' if in none."""
    for key, name in (
        ("ge", CELLS),
        ("counted_ge", "the estimate's count"),
        ("logic_ge", "cells without registers"),
    ):
        if key in row and abs(row[key] / row["estimate_ge"] - 1) <= AGREEMENT:
            return name
    return ""
