# SPDX-License-Identifier: Apache-2.0
"""Errors of the primitives' golden models over every operand, and how large they may be.

Where an operand comes from a tensor by rounding, the exact operand lies up to half a step beside
the rounded one; both ends of that step are tried.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives import oracle
from ahasd.rtl.aau.primitives.exp2.golden import exp2
from ahasd.rtl.aau.primitives.integers import Ints
from ahasd.rtl.aau.primitives.log2.golden import logarithm
from ahasd.rtl.aau.primitives.oracle import Reals
from ahasd.rtl.aau.primitives.recip.golden import recip
from ahasd.rtl.aau.primitives.rsqrt.golden import MENDED_WIDTH, mended
from ahasd.rtl.aau.primitives.sigmoid.golden import sigmoid

HALF_STEPS = (-0.5, 0.0, 0.5)


def mantissas(numerics: Numerics) -> Ints:
    """Return every operand of reciprocals, square roots and logarithms."""
    one = 1 << (numerics.result_width - 1)
    return np.arange(one, 2 * one)


Errors = tuple[Reals, Reals]
"""Operands, and the largest error at each."""


def _relative(found: Reals, exact: Reals) -> Reals:
    return abs(found / exact - 1)


def _largest(errors: Sequence[Reals]) -> Reals:
    return np.maximum.reduce(list(errors))


def exp2_errors(numerics: Numerics) -> Errors:
    """Return the relative errors of powers `2**-x`, with the rounding of x.

    The octave from 0 to 1 has every mantissa; further ones only shift it.
    """
    step = 2.0**-numerics.fraction_width
    depth = np.arange(1 << numerics.fraction_width)
    mantissa = exp2(depth, numerics).mantissa.astype(np.float64)
    found = np.ldexp(mantissa, 1 - numerics.mantissa_width)
    errors = [_relative(found, oracle.exp2(-(depth + half) * step)) for half in HALF_STEPS]
    return depth * step, _largest(errors)


def recip_errors(numerics: Numerics) -> Errors:
    """Return the relative errors of reciprocals."""
    mantissa, one = mantissas(numerics), 2.0 ** (numerics.result_width - 1)
    operand = mantissa / one
    return operand, _relative(recip(mantissa, numerics) / one, oracle.recip(operand))


def rsqrt_errors(numerics: Numerics) -> Errors:
    """Return the relative errors of reciprocal square roots from 1 to 4, mended if they are."""
    mantissa, one = mantissas(numerics), 2.0 ** (numerics.result_width - 1)
    operand = np.concatenate([mantissa / one, 2 * mantissa / one])
    roots = np.concatenate([mended(mantissa, odd, numerics) for odd in (0, 1)])
    found = np.ldexp(roots.astype(np.float64), 1 - MENDED_WIDTH)
    return operand, _relative(found, oracle.rsqrt(operand))


def log2_errors(numerics: Numerics) -> Errors:
    """Return the errors of logarithms."""
    mantissa, one = mantissas(numerics), 2.0 ** (numerics.result_width - 1)
    logarithms = logarithm(mantissa, numerics).astype(np.float64)
    operand = mantissa / one
    found = np.ldexp(logarithms, -numerics.mantissa_width)
    return operand, abs(found - oracle.log2(operand))


def sigmoid_errors(numerics: Numerics) -> Errors:
    """Return the errors of sigmoids, with the rounding of their operands."""
    step, one = 2.0**-numerics.fraction_width, 2.0 ** (numerics.result_width - 1)
    scaled = np.arange(-numerics.scaled_max, numerics.scaled_max + 1)
    found = sigmoid(scaled, numerics) / one
    errors = [abs(found - oracle.sigmoid2((scaled + half) * step)) for half in HALF_STEPS]
    return scaled * step, _largest(errors)


class Budget(NamedTuple):
    """What an error may be.

    Attributes
    ----------
    quantity
        What errs, in words.
    errors
        Returns the errors of a variant over every operand.
    limit
        Largest that the default variant may have; None where none is asked for.
    """

    quantity: str
    errors: Callable[[Numerics], Errors]
    limit: float | None

    def measure(self, numerics: Numerics) -> float:
        """Return the largest error of a variant."""
        return float(self.errors(numerics)[1].max())


BUDGETS = {
    "exp2": Budget("`2**-x`, relative, operand's rounding included", exp2_errors, 4.9e-4),
    "recip": Budget("`1/x`, relative", recip_errors, 6e-5),
    "rsqrt": Budget("`1/sqrt(x)`, relative, with Newton step if any", rsqrt_errors, 1.2e-5),
    "log2": Budget("`log2(x)` of a mantissa, absolute", log2_errors, None),
    "sigmoid": Budget(
        "`1/(1 + 2**-x)`, absolute, operand's rounding included", sigmoid_errors, 1.1e-4
    ),
}
"""Budgets by primitive."""
