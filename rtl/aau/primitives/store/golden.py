# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of writing results: normalised, rounded half to even, coded."""

import numpy as np

from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, bit_length, ints, round_half_even

INT8_MAX = 127


def store(
    sign: IntsLike,
    mantissa: IntsLike,
    exponent: IntsLike,
    width: int,
    form: Format,
    *,
    infinite: IntsLike = 0,
    nan: IntsLike = 0,
) -> Ints:
    """Return the codes of numbers `mantissa * 2**(exponent - (width - 1))`, with a sign.

    Rounding is half to even, as if exponents had no bounds. Then what is too large for a
    floating-point format is an infinity, and what is below its smallest normal number a zero, of
    the same sign. INT8 saturates at -128 and 127; what is no number is 0 in it.

    Parameters
    ----------
    sign
        1 below zero.
    mantissa
        `width` bits, normalised or not.
    exponent
        That of the highest bit of `mantissa`, signed, of `EXPONENT_WIDTH` bits.
    width
        At least 13 bits. Whoever has cut bits off sets the lowest one in their place.
    form
        FP16, BF16 or INT8.
    infinite, nan
        1 for what is infinite, and no number.
    """
    sign, mantissa, infinite, nan = ints(sign), ints(mantissa), ints(infinite), ints(nan)
    zeros = np.where(mantissa == 0, 0, width - bit_length(mantissa))
    aligned = mantissa << zeros
    exponent = ints(exponent) - zeros
    if form is Format.INT8:
        return _integers(sign, aligned, exponent, width, infinite, nan)
    precision = form.fraction_width + 1
    rounded = round_half_even(aligned, width - precision)
    exponent = exponent + (rounded >> precision)  # the fraction is then 0 in any case
    fraction = rounded & ((1 << form.fraction_width) - 1)
    code = (exponent + form.bias) << form.fraction_width | fraction
    code = np.where(exponent > form.bias, form.infinity, code)
    code = np.where((exponent < 1 - form.bias) | (mantissa == 0), 0, code)
    code = np.where(infinite == 1, form.infinity, code) | sign << 15
    return np.where(nan == 1, form.nan, code)


def _integers(
    sign: Ints, aligned: Ints, exponent: Ints, width: int, infinite: Ints, nan: Ints
) -> Ints:
    right = np.clip(width - 1 - exponent, width - 9, width + 1)
    magnitude = round_half_even(aligned, right)
    magnitude = np.where(infinite == 1, 1 << 8, magnitude)
    magnitude = np.minimum(magnitude, INT8_MAX + sign)
    return np.where(nan == 1, 0, np.where(sign == 1, -magnitude, magnitude) & 0xFF)
