# SPDX-License-Identifier: Apache-2.0
"""What tests of synthesis share: a cache of their own, libraries, hardware to count by hand."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ahasd.synth.library import OSU018, Library, load


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep netlists of a test to itself."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("AHASD_CACHE", str(folder))
    return folder


@pytest.fixture
def osu018() -> Library:
    """Return Debian's osu018."""
    if not OSU018.exists():
        pytest.skip("apt-get install qflow-tech-osu018")
    return load("osu018")


@pytest.fixture
def users() -> Callable[[str], Library]:
    """Return a library of the user's own, by the variable that holds its files' paths."""

    def read(variable: str) -> Library:
        paths = os.environ.get(variable)
        if not paths:
            pytest.skip(f"{variable} does not say where its Liberty files are")
        return load(paths=[Path(path) for path in paths.split(os.pathsep)])

    return read


class Register(wiring.Component):
    """Hold so many bits, without reset or enable: one flip-flop each."""

    data: Signal
    held: Signal

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__({"data": In(width), "held": Out(width)})

    def elaborate(self, platform):
        m = Module()
        register = Signal(self.width, reset_less=True)
        m.d.pim += register.eq(self.data)
        m.d.comb += self.held.eq(register)
        return m


class Kept(wiring.Component):
    """Hold so many bits from a cycle on before which an odd number of `on` was 1."""

    on: Signal
    data: Signal
    held: Signal

    def __init__(self, width: int, *, on: int = 1, reset: bool = False) -> None:
        self.width, self.reset = width, reset
        super().__init__({"on": In(on), "data": In(width), "held": Out(width)})

    def elaborate(self, platform):
        m = Module()
        register = Signal(self.width, init=1, reset_less=not self.reset)
        enable = self.on
        if len(self.on) > 1:
            asked = Signal(len(self.on), reset_less=True)
            m.d.pim += asked.eq(self.on)
            enable = asked.xor()
        with m.If(enable):
            m.d.pim += register.eq(self.data)
        m.d.comb += self.held.eq(register)
        return m


class Parity(wiring.Component):
    """Add so many bits modulo 2, and hold the sum: one XOR less than there are bits."""

    data: Signal
    sum: Signal

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__({"data": In(width), "sum": Out(1)})

    def elaborate(self, platform):
        m = Module()
        held = Signal(self.width, reset_less=True)
        total = Signal(reset_less=True)
        m.d.pim += [held.eq(self.data), total.eq(held.xor())]
        m.d.comb += self.sum.eq(total)
        return m


class Pair(wiring.Component):
    """Two registers, each a part of its own."""

    data: Signal
    held: Signal

    def __init__(self) -> None:
        super().__init__({"data": In(5), "held": Out(5)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.left = left = Register(2)
        m.submodules.right = right = Register(3)
        m.d.comb += [Cat(left.data, right.data).eq(self.data)]
        m.d.comb += [self.held.eq(Cat(left.held, right.held))]
        return m


class Several(wiring.Component):
    """Components side by side, by name, each with its own ports."""

    def __init__(self, **components: Any) -> None:
        self.components = components
        super().__init__({name: Out(each.signature) for name, each in components.items()})

    def elaborate(self, platform):
        m = Module()
        for name, each in self.components.items():
            m.submodules[name] = each
            wiring.connect(m, wiring.flipped(getattr(self, name)), each)
        return m


class Shelf(wiring.Component):
    """A memory with so many read ports, which answer at once or a cycle later."""

    write: Signal
    place: Signal
    data: Signal
    index: list[Signal]
    found: list[Signal]

    def __init__(self, *, depth: int, width: int, reads: int = 1, clocked: bool = False) -> None:
        self.depth, self.width, self.clocked = depth, width, clocked
        bits = (depth - 1).bit_length()
        members = {
            "write": In(1),
            "place": In(bits),
            "data": In(width),
            "index": In(bits).array(reads),
            "found": Out(width).array(reads),
        }
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.rows = rows = Memory(shape=self.width, depth=self.depth, init=[])
        write = rows.write_port(domain="pim")
        m.d.comb += [
            write.en.eq(self.write),
            write.addr.eq(self.place),
            write.data.eq(self.data),
        ]
        for index, found in zip(self.index, self.found, strict=True):
            read = rows.read_port(domain="pim" if self.clocked else "comb")
            m.d.comb += [read.addr.eq(index), found.eq(read.data)]
        return m


@pytest.fixture
def parts() -> SimpleNamespace:
    """Return hardware so small that its gates can be counted by hand."""
    return SimpleNamespace(
        register=Register, kept=Kept, parity=Parity, pair=Pair, shelf=Shelf, several=Several
    )
