# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of products in FP16 or BF16, rounded once, half to even."""

from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import Ints, IntsLike
from ahasd.rtl.aau.primitives.operand import decode
from ahasd.rtl.aau.primitives.store.golden import store


def multiply(a: IntsLike, b: IntsLike, form: Format) -> Ints:
    """Return the codes of products.

    Subnormal operands and results are zeros; zero times infinity is no number.
    """
    x, y = decode(a, form), decode(b, form)
    width = 2 * (form.fraction_width + 1)
    return store(
        x.sign ^ y.sign,
        x.significand * y.significand,
        x.exponent + y.exponent + 1,
        width,
        form,
        infinite=x.infinite | y.infinite,
        nan=x.nan | y.nan | x.infinite & (y.significand == 0) | y.infinite & (x.significand == 0),
    )
