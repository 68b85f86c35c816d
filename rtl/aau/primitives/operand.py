# SPDX-License-Identifier: Apache-2.0
"""Operands of floating-point sums and products, taken apart."""

from typing import NamedTuple

import numpy as np

from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, ints


class Operand(NamedTuple):
    """Numbers `significand * 2**(exponent - fraction_width)`, with a sign.

    Attributes
    ----------
    sign
        1 below zero.
    significand
        With the leading one; 0 for zero and for subnormal numbers. Of what is infinite or no
        number it is not 0.
    exponent
        That of the leading one.
    infinite, nan
        1 for an infinity, and for what is no number.
    """

    sign: Ints
    significand: Ints
    exponent: Ints
    infinite: Ints
    nan: Ints


def decode(code: IntsLike, form: Format) -> Operand:
    """Take codes of FP16 or BF16 apart."""
    code = ints(code)
    behind = form.fraction_width
    biased = code >> behind & ((1 << form.exponent_width) - 1)
    fraction = code & ((1 << behind) - 1)
    special = biased == (1 << form.exponent_width) - 1
    return Operand(
        code >> 15 & 1,
        np.where(biased == 0, 0, 1 << behind | fraction),
        biased - form.bias,
        (special & (fraction == 0)).astype(np.int64),
        (special & (fraction != 0)).astype(np.int64),
    )
