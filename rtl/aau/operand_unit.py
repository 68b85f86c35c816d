# SPDX-License-Identifier: Apache-2.0
"""Operands of a lane in Amaranth: those of the last beats, and two of them as numbers."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.layouts import real_layout
from ahasd.rtl.aau.primitives.load.unit import LoadUnit
from ahasd.rtl.aau.primitives.pipeline import widen
from ahasd.rtl.aau.real_logic import loaded
from ahasd.rtl.aau.reals import real_width

FLOATING = (Format.FP16, Format.BF16)
B_KEPT, C_KEPT = 2, 3
"""Beats whose operands are kept; the schedule reads none that is older."""


def reading_layout() -> data.StructLayout:
    """Return the shape of which operands are read in a cycle, and in which formats."""
    return data.StructLayout(
        {
            "shift": 1,
            "partner": 1,
            "operand": 1,
            "place": range(B_KEPT + C_KEPT),
            "x_format": Format,
            "operand_format": 1,
        }
    )


class OperandUnit(wiring.Component):
    """Keep the operands of the last beats, and load x and one of b and c.

    Members
    -------
    enable : unsigned(1), in
        The unit moves at the next edge.
    reading : struct of `reading_layout`, in
        With `shift` operands are taken and those before go on. Of x, or of its `partner`, the
        number stands in the next cycle; with `operand`, so does that of b or c in a `place`, those
        of b before those of c, the last taken first. It stays until the next is read.
    x, operand_b, operand_c : unsigned, in
        Operands of the beat that is taken.
    newest : unsigned(32), out
        x of the beat taken last.
    number, operand : structs of `real_layout`, out
        x or its partner, and b or c.
    """

    enable: Signal
    reading: data.View
    x: Signal
    operand_b: Signal
    operand_c: Signal
    newest: Signal
    number: data.View
    operand: data.View

    def __init__(self, numerics: Numerics) -> None:
        self.numerics = numerics
        number = real_layout(real_width(numerics))
        super().__init__(
            {
                "enable": In(1),
                "reading": In(reading_layout()),
                "x": In(32),
                "operand_b": In(16),
                "operand_c": In(16),
                "newest": Out(32),
                "number": Out(number),
                "operand": Out(number),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        reading, width = self.reading, real_width(self.numerics)
        m = Module()
        (x,) = self._line(m, self.x, 1, "x")
        places = [
            *self._line(m, self.operand_b, B_KEPT, "b"),
            *self._line(m, self.operand_c, C_KEPT, "c"),
        ]
        code = Signal(16)
        with m.Switch(reading.place):
            for i, value in enumerate(places):
                with m.Case(i):
                    m.d.comb += code.eq(value)
        m.submodules.load_x = load_x = LoadUnit(self.numerics, tuple(Format))
        m.submodules.load_operand = load_operand = LoadUnit(self.numerics, FLOATING)
        operand_format = widen(reading.operand_format, 2)
        m.d.comb += [
            self.newest.eq(x),
            load_x.enable.eq(self.enable),
            load_x.code.eq(Cat(Mux(reading.partner, x[16:], x[:16]), x[16:])),
            load_x.form.eq(Mux(reading.partner, operand_format, reading.x_format)),
            load_operand.enable.eq(self.enable & reading.operand),
            load_operand.code.eq(code),
            load_operand.form.eq(operand_format),
            self.number.eq(loaded(m, load_x.number, width, "x_loaded")),
            self.operand.eq(loaded(m, load_operand.number, width, "operand_loaded")),
        ]
        return m

    def _line(self, m: Module, value: Value, kept: int, name: str) -> list[Value]:
        line: list[Value] = []
        for i in range(kept):
            entry = Signal(len(value), name=f"{name}_{i}", reset_less=True)
            with m.If(self.enable & self.reading.shift):
                m.d.pim += entry.eq(line[-1] if line else value)
            line.append(entry)
        return line
