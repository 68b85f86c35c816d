# SPDX-License-Identifier: Apache-2.0
"""One lane of the AAU in Amaranth: one multiplier, one adder, one table of powers of two."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.encodings import SHIFT_WIDTH
from ahasd.rtl.aau.multiply_add_unit import MultiplyAddUnit
from ahasd.rtl.aau.operand_unit import OperandUnit, reading_layout
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.power_unit import Base, PowerUnit
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.layouts import power_layout, real_layout
from ahasd.rtl.aau.primitives.pipeline import let
from ahasd.rtl.aau.primitives.store.unit import StoreUnit
from ahasd.rtl.aau.real_logic import real
from ahasd.rtl.aau.reals import real_width
from ahasd.rtl.aau.schedule import Out as Stored
from ahasd.rtl.aau.schedule import P, Q, S
from ahasd.rtl.aau.term_unit import TermUnit, depth_exponent, reference_width, term_width

STORED = (Format.FP16, Format.BF16, Format.INT8)


def factors_layout() -> data.StructLayout:
    """Return the shape of which factors lanes have in a cycle, and whether a result has waited."""
    return data.StructLayout({"p": P, "q": Q, "waited": 1})


def control_layout() -> data.StructLayout:
    """Return the shape of what all lanes are told in a cycle, with the same for all."""
    return data.StructLayout(
        {
            "reading": reading_layout(),
            "factors": factors_layout(),
            "s": S,
            "keep": 1,
            "take_scaled": 1,
            "base": Base,
            "of_power": 1,
            "twice": 1,
            "out": Stored,
            "poison": 1,
            "result_format": Format,
        }
    )


def constants_layout(params: AauParams) -> data.StructLayout:
    """Return the shape of the constants that all lanes share."""
    width = real_width(params.numerics)
    return data.StructLayout(
        {
            "factor": real_layout(width),
            "addend": real_layout(width),
            "limit": signed(params.numerics.scaled_width + 1),
            "level": signed(params.numerics.integer_width + 1),
            "reference": signed(reference_width(params)),
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
        What to do in this cycle, see the schedule, and the constants of it.
    x, operand_b, operand_c : unsigned, in
        Operands of the beat that is taken.
    active : unsigned(1), in
        The beat whose terms are shifted has an element in this lane.
    newest : unsigned(32), out
        x of the beat taken last.
    exponent : signed, out
        That of x, when a step with it begins.
    scaled : signed(scaled_width), out
        Scaled number.
    scaled_sound : unsigned(1), out
        It is neither masked nor no number.
    power : struct of `power_layout`, out
        Power of two.
    below : unsigned(1), out
        It was taken of a number below 0.
    sigmoid : struct of `real_layout`, in
        What the power became.
    term : signed, out
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
    exponent: Signal
    scaled: Signal
    scaled_sound: Signal
    power: data.View
    below: Signal
    sigmoid: data.View
    term: Signal
    code: Signal

    def __init__(self, params: AauParams) -> None:
        self.params = params
        numerics = params.numerics
        width = real_width(numerics)
        number = real_layout(width)
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
                "exponent": Out(number["exponent"].shape),
                "scaled": Out(signed(numerics.scaled_width)),
                "scaled_sound": Out(1),
                "power": Out(power_layout(numerics)),
                "below": Out(1),
                "sigmoid": In(number),
                "term": Out(signed(term_width(params))),
                "code": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        width = real_width(self.params.numerics)
        m = Module()
        m.submodules.multiply_add = self._multiply_add = MultiplyAddUnit(width)
        m.submodules.powers = self._powers = PowerUnit(self.params)
        m.d.comb += [
            self._multiply_add.enable.eq(self.enable),
            self._powers.enable.eq(self.enable),
        ]
        x, operand = self._operands(m)
        self._steps(m, x, operand)
        self._power(m, x)
        self._term(m)
        self._store(m)
        return m

    def _operands(self, m: Module) -> tuple[data.View, data.View]:
        """Build what keeps and loads operands; return x, or its partner, and b or c as numbers."""
        m.submodules.operands = operands = OperandUnit(self.params.numerics)
        m.d.comb += [
            operands.enable.eq(self.enable),
            operands.reading.eq(self.control.reading),
            operands.x.eq(self.x),
            operands.operand_b.eq(self.operand_b),
            operands.operand_c.eq(self.operand_c),
            self.newest.eq(operands.newest),
        ]
        return operands.number, operands.operand

    def _steps(self, m: Module, x: data.View, operand: data.View) -> None:
        """Choose the operands of the multiplier and the adder."""
        params, numerics, control = self.params, self.params.numerics, self.control
        width = real_width(numerics)
        steps, powers = self._multiply_add, self._powers
        kept = Signal(real_layout(width), reset_less=True)
        with m.If(self.enable & control.keep):
            m.d.pim += kept.eq(steps.result)

        missing = width - numerics.mantissa_width
        power = real(
            m,
            width,
            "power_number",
            mantissa=Cat(Const(0, missing), powers.power.mantissa),
            exponent=-powers.power.shift,
        )
        depth = real(
            m,
            width,
            "depth_number",
            mantissa=Cat(Const(0, width - len(powers.depth)), powers.depth),
            exponent=depth_exponent(params),
        )
        factors = control.factors
        with m.Switch(factors.p):
            with m.Case(P.X, P.PARTNER):
                m.d.comb += steps.p.eq(x)
            with m.Case(P.RESULT):
                m.d.comb += steps.p.eq(
                    Mux(factors.waited, kept.as_value(), steps.result.as_value())
                )
            with m.Case(P.POWER):
                m.d.comb += steps.p.eq(power)
        with m.Switch(factors.q):
            for choices, value in (
                ((Q.B, Q.C), operand),
                ((Q.SAME,), x),
                ((Q.RESULT,), steps.result),
                ((Q.SIGMOID,), self.sigmoid),
                ((Q.DEPTH,), depth),
            ):
                with m.Case(*choices):
                    m.d.comb += steps.q.eq(value)
            with m.Default():
                m.d.comb += steps.q.eq(self.constants.factor)
        with m.Switch(control.s):
            with m.Case(S.C):
                m.d.comb += steps.addend.eq(operand)
            with m.Case(S.BEFORE):
                m.d.comb += steps.addend.eq(steps.shortened)
            with m.Default():
                m.d.comb += steps.addend.eq(self.constants.addend)

    def _power(self, m: Module, x: data.View) -> None:
        powers, control = self._powers, self.control
        m.d.comb += [
            powers.product.eq(self._multiply_add.product),
            powers.masked.eq(x.infinite & x.sign),
            powers.nan.eq(x.nan),
            powers.take.eq(control.take_scaled),
            powers.base.eq(control.base),
            powers.level.eq(self.constants.level),
            powers.limit.eq(self.constants.limit),
            self.exponent.eq(x.exponent),
            self.scaled.eq(powers.scaled),
            self.scaled_sound.eq(powers.sound),
            self.power.eq(powers.power),
            self.below.eq(powers.below),
        ]

    def _term(self, m: Module) -> None:
        m.submodules.terms = terms = TermUnit(self.params)
        m.d.comb += [
            terms.enable.eq(self.enable),
            terms.active.eq(self.active),
            terms.product.eq(self._multiply_add.product),
            terms.power.eq(self._powers.power),
            terms.of_power.eq(self.control.of_power),
            terms.reference.eq(self.constants.reference),
            self.term.eq(terms.term),
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
        result, powers = self._multiply_add.result, self._powers
        below = let(m, (control.out == Stored.POSITIVE) & result.sign & ~result.nan, "cut_to_0")
        with m.If(control.out == Stored.POWER):
            # A mantissa of a power is 1 with nothing behind it, or in [1/2, 1).
            power, missing = powers.power.mantissa, Const(0, width + 1 - numerics.mantissa_width)
            exponent = self.constants.power_shift - powers.power.shift - ~power[-1]
            m.d.comb += [
                store.number.mantissa.eq(Cat(missing, power[:-2], Const(1, 1))),
                store.number.exponent.eq(exponent),
                store.number.nan.eq(powers.power_nan | control.poison),
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
