# SPDX-License-Identifier: Apache-2.0
"""Parameters of the EDC and the encodings of its ports."""

import enum
from dataclasses import dataclass
from typing import NamedTuple

BOUNDARY_PRESETS = ("linear10", "linear4", "sqrt4")


class Command(enum.IntEnum):
    """Payload of the `command` stream."""

    START_SEQUENCE = 0
    """Clear LEHT, LCEHT, LLR, the in-flight FIFO and a held stop; keep the PHT."""
    CLEAR_PHT = 1
    """Write the reset value into every PHT counter; the unit stalls meanwhile."""


class Verdict(enum.IntEnum):
    """Payload of the `verdict` stream."""

    REJECTED = 0
    """Not accepted in full: at least one token of the batch was wrong."""
    ACCEPTED = 1
    """Accepted in full."""
    VOID = 2
    """Not judged: taken out of the queue before verification. On the wires, bit 1 alone decides."""


class Cause(enum.IntEnum):
    """Why a decision was given."""

    PREDICTED = 0
    """Answer to a draft, straight from the PHT."""
    EXPLORED = 1
    """Answer to a draft: the PHT said stop and exploration turned it into a go."""
    EMPTY = 2
    """Release of a stop: nothing is outstanding any more."""
    REJECTED = 3
    """Release of a stop: a verdict rejected the oldest batch."""
    RECHECKED = 4
    """Release of a stop: after an accepted verdict the PHT, read again, says go."""


class Decision(NamedTuple):
    """Payload of the `decision` stream: bit 0 `go`, bits 3:1 `cause`."""

    go: bool
    cause: Cause

    def pack(self) -> int:
        """Return the payload as the integer on the wires."""
        return self.go | self.cause << 1

    @classmethod
    def unpack(cls, payload: int) -> "Decision":
        """Read a payload from the wires; an unknown cause raises `ValueError`."""
        return cls(bool(payload & 1), Cause(payload >> 1))


@dataclass(frozen=True, kw_only=True)
class EdcParams:
    """Sizes of the EDC. The defaults are those of AHASD (section on the drafting control).

    Parameters
    ----------
    history
        Buckets kept in LEHT and in LCEHT. Its halves are averaged by a shift, so half of it must
        be a power of two.
    bucket_width
        Bits of an entropy bucket; `2**bucket_width - 1` boundary registers.
    llr_width
        Bits of LLR; at most `2**llr_width - 1` batches are outstanding.
    counter_width
        Bits of a saturating PHT counter; its most significant bit is the prediction.
    entropy_integer_width, entropy_fraction_width
        Unsigned fixed-point format of the batch-mean entropy [nat].

    Raises
    ------
    ValueError
        A value is outside its range; the message names the rule and the value.
    """

    history: int = 8
    bucket_width: int = 3
    llr_width: int = 3
    counter_width: int = 2
    entropy_integer_width: int = 4
    entropy_fraction_width: int = 12

    def __post_init__(self) -> None:
        half = self.history // 2
        if self.history < 2 or self.history % 2 or half & (half - 1):
            raise ValueError(f"history must be twice a power of two, not {self.history}")
        for name, low, high in (
            ("bucket_width", 1, 4),
            ("llr_width", 1, 5),
            ("counter_width", 1, 8),
            ("entropy_integer_width", 1, 8),
            ("entropy_fraction_width", 0, 24),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be in {low}..{high}, not {value}")

    @property
    def entropy_width(self) -> int:
        """Bits of the entropy input."""
        return self.entropy_integer_width + self.entropy_fraction_width

    @property
    def entropy_max(self) -> int:
        """Largest encoded entropy."""
        return (1 << self.entropy_width) - 1

    @property
    def boundary_count(self) -> int:
        """Boundary registers: one fewer than there are buckets."""
        return (1 << self.bucket_width) - 1

    @property
    def max_outstanding(self) -> int:
        """Unverified batches at which the draft input stalls."""
        return (1 << self.llr_width) - 1

    @property
    def index_width(self) -> int:
        """Bits of the PHT index {older average, recent average, LLR}."""
        return 2 * self.bucket_width + self.llr_width

    @property
    def pht_entries(self) -> int:
        """Counters in the PHT; also the cycles that a clear takes."""
        return 1 << self.index_width

    @property
    def counter_max(self) -> int:
        """Value at which a counter saturates upwards."""
        return (1 << self.counter_width) - 1

    @property
    def counter_reset(self) -> int:
        """Cleared value: weakly go."""
        return 1 << (self.counter_width - 1)

    explore_width = 3
    """Bits of the exploration CSR k: every 2**k-th stop becomes a go, 0 is off."""

    @property
    def stop_count_width(self) -> int:
        """Bits of the stop counter: as many as the largest k looks at."""
        return (1 << self.explore_width) - 1

    def encode_entropy(self, entropy_nats: float) -> int:
        """Round an entropy [nat, >= 0] half up to the port's fixed-point format and saturate."""
        if not entropy_nats >= 0:
            raise ValueError(f"entropy must be a number >= 0 nat, not {entropy_nats}")
        scaled = entropy_nats * (1 << self.entropy_fraction_width) + 0.5
        return self.entropy_max if scaled > self.entropy_max else int(scaled)

    def boundaries(self, preset: str) -> tuple[int, ...]:
        """Return the encoded boundary registers of a preset, lowest first.

        `linear10` is AHASD's (equal bins up to 10 nat), `linear4` the same up to 4 nat, `sqrt4`
        spaces the square root of the entropy equally up to 4 nat. `ValueError` for another name.
        """
        buckets = 1 << self.bucket_width
        parts = [i / buckets for i in range(1, buckets)]
        match preset:
            case "linear10":
                return tuple(self.encode_entropy(10 * part) for part in parts)
            case "linear4":
                return tuple(self.encode_entropy(4 * part) for part in parts)
            case "sqrt4":
                return tuple(self.encode_entropy(4 * part**2) for part in parts)
        known = ", ".join(BOUNDARY_PRESETS)
        raise ValueError(f"boundary preset must be one of {known}, not {preset!r}")
