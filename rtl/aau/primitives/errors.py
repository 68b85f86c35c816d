# SPDX-License-Identifier: Apache-2.0
"""How far results are from the truth: in units of the last place, and relatively.

The unit in the last place (ULP) is that of the exact value: the distance of the format's numbers
around it. A correctly rounded result is within half of one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import IntsLike
from ahasd.rtl.aau.primitives.operand import decode
from ahasd.rtl.aau.primitives.oracle import Reals

EDGES = (0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
"""Upper ends of the histogram's bins [ULP], each included; one more bin takes what is above."""


@dataclass(frozen=True)
class ErrorReport:
    """Errors of results over many operands.

    Attributes
    ----------
    count
        Operands whose exact result is a normal number of the format.
    max_ulp, mean_ulp
        Largest and mean error [ULP].
    max_relative
        Largest error as a part of the exact value.
    max_absolute
        Largest error.
    histogram
        Operands by error, in the bins of `EDGES`.
    worst
        Operand with the largest error.
    """

    count: int
    max_ulp: float
    mean_ulp: float
    max_relative: float
    max_absolute: float
    histogram: tuple[int, ...]
    worst: float


def value(code: IntsLike, form: Format) -> Reals:
    """Return what codes of FP16 or BF16 stand for; subnormal ones are zeros."""
    number = decode(code, form)
    magnitude = np.ldexp(
        number.significand.astype(np.float64), number.exponent - form.fraction_width
    )
    magnitude = np.where(number.infinite == 1, np.inf, magnitude)
    return np.where(number.nan == 1, np.nan, np.where(number.sign == 1, -magnitude, magnitude))


def ulp(exact: Reals, form: Format) -> Reals:
    """Return the unit in the last place around exact values within the format's normal numbers."""
    _, exponent = np.frexp(exact)
    return np.ldexp(1.0, exponent - 1 - form.fraction_width)


def normal(exact: Reals, form: Format) -> npt.NDArray[np.bool_]:
    """Tell which exact values lie within the normal numbers of a format."""
    magnitude = abs(exact)
    largest = np.ldexp(2.0 - 2.0**-form.fraction_width, form.bias)
    return (magnitude >= np.ldexp(1.0, 1 - form.bias)) & (magnitude <= largest)


def report(operands: Reals, results: Reals, exact: Reals, form: Format) -> ErrorReport:
    """Compare results in a format with exact values, where those are normal numbers of it.

    Raises
    ------
    ValueError
        No exact value is one.
    """
    chosen = normal(exact, form)
    if not chosen.any():
        raise ValueError(f"at least one exact value must be a normal number of {form.name}")
    operands, results, exact = operands[chosen], results[chosen], exact[chosen]
    errors = abs(results - exact)
    units = errors / ulp(exact, form)
    worst = int(units.argmax())
    return ErrorReport(
        count=len(units),
        max_ulp=float(units[worst]),
        mean_ulp=float(units.mean()),
        max_relative=float((errors / abs(exact)).max()),
        max_absolute=float(errors.max()),
        histogram=histogram(units, EDGES),
        worst=float(operands[worst]),
    )


def histogram(units: Reals, edges: Sequence[float]) -> tuple[int, ...]:
    """Count values up to each edge, and above the last."""
    bins = np.searchsorted(np.asarray(edges), units, side="left")
    return tuple(int(count) for count in np.bincount(bins, minlength=len(edges) + 1))
