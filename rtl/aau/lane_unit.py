# SPDX-License-Identifier: Apache-2.0
"""One lane of the AAU in Amaranth: one multiplier, one adder, one table of powers of two."""

import enum

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.encodings import SHIFT_WIDTH
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.exp2.unit import Exp2Unit
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH, Format
from ahasd.rtl.aau.primitives.layouts import real_layout
from ahasd.rtl.aau.primitives.load.unit import LoadUnit
from ahasd.rtl.aau.primitives.pipeline import Registers, let, shift_right, widen
from ahasd.rtl.aau.primitives.store.unit import StoreUnit
from ahasd.rtl.aau.real_logic import (
    added,
    loaded,
    lowest,
    real,
    rounded,
    scaled,
    settled,
    total_layout,
)
from ahasd.rtl.aau.reals import real_width
from ahasd.rtl.aau.reduction import SHIFT_MAX, depth_factor_width
from ahasd.rtl.aau.schedule import Out as Stored
from ahasd.rtl.aau.schedule import P, Q, S

FLOATING = (Format.FP16, Format.BF16)
STORED = (Format.FP16, Format.BF16, Format.INT8)
X_KEPT, B_KEPT, C_KEPT = 4, 5, 4
"""Beats whose operands are kept, of every operand; the schedule reads none that is older."""
PARTNER_NEWER = 2
"""Beats taken after the one whose partner is read."""
RESULTS_KEPT = 4
"""Cycles for which the last result waits, at most, and one."""


class Base(enum.IntEnum):
    """What scaled numbers are subtracted from before powers are taken."""

    LEVEL = 0
    """The whole number not below the largest so far."""
    LIMIT = 1
    """What the program has found, so that powers are parts of their sum."""
    ZERO = 2
    """Nothing: the magnitude counts, for sigmoids."""


def control_layout() -> data.StructLayout:
    """Return the shape of what all lanes are told in a cycle, with the same for all."""
    return data.StructLayout(
        {
            "shift": 1,
            "x_newer": 2,
            "b_newer": 3,
            "c_newer": 2,
            "p": P,
            "q": Q,
            "s": S,
            "delay": 2,
            "base": Base,
            "moments": 1,
            "out": Stored,
            "poison": 1,
            "x_format": Format,
            "operand_format": 1,
            "result_format": Format,
        }
    )


def constants_layout(params: AauParams) -> data.StructLayout:
    """Return the shape of the constants that all lanes share."""
    width = real_width(params.numerics)
    return data.StructLayout(
        {
            "k0": real_layout(width),
            "k1": real_layout(width),
            "k2": real_layout(width),
            "factor": real_layout(width),
            "offset": real_layout(width),
            "limit": signed(params.numerics.scaled_width + 1),
            "level": signed(params.reference_width),
            "power_shift": signed(SHIFT_WIDTH),
        }
    )


