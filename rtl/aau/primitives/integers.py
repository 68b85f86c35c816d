# SPDX-License-Identifier: Apache-2.0
"""Integer operations on whole arrays, as the golden models need them."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
"""Integers of any shape, one number each."""
IntsLike: TypeAlias = npt.ArrayLike
"""What becomes such an array: numbers, sequences or arrays."""


def ints(values: IntsLike) -> Ints:
    """Return values as an array of integers; those beyond 64 bits stay Python's own."""
    array = np.asarray(values)
    return array if array.dtype == object else array.astype(np.int64)


def bit_length(values: IntsLike) -> Ints:
    """Return the bits that values of 0 or more take; 0 for 0."""
    left = ints(values)
    found = np.zeros(left.shape, dtype=np.int64)
    for step in (64, 32, 16, 8, 4, 2, 1) if left.dtype == object else (32, 16, 8, 4, 2, 1):
        above = np.asarray(left >> step, dtype=object if left.dtype == object else np.int64) != 0
        found = found + np.where(above, step, 0)
        left = np.where(above, left >> step, left)
    return found + np.where(left != 0, 1, 0)


def round_half_even(values: IntsLike, shift: IntsLike) -> Ints:
    """Return values of 0 or more over `2**shift`, rounded to the nearest, ties to even.

    Shifts are 0 to 62.
    """
    values, shift = ints(values), ints(shift)
    down = values >> shift
    half = (1 << shift) >> 1
    rest = values & ((1 << shift) - 1)
    up = (rest > half) | ((rest == half) & (half != 0) & (down & 1 != 0))
    return down + up
