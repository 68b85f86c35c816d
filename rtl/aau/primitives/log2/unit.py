# SPDX-License-Identifier: Apache-2.0
"""Logarithms of mantissas to base 2 in Amaranth."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.log2.golden import table
from ahasd.rtl.aau.primitives.pipeline import Primitive
from ahasd.rtl.aau.primitives.table_unit import TableUnit


class Log2Unit(Primitive):
    """Take the logarithm of a mantissa to base 2 each cycle.

    Members
    -------
    mantissa : unsigned(result_width), in
        1 to below 2; the highest bit is taken as set.
    result : unsigned(mantissa_width + 1), out
        0 to 1, `mantissa_width` bits behind the point.
    """

    latency = TableUnit.latency

    mantissa: Signal
    result: Signal

    def __init__(self, numerics: Numerics) -> None:
        self.numerics = numerics
        super().__init__(
            {"mantissa": In(numerics.result_width), "result": Out(numerics.mantissa_width + 1)}
        )

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
