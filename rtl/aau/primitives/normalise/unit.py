# SPDX-License-Identifier: Apache-2.0
"""Integers into mantissas and exponents in Amaranth."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.primitives.pipeline import Primitive, normalised, widen


class NormaliseUnit(Primitive):
    """Find the highest bit of an integer each cycle, and what stands below it.

    Parameters
    ----------
    width
        Bits of the integer, at least 2.
    mantissa_width
        Bits of the mantissa.

    Members
    -------
    value : unsigned(width), in
        The integer.
    mantissa : unsigned(mantissa_width), out
        Its highest bits; the highest is set, unless the integer is 0.
    exponent : unsigned(range(width)), out
        Place of its highest bit; without meaning if the integer is 0.
    """

    latency = 1

    value: Signal
    mantissa: Signal
    exponent: Signal

    def __init__(self, width: int, mantissa_width: int) -> None:
        super().__init__(
            {
                "value": In(width),
                "mantissa": Out(mantissa_width),
                "exponent": Out(range(width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        registers = self.registers(m)
        aligned, amount = normalised(m, self.value)
        kept = len(self.mantissa)
        missing = max(kept - len(aligned), 0)
        mantissa = Cat(Const(0, missing), aligned)[-kept:]
        bits = len(self.exponent)
        exponent = (Const(len(self.value) - 1, bits) - widen(amount, bits))[:bits]
        m.d.comb += [
            self.mantissa.eq(registers.hold(mantissa, name="mantissa")),
            self.exponent.eq(registers.hold(exponent, name="exponent")),
        ]
        return m
