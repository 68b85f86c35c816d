# SPDX-License-Identifier: Apache-2.0
"""Parameters of the TVC and the encodings of its ports."""

import enum
from dataclasses import dataclass
from typing import NamedTuple


class Table(enum.IntEnum):
    """Field `table` of the `record` stream; code 3 is refused like a length of 0."""

    NVCT = 0
    """NPU verification: NPU cycles of a task and its KV length."""
    PDCT = 1
    """PIM drafting: PIM cycles of a batch and its tokens."""
    PVCT = 2
    """PIM pre-verification: PIM cycles of a task and its tokens."""


class NpuKind(enum.IntEnum):
    """Field `kind` of the `npu` stream."""

    START = 0
    """The NPU took a chain: a task begins now. Its `npu_cycles` mean nothing."""
    END = 1
    """The running task is over; its cycles and KV length go into NVCT."""


class Command(enum.IntEnum):
    """Payload of the `command` stream."""

    CLEAR = 0
    """Empty all tables, measurements on their way into them included, and forget the task."""
    FORGET_TASK = 1
    """No NPU task runs, and there is no measurement of the one that did; keep the tables."""


class Reason(enum.IntEnum):
    """Why a decision is what it is; the first that applies, from `NO_TASK` on, else `INSERT`."""

    INSERT = 0
    """Pre-verify `length` tokens."""
    NO_TASK = 1
    """No NPU task runs."""
    NO_ESTIMATE = 2
    """NVCT or PDCT is empty."""
    NO_SLACK = 3
    """There is time for less than one token beyond the overhead."""
    NOTHING_AVAILABLE = 4
    """There is time, but no token that may be pre-verified."""


def _pack(*fields: tuple[int, int]) -> int:
    """Put (value, width) fields together, lowest first."""
    packed = offset = 0
    for value, width in fields:
        packed |= value << offset
        offset += width
    return packed


def _unpack(payload: int, *widths: int) -> list[int]:
    """Take fields apart, lowest first."""
    values = []
    for width in widths:
        values.append(payload & ((1 << width) - 1))
        payload >>= width
    return values


