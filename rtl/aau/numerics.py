# SPDX-License-Identifier: Apache-2.0
"""How precisely the AAU calculates: widths of its fixed-point numbers and sizes of its tables."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Numerics:
    """Widths [bits] and table sizes of the AAU's arithmetic.

    Exponents are to base 2. A *scaled* number is signed, in two's complement, with `integer_width`
    bits before the point, the sign among them, and `fraction_width` behind it. A *mantissa* is in
    [1, 2). A *unit fraction* is in [0, 1], both ends included, so its highest bit is set for 1
    alone.

    Parameters
    ----------
    fraction_width
        Bits behind the point of a scaled number.
    integer_width
        Bits before it. Eight hold logits up to 88 nat; the six of the published proposal would
        saturate at 22, which logits of a vocabulary reach.
    mantissa_width
        Bits of a loaded mantissa, and of a power of two as a unit fraction.
    guard_width
        Bits kept below a power when it is shifted, for sums of many small ones.
    exp2_segments, recip_segments, rsqrt_segments, log2_segments
        Segments of the linear tables, powers of two; those of rsqrt cover two octaves.
    rsqrt_newton
        One Newton step behind the table of rsqrt, whose values then have about half of the bits.

    Raises
    ------
    ValueError
        A value is outside its range; the message names the rule and the value.
    """

    fraction_width: int = 10
    integer_width: int = 8
    mantissa_width: int = 16
    guard_width: int = 12
    exp2_segments: int = 64
    recip_segments: int = 128
    rsqrt_segments: int = 16
    log2_segments: int = 64
    rsqrt_newton: bool = True

    def __post_init__(self) -> None:
        for name, low, high in (
            ("fraction_width", 4, 16),
            ("integer_width", 4, 10),
            ("mantissa_width", 12, 20),  # 11 bits of FP16 and one to round by
            ("guard_width", 0, 24),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be in {low}..{high}, not {value}")
        for name, low, high in (
            ("exp2_segments", 2, 1 << (self.fraction_width - 1)),
            ("recip_segments", 2, 256),
            ("rsqrt_segments", 4, 256),
            ("log2_segments", 2, 256),
        ):
            value = getattr(self, name)
            if not low <= value <= high or value & (value - 1):
                raise ValueError(f"{name} must be a power of two in {low}..{high}, not {value}")

        if self.scaled_width + 2 > 2 * self.mantissa_width:
            raise ValueError(
                "a scaled number must have 2 bits less than a product of two mantissas, not"
                f" {self.scaled_width} of {2 * self.mantissa_width}"
            )

    @property
    def scaled_width(self) -> int:
        """Bits of a scaled number, with its sign."""
        return self.integer_width + self.fraction_width

    @property
    def scaled_max(self) -> int:
        """Largest magnitude of a scaled number, of either sign."""
        return (1 << (self.scaled_width - 1)) - 1

    @property
    def depth_width(self) -> int:
        """Bits of the distance of a scaled number from an integer that is not below it."""
        return self.scaled_width

    @property
    def term_width(self) -> int:
        """Bits of a shifted power with its guard bits; 1 is `2**(term_width - 1)`."""
        return self.mantissa_width + self.guard_width

    @property
    def result_width(self) -> int:
        """Bits of a normalised operand and of a unit fraction that is no power of two."""
        return self.mantissa_width + 2


CHEAP = Numerics(
    fraction_width=8,
    mantissa_width=12,
    exp2_segments=16,
    recip_segments=32,
    rsqrt_segments=64,
    log2_segments=32,
    rsqrt_newton=False,
)
DEFAULT = Numerics()
ACCURATE = Numerics(
    fraction_width=12,
    mantissa_width=18,
    guard_width=16,
    exp2_segments=64,
    recip_segments=128,
    rsqrt_segments=32,
    log2_segments=128,
)
VARIANTS = {"cheap": CHEAP, "default": DEFAULT, "accurate": ACCURATE}
"""Numerics by name."""
