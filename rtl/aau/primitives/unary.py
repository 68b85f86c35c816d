# SPDX-License-Identifier: Apache-2.0
"""Functions of one operand from a format to a format, put together from the primitives.

They say what the primitives are good for where numbers enter and leave: loaded, scaled, evaluated
and stored as the hardware does it. What has no result in the format (a logarithm of something
negative, say) is left to whoever uses them.
"""

from collections.abc import Callable
from math import log

import numpy as np

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives import oracle
from ahasd.rtl.aau.primitives.errors import ErrorReport, report, value
from ahasd.rtl.aau.primitives.exp2.golden import exp2
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import Ints, ints
from ahasd.rtl.aau.primitives.load.golden import Constant, Real, load, scale
from ahasd.rtl.aau.primitives.log2.golden import logarithm
from ahasd.rtl.aau.primitives.oracle import Reals
from ahasd.rtl.aau.primitives.recip.golden import recip
from ahasd.rtl.aau.primitives.rsqrt.golden import MENDED_WIDTH, mended
from ahasd.rtl.aau.primitives.sigmoid.golden import sigmoid
from ahasd.rtl.aau.primitives.store.golden import store

LOG2_E = 1 / log(2)


def _wide(real: Real, numerics: Numerics) -> Ints:
    """Return a loaded mantissa as the tables want it."""
    return real.mantissa << (numerics.result_width - numerics.mantissa_width)


def exp_of(real: Real, form: Format, numerics: Numerics) -> Ints:
    """Return codes of `e**x` for x of 0 and below."""
    scaled = scale(real, Constant.of(LOG2_E, numerics), numerics)
    power = exp2(-np.minimum(scaled.value, 0), numerics)
    width = numerics.mantissa_width
    return store(0 * real.sign, power.mantissa, -power.shift, width, form)


def sigmoid_of(real: Real, form: Format, numerics: Numerics) -> Ints:
    """Return codes of `1 / (1 + e**-x)`."""
    scaled = scale(real, Constant.of(LOG2_E, numerics), numerics)
    width = numerics.result_width
    return store(0 * real.sign, sigmoid(scaled.value, numerics), 0 * real.sign, width, form)


def recip_of(real: Real, form: Format, numerics: Numerics) -> Ints:
    """Return codes of `1/x`."""
    result = recip(_wide(real, numerics), numerics)
    return store(real.sign, result, -real.exponent, numerics.result_width, form)


def rsqrt_of(real: Real, form: Format, numerics: Numerics) -> Ints:
    """Return codes of `1/sqrt(x)` for x above 0, with a Newton step if the numerics have it."""
    result = mended(_wide(real, numerics), real.exponent & 1, numerics)
    return store(real.sign, result, -(real.exponent >> 1), MENDED_WIDTH, form)


def log2_of(real: Real, form: Format, numerics: Numerics) -> Ints:
    """Return codes of the logarithm of x to base 2, for x above 0."""
    behind = numerics.mantissa_width
    fraction = logarithm(_wide(real, numerics), numerics)
    total = (real.exponent << behind) + fraction
    width = behind + 9
    return store((total < 0).astype(np.int64), abs(total), 8 + 0 * total, width, form)


Function = Callable[[Real, Format, Numerics], Ints]
UNARY: dict[str, tuple[Function, Callable[[Reals], Reals], float, float]] = {
    "exp": (exp_of, oracle.exp, -np.inf, 0.0),
    "sigmoid": (sigmoid_of, oracle.sigmoid, -np.inf, np.inf),
    "recip": (recip_of, oracle.recip, -np.inf, np.inf),
    "rsqrt": (rsqrt_of, oracle.rsqrt, 0.0, np.inf),
    "log2": (log2_of, oracle.log2, 0.0, np.inf),
}
"""Functions by name: the model, the truth, and the two ends of what it takes."""


INT8_POINT = 4
"""Bits behind the point of INT8 operands, whose scale is a power of two here."""


def assess(name: str, source: Format, form: Format, numerics: Numerics) -> ErrorReport:
    """Return the errors of a function over every code that it takes.

    Parameters
    ----------
    name
        Of `UNARY`.
    source
        Format of the operands: FP16, BF16, or INT8 with `INT8_POINT` bits behind the point.
    form
        Format of the results, FP16 or BF16.
    numerics
        Widths.
    """
    model, truth, low, high = UNARY[name]
    codes = ints(np.arange(1 << source.width))
    if source is Format.INT8:
        operands = np.ldexp((codes - (codes >> 7 << 8)).astype(np.float64), -INT8_POINT)
    else:
        operands = value(codes, source)
    taken = (operands >= low) & (operands <= high) & np.isfinite(operands)
    real = load(codes[taken], source, numerics)
    if source is Format.INT8:
        real = real._replace(exponent=real.exponent - INT8_POINT)
    results = value(model(real, form, numerics), form)
    with np.errstate(divide="ignore", over="ignore"):  # at 0, and where nothing is representable
        exact = truth(operands[taken])
    return report(operands[taken], results, exact, form)
