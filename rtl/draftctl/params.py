# SPDX-License-Identifier: Apache-2.0
"""Parameters of the draft-length control and the encodings of its ports."""

import enum
import math
from dataclasses import dataclass
from typing import NamedTuple


class Rule(enum.IntEnum):
    """Register `rule`: what trips a token."""

    FIXED = 0
    """Nothing; batches are as long as `k_max`."""
    ENTROPY = 1
    """An entropy above `entropy_limit`: SVIP, AdaEDL."""
    PRODUCT = 2
    """A batch's doubt, this token's included, above `doubt_limit`: SADDLE."""
    LAGGED_PRODUCT = 3
    """The doubt of the tokens before this one above `doubt_limit`: SpecDec++."""


class Outcome(enum.IntEnum):
    """What becomes of the batch after a token."""

    CONTINUE = 0
    """Draft another token."""
    KEEP = 1
    """The batch ends with this token."""
    DROP = 2
    """The batch ends before this token."""


class Token(NamedTuple):
    """Payload of the `token` stream, encoded: bit 0 `first`, then `entropy`, then `doubt`."""

    first: bool
    entropy: int
    doubt: int

    def pack(self, params: "DraftctlParams") -> int:
        """Return the payload as the integer on the wires."""
        return self.first | (self.entropy | self.doubt << params.entropy_width) << 1

    @classmethod
    def unpack(cls, payload: int, params: "DraftctlParams") -> "Token":
        """Read a payload from the wires."""
        entropy = payload >> 1 & params.entropy_max
        return cls(bool(payload & 1), entropy, payload >> 1 + params.entropy_width)


class Decision(NamedTuple):
    """Payload of the `decision` stream: bits 1:0 `outcome`, then the token's place in its batch."""

    outcome: Outcome
    place: int

    def pack(self) -> int:
        """Return the payload as the integer on the wires."""
        return self.outcome | self.place << 2

    @classmethod
    def unpack(cls, payload: int) -> "Decision":
        """Read a payload from the wires; an unknown outcome raises `ValueError`."""
        return cls(Outcome(payload & 3), payload >> 2)


@dataclass(frozen=True, kw_only=True)
class DraftctlParams:
    """Sizes of the draft-length control.

    Parameters
    ----------
    length_width
        Bits of a token's place in its batch; a batch has at most `2**length_width - 1` tokens.
    entropy_integer_width, entropy_fraction_width
        Unsigned fixed-point format of an entropy [nat].
    doubt_integer_width, doubt_fraction_width
        Unsigned fixed-point format of a doubt, the -log2 of a probability [bit].

    Raises
    ------
    ValueError
        A value is outside its range; the message names the rule and the value.
    """

    length_width: int = 8
    entropy_integer_width: int = 4
    entropy_fraction_width: int = 12
    doubt_integer_width: int = 8
    doubt_fraction_width: int = 8

    def __post_init__(self) -> None:
        for name, low, high in (
            ("length_width", 1, 8),
            ("entropy_integer_width", 1, 8),
            ("entropy_fraction_width", 0, 24),
            ("doubt_integer_width", 1, 16),
            ("doubt_fraction_width", 0, 24),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be in {low}..{high}, not {value}")

    @property
    def length_max(self) -> int:
        """Longest batch."""
        return (1 << self.length_width) - 1

    @property
    def entropy_width(self) -> int:
        """Bits of an entropy."""
        return self.entropy_integer_width + self.entropy_fraction_width

    @property
    def entropy_max(self) -> int:
        """Largest encoded entropy."""
        return (1 << self.entropy_width) - 1

    @property
    def doubt_width(self) -> int:
        """Bits of a doubt, and of a batch's sum of them."""
        return self.doubt_integer_width + self.doubt_fraction_width

    @property
    def doubt_max(self) -> int:
        """Largest encoded doubt, at which a sum saturates."""
        return (1 << self.doubt_width) - 1

    def encode_entropy(self, entropy_nats: float) -> int:
        """Round an entropy, or a limit of it [nat, >= 0], half up; saturate.

        The same rounding on both sides means that no entropy trips that is within the limit.
        """
        if not entropy_nats >= 0:
            raise ValueError(f"entropy must be a number >= 0 nat, not {entropy_nats}")
        return _encode(entropy_nats, self.entropy_fraction_width, self.entropy_max)

    def encode_doubt(self, probability: float) -> int:
        """Return -log2 of a probability [0..1], rounded half up and saturated."""
        return _encode(_doubt_bits(probability), self.doubt_fraction_width, self.doubt_max)

    def encode_doubt_limit(self, probability: float) -> int:
        """Return the limit that a batch exceeds where it is right with less than a probability.

        It saturates below the largest doubt, so that a sum which saturated exceeds it. Only 0 gives
        the largest, which nothing exceeds.
        """
        ceiling = self.doubt_max - 1 if probability else self.doubt_max
        return _encode(_doubt_bits(probability), self.doubt_fraction_width, ceiling)


def _doubt_bits(probability: float) -> float:
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must be in 0..1, not {probability}")
    return -math.log2(probability) if probability else math.inf


def _encode(value: float, fraction_width: int, ceiling: int) -> int:
    scaled = value * (1 << fraction_width) + 0.5
    return ceiling if scaled > ceiling else int(scaled)
