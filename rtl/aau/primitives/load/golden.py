# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of reading operands: first as mantissa and exponent, then scaled by a constant.

The constant of a tensor folds what softmax and sigmoid need into one factor: log2(e), the scale of
integers, the root of the head's size.
"""

from math import frexp, isfinite
from typing import NamedTuple

import numpy as np

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH, Format
from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, bit_length, ints, round_half_even
from ahasd.rtl.aau.primitives.operand import decode


class Real(NamedTuple):
    """Numbers `mantissa * 2**(exponent - (mantissa_width - 1))`, with a sign.

    Attributes
    ----------
    sign
        1 below zero.
    mantissa
        `mantissa_width` bits, the highest set; 0 for zero.
    exponent
        Signed, of `EXPONENT_WIDTH` bits; without meaning for what is zero, infinite or no number.
    infinite, nan
        1 for an infinity, and for what is no number; then the mantissa has no meaning.
    """

    sign: Ints
    mantissa: Ints
    exponent: Ints
    infinite: Ints
    nan: Ints


class Constant(NamedTuple):
    """A positive factor `mantissa * 2**(exponent - (mantissa_width - 1))`.

    Attributes
    ----------
    mantissa
        `mantissa_width` bits, the highest set.
    exponent
        -256 to 255.
    """

    mantissa: int
    exponent: int

    @classmethod
    def of(cls, value: float, numerics: Numerics) -> "Constant":
        """Return the constant that is nearest to a value.

        Raises
        ------
        ValueError
            The value is not above 0, or beyond the exponents.
        """
        if not (isfinite(value) and value > 0):
            raise ValueError(f"a scale must be finite and above 0, not {value}")
        fraction, exponent = frexp(value)
        mantissa = round(fraction * (1 << numerics.mantissa_width))
        if mantissa >> numerics.mantissa_width:
            mantissa, exponent = mantissa >> 1, exponent + 1
        if not -256 <= exponent - 1 <= 255:
            raise ValueError(f"a scale must be in 2**-256..2**256, not {value}")
        return cls(mantissa, exponent - 1)


class Scaled(NamedTuple):
    """Scaled numbers and what is beside them.

    Attributes
    ----------
    value
        Signed, -`scaled_max` to `scaled_max`; 0 for what is no number.
    masked, infinite, nan
        1 for minus infinity, for plus infinity, and for what is no number.
    """

    value: Ints
    masked: Ints
    infinite: Ints
    nan: Ints


def load(code: IntsLike, form: Format, numerics: Numerics) -> Real:
    """Return what codes of a format stand for.

    Floating-point numbers are exact. Integers that take more bits than a mantissa has are rounded
    to the nearest, ties to even.

    Parameters
    ----------
    code
        Bits of the format, as a number of 0 or more; INT8 and INT32 are in two's complement.
    """
    code = ints(code)
    width = numerics.mantissa_width
    if form.floating:
        number = decode(code, form)
        mantissa = number.significand << (width - 1 - form.fraction_width)
        return Real(number.sign, mantissa, number.exponent, number.infinite, number.nan)
    sign = code >> (form.width - 1) & 1
    magnitude = np.where(sign == 1, (1 << form.width) - code, code)
    length = bit_length(magnitude)
    aligned = (magnitude << (form.width - length)) & ((1 << form.width) - 1)
    if form.width > width:
        mantissa = round_half_even(aligned, form.width - width)
    else:
        mantissa = aligned << (width - form.width)
    carry = mantissa >> width
    none = np.zeros_like(code)
    return Real(sign, mantissa >> carry, length - 1 + carry, none, none)


def scale(real: Real, constant: Constant, numerics: Numerics) -> Scaled:
    """Return numbers times a constant as scaled numbers, rounded half to even, saturating."""
    width = numerics.mantissa_width
    product = real.mantissa * constant.mantissa
    exponent = real.exponent + constant.exponent
    limit = 1 << (EXPONENT_WIDTH - 1)
    assert np.all((-limit <= exponent) & (exponent < limit)), "exponents have their width"
    right = 2 * (width - 1) - numerics.fraction_width - exponent
    # Products have 2 * width bits at most, and scaled numbers fewer: beyond these shifts all is 0,
    # or too large.
    low = 2 * width - numerics.scaled_width - 1
    rounded = round_half_even(product, np.clip(right, low, 2 * width + 1))
    magnitude = np.minimum(
        np.where(real.infinite == 1, numerics.scaled_max, rounded), numerics.scaled_max
    )
    value = np.where(real.nan == 1, 0, np.where(real.sign == 1, -magnitude, magnitude))
    return Scaled(value, real.infinite & real.sign, real.infinite & ~real.sign & 1, real.nan)
