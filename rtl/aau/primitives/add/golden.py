# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of sums in FP16 or BF16, rounded once, half to even."""

import numpy as np

from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, ints
from ahasd.rtl.aau.primitives.operand import decode
from ahasd.rtl.aau.primitives.store.golden import store

GUARD_WIDTH = 3
"""Bits kept below the larger operand; the lowest stands for all that is cut off."""


def add(a: IntsLike, b: IntsLike, form: Format) -> Ints:
    """Return the codes of sums.

    Subnormal operands and results are zeros. A sum of 0 has no sign, unless both operands had.
    Infinities of unlike sign give no number.
    """
    a, b = np.broadcast_arrays(ints(a), ints(b))
    swap = (a & 0x7FFF) < (b & 0x7FFF)
    x = decode(np.where(swap, b, a), form)  # the larger
    y = decode(np.where(swap, a, b), form)
    precision = form.fraction_width + 1
    large = x.significand << GUARD_WIDTH
    right = np.minimum(x.exponent - y.exponent, precision + GUARD_WIDTH)
    small = y.significand << GUARD_WIDTH
    cut = (small & ((1 << right) - 1)) != 0
    small = small >> right | cut
    unlike = x.sign ^ y.sign
    total = np.where(unlike == 1, large - small, large + small)
    return store(
        np.where(total == 0, x.sign & y.sign, x.sign),  # of equal infinities there is no number
        total,
        x.exponent + 1,
        precision + GUARD_WIDTH + 1,
        form,
        infinite=x.infinite | y.infinite,
        nan=x.nan | y.nan | x.infinite & y.infinite & unlike,
    )
