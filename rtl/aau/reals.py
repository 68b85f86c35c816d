# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of what a lane multiplies and adds: numbers with an exponent, and flags beside.

A lane rounds to odd: what is cut off sets the lowest bit of what is kept. The error is below one
unit of the last of `real_width` bits, and a result that is then stored in FP16 or BF16 is rounded
as if nothing had been cut before.
"""

import numpy as np

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH, Format
from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, bit_length, ints, round_half_even
from ahasd.rtl.aau.primitives.load.golden import Real, load

LOWEST = -(1 << (EXPONENT_WIDTH - 1))
"""Exponent of zero, so that every other number has a larger one."""

GUARD_WIDTH = 3
"""Bits kept below the larger addend; the lowest stands for all that is cut off."""

FP32_FRACTION_WIDTH = 23


def real_width(numerics: Numerics) -> int:
    """Return the bits of a lane's mantissas, the highest of which is set.

    One more than an operand has: what a product loses is less than what that lost, and results
    in FP16 are rounded as if nothing had been lost, for which two more than it has are needed.
    """
    return numerics.mantissa_width + 1


def operand(code: IntsLike, form: Format, numerics: Numerics) -> Real:
    """Return what codes of a format stand for, zero with the lowest exponent."""
    real = load(code, form, numerics)
    mantissa = real.mantissa << (real_width(numerics) - numerics.mantissa_width)
    return real._replace(mantissa=mantissa, exponent=np.where(mantissa == 0, LOWEST, real.exponent))


def constant(code: int, width: int) -> Real:
    """Return a constant in IEEE single precision, in `width` bits, rounded half up.

    Subnormal numbers are zero, and so is what is no finite number.
    """
    biased = code >> FP32_FRACTION_WIDTH & 0xFF
    mantissa = 1 << FP32_FRACTION_WIDTH | code & ((1 << FP32_FRACTION_WIDTH) - 1)
    surplus = FP32_FRACTION_WIDTH + 1 - width
    mantissa = (mantissa >> surplus - 1) + 1 >> 1 if surplus > 0 else mantissa << -surplus
    carry = mantissa >> width
    if biased in (0, 0xFF):
        return _real(0, 0, LOWEST)
    return _real(code >> 31, mantissa >> carry, biased - 127 + carry)


def _real(sign: int, mantissa: int, exponent: int) -> Real:
    return Real(*(ints(value) for value in (sign, mantissa, exponent, 0, 0)))


def zero() -> Real:
    """Return 0."""
    return _real(0, 0, LOWEST)


def one(width: int) -> Real:
    """Return 1 with a mantissa of some bits."""
    return _real(0, 1 << (width - 1), 0)


def jam(values: IntsLike, shift: IntsLike) -> Ints:
    """Return values over `2**shift`, rounded to odd: cut off, with a lowest bit that tells."""
    values, shift = ints(values), ints(shift)
    return values >> shift | ((values & ((1 << shift) - 1)) != 0)


def product(p: Real, q: Real, width: int) -> Real:
    """Return exact products `mantissa * 2**(exponent - 2*(width - 1))`; not normalised."""
    mantissa = p.mantissa * q.mantissa
    return Real(
        p.sign ^ q.sign,
        mantissa,
        np.where(mantissa == 0, LOWEST, p.exponent + q.exponent),
        p.infinite | q.infinite,
        p.nan
        | q.nan
        | p.infinite & (q.infinite ^ 1) & (q.mantissa == 0)
        | q.infinite & (p.infinite ^ 1) & (p.mantissa == 0),
    )


def rounded(real: Real, width: int) -> Real:
    """Return products as mantissas of `width` bits, rounded to odd."""
    high = real.mantissa >> (2 * width - 1)
    mantissa = jam(real.mantissa, width - 1 + high)
    return real._replace(mantissa=mantissa, exponent=real.exponent + high)


def add(p: Real, q: Real, width: int) -> Real:
    """Return sums, rounded to odd. A sum of 0 has no sign, unless both operands had."""
    swap = (p.exponent < q.exponent) | ((p.exponent == q.exponent) & (p.mantissa < q.mantissa))
    sign, large, exponent, _, _ = (np.where(swap, b, a) for a, b in zip(p, q, strict=True))
    sign_small, small, exponent_small, _, _ = (
        np.where(swap, a, b) for a, b in zip(p, q, strict=True)
    )
    unlike = sign ^ sign_small
    right = np.minimum(exponent - exponent_small, width + GUARD_WIDTH)
    aligned = jam(small << GUARD_WIDTH, right)
    wide = large << GUARD_WIDTH
    total = np.where(unlike == 1, wide - aligned, wide + aligned)
    length = bit_length(total)
    # One bit more than the larger addend: that of the carry.
    zeros = width + GUARD_WIDTH + 1 - length
    mantissa = np.where(total == 0, 0, jam(total << zeros, GUARD_WIDTH + 1))
    infinite = p.infinite | q.infinite
    nan = p.nan | q.nan | p.infinite & q.infinite & (p.sign ^ q.sign)
    sign = np.where((total == 0) & (infinite == 0), p.sign & q.sign, sign)
    sign = np.where(infinite == 1, np.where(p.infinite == 1, p.sign, q.sign), sign)
    exponent = np.where(total == 0, LOWEST, exponent + 1 - zeros)
    return Real(sign, mantissa, exponent, infinite, nan)


def multiply_add(p: Real, q: Real, s: Real, width: int) -> Real:
    """Return `p*q + s`, the product and the sum rounded to odd."""
    return add(rounded(product(p, q, width), width), s, width)


def scaled(real: Real, numerics: Numerics) -> Ints:
    """Return exact products as scaled numbers, rounded half to even, saturating.

    What is infinite saturates; of what is no number the value has no meaning.
    """
    width = real_width(numerics)
    right = 2 * (width - 1) - numerics.fraction_width - real.exponent
    # Beyond these shifts all is 0, or too large.
    low = 2 * width - numerics.scaled_width - 1
    magnitude = round_half_even(real.mantissa, np.clip(right, low, 2 * width + 1))
    magnitude = np.where(real.infinite == 1, numerics.scaled_max, magnitude)
    magnitude = np.minimum(magnitude, numerics.scaled_max)
    return np.where(real.sign == 1, -magnitude, magnitude)


def unit_fraction(value: IntsLike, numerics: Numerics) -> Real:
    """Return unit fractions, 1 being `2**(result_width - 1)`, as a lane's numbers, cut off."""
    width, wide = real_width(numerics), numerics.result_width
    value = ints(value)
    length = bit_length(value)
    none = np.zeros_like(value)
    return Real(
        none,
        value << (wide - length) >> (wide - width),
        np.where(value == 0, LOWEST, length - wide),
        none,
        none,
    )
