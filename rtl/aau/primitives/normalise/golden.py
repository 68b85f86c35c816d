# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of turning integers into mantissas and exponents."""

import numpy as np

from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, bit_length, ints


def normalise(values: IntsLike, width: int) -> tuple[Ints, Ints]:
    """Return mantissas of `width` bits and exponents of positive values, the rest cut off.

    A value is `mantissa * 2**(exponent - (width - 1))`, or less than one part in `2**(width - 1)`
    more. Of 0 the mantissa is 0 and the exponent -1.
    """
    values = ints(values)
    length = bit_length(values)
    surplus = length - width
    kept = np.where(
        surplus >= 0,
        values >> np.maximum(surplus, 0),
        values << np.maximum(-surplus, 0) * (length != 0),
    )
    return kept.astype(np.int64), length - 1