@dataclass(frozen=True, kw_only=True)
class TvcParams:
    """Sizes of the TVC. The defaults suit tasks of up to 5 s; AHASD's own are 64 and 32 bits wide.

    Parameters
    ----------
    table_entries
        Measurements in each table, a power of two. The oldest is replaced.
    cycles_width
        Bits of a number of cycles.
    length_width
        Bits of a number of tokens in a measurement, and of a KV length.
    ratio_fraction_width
        Fraction bits of a stored ratio [cycles/token].
    tokens_width
        Bits of a number of tokens in a request and in a decision.
    time_width
        Bits of `now`. A task that runs for `2**time_width` cycles or more is taken for a young one.

    Raises
    ------
    ValueError
        A value is outside its range; the message names the rule and the value.
    """

    table_entries: int = 4
    cycles_width: int = 32
    length_width: int = 16
    ratio_fraction_width: int = 8
    tokens_width: int = 6
    time_width: int = 40

    npu_ratio_fraction_width = 15
    """Fraction bits of the CSR `npu_ratio`, unsigned Q1.15."""

    def __post_init__(self) -> None:
        entries = self.table_entries
        if not 2 <= entries <= 16 or entries & (entries - 1):
            raise ValueError(f"table_entries must be a power of two in 2..16, not {entries}")
        for name, low, high in (
            ("cycles_width", 2, 64),
            ("length_width", 1, min(32, self.cycles_width)),
            ("ratio_fraction_width", 0, 16),
            ("tokens_width", 1, min(16, self.dividend_width - 1)),
            ("time_width", self.cycles_width, 64),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be in {low}..{high}, not {value}")

    @property
    def cycles_max(self) -> int:
        """Value at which a number of cycles saturates."""
        return (1 << self.cycles_width) - 1

    @property
    def length_max(self) -> int:
        """Longest length of a measurement."""
        return (1 << self.length_width) - 1

    @property
    def tokens_max(self) -> int:
        """Most tokens of a request or a decision."""
        return (1 << self.tokens_width) - 1

    @property
    def index_width(self) -> int:
        """Bits of an entry's index in its table."""
        return self.table_entries.bit_length() - 1

    @property
    def count_width(self) -> int:
        """Bits of a number of entries, 0 to all of them."""
        return self.index_width + 1

    @property
    def npu_ratio_width(self) -> int:
        """Bits of the CSR `npu_ratio`."""
        return self.npu_ratio_fraction_width + 1

    @property
    def npu_ratio_one(self) -> int:
        """`npu_ratio` of 1."""
        return 1 << self.npu_ratio_fraction_width

    @property
    def ratio_width(self) -> int:
        """Bits of a stored ratio; it cannot overflow, because a length is at least 1."""
        return self.cycles_width + self.ratio_fraction_width

    @property
    def length_sum_width(self) -> int:
        """Bits of the sum of a table's lengths."""
        return self.length_width + self.index_width

    @property
    def cycles_sum_width(self) -> int:
        """Bits of the sum of a table's cycles."""
        return self.cycles_width + self.index_width

    @property
    def ratio_sum_width(self) -> int:
        """Bits of the sum of a table's ratios."""
        return self.ratio_width + self.index_width

    # With n of N entries, n*sum(x*y) - sum(x)*sum(y) = sum((n*x - sum(x)) * y). Deviations add up
    # to 0, and those that are positive add up to at most N*N/4 times the largest x, so the sums
    # below, unfinished ones included, stay under N*N/4 times the largest x times the largest y.

    @property
    def spread_width(self) -> int:
        """Bits of n*sum(x*x) - sum(x)**2, lengths x of n entries."""
        return 2 * self.length_width + 2 * self.index_width - 2

    @property
    def covariance_width(self) -> int:
        """Bits of the magnitude of n*sum(x*y) - sum(x)*sum(y), cycles y."""
        return self.cycles_width + self.length_width + 2 * self.index_width - 2

    @property
    def dividend_width(self) -> int:
        """Bits of the magnitude of the largest dividend, of the affine or of the ratio model."""
        return max(
            self.spread_width + self.cycles_sum_width + 1,
            self.ratio_sum_width + self.length_width,
        )

    @property
    def accumulator_width(self) -> int:
        """Bits of the accumulator, signed, and of the registers beside it."""
        return 1 + max(self.dividend_width, self.cycles_width + self.npu_ratio_width)

    @property
    def scale_steps(self) -> int:
        """Steps of the product with `npu_ratio`."""
        return self.npu_ratio_width + 1

    @property
    def length_steps(self) -> int:
        """Steps of a product with a deviation or a sum of lengths."""
        return self.length_sum_width + 1

    @property
    def cycles_steps(self) -> int:
        """Steps of a product with a deviation or a sum of cycles."""
        return self.cycles_sum_width + 1

    @property
    def record_cycles(self) -> int:
        """Cycles from the start of a recording to the next transfer that can start one."""
        return 3 + self.scale_steps + self.ratio_width

    @property
    def decision_cycles(self) -> int:
        """Cycles from a request that is taken to its decision."""
        entries = self.table_entries
        fit = 2 * (entries * (1 + self.length_steps) + 1)
        evaluate = 5 + self.length_steps + 2 * self.cycles_steps + self.dividend_width
        model = 1 + entries + fit + evaluate
        npu = model + 1
        draft = 1 + entries + 1 + self.ratio_sum_width
        slack = 4 * 2 + 1
        preverify = model + 2 + 1
        return 1 + npu + draft + slack + preverify

    def encode_npu_ratio(self, ratio: float) -> int:
        """Round PIM cycles per NPU cycle half up to the format of `npu_ratio`.

        Raises
        ------
        ValueError
            The format does not hold it.
        """
        if 0 <= ratio < 2:
            encoded = int(ratio * self.npu_ratio_one + 0.5)
            if encoded >> self.npu_ratio_width == 0:
                return encoded
        raise ValueError(f"npu_ratio must be in 0..1.99998, not {ratio}")


class Record(NamedTuple):
    """Payload of the `record` stream: fields `table`, `cycles`, `length`, lowest first."""

    table: int
    cycles: int
    length: int

    def pack(self, params: TvcParams) -> int:
        """Return the payload as the integer on the wires."""
        return _pack(
            (self.table, 2), (self.cycles, params.cycles_width), (self.length, params.length_width)
        )

    @classmethod
    def unpack(cls, payload: int, params: TvcParams) -> "Record":
        """Read a payload from the wires; the unused code of a table is kept as it is."""
        return cls(*_unpack(payload, 2, params.cycles_width, params.length_width))


class NpuEvent(NamedTuple):
    """Payload of the `npu` stream: fields `kind`, `kv_length`, `npu_cycles`, lowest first."""

    kind: NpuKind
    kv_length: int
    npu_cycles: int = 0

    def pack(self, params: TvcParams) -> int:
        """Return the payload as the integer on the wires."""
        return _pack(
            (self.kind, 1),
            (self.kv_length, params.length_width),
            (self.npu_cycles, params.cycles_width),
        )

    @classmethod
    def unpack(cls, payload: int, params: TvcParams) -> "NpuEvent":
        """Read a payload from the wires."""
        kind, *rest = _unpack(payload, 1, params.length_width, params.cycles_width)
        return cls(NpuKind(kind), *rest)


class Request(NamedTuple):
    """Payload of the `request` stream: fields in this order, lowest first."""

    overhead_tokens: int
    available_tokens: int

    def pack(self, params: TvcParams) -> int:
        """Return the payload as the integer on the wires."""
        width = params.tokens_width
        return _pack((self.overhead_tokens, width), (self.available_tokens, width))

    @classmethod
    def unpack(cls, payload: int, params: TvcParams) -> "Request":
        """Read a payload from the wires."""
        return cls(*_unpack(payload, params.tokens_width, params.tokens_width))


class Decision(NamedTuple):
    """Payload of the `decision` stream: fields in this order, lowest first.

    `npu_cycles` is the predicted duration of the running task and `slack` what is left of it [PIM
    cycles]; 0 where the tables do not tell, or no task runs.
    """

    length: int
    reason: Reason
    npu_cycles: int
    slack: int

    def pack(self, params: TvcParams) -> int:
        """Return the payload as the integer on the wires."""
        return _pack(
            (self.length, params.tokens_width),
            (self.reason, 3),
            (self.npu_cycles, params.cycles_width),
            (self.slack, params.cycles_width),
        )

    @classmethod
    def unpack(cls, payload: int, params: TvcParams) -> "Decision":
        """Read a payload from the wires; an unknown reason raises `ValueError`."""
        length, reason, npu_cycles, slack = _unpack(
            payload, params.tokens_width, 3, params.cycles_width, params.cycles_width
        )
        return cls(length, Reason(reason), npu_cycles, slack)


class Levels(NamedTuple):
    """The level inputs but for `now`, by their names: control registers.

    Attributes
    ----------
    npu_ratio
        PIM cycles per NPU cycle, unsigned Q1.15.
    switch_cycles
        Cost of one switch of the ranks between models; there and back are subtracted.
    slowdown_cycles
        Expected slow-down of the NPU by sharing ranks, subtracted too.
    max_length
        Most tokens of one pre-verification.
    affine_npu, affine_preverify
        Use the affine model for NVCT, for PVCT; else the ratio model.
    cold_preverify_cycles
        Cycles per token while PVCT is empty; 0 is none given.
    """

    npu_ratio: int
    switch_cycles: int = 0
    slowdown_cycles: int = 0
    max_length: int = 8
    affine_npu: int = 0
    affine_preverify: int = 0
    cold_preverify_cycles: int = 0
