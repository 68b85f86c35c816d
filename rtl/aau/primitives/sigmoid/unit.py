# SPDX-License-Identifier: Apache-2.0
"""The logistic function to base 2 in Amaranth."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.exp2.unit import Exp2Unit
from ahasd.rtl.aau.primitives.pipeline import Primitive, let, shift_right
from ahasd.rtl.aau.primitives.recip.unit import RecipUnit


class SigmoidUnit(Primitive):
    """Take `1 / (1 + 2**-x)` each cycle.

    Members
    -------
    scaled : signed(scaled_width), in
        x, not below `-scaled_max`.
    result : unsigned(result_width), out
        Unit fraction from 0 to 1.
    """

    latency = 1 + Exp2Unit.latency + 1 + RecipUnit.latency + 1

    scaled: Signal
    result: Signal

    def __init__(self, numerics: Numerics) -> None:
        self.numerics = numerics
        super().__init__(
            {"scaled": In(signed(numerics.scaled_width)), "result": Out(numerics.result_width)}
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        width = self.numerics.result_width
        m = Module()
        registers = self.registers(m)
        m.submodules.exp2 = exp2 = Exp2Unit(self.numerics)
        m.submodules.recip = recip = RecipUnit(self.numerics)
        bits = self.scaled.as_unsigned()
        below = bits[-1]
        depth = Mux(below, (-bits)[: len(bits)], bits)

        wide = Cat(Const(0, width - self.numerics.mantissa_width), exp2.power.mantissa)
        near = (width - 1).bit_length()
        power = Mux(
            exp2.power.shift[near:].any(),
            Const(0, width),
            shift_right(m, wide, exp2.power.shift[:near], sticky=False),
        )
        power = let(m, power, "power_of_two")
        # 1 + 1 is no mantissa; the one below it has the same reciprocal.
        divisor = power[: width - 1] | power[-1].replicate(width - 1)

        one = Const(1 << (width - 1), width)
        negative = registers.hold(below, self.latency - 1, "negative")
        result = Mux(negative, (one - recip.result)[:width], recip.result)
        m.d.comb += [
            exp2.enable.eq(self.enable),
            exp2.depth.eq(registers.hold(depth, name="depth")),
            recip.enable.eq(self.enable),
            recip.mantissa.eq(Cat(registers.hold(divisor, name="divisor"), Const(1, 1))),
            self.result.eq(registers.hold(result, name="result")),
        ]
        return m
