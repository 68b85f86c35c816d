# SPDX-License-Identifier: Apache-2.0
"""Reciprocals of mantissas in Amaranth."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.pipeline import Primitive
from ahasd.rtl.aau.primitives.recip.golden import table
from ahasd.rtl.aau.primitives.table_unit import TableUnit


class RecipUnit(Primitive):
    """Take the reciprocal of a mantissa each cycle.

    Members
    -------
    mantissa : unsigned(result_width), in
        1 to below 2; the highest bit is taken as set.
    result : unsigned(result_width), out
        Unit fraction from 1/2 to 1.
    """

    latency = TableUnit.latency

    mantissa: Signal
    result: Signal

    def __init__(self, numerics: Numerics) -> None:
        self.numerics = numerics
        width = numerics.result_width
        super().__init__({"mantissa": In(width), "result": Out(width)})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        m.submodules.table = reader = TableUnit(table(self.numerics))
        m.d.comb += [
            reader.enable.eq(self.enable),
            reader.operand.eq(self.mantissa[:-1]),
            self.result.eq(reader.result),
        ]
        return m
