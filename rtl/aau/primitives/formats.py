# SPDX-License-Identifier: Apache-2.0
"""Formats in which numbers enter and leave the AAU.

Subnormal numbers are zeros of their sign, on both ways. NaN is written as one quiet pattern.
"""

import enum
from collections.abc import Sequence


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


def loadable(formats: Sequence[Format]) -> tuple[Format, ...]:
    """Return formats to read.

    Raises
    ------
    ValueError
        There are none.
    """
    if not formats:
        raise ValueError("at least one format must be read, not none")
    return tuple(formats)


def calculable(formats: Sequence[Format]) -> tuple[Format, ...]:
    """Return formats to add or multiply in.

    Raises
    ------
    ValueError
        There are none, or one of them has no exponent.
    """
    if not formats or not all(form.floating for form in formats):
        raise ValueError(f"formats to calculate in must be of FP16 and BF16, not {_names(formats)}")
    return tuple(formats)


def storable(formats: Sequence[Format], width: int) -> tuple[Format, ...]:
    """Return formats to write numbers in whose mantissas have a width.

    Raises
    ------
    ValueError
        There are none, one of them is only read, or the mantissa is too narrow to round from.
    """
    if not formats or Format.INT32 in formats:
        raise ValueError(f"formats to write must be of FP16, BF16 and INT8, not {_names(formats)}")
    if width < 13:
        raise ValueError(f"a mantissa to write must have at least 13 bits, not {width}")
    return tuple(formats)


def _names(formats: Sequence[Format]) -> str:
    return ", ".join(form.name for form in formats) or "none"
