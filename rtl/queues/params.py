# SPDX-License-Identifier: Apache-2.0
"""Parameters of the queue controllers and the encodings of their ports."""

import enum
from dataclasses import dataclass


class Kind(enum.IntEnum):
    """What a word of the draft queue is."""

    HEADER = 0
    """A batch begins; as many tokens as its length says follow."""
    TOKEN = 1
    """A drafted token."""
    CUT = 2
    """Of a batch that is still queued, only the first `length` tokens shall be verified."""
    ACK = 3
    """Inside only: everything behind this word is of the epoch that it names."""


class Event(enum.IntEnum):
    """What an entry of the feedback queue tells."""

    START = 0
    """The NPU takes batches into a pass."""
    VERDICT = 1
    """The NPU's verdict on one batch."""


@dataclass(frozen=True, kw_only=True)
class QueuesParams:
    """Sizes of the three queues.

    Parameters
    ----------
    draft_batches, feedback_entries, preverify_entries
        Depths. The draft queue counts batches; its memory holds the words of that many, and room
        for cuts.
    batch_tokens
        Longest batch.
    token_width, epoch_width, branch_width, batch_width
        Bits of a token, of the epoch of a sequence state, of a branch and of a batch number.
    npu_cycles_width, kv_width
        Bits of a pass's NPU cycles and of a KV length.
    task_width
        Bits of a pre-verification's task number.

    Raises
    ------
    ValueError
        A value is outside its range; the message names the rule and the value.
    """

    draft_batches: int = 8
    feedback_entries: int = 4
    preverify_entries: int = 4
    batch_tokens: int = 16
    token_width: int = 18
    epoch_width: int = 4
    branch_width: int = 4
    batch_width: int = 4
    npu_cycles_width: int = 32
    kv_width: int = 16
    task_width: int = 4

    def __post_init__(self) -> None:
        for name, low, high in (
            ("draft_batches", 1, 64),
            ("feedback_entries", 2, 64),
            ("preverify_entries", 1, 64),
            ("batch_tokens", 1, 64),
            ("token_width", 1, 32),
            ("epoch_width", 2, 8),
            ("branch_width", 1, 8),
            ("batch_width", 1, 8),
            ("npu_cycles_width", 1, 64),
            ("kv_width", 1, 32),
            ("task_width", 1, 16),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be in {low}..{high}, not {value}")
        if self.feedback_entries & (self.feedback_entries - 1):
            raise ValueError(
                f"feedback_entries must be a power of two, not {self.feedback_entries}"
            )
        if self.draft_batches >= 1 << self.batch_width:
            raise ValueError(
                f"batch_width = {self.batch_width} must number more batches than the"
                f" {self.draft_batches} that can be queued"
            )

    @property
    def length_width(self) -> int:
        """Bits of a batch's length."""
        return self.batch_tokens.bit_length()

    @property
    def draft_words(self) -> int:
        """Depth of the draft queue's memory, a power of two: every batch, and a cut for each."""
        needed = self.draft_batches * (self.batch_tokens + 2)
        return 1 << (needed - 1).bit_length()

    @property
    def credit_width(self) -> int:
        """Bits of the credit counters; they count modulo twice the depth or more."""
        return self.draft_batches.bit_length() + 1

    @property
    def waiting_width(self) -> int:
        """Bits of the counter of tokens that the NPU has not taken."""
        return (self.draft_batches * self.batch_tokens).bit_length() + 1

    @property
    def info_width(self) -> int:
        """Bits of a header's or cut's fields beside its kind and epoch."""
        return self.batch_width + self.branch_width + self.length_width

    @property
    def body_width(self) -> int:
        """Bits that a token and a header's fields share."""
        return max(self.token_width, self.info_width)
