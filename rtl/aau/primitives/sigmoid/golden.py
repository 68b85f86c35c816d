# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of the logistic function to base 2: `1 / (1 + 2**-x)`."""

import numpy as np

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.exp2.golden import exp2
from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, ints
from ahasd.rtl.aau.primitives.recip.golden import recip


def sigmoid(scaled: IntsLike, numerics: Numerics) -> Ints:
    """Return `1 / (1 + 2**-x)` as unit fractions; those of x and -x add up to exactly 1.

    Parameters
    ----------
    scaled
        x, a scaled number of either sign, not below `-scaled_max`.

    Returns
    -------
    Ints
        0 to `2**(result_width - 1)`, which is 1.
    """
    scaled = ints(scaled)
    one = 1 << (numerics.result_width - 1)
    power = exp2(abs(scaled), numerics)
    wide = power.mantissa << (numerics.result_width - numerics.mantissa_width)
    # At 0 the sum is 2, which is no mantissa; the reciprocal of the one below it is 1/2 as well.
    divisor = np.minimum(one + (wide >> power.shift.clip(max=63)), 2 * one - 1)
    above = recip(divisor, numerics)
    return np.where(scaled < 0, one - above, above)
