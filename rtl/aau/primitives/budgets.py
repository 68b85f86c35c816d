# SPDX-License-Identifier: Apache-2.0
"""Largest errors of the primitives' golden models over every operand, and what they may be.

Where an operand comes from a tensor by rounding, the exact operand lies up to half a step beside
the rounded one; both ends of that step are tried.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives import oracle
from ahasd.rtl.aau.primitives.exp2.golden import exp2
from ahasd.rtl.aau.primitives.integers import Ints
from ahasd.rtl.aau.primitives.log2.golden import logarithm
from ahasd.rtl.aau.primitives.oracle import Reals
from ahasd.rtl.aau.primitives.recip.golden import recip
from ahasd.rtl.aau.primitives.rsqrt.golden import rsqrt
from ahasd.rtl.aau.primitives.sigmoid.golden import sigmoid

HALF_STEPS = (-0.5, 0.0, 0.5)


def mantissas(numerics: Numerics) -> Ints:
    """Return every operand of reciprocals, square roots and logarithms."""
    one = 1 << (numerics.result_width - 1)
    return np.arange(one, 2 * one)


def _largest_relative(found: Reals, exact: Reals) -> float:
    return float(abs(found / exact - 1).max())


def exp2_error(numerics: Numerics) -> float:
    """Return the largest relative error of exp2, with the rounding of its operand.

    A whole octave has every mantissa; further ones only shift it.
    """
    step = 2.0**-numerics.fraction_width
    depth = np.arange(1 << numerics.fraction_width)
    found = np.ldexp(exp2(depth, numerics).mantissa.astype(float), 1 - numerics.mantissa_width)
    return max(_largest_relative(found, oracle.exp2(-(depth + half) * step)) for half in HALF_STEPS)


def recip_error(numerics: Numerics) -> float:
    """Return the largest relative error of reciprocals."""
    mantissa, one = mantissas(numerics), 2.0 ** (numerics.result_width - 1)
    return _largest_relative(recip(mantissa, numerics) / one, oracle.recip(mantissa / one))


def rsqrt_error(numerics: Numerics) -> float:
    """Return the largest relative error of reciprocal square roots."""
    mantissa, one = mantissas(numerics), 2.0 ** (numerics.result_width - 1)
    return max(
        _largest_relative(
            rsqrt(mantissa, odd, numerics) / one, oracle.rsqrt(mantissa / one * (1 + odd))
        )
        for odd in (0, 1)
    )


def log2_error(numerics: Numerics) -> float:
    """Return the largest error of logarithms."""
    mantissa, one = mantissas(numerics), 2.0 ** (numerics.result_width - 1)
    found = np.ldexp(logarithm(mantissa, numerics).astype(float), -numerics.mantissa_width)
    return float(abs(found - oracle.log2(mantissa / one)).max())


def sigmoid_error(numerics: Numerics) -> float:
    """Return the largest error of sigmoids, with the rounding of their operands."""
    step, one = 2.0**-numerics.fraction_width, 2.0 ** (numerics.result_width - 1)
    scaled = np.arange(-numerics.scaled_max, numerics.scaled_max + 1)
    found = sigmoid(scaled, numerics) / one
    return max(
        float(abs(found - oracle.sigmoid2((scaled + half) * step)).max()) for half in HALF_STEPS
    )


class Budget(NamedTuple):
    """What an error may be.

    Attributes
    ----------
    quantity
        What errs, in words.
    measure
        Returns the largest error of a variant.
    limit
        Largest that the default variant may have; None where none is asked for.
    """

    quantity: str
    measure: Callable[[Numerics], float]
    limit: float | None


BUDGETS = {
    "exp2": Budget("`2**-x`, relative, operand's rounding included", exp2_error, 4.9e-4),
    "recip": Budget("`1/x`, relative", recip_error, 6e-5),
    "rsqrt": Budget("`1/sqrt(x)`, relative", rsqrt_error, 1.2e-5),
    "log2": Budget("`log2(x)` of a mantissa, absolute", log2_error, None),
    "sigmoid": Budget(
        "`1/(1 + 2**-x)`, absolute, operand's rounding included", sigmoid_error, 1.1e-4
    ),
}
