# SPDX-License-Identifier: Apache-2.0
"""The machine that ends a row, in Amaranth; `scalar.py` is its model and has its programs."""

from collections.abc import Mapping, Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.encodings import Op
from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.exp2.unit import Exp2Unit
from ahasd.rtl.aau.primitives.log2.unit import Log2Unit
from ahasd.rtl.aau.primitives.pipeline import let, normalised, shift_right, widen
from ahasd.rtl.aau.primitives.recip.unit import RecipUnit
from ahasd.rtl.aau.primitives.rsqrt.unit import RsqrtUnit
from ahasd.rtl.aau.real_logic import constant
from ahasd.rtl.aau.scalar import (
    EXPONENT_WIDTH,
    GUARD_WIDTH,
    LN2,
    LOWEST,
    MANTISSA_WIDTH,
    PROGRAMS,
    Code,
    Instruction,
    Source,
    Target,
    instruction_cycles,
)

WIDE = 2 * MANTISSA_WIDTH
"""Bits of a result before it is normalised: those of a product."""
TABLES = (Code.LOG2, Code.RECIP, Code.RSQRT, Code.EXP2)
TOLD = (Target.VALUE, Target.ENTROPY, Target.PROBABILITY)


def number_layout() -> data.StructLayout:
    """Return the shape of `scalar.Number`."""
    return data.StructLayout(
        {"mantissa": MANTISSA_WIDTH, "exponent": signed(EXPONENT_WIDTH), "sign": 1}
    )


def wide_layout() -> data.StructLayout:
    """Return the shape of a result that is not normalised; its exponent is of the lowest bit."""
    return data.StructLayout({"value": WIDE, "exponent": signed(EXPONENT_WIDTH), "sign": 1})


def starts() -> dict[Op, int]:
    """Return where the program of an operation starts, all of them one behind the other."""
    found, at = {}, 0
    for op, program in PROGRAMS.items():
        found[op] = at
        at += len(program)
    return found