class LaneUnit(wiring.Component):
    """Do the steps of the schedule on one element of each beat.

    Members
    -------
    enable : unsigned(1), in
        The unit moves at the next edge.
    control, constants : structs, in
        What to do in this cycle, see the schedule.
    x, operand_b, operand_c : unsigned, in
        Operands of the beat that is taken.
    active : unsigned(1), in
        The beat whose products stand has an element in this lane.
    newest : unsigned(32), out
        x of the beat taken last.
    number : struct of `real_layout`, out
        x, when a step with it begins.
    scaled : signed(scaled_width), out
        Scaled number of the step two cycles ago.
    scaled_sound : unsigned(1), out
        It is neither masked nor no number.
    mantissa, shift : unsigned, out
        Power of two.
    negative : unsigned(1), out
        It was taken of a number below 0.
    sigmoid : struct of `real_layout`, in
        What the power became.
    first, second : out
        What goes into the sums.
    code : unsigned(16), out
        Result.
    """

    enable: Signal
    control: data.View
    constants: data.View
    x: Signal
    operand_b: Signal
    operand_c: Signal
    active: Signal
    newest: Signal
    number: data.View
    scaled: Signal
    scaled_sound: Signal
    mantissa: Signal
    shift: Signal
    negative: Signal
    sigmoid: data.View
    first: Signal
    second: Signal
    code: Signal

    def __init__(self, params: AauParams) -> None:
        self.params = params
        numerics = params.numerics
        width = real_width(numerics)
        behind = params.sum_fraction_width
        super().__init__(
            {
                "enable": In(1),
                "control": In(control_layout()),
                "constants": In(constants_layout(params)),
                "x": In(32),
                "operand_b": In(16),
                "operand_c": In(16),
                "active": In(1),
                "newest": Out(32),
                "number": Out(real_layout(width)),
                "scaled": Out(signed(numerics.scaled_width)),
                "scaled_sound": Out(1),
                "mantissa": Out(numerics.mantissa_width),
                "shift": Out(numerics.integer_width),
                "negative": Out(1),
                "sigmoid": In(real_layout(width)),
                "first": Out(signed(behind + 2)),
                "second": Out(behind + 2),
                "code": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        registers = Registers(m, self.enable)
        self._operands(m)
        self._multiply_add(m, registers)
        self._powers(m, registers)
        self._sums(m, registers)
        self._store(m)
        return m

    def _line(self, m: Module, value: Value, kept: int, name: str) -> list[Value]:
        line: list[Value] = []
        for i in range(kept):
            entry = Signal(len(value), name=f"{name}_{i}", reset_less=True)
            with m.If(self.enable & self.control.shift):
                m.d.pim += entry.eq(line[-1] if line else value)
            line.append(entry)
        return line

    def _operands(self, m: Module) -> None:
        numerics, control = self.params.numerics, self.control
        width = real_width(numerics)
        line = {
            "x": self._line(m, self.x, X_KEPT, "x"),
            "b": self._line(m, self.operand_b, B_KEPT, "b"),
            "c": self._line(m, self.operand_c, C_KEPT, "c"),
        }
        code = {
            "x": _entry(m, line["x"], control.x_newer, "x_code"),
            "b": _entry(m, line["b"], control.b_newer, "b_code"),
            "c": _entry(m, line["c"], control.c_newer, "c_code"),
            "partner": line["x"][PARTNER_NEWER][16:],
        }
        self._loaded: dict[str, data.View] = {}
        for key, value in code.items():
            formats = tuple(Format) if key == "x" else FLOATING
            load = LoadUnit(numerics, formats)
            m.submodules[f"load_{key}"] = load
            form = control.x_format if key == "x" else widen(control.operand_format, 2)
            m.d.comb += [load.enable.eq(self.enable), load.code.eq(value), load.form.eq(form)]
            self._loaded[key] = loaded(m, load.number, width, f"{key}_loaded")
        m.d.comb += [self.newest.eq(line["x"][0]), self.number.eq(self._loaded["x"])]

    def _multiply_add(self, m: Module, registers: Registers) -> None:
        numerics, control, constants = self.params.numerics, self.control, self.constants
        width = real_width(numerics)
        layout = real_layout(width)
        one = Const(1 << (width - 1), width)

        result = Signal(layout, name="result", reset_less=True)
        waits: list[Value] = [result.as_value()]
        for i in range(1, RESULTS_KEPT):
            waits.append(registers.hold(waits[-1], name=f"result_{i}"))
        last = Signal(layout, name="last")
        with m.Switch(control.delay):
            for i, value in enumerate(waits):
                with m.Case(i):
                    m.d.comb += last.eq(value)

        p, q, s = (Signal(layout, name=f"operand_{name}") for name in "pqs")
        self._depth_factor = Signal(width)
        self._late_mantissa = Signal(width)
        unity = real(m, width, "one", mantissa=one)
        nothing = real(m, width, "zero", exponent=lowest())
        power = real(m, width, "late_power", mantissa=self._late_mantissa)
        depth = real(m, width, "late_depth", mantissa=self._depth_factor)
        with m.Switch(control.p):
            for choice, value in (
                (P.X, self._loaded["x"]),
                (P.PARTNER, self._loaded["partner"]),
                (P.RESULT, last),
                (P.POWER, power),
            ):
                with m.Case(choice):
                    m.d.comb += p.eq(value)
        with m.Switch(control.q):
            for choice, value in (
                (Q.ONE, unity),
                (Q.B, self._loaded["b"]),
                (Q.C, self._loaded["c"]),
                (Q.SAME, self._loaded["x"]),
                (Q.RESULT, last),
                (Q.SIGMOID, self.sigmoid),
                (Q.K0, constants.k0),
                (Q.K1, constants.k1),
                (Q.FACTOR, constants.factor),
                (Q.DEPTH, depth),
            ):
                with m.Case(choice):
                    m.d.comb += q.eq(value)
        with m.Switch(control.s):
            for choice, value in (
                (S.ZERO, nothing),
                (S.B, self._loaded["b"]),
                (S.C, self._loaded["c"]),
                (S.RESULT, last),
                (S.K2, constants.k2),
                (S.OFFSET, constants.offset),
            ):
                with m.Case(choice):
                    m.d.comb += s.eq(value)

        product = Signal(real_layout(2 * width), name="product", reset_less=True)
        addend = Signal(layout, name="addend", reset_less=True)
        total = Signal(total_layout(width), name="total_held", reset_less=True)
        some = p.mantissa[-1] & q.mantissa[-1]
        exponent = (p.exponent + q.exponent)[:EXPONENT_WIDTH].as_signed()
        with m.If(self.enable):
            m.d.pim += [
                product.mantissa.eq(p.mantissa * q.mantissa),
                product.exponent.eq(Mux(some, exponent, lowest())),
                product.sign.eq(p.sign ^ q.sign),
                product.infinite.eq(p.infinite | q.infinite),
                product.nan.eq(
                    p.nan
                    | q.nan
                    | (p.infinite & ~q.infinite & ~q.mantissa[-1])
                    | (q.infinite & ~p.infinite & ~p.mantissa[-1])
                ),
                addend.eq(s),
                total.eq(added(m, rounded(m, product, width, "short"), addend, width)),
                result.eq(settled(m, total, width, "settled")),
            ]
        self._product, self._result = product, result

    def _powers(self, m: Module, registers: Registers) -> None:
        numerics, constants = self.params.numerics, self.constants
        behind = numerics.fraction_width
        x = self._loaded["x"]
        sound = ~(x.nan | (x.infinite & x.sign))
        self._masked = registers.hold(x.infinite & x.sign, 6, "masked")  # as late as its power
        self._nan = registers.hold(x.nan, 6, "nan")
        value = registers.hold(scaled(m, self._product, numerics), name="scaled")
        sound = registers.hold(sound, 2, "sound")
        m.d.comb += [self.scaled.eq(value), self.scaled_sound.eq(sound)]

        late = registers.hold(value, name="scaled_late")
        bits = numerics.scaled_width + 2
        base = Signal(signed(bits))
        with m.Switch(self.control.base):
            with m.Case(Base.LEVEL):
                level = constants.level[: numerics.integer_width + 1].as_signed()
                m.d.comb += base.eq(Cat(Const(0, behind), level).as_signed())
            with m.Case(Base.LIMIT):
                m.d.comb += base.eq(constants.limit)
        above = Signal(signed(bits + 1))
        depth = Signal(numerics.depth_width)
        m.d.comb += above.eq(base - late)
        with m.If((self.control.base == Base.ZERO) & ~late[-1]):
            m.d.comb += depth.eq(late)
        with m.Elif(above[-1]):
            m.d.comb += depth.eq(0)
        with m.Elif(above[numerics.depth_width :].any()):
            m.d.comb += depth.eq((1 << numerics.depth_width) - 1)
        with m.Else():
            m.d.comb += depth.eq(above)
        m.submodules.exp2 = exp2 = Exp2Unit(numerics)
        m.d.comb += [
            exp2.enable.eq(self.enable),
            exp2.depth.eq(depth),
            self.mantissa.eq(exp2.power.mantissa),
            self.shift.eq(exp2.power.shift),
            self.negative.eq(registers.hold(late[-1], exp2.latency, "below")),
        ]
        factor = depth[: depth_factor_width(self.params)]
        m.d.comb += [
            self._depth_factor.eq(registers.hold(factor, exp2.latency + 1, "factor")),
            self._late_mantissa.eq(
                Cat(
                    Const(0, real_width(numerics) - numerics.mantissa_width),
                    registers.hold(exp2.power.mantissa, name="power_late"),
                )
            ),
        ]
        self._sound = registers.hold(sound, 6, "sound_late")  # as late as the power's product

    def _sums(self, m: Module, registers: Registers) -> None:
        params, numerics = self.params, self.params.numerics
        width, behind, point = (
            real_width(numerics),
            params.sum_fraction_width,
            numerics.fraction_width,
        )
        moments = self.control.moments
        x = self._loaded["x"]
        number = Signal(real_layout(width), name="x_late", reset_less=True)
        with m.If(self.enable):
            m.d.pim += number.eq(x)
        # Of moments, how far below the largest exponent; of powers, the power's own shift.
        apart = Signal(params.reference_width + 1)
        m.d.comb += apart.eq(self.constants.level - number.exponent)
        power_shift = registers.hold(self.shift, 2, "shift_late")
        mantissa = registers.hold(self._late_mantissa, name="power_later")
        down, twice = Signal(6), Signal(6)
        with m.If(moments):
            m.d.comb += [
                down.eq(Mux(apart[6:].any(), SHIFT_MAX, apart[:6])),
                twice.eq(Mux(apart[5:].any(), SHIFT_MAX, Cat(Const(0, 1), apart[:5]))),
            ]
        with m.Else():
            over = power_shift[6:].any()
            m.d.comb += [down.eq(Mux(over, SHIFT_MAX, power_shift[:6])), twice.eq(down)]

        lead = behind - width + 1
        value = Mux(moments, number.mantissa, mantissa)
        single = shift_right(m, Cat(Const(0, lead), value), down, sticky=False)
        wide = behind + 7
        product = self._product.mantissa
        of_powers = Cat(Const(0, lead - point), product)
        of_powers = widen(of_powers, wide) if len(of_powers) < wide else of_powers[:wide]
        of_moments = widen(product[2 * (width - 1) - behind :], wide)
        square = shift_right(m, Mux(moments, of_moments, of_powers), twice, sticky=False)
        kept = let(m, self.active & (moments | self._sound), "kept")
        below = moments & number.sign
        plain = widen(single, behind + 2)
        first = Mux(below, (-plain).as_unsigned()[: behind + 2], plain)
        m.d.comb += [
            self.first.eq(
                registers.hold(first & kept.replicate(behind + 2), name="first").as_signed()
            ),
            self.second.eq(
                registers.hold(square[: behind + 2] & kept.replicate(behind + 2), name="second")
            ),
        ]

    def _store(self, m: Module) -> None:
        numerics, control = self.params.numerics, self.control
        width = real_width(numerics)
        m.submodules.store = store = StoreUnit(width, STORED)
        m.d.comb += [
            store.enable.eq(self.enable),
            store.form.eq(control.result_format),
            self.code.eq(store.code),
        ]
        result = self._result
        below = (control.out == Stored.POSITIVE) & result.sign & ~result.nan
        exponent = self.constants.power_shift - self.shift
        with m.If(control.out == Stored.POWER):
            missing = Const(0, width - numerics.mantissa_width)
            m.d.comb += [
                store.number.mantissa.eq(
                    Cat(missing, self.mantissa) & (~self._masked).replicate(width)
                ),
                store.number.exponent.eq(exponent),
                store.number.nan.eq(self._nan | control.poison),
            ]
        with m.Else():
            m.d.comb += [
                store.number.eq(result),
                store.number.nan.eq(result.nan | control.poison),
            ]
            with m.If(below):
                m.d.comb += [
                    store.number.mantissa.eq(0),
                    store.number.sign.eq(0),
                    store.number.infinite.eq(0),
                ]


def _entry(m: Module, line: list[Value], newer: Value, name: str) -> Value:
    """Return the beat with some newer ones after it."""
    entry = Signal(len(line[0]), name=name)
    with m.Switch(newer):
        for i, value in enumerate(line):
            with m.Case(i):
                m.d.comb += entry.eq(value)
    return entry
