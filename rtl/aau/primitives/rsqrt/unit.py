# SPDX-License-Identifier: Apache-2.0
"""Reciprocal square roots in Amaranth."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.pipeline import Primitive
from ahasd.rtl.aau.primitives.rsqrt.golden import guess_width, table
from ahasd.rtl.aau.primitives.table_unit import TableUnit


class RsqrtUnit(Primitive):
    """Take the reciprocal square root of a mantissa, or of twice it, from a table each cycle.

    Members
    -------
    mantissa : unsigned(result_width), in
        1 to below 2; the highest bit is taken as set.
    odd : unsigned(1), in
        The operand is twice that.
    result : unsigned(guess_width), out
        Unit fraction from 1/2 to 1, to be mended by a Newton step if the numerics have one.
    """

    latency = TableUnit.latency

    mantissa: Signal
    odd: Signal
    result: Signal

    def __init__(self, numerics: Numerics) -> None:
        self.numerics = numerics
        super().__init__(
            {
                "mantissa": In(numerics.result_width),
                "odd": In(1),
                "result": Out(guess_width(numerics)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        values = table(self.numerics)
        per_octave = values.index_width - 1 + values.rest_width
        cut = self.numerics.result_width - 1 - per_octave
        m = Module()
        m.submodules.table = reader = TableUnit(values)
        m.d.comb += [
            reader.enable.eq(self.enable),
            reader.operand.eq(Cat(self.mantissa[cut:-1], self.odd)),
            self.result.eq(reader.result),
        ]
        return m
