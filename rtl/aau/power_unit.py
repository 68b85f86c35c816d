# SPDX-License-Identifier: Apache-2.0
"""Scaled numbers and powers of two of a lane, in Amaranth."""

import enum

from amaranth.hdl import Cat, Const, Module, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.exp2.unit import Exp2Unit
from ahasd.rtl.aau.primitives.layouts import power_layout, real_layout
from ahasd.rtl.aau.primitives.pipeline import Registers, add_with_carry, let, widen
from ahasd.rtl.aau.real_logic import scaled
from ahasd.rtl.aau.reals import real_width
from ahasd.rtl.aau.schedule import SCALED_AFTER


class Base(enum.IntEnum):
    """What scaled numbers are subtracted from before powers are taken."""

    LEVEL = 0
    """The whole number not below the largest so far."""
    LIMIT = 1
    """What the program has found, so that powers are parts of their sum."""
    ZERO = 2
    """Nothing: the magnitude counts, for sigmoids."""


class PowerUnit(wiring.Component):
    """Make products scaled numbers, and take powers of two of what they are below a base.

    A scaled number is kept until the next is taken, and so is its power: a beat of more than one
    cycle has it for all of them.

    Members
    -------
    enable : unsigned(1), in
        The unit moves at the next edge.
    product : struct of `real_layout`, in
        What is scaled: it stands as a number in the next cycle.
    masked, nan : unsigned(1), in
        The element is minus infinity, or no number; with the factors of the product.
    take : unsigned(1), in
        A scaled number stands that is kept.
    base : Base, in
        What it is subtracted from, with `level` or `limit`, in the cycle after `take`.
    scaled : signed(scaled_width), out
        Scaled number.
    sound : unsigned(1), out
        It is neither masked nor no number.
    power : struct of `power_layout`, out
        Power of two, three cycles after `take`; 0 to the precision of sums and results if it is not
        sound.
    below, power_nan : unsigned(1), out
        It was taken of a number below 0, of no number.
    depth : unsigned, out
        What it is taken of, as far as that has a power left; a cycle before the power.
    """

    enable: Signal
    product: data.View
    masked: Signal
    nan: Signal
    take: Signal
    base: Signal
    level: Signal
    limit: Signal
    scaled: Signal
    sound: Signal
    power: data.View
    below: Signal
    power_nan: Signal
    depth: Signal

    def __init__(self, params: AauParams) -> None:
        self.params = params
        numerics = params.numerics
        super().__init__(
            {
                "enable": In(1),
                "product": In(real_layout(2 * real_width(numerics))),
                "masked": In(1),
                "nan": In(1),
                "take": In(1),
                "base": In(Base),
                "level": In(signed(numerics.integer_width + 1)),
                "limit": In(signed(numerics.scaled_width + 1)),
                "scaled": Out(signed(numerics.scaled_width)),
                "sound": Out(1),
                "power": Out(power_layout(numerics)),
                "below": Out(1),
                "power_nan": Out(1),
                "depth": Out(params.depth_factor_width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        numerics = self.params.numerics
        m = Module()
        registers = Registers(m, self.enable)
        kept = Registers(m, self.enable & self.take)
        m.d.comb += self.scaled.eq(registers.hold(scaled(m, self.product, numerics), name="scaled"))
        masked = registers.hold(self.masked, SCALED_AFTER, "masked")
        nan = registers.hold(self.nan, SCALED_AFTER, "nan")
        m.d.comb += self.sound.eq(~(masked | nan))

        late = kept.hold(self.scaled, name="late")
        unsound, nan = kept.hold(~self.sound, name="unsound"), kept.hold(nan, name="late_nan")
        bits = numerics.scaled_width + 3
        base = Signal(signed(bits))
        with m.Switch(self.base):
            with m.Case(Base.LEVEL):
                point = Const(0, numerics.fraction_width)
                m.d.comb += base.eq(Cat(point, self.level).as_signed())
            with m.Case(Base.LIMIT):
                m.d.comb += base.eq(self.limit)
        # Of zero the magnitude is subtracted: what is not below 0 is added.
        minus = let(m, (self.base != Base.ZERO) | late[-1], "minus")
        wide = widen(late, bits).as_unsigned() ^ minus.replicate(bits)
        above = let(m, add_with_carry(base.as_unsigned(), wide, minus), "above")
        depth = Signal(numerics.depth_width)
        over = above[numerics.depth_width :].any()
        with m.If(above[-1] & ~unsound):
            m.d.comb += depth.eq(0)
        with m.Else():
            m.d.comb += depth.eq(
                above[: numerics.depth_width] | (over | unsound).replicate(numerics.depth_width)
            )
        depth = registers.hold(depth, name="depth")
        m.submodules.exp2 = exp2 = Exp2Unit(numerics)
        m.d.comb += [
            exp2.enable.eq(self.enable),
            exp2.depth.eq(depth),
            self.depth.eq(depth[: len(self.depth)]),
            self.power.eq(exp2.power),
            self.below.eq(registers.hold(late[-1], 1 + exp2.latency, "below")),
            self.power_nan.eq(registers.hold(nan, 1 + exp2.latency, "power_nan")),
        ]
        return m
