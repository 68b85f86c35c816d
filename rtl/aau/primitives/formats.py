# SPDX-License-Identifier: Apache-2.0
"""Formats in which numbers enter and leave the AAU.

Subnormal numbers are zeros of their sign, on both ways. NaN is written as one quiet pattern.
"""

import enum


class Format(enum.IntEnum):
    """How a number is coded; the value selects it on pins."""

    FP16 = 0
    BF16 = 1
    INT8 = 2
    INT32 = 3
    """Accumulators; they are read only."""

    @property
    def width(self) -> int:
        """Bits of a number."""
        return {Format.INT8: 8, Format.INT32: 32}.get(self, 16)

    @property
    def floating(self) -> bool:
        """Whether numbers have an exponent."""
        return self in (Format.FP16, Format.BF16)

    @property
    def exponent_width(self) -> int:
        """Bits of the exponent."""
        return {Format.FP16: 5, Format.BF16: 8}[self]

    @property
    def fraction_width(self) -> int:
        """Bits of the mantissa behind the point."""
        return 15 - self.exponent_width

    @property
    def bias(self) -> int:
        """What is added to exponents, and the largest one."""
        return (1 << (self.exponent_width - 1)) - 1

    @property
    def infinity(self) -> int:
        """Code of plus infinity."""
        return ((1 << self.exponent_width) - 1) << self.fraction_width

    @property
    def nan(self) -> int:
        """Code of what is no number, when it is written."""
        return self.infinity | 1 << (self.fraction_width - 1)


EXPONENT_WIDTH = 10
"""Bits of an exponent inside, with its sign: that of a product of three numbers fits."""
