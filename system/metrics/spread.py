# SPDX-License-Identifier: Apache-2.0
"""Means and percentiles of observations."""

import math
from collections.abc import Mapping, Sequence

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def ratio(part: float, whole: float) -> float | None:
    """Return a ratio, or None where there is nothing to divide by."""
    return part / whole if whole else None


def percentiles(counted: Mapping[float, int]) -> dict[str, float | None]:
    """Return percentiles by nearest rank: the smallest value that as many do not exceed.

    Parameters
    ----------
    counted
        How often each value was seen.
    """
    total = sum(counted.values())
    found: dict[str, float | None] = dict.fromkeys(SHARES)
    for name, share in SHARES.items():
        left = math.ceil(share * total)
        for value in sorted(counted):
            left -= counted[value]
            if left <= 0:
                found[name] = value
                break
    return found


def mean_and_sd(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the mean, and the standard deviation of these values themselves (divisor n)."""
    if not values:
        return None, None
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
