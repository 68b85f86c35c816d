# SPDX-License-Identifier: Apache-2.0
"""Writing results in Amaranth."""

from collections.abc import Sequence

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.primitives.formats import Format, storable
from ahasd.rtl.aau.primitives.layouts import real_layout
from ahasd.rtl.aau.primitives.pipeline import Primitive, let, widen
from ahasd.rtl.aau.primitives.rounding import BIASED_WIDTH, Normal, bias, encode


class StoreUnit(Primitive):
    """Round and code a number each cycle.

    Parameters
    ----------
    width
        Bits of the mantissa, at least 13.
    formats
        Formats that it can write.

    Members
    -------
    number : struct of `real_layout`, in
        As `store.golden.store` takes it, but normalised: the highest bit of the mantissa is set, or
        the number is 0, infinite or no number.
    form : Format, in
        Format to write, one of `formats`.
    code : unsigned(16), out
        The code; of INT8 in the low bits, the others 0.

    Raises
    ------
    ValueError
        The width is too small, or no number can be written in a format.
    """

    latency = 1

    number: data.View
    form: Signal
    code: Signal

    def __init__(self, width: int, formats: Sequence[Format]) -> None:
        self.formats = storable(formats, width)
        super().__init__({"number": In(real_layout(width)), "form": In(Format), "code": Out(16)})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        number = self.number
        biased = widen(number.exponent, BIASED_WIDTH).as_unsigned() + bias(self.form, self.formats)
        biased = let(m, biased[:BIASED_WIDTH], "biased")
        normal = Normal(number.sign, number.mantissa, biased, number.infinite, number.nan)
        code = encode(m, normal, self.form, self.formats)
        m.d.comb += self.code.eq(self.registers(m).hold(code, name="code"))
        return m
