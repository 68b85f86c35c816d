# SPDX-License-Identifier: Apache-2.0
"""Products against those of Python."""

from itertools import product
from random import Random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.primitives.product import booth
from ahasd.rtl.configs import Unit
from ahasd.sim.pysim import PysimEngine


class Multiplier(wiring.Component):
    """A product as a unit."""

    a: Signal
    b: Signal
    product: Signal

    def __init__(self, width):
        super().__init__({"a": In(width), "b": In(width), "product": Out(2 * width)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.product.eq(booth(m, self.a, self.b))
        return m


@pytest.fixture
def check(monkeypatch):
    """Compare products of factors of a width."""
    monkeypatch.setattr(Unit, "load_hardware", lambda _: Multiplier)
    unit = Unit(name="", does="", hardware="", golden="", domains=("pim",), configurations={})

    def compare(width, pairs):
        engine = PysimEngine(unit, width)
        for a, b in pairs:
            assert engine.step({"a": a, "b": b}, 0, 0) == {"product": a * b}, (a, b)

    return compare


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6])
def test_all_products_of_narrow_factors(width, check):
    check(width, product(range(1 << width), repeat=2))


@pytest.mark.parametrize("width", [13, 16, 17, 19])
def test_products_of_wide_factors(width, check):
    rng = Random(width)
    # Digits of all kinds, runs of them, and the ends.
    corners = [0, 1, (1 << width) - 1, 1 << (width - 1)]
    corners += [sum(bits << 2 * i for i in range(width // 2)) for bits in range(4)]
    drawn = [(rng.getrandbits(width), rng.getrandbits(width)) for _ in range(500)]
    check(width, [*product(corners, repeat=2), *drawn])
