# SPDX-License-Identifier: Apache-2.0
"""Products of floating-point numbers in Amaranth."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.primitives.decoding import split
from ahasd.rtl.aau.primitives.formats import Format, calculable
from ahasd.rtl.aau.primitives.pipeline import Primitive, widen
from ahasd.rtl.aau.primitives.rounding import BIASED_WIDTH, Normal, bias, encode


class MultiplyUnit(Primitive):
    """Multiply two floating-point numbers of one format each cycle, rounding once.

    Parameters
    ----------
    formats
        FP16, BF16 or both.

    Members
    -------
    a, b : unsigned(16), in
        Codes of the operands.
    form : Format, in
        Their format and the result's, one of `formats`.
    result : unsigned(16), out
        Code of the product.

    Raises
    ------
    ValueError
        A format is not of floating point.
    """

    latency = 3

    a: Signal
    b: Signal
    form: Signal
    result: Signal

    def __init__(self, formats: Sequence[Format]) -> None:
        self.formats = calculable(formats)
        super().__init__({"a": In(16), "b": In(16), "form": In(Format), "result": Out(16)})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        registers = self.registers(m)
        form = self.form
        x, y = (split(code, form, self.formats) for code in (self.a, self.b))
        # The operands are registered once they are taken apart: a product takes a cycle.
        significands = [registers.hold(each.significand, name="significand") for each in (x, y)]
        both = widen(x.biased, BIASED_WIDTH) + widen(y.biased, BIASED_WIDTH)
        both = registers.hold(both[:BIASED_WIDTH], name="both")
        form = registers.hold(form, name="form")
        less = registers.hold((both - bias(form, self.formats))[:BIASED_WIDTH], name="less")
        product = registers.hold(significands[0] * significands[1], name="product")
        infinite = x.infinite | y.infinite
        none = ~x.significand[-1] | ~y.significand[-1]

        # A product of two mantissas is in [1, 4).
        wide = product[-1]
        normal = Normal(
            registers.hold(x.sign ^ y.sign, 2, "sign"),
            Mux(wide, product, Cat(Const(0, 1), product[:-1])),
            (less + widen(wide, BIASED_WIDTH))[:BIASED_WIDTH],
            registers.hold(infinite, 2, "infinite"),
            registers.hold(x.nan | y.nan | infinite & none, 2, "nan"),
        )
        form = registers.hold(form, name="form")
        m.d.comb += self.result.eq(
            registers.hold(encode(m, normal, form, self.formats), name="result")
        )
        return m
