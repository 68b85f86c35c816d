# SPDX-License-Identifier: Apache-2.0
"""The mathematics that the primitives approximate, in float64.

What errs by 2**-53 is the truth beside results of 20 bits; a test holds it against 40 digits.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.floating[Any]]


def exp2(x: Reals) -> Reals:
    """Return `2**x`."""
    return np.exp2(x)


def recip(x: Reals) -> Reals:
    """Return `1/x`."""
    return 1 / x


def rsqrt(x: Reals) -> Reals:
    """Return `1/sqrt(x)`."""
    return 1 / np.sqrt(x)


def log2(x: Reals) -> Reals:
    """Return the logarithm of x to base 2."""
    return np.log2(x)


def sigmoid2(x: Reals) -> Reals:
    """Return `1 / (1 + 2**-x)`."""
    return 1 / (1 + np.exp2(-x))


def exp(x: Reals) -> Reals:
    """Return `e**x`."""
    return np.exp(x)


def sigmoid(x: Reals) -> Reals:
    """Return `1 / (1 + e**-x)`."""
    return 1 / (1 + np.exp(-x))