class ScalarUnit(wiring.Component):
    """Run a program on a reduced row.

    Timing: `run` is high for the cycles of the program; `done` is high in the last of them.
    `start` is high in a cycle before.

    Members
    -------
    start : unsigned(1), in
        Stand before the program of `op`, and clear what is told and the constants.
    op : unsigned(4), in
        Operation.
    run : unsigned(1), in
        Go on.
    done : unsigned(1), out
        The program ends with this cycle.
    first, second, count, peak, level : in
        The row.
    first_exponent, second_exponent : signed, in
        Exponents of the lowest bits of the sums.
    k0, k1, k2 : unsigned(32), in
        Constants.
    limit, factor, offset, value, entropy, probability : out
        What programs leave. `factor` and `offset` are numbers.
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
    first_exponent: Signal
    second_exponent: Signal
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
                "first_exponent": In(signed(EXPONENT_WIDTH)),
                "second_exponent": In(signed(EXPONENT_WIDTH)),
                "k0": In(32),
                "k1": In(32),
                "k2": In(32),
                "limit": Out(signed(numerics.scaled_width + 1)),
                "factor": Out(number_layout()),
                "offset": Out(number_layout()),
                "value": Out(32),
                "entropy": Out(32),
                "probability": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        program = [step for steps in PROGRAMS.values() for step in steps]
        at, tick = Signal(range(len(program) + 1)), Signal(4)
        code, a_from, b_from, to = Signal(Code), Signal(Source), Signal(Source), Signal(Target)
        last, ends = Signal(4), Signal()
        self._decode(m, program, at, (code, a_from, b_from, to, last, ends))

        writes = Signal()
        m.d.comb += [writes.eq(self.run & (tick == last)), self.done.eq(writes & ends)]
        with m.If(self.run):
            m.d.pim += tick.eq(tick + 1)
        with m.If(writes):
            m.d.pim += [tick.eq(0), at.eq(at + 1)]
        with m.If(self.start):
            m.d.pim += tick.eq(0)
            with m.Switch(self.op):
                for op, begin in starts().items():
                    with m.Case(op):
                        m.d.pim += at.eq(begin)

        registers = [Signal(number_layout(), name=f"r{i}", reset_less=True) for i in range(4)]
        a, b = (Signal(number_layout(), name=name, reset_less=True) for name in ("left", "right"))
        sources = {**dict(enumerate(registers)), **self._constants(m)}
        for operand, source in ((a, a_from), (b, b_from)):
            with m.If(self.run):
                with m.Switch(source):
                    for key, number in sources.items():
                        with m.Case(key):
                            m.d.pim += operand.eq(number)

        wide = Signal(wide_layout(), reset_less=True)
        executed, taken = self._execute(m, code, tick, a, b), self._taken(m, a_from)
        with m.If(self.run):
            m.d.pim += wide.eq(Mux(code == Code.TAKE, taken.as_value(), executed.as_value()))
        result = self._settled(m, wide)

        with m.If(self.start):
            m.d.pim += [
                self.limit.eq(0),
                self.value.eq(0),
                self.entropy.eq(0),
                self.probability.eq(0),
            ]
        with m.If(writes):
            with m.Switch(to):
                for i, register in enumerate(registers):
                    with m.Case(i):
                        m.d.pim += register.eq(result)
                with m.Case(Target.LIMIT):
                    magnitude = _fixed(
                        m, result, self.params.numerics, self.params.numerics.scaled_width
                    )
                    magnitude = widen(magnitude, len(self.limit))
                    m.d.pim += self.limit.eq(
                        Mux(result.sign, (-magnitude).as_unsigned()[: len(self.limit)], magnitude)
                    )
                with m.Case(Target.FACTOR):
                    m.d.pim += self.factor.eq(result)
                with m.Case(Target.OFFSET):
                    m.d.pim += self.offset.eq(result)
                for target, port in zip(
                    TOLD, (self.value, self.entropy, self.probability), strict=True
                ):
                    with m.Case(target):
                        m.d.pim += port.eq(_single(result))
        return m

    def _decode(
        self, m: Module, program: Sequence[Instruction], at: Value, to: Sequence[Signal]
    ) -> None:
        code, a_from, b_from, target, last, ends = to
        final = {begin + len(PROGRAMS[op]) - 1 for op, begin in starts().items()}
        with m.Switch(at):
            for i, step in enumerate(program):
                with m.Case(i):
                    m.d.comb += [
                        code.eq(step.code),
                        a_from.eq(step.a),
                        b_from.eq(step.b),
                        target.eq(step.to),
                        last.eq(instruction_cycles(step.code, self.params.numerics) - 1),
                        ends.eq(int(i in final)),
                    ]

    def _constants(self, m: Module) -> Mapping[int, data.View]:
        found = {}
        for key, value in ((Source.K0, self.k0), (Source.K1, self.k1), (Source.K2, self.k2)):
            short = constant(m, value, MANTISSA_WIDTH, key.name.lower())
            number = Signal(number_layout(), name=f"number_{key.name.lower()}")
            some = short.mantissa[-1]
            m.d.comb += [
                number.mantissa.eq(short.mantissa),
                number.sign.eq(short.sign),
                number.exponent.eq(Mux(some, short.exponent, LOWEST)),
            ]
            found[key] = number
        ln2 = Signal(number_layout(), name="ln2")
        m.d.comb += [ln2.mantissa.eq(LN2.mantissa), ln2.exponent.eq(LN2.exponent)]
        found[Source.LN2] = ln2
        return found

    def _taken(self, m: Module, source: Value) -> data.View:
        """Return an integer of the row."""
        found = Signal(wide_layout(), name="taken")
        behind = self.params.numerics.fraction_width
        for key, value, exponent in (
            (Source.A, self.first, self.first_exponent),
            (Source.B, self.second, self.second_exponent),
            (Source.COUNT, self.count, 0),
            (Source.PEAK, self.peak, -behind),
            (Source.CEILING, self.level, 0),
        ):
            with m.If(source == key):
                if value.shape().signed:
                    magnitude = Mux(value[-1], (-value).as_unsigned()[: len(value)], value)
                    m.d.comb += [found.sign.eq(value[-1]), found.value.eq(magnitude.as_unsigned())]
                else:
                    m.d.comb += found.value.eq(value)
                m.d.comb += found.exponent.eq(exponent)
        return found

    def _execute(
        self, m: Module, code: Value, tick: Value, a: data.View, b: data.View
    ) -> data.View:
        """Return what an instruction makes of its operands, in the cycle before it is kept."""
        found = Signal(wide_layout(), name="executed")
        half = MANTISSA_WIDTH // 2
        # A product in two halves, with the multiplier of one.
        part = Signal(MANTISSA_WIDTH + half, reset_less=True)
        factor = Mux(tick == 1, b.mantissa[:half], b.mantissa[half:])
        product = Signal(MANTISSA_WIDTH + half)
        m.d.comb += product.eq(a.mantissa * factor)
        with m.If(self.run):
            m.d.pim += part.eq(product)
        with m.Switch(code):
            with m.Case(Code.MULTIPLY):
                low = widen(part[half:], MANTISSA_WIDTH + half)
                m.d.comb += [
                    found.value.eq(Cat(part[:half], (product + low)[: MANTISSA_WIDTH + half])),
                    found.exponent.eq(a.exponent + b.exponent - 2 * (MANTISSA_WIDTH - 1)),
                    found.sign.eq(a.sign ^ b.sign),
                ]
            with m.Case(Code.ADD, Code.SUM, Code.SUBTRACT, Code.EXCESS):
                m.d.comb += found.eq(self._added(m, code, a, b))
        self._tables(m, code, a, found)
        return found

    def _added(self, m: Module, code: Value, a: data.View, b: data.View) -> data.View:
        """Return a sum or a difference, 0 in place of what is below where that is asked for."""
        b_sign = let(m, b.sign ^ code.matches(Code.SUBTRACT, Code.EXCESS), "b_sign")
        floor = code.matches(Code.SUM, Code.EXCESS)
        level = a.exponent == b.exponent
        swap = let(m, (a.exponent < b.exponent) | (level & (a.mantissa < b.mantissa)), "swap")
        bits = EXPONENT_WIDTH + 1
        large, small = Mux(swap, b.mantissa, a.mantissa), Mux(swap, a.mantissa, b.mantissa)
        exponent = Mux(swap, b.exponent, a.exponent)
        apart = widen(exponent, bits) - widen(Mux(swap, a.exponent, b.exponent), bits)
        apart = let(m, apart.as_unsigned()[:bits], "apart")
        near = (MANTISSA_WIDTH + GUARD_WIDTH).bit_length()
        amount = Mux(apart[near:].any(), Const((1 << near) - 1, near), apart[:near])
        none = Const(0, GUARD_WIDTH)
        aligned = shift_right(m, Cat(none, small), amount, sticky=True)
        total_width = MANTISSA_WIDTH + GUARD_WIDTH + 1
        high = Cat(none, large)
        unlike = a.sign ^ b_sign
        total = Mux(unlike, (high - aligned).as_unsigned()[:total_width], high + aligned)
        sign = Mux(swap, b_sign, a.sign)
        found = Signal(wide_layout(), name="sum")
        m.d.comb += [
            found.value.eq(total & (~(floor & sign)).replicate(total_width)),
            found.exponent.eq(exponent - (MANTISSA_WIDTH - 1) - GUARD_WIDTH),
            found.sign.eq(sign),
        ]
        return found

    def _tables(self, m: Module, code: Value, a: data.View, found: data.View) -> None:
        """Build the functions that are read from tables, each on the head of a."""
        numerics = self.params.numerics
        width = numerics.result_width
        head = a.mantissa[-width:]
        some = a.mantissa[-1]
        m.submodules.log2 = log2 = Log2Unit(numerics)
        m.submodules.recip = recip = RecipUnit(numerics)
        m.submodules.rsqrt = rsqrt = RsqrtUnit(numerics)
        m.submodules.exp2 = exp2 = Exp2Unit(numerics)
        odd = a.exponent[0]
        m.d.comb += [
            *(unit.enable.eq(self.run) for unit in (log2, recip, rsqrt, exp2)),
            *(unit.mantissa.eq(head) for unit in (log2, recip, rsqrt)),
            rsqrt.odd.eq(odd),
            exp2.depth.eq(_fixed(m, a, numerics, numerics.depth_width)),
        ]
        behind = numerics.mantissa_width
        bits = EXPONENT_WIDTH + behind
        whole = Cat(Const(0, behind), a.exponent).as_signed()
        logarithm = (whole + Cat(log2.result, Const(0, bits - behind - 1)).as_signed())[:bits]
        logarithm = let(m, logarithm, "logarithm")
        below = logarithm[-1]
        magnitude = Mux(below, (-logarithm).as_unsigned()[:bits], logarithm)
        half = (a.exponent - odd)[1:]
        with m.Switch(code):
            with m.Case(Code.LOG2):
                m.d.comb += [
                    found.value.eq(magnitude & some.replicate(bits)),
                    found.exponent.eq(-behind),
                    found.sign.eq(below),
                ]
            with m.Case(Code.RECIP):
                m.d.comb += [
                    found.value.eq(recip.result & some.replicate(width)),
                    found.exponent.eq(-(width - 1) - a.exponent),
                    found.sign.eq(a.sign),
                ]
            with m.Case(Code.RSQRT):
                m.d.comb += [
                    found.value.eq(rsqrt.result & some.replicate(width)),
                    found.exponent.eq(-(width - 1) - half.as_signed()),
                ]
            with m.Case(Code.EXP2):
                m.d.comb += [
                    found.value.eq(exp2.power.mantissa),
                    found.exponent.eq(-(behind - 1) - exp2.power.shift),
                ]

    def _settled(self, m: Module, wide: data.View) -> data.View:
        mantissa, zeros = normalised(m, wide.value)
        cut = WIDE - MANTISSA_WIDTH
        some = mantissa[-1]
        found = Signal(number_layout(), name="settled")
        exponent = wide.exponent + (WIDE - 1) - zeros
        m.d.comb += [
            found.mantissa.eq(Cat(mantissa[:cut].any() | mantissa[cut], mantissa[cut + 1 :])),
            found.exponent.eq(Mux(some, exponent[:EXPONENT_WIDTH].as_signed(), LOWEST)),
            found.sign.eq(wide.sign & some),
        ]
        return found


def _fixed(m: Module, number: data.View, numerics: Numerics, width: int) -> Value:
    """Return the magnitude of a number in fixed point, rounded half up, saturating."""
    # Whatever is 2**integer_width or more saturates; so much has one bit before it.
    whole = width - numerics.fraction_width
    head = number.mantissa[-(width + 1) :]
    bits = EXPONENT_WIDTH + 1
    right = let(
        m, (Const(whole - 1, bits) - widen(number.exponent, bits).as_unsigned())[:bits], "far"
    )
    near = (width + 2).bit_length()
    amount = Mux(right[near:-1].any(), Const((1 << near) - 1, near), right[:near])
    shifted = shift_right(m, head, amount, sticky=False)
    total = let(m, widen(shifted[1:], width + 1) + widen(shifted[0], width + 1), "fixed")
    over = right[-1] | total[width]
    return total[:width] | over.replicate(width)


def _single(number: data.View) -> Value:
    """Return a number in IEEE single precision, cut off towards 0, saturating; no subnormals."""
    small, large = number.exponent < -126, number.exponent > 127
    biased = (number.exponent + 127)[:8]
    fraction = number.mantissa[MANTISSA_WIDTH - 24 : -1]
    code = Cat(fraction, biased, number.sign)
    most = Cat(Const(0x7F7FFFFF, 31), number.sign)
    return Mux(small, Const(0, 32), Mux(large, most, code))
