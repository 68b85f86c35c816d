# SPDX-License-Identifier: Apache-2.0
"""The machine that ends a row, in Amaranth; `scalar.py` is its model.

A number P in two's complement is all that it calculates with. It is loaded, or it goes down by a
digit, or not; and the product of a digit and a mantissa is added to it, or to its complement:

- a product is the sum of its digits' products;
- of a sum, P is the smaller addend, which goes down by digits; a digit of one bit lifts the larger
  addend to where it is;
- a function is a value of a table in P, and a rise times a place;
- what is below zero is made positive as its complement and 1.

Then it is normalised, rounded to odd, and goes to a register.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH
from ahasd.rtl.aau.primitives.layouts import real_layout
from ahasd.rtl.aau.primitives.pipeline import let, normalised, widen
from ahasd.rtl.aau.real_logic import lowest
from ahasd.rtl.aau.reals import real_width
from ahasd.rtl.aau.scalar import MANTISSA_WIDTH
from ahasd.rtl.aau.scalar_logic import (
    anchored,
    first_value,
    functions,
    number_layout,
    short,
    single,
)
from ahasd.rtl.aau.scalar_operands import ScalarOperands
from ahasd.rtl.aau.scalar_programs import (
    DIGIT_WIDTH,
    DIGITS,
    FLOORING,
    FUNCTIONS,
    SHIFTS,
    SUMS,
    Code,
    Register,
    Source,
    rest_digits,
)
from ahasd.rtl.aau.scalar_sequencer import ScalarSequencer


class ScalarUnit(wiring.Component):
    """Run a program on a reduced row.

    Timing: `run` is high for the cycles of the program; `done` is high in the last of them.
    `start` is high in a cycle before.

    Members
    -------
    start : unsigned(1), in
        Stand before the program of `op`.
    op : unsigned(4), in
        Operation.
    run : unsigned(1), in
        Go on.
    done : unsigned(1), out
        The program ends with this cycle.
    first, second, count, peak, level : in
        The row.
    base : signed, in
        Exponent that the first sum is relative to, and twice the second one.
    k0, k1, k2 : unsigned(32), in
        Constants.
    limit, factor, offset, value, entropy, probability : out
        What programs leave; each of those of other operations has no meaning.
    """

    start: Signal
    op: Signal
    run: Signal
    done: Signal
    first: Signal
    second: Signal
    count: Signal
    peak: Signal
    level: Signal
    base: Signal
    k0: Signal
    k1: Signal
    k2: Signal
    limit: Signal
    value: Signal
    entropy: Signal
    probability: Signal
    factor: data.View
    offset: data.View

    def __init__(self, params: AauParams) -> None:
        self.params = params
        numerics = params.numerics
        self._digits = rest_digits(numerics)
        self._width = max(params.a_width, params.b_width + 1, MANTISSA_WIDTH + 2 * DIGIT_WIDTH + 1)
        self._low = self._width - 1 - MANTISSA_WIDTH - DIGIT_WIDTH
        self._functions = functions(numerics)
        self._spare = self._low - DIGIT_WIDTH * (self._digits - 1)
        real = real_layout(real_width(numerics))
        super().__init__(
            {
                "start": In(1),
                "op": In(4),
                "run": In(1),
                "done": Out(1),
                "first": In(signed(params.a_width)),
                "second": In(params.b_width),
                "count": In(params.count_width),
                "peak": In(signed(params.reference_width)),
                "level": In(signed(params.reference_width)),
                "base": In(signed(EXPONENT_WIDTH)),
                "k0": In(32),
                "k1": In(32),
                "k2": In(32),
                "limit": Out(signed(numerics.scaled_width + 1)),
                "factor": Out(real),
                "offset": Out(real),
                "value": Out(32),
                "entropy": Out(32),
                "probability": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        numerics = self.params.numerics
        m = Module()
        m.submodules.sequencer = lead = ScalarSequencer(numerics)
        m.submodules.operands = given = ScalarOperands(numerics)
        self._code, self._tick, self._signs = lead.code, lead.tick, lead.signs
        self._a_from, self._a, self._b = lead.a_from, given.a, given.b
        registers = [Signal(number_layout(), name=f"r{i}", reset_less=True) for i in Register]
        m.d.comb += [
            lead.start.eq(self.start),
            lead.op.eq(self.op),
            lead.run.eq(self.run),
            self.done.eq(lead.done),
            given.run.eq(self.run),
            *(
                getattr(given, name).eq(getattr(lead, name))
                for name in ("tick", "code", "a_from", "b_from")
            ),
            *(getattr(given, name).eq(getattr(self, name)) for name in ("k0", "k1", "k2")),
            *(
                port.eq(value)
                for port, value in zip((given.r0, given.r1, given.r2), registers, strict=True)
            ),
        ]
        self._calculate(m, given)
        result = self._settled(m, given.zero)
        with m.If(lead.writes):
            with m.Switch(lead.to):
                for register in Register:
                    with m.Case(register):
                        m.d.pim += registers[register].eq(result)

        r0, r1, r2 = registers
        width = real_width(numerics)
        m.d.comb += [
            self.limit.eq(anchored(r0, numerics)),
            self.offset.eq(short(m, r1, width, "offset")),
            self.factor.eq(short(m, r2, width, "factor")),
            self.value.eq(single(r0)),
            self.entropy.eq(single(r1)),
            self.probability.eq(single(r2)),
        ]
        return m

    def _calculate(self, m: Module, given: ScalarOperands) -> None:
        """Build P, the multiplier and the adder."""
        a, b, tick, code = self._a, self._b, self._tick, self._code
        width = self._width
        self._p, self._below = Signal(width, reset_less=True, name="p"), Signal(name="below")
        p = self._p

        # Digits: the lowest first; or the bit that shifts a larger addend to where P is by whole
        # digits.
        up = let(m, given.apart.as_unsigned() + (DIGIT_WIDTH - 1), "up")
        self._lift = up[: DIGIT_WIDTH.bit_length() - 1]
        whole = up[len(self._lift) :]
        digit, moves = Signal(DIGIT_WIDTH), Signal()
        adds = let(m, code.matches(*SUMS) & (tick == 3 + SHIFTS), "adds")
        with m.If(code == Code.MULTIPLY):
            self._digit(m, digit, moves, DIGITS)
        with m.Elif(code.matches(*FUNCTIONS)):
            self._digit(m, digit, moves, self._digits)
        with m.Elif(adds):
            m.d.comb += digit.eq(1 << self._lift)
        with m.Elif(code.matches(*SUMS)):
            for i in range(SHIFTS):
                with m.If(tick == 3 + i):
                    m.d.comb += moves.eq(whole > i)

        # What is below is the sign; bits that fall out leave a trace.
        lost = p[:DIGIT_WIDTH].any() | p[DIGIT_WIDTH]
        moved = Cat(lost, p[DIGIT_WIDTH + 1 :], p[-1].replicate(DIGIT_WIDTH))
        base = Mux(moves, moved, p)
        inverts = let(m, Mux(adds, a.sign ^ b.sign, self._signs & p[-1]), "inverts")
        product = let(m, a.mantissa * digit, "product")
        total = (base ^ inverts.replicate(width)) + Cat(Const(0, self._low), product) + inverts
        loads, loaded = self._loaded(m, given.swaps)
        with m.If(self.run):
            m.d.pim += p.eq(Mux(loads, loaded, total))
            with m.If(tick == 0):
                m.d.pim += self._below.eq(0)
            with m.Elif(self._signs):
                m.d.pim += self._below.eq(p[-1])

    def _digit(self, m: Module, digit: Signal, moves: Signal, count: int) -> None:
        for i in range(count):
            with m.If(self._tick == 2 + i):
                m.d.comb += [
                    moves.eq(1),
                    digit.eq(self._b.mantissa.word_select(i, DIGIT_WIDTH)),
                ]

    def _loaded(self, m: Module, swaps: Value) -> tuple[Value, Value]:
        """Return whether P is loaded, and what with."""
        tick, code, width = self._tick, self._code, self._width
        loaded = Signal(width)
        behind = self._functions[Code.LOG2].behind + self._spare
        takes_exponent = let(m, (code == Code.LOG2) & (tick == 2 + self._digits), "takes_exponent")
        with m.Switch(code):
            with m.Case(Code.TAKE):
                with m.Switch(self._a_from):
                    for key, value in (
                        (Source.A, self.first),
                        (Source.B, self.second),
                        (Source.COUNT, self.count),
                        (Source.PEAK, self.peak),
                        (Source.CEILING, self.level),
                    ):
                        with m.Case(key):
                            m.d.comb += loaded.eq(value)
            with m.Case(*SUMS):
                down = Const(0, width - 2 - MANTISSA_WIDTH)
                m.d.comb += loaded.eq(Cat(down, self._a.mantissa))
            for key, function in self._functions.items():
                with m.Case(key):
                    place = function.place(self._a)
                    m.d.comb += loaded.eq(first_value(function, place, width))
        with m.If(takes_exponent):
            exponent = widen(self._a.exponent, width - behind)
            m.d.comb += loaded.eq(Cat(self._p[:behind], exponent))
        loads = Mux(code == Code.TAKE, tick == 0, (tick == 1) | swaps | takes_exponent)
        return loads, loaded

    def _exponent(self, m: Module) -> Value:
        """Return the exponent of a result if it needs no normalisation."""
        code, numerics = self._code, self.params.numerics
        one = self._width - 3  # the bit of P that has this exponent
        behind = self.params.sum_fraction_width
        bits = EXPONENT_WIDTH + 1
        given, more = Signal(signed(bits)), Signal(signed(bits))
        with m.Switch(code):
            with m.Case(Code.MULTIPLY):
                m.d.comb += [given.eq(self._b.exponent), more.eq(self._a.exponent)]
            with m.Case(*SUMS):
                m.d.comb += [given.eq(~self._lift), more.eq(self._a.exponent)]
            for key, function in self._functions.items():
                with m.Case(key):
                    m.d.comb += [
                        given.eq(self._b.exponent),
                        more.eq(one + 1 - function.behind - self._spare),
                    ]
            with m.Case(Code.TAKE):
                with m.Switch(self._a_from):
                    with m.Case(Source.A):
                        m.d.comb += [given.eq(self.base), more.eq(one - behind)]
                    with m.Case(Source.B):
                        m.d.comb += [
                            given.eq(Cat(Const(0, 1), self.base).as_signed()),
                            more.eq(one - behind),
                        ]
                    with m.Case(Source.PEAK):
                        m.d.comb += more.eq(one - numerics.fraction_width)
                    with m.Default():
                        m.d.comb += more.eq(one)
        return let(m, given + more, "exponent")

    def _settled(self, m: Module, zero: Value) -> data.View:
        """Return P as a number, rounded to odd."""
        code = self._code
        mantissa, zeros = normalised(m, self._p[:-1])
        cut = self._width - 1 - MANTISSA_WIDTH
        sign = Signal()
        with m.Switch(code):
            with m.Case(Code.MULTIPLY):
                m.d.comb += sign.eq(self._a.sign ^ self._b.sign)
            with m.Case(*SUMS):
                m.d.comb += sign.eq(self._a.sign ^ self._below)
            with m.Case(Code.TAKE, Code.LOG2):
                m.d.comb += sign.eq(self._below)
        none = (code.matches(*FLOORING) & sign) | (code.matches(*FUNCTIONS) & zero)
        some = let(m, mantissa[-1] & ~none, "some")
        exponent = self._exponent(m) + 1 - zeros
        found = Signal(number_layout(), name="settled")
        odd = mantissa[:cut].any() | mantissa[cut]
        m.d.comb += [
            found.mantissa.eq(Cat(odd, mantissa[cut + 1 :]) & some.replicate(MANTISSA_WIDTH)),
            found.exponent.eq(Mux(some, exponent[:EXPONENT_WIDTH].as_signed(), lowest())),
            found.sign.eq(sign & some),
        ]
        return found
