# SPDX-License-Identifier: Apache-2.0
"""A function by straight segments in Amaranth."""

from collections.abc import Sequence

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.primitives.pipeline import Primitive, add_with_carry, widen
from ahasd.rtl.aau.primitives.tables import LinearTable


def lookup(values: Sequence[int], width: int, index: Value) -> Value:
    """Return the value with an index, by a tree of multiplexers."""
    level: list[Value] = [Const(value, width) for value in values]
    for bit in index:
        level = [Mux(bit, high, low) for low, high in zip(level[::2], level[1::2], strict=True)]
    return level[0]


class TableUnit(Primitive):
    """Read a linear table, one operand a cycle.

    Parameters
    ----------
    table
        What it holds.

    Members
    -------
    operand : unsigned(index_width + rest_width), in
        Segment, and the place in it.
    result : unsigned(width), out
        The function there.
    """

    latency = 1

    operand: Signal
    result: Signal

    def __init__(self, table: LinearTable) -> None:
        self.table = table
        operand_width = table.index_width + table.rest_width
        super().__init__({"operand": In(operand_width), "result": Out(table.width)})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        table = self.table
        m = Module()
        index = self.operand[table.rest_width :]
        begin = lookup(table.first, table.width, index)
        product = lookup(table.steps, table.step_width, index) * self.operand[: table.rest_width]

        # Rounding adds the highest bit that is cut off, as a carry into the one addition.
        part, carry = product[table.rest_width :], product[table.rest_width - 1]
        total = add_with_carry(begin, widen(part, table.width), carry, subtract=table.falling)
        m.d.comb += self.result.eq(self.registers(m).hold(total, name="total"))
        return m
