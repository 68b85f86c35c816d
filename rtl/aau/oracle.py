# SPDX-License-Identifier: Apache-2.0
"""The mathematics of the AAU in float64, and how far its default numerics may be from it."""

import numpy as np
import numpy.typing as npt

from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import Ints, ints

Floats = npt.NDArray[np.float64]

SOFTMAX_RELATIVE = 1e-3
"""Of probabilities above `SOFTMAX_FROM`, before they are rounded to their format."""
SOFTMAX_FROM = 1e-7
SUM_OF_PROBABILITIES = 1e-3
ENTROPY_NATS = 0.01
SILU_ABSOLUTE = 3e-4
"""Before rounding to the format, of elements up to 8 in magnitude."""
NORM_ULPS = 1.0
"""In the format of the result, of elements that are exact in theirs."""


def floats(codes: Ints, form: Format) -> Floats:
    """Return what codes stand for, subnormal numbers as they are."""
    if form is Format.FP16:
        return codes.astype(np.uint16).view(np.float16).astype(np.float64)
    if form is Format.BF16:
        return (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    half = 1 << (form.width - 1)
    return ((codes ^ half) - half).astype(np.float64)


def codes(values: Floats, form: Format) -> Ints:
    """Return the nearest codes in a floating-point format."""
    if form is Format.FP16:
        return ints(np.asarray(values, dtype=np.float16).view(np.uint16))
    bits = np.asarray(values, dtype=np.float32).view(np.uint32).astype(np.int64)
    return ints((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


def softmax(x: Floats) -> Floats:
    """Return e^x over its sum; elements of minus infinity have no part in it."""
    if not np.isfinite(x).any():
        return np.zeros_like(x)
    powers = np.exp(x - x.max())
    return powers / powers.sum()


def log_sum_exp(x: Floats) -> float:
    """Return the logarithm of the sum of e^x [nat]."""
    return float(x.max() + np.log(np.exp(x - x.max()).sum()))


def entropy(x: Floats) -> float:
    """Return the entropy of the softmax [nat]."""
    p = softmax(x)
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


def layernorm(x: Floats, gain: Floats, bias: Floats, eps: float) -> Floats:
    """Return x without its mean, over its deviation, times a gain, and a bias."""
    return (x - x.mean()) / np.sqrt(x.var() + eps) * gain + bias


def rmsnorm(x: Floats, gain: Floats, eps: float) -> Floats:
    """Return x over its root mean square, times a gain."""
    return x / np.sqrt((x * x).mean() + eps) * gain


def silu(x: Floats) -> Floats:
    """Return x over 1 + e^-x."""
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-x))


def gelu(x: Floats) -> Floats:
    """Return the tanh form of GELU, as a product by a sigmoid: 1 + tanh would cancel below 0."""
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def ulps(found: Floats, exact: npt.ArrayLike, form: Format) -> Floats:
    """Return errors in units of the last place of the exact values, of normal numbers at least."""
    smallest = 1 - form.bias
    exact = np.asarray(exact, dtype=np.float64)
    exponent = np.maximum(np.frexp(np.abs(exact))[1] - 1, smallest)
    return np.abs(found - exact) / np.exp2(exponent - form.fraction_width)
