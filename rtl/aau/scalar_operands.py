# SPDX-License-Identifier: Apache-2.0
"""The operands of the machine that ends a row, in Amaranth."""

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH
from ahasd.rtl.aau.real_logic import constant
from ahasd.rtl.aau.scalar import HALF, LN2, MANTISSA_WIDTH, THREE_HALVES, Number, anchor
from ahasd.rtl.aau.scalar_logic import functions, number_layout, rise
from ahasd.rtl.aau.scalar_programs import NEGATING, PAIRS, SUMS, Code, Register, Source


class ScalarOperands(wiring.Component):
    """Read the operands of an instruction, one a cycle.

    The first goes from `a` to `b` when a second one comes; of sums, the one with the smaller
    exponent goes to `b`. Where a function is read from a table, the operand gives way to a rise and
    a place in its segment.

    Members
    -------
    run : unsigned(1), in
        Go on.
    tick, code, a_from, b_from : in
        Instruction and its cycle, as of `ScalarSequencer`.
    r0, r1, r2 : numbers, in
        Registers of the machine.
    k0, k1, k2 : unsigned(32), in
        Constants, in IEEE single precision.
    a, b : numbers, out
        Operands. Of functions, `b` has the scale of the result as its exponent.
    apart : signed, out
        Exponent of `a` less that of `b`.
    swaps : unsigned(1), out
        In this cycle they change places.
    zero : unsigned(1), out
        The operand of a function was 0.
    """

    run: Signal
    tick: Signal
    code: Signal
    a_from: Signal
    b_from: Signal
    r0: data.View
    r1: data.View
    r2: data.View
    k0: Signal
    k1: Signal
    k2: Signal
    a: data.View
    b: data.View
    apart: Signal
    swaps: Signal
    zero: Signal

    def __init__(self, numerics: Numerics) -> None:
        self.numerics = numerics
        super().__init__(
            {
                "run": In(1),
                "tick": In(4),
                "code": In(Code),
                "a_from": In(Source),
                "b_from": In(Source),
                **{register.name.lower(): In(number_layout()) for register in Register},
                "k0": In(32),
                "k1": In(32),
                "k2": In(32),
                "a": Out(number_layout()),
                "b": Out(number_layout()),
                "apart": Out(signed(EXPONENT_WIDTH + 1)),
                "swaps": Out(1),
                "zero": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        code = self.code
        a, b = (Signal(number_layout(), name=name, reset_less=True) for name in ("left", "right"))
        zero = Signal(reset_less=True)
        first, second = self.run & (self.tick == 0), self.run & (self.tick == 1)
        number = self._number(m, Mux(self.tick == 0, self.a_from, self.b_from))
        m.d.comb += [
            self.a.eq(a),
            self.b.eq(b),
            self.zero.eq(zero),
            self.apart.eq(a.exponent - b.exponent),
            self.swaps.eq((self.tick == 2) & code.matches(*SUMS) & self.apart[-1]),
        ]
        with m.If(first | (second & code.matches(*PAIRS))):
            m.d.pim += [
                a.eq(number),
                a.sign.eq(number.sign ^ (second & code.matches(*NEGATING))),
            ]
        with m.If(self.swaps):
            m.d.pim += a.eq(b)
        with m.If((second & code.matches(*PAIRS)) | self.swaps):
            m.d.pim += b.eq(a)
        with m.If(second):
            m.d.pim += zero.eq(~a.mantissa[-1])
            with m.Switch(code):
                for each, function in functions(self.numerics).items():
                    place = function.place(a)
                    with m.Case(each):
                        m.d.pim += [
                            a.mantissa.eq(rise(function, place)),
                            b.mantissa.eq(place[: function.table.rest_width]),
                            b.exponent.eq(function.scale(a)),
                        ]
        return m

    def _number(self, m: Module, source: Value) -> data.View:
        """Return the number that is read."""
        code = Signal(32, name="k_code")
        with m.Switch(source):
            for key, value in ((Source.K0, self.k0), (Source.K1, self.k1), (Source.K2, self.k2)):
                with m.Case(key):
                    m.d.comb += code.eq(value)
        k = constant(m, code, MANTISSA_WIDTH, "k")
        number = Signal(number_layout(), name="number")
        with m.Switch(source):
            for key, value in ((Source.R0, self.r0), (Source.R1, self.r1), (Source.R2, self.r2)):
                with m.Case(key):
                    m.d.comb += number.eq(value)
            with m.Case(Source.K0, Source.K1, Source.K2):
                m.d.comb += [number[name].eq(k[name]) for name in Number._fields]
            for key, value in (
                (Source.LN2, LN2),
                (Source.HALF, HALF),
                (Source.THREE_HALVES, THREE_HALVES),
                (Source.ANCHOR, anchor(self.numerics)),
            ):
                with m.Case(key):
                    m.d.comb += [number[name].eq(each) for name, each in value._asdict().items()]
        return number
