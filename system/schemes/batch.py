# SPDX-License-Identifier: Apache-2.0
"""What travels between PIM and NPU."""

from dataclasses import dataclass

from ahasd.system.drafting.base import DraftToken


@dataclass(slots=True)
class Batch:
    """A finished draft batch.

    Attributes
    ----------
    number
        Counts the batches of a run.
    epoch
        Of the sequence state that it was drafted in; a rejection ends an epoch.
    start
        Simulated position of its first token.
    tokens
        At least one.
    predicted_go
        What the EDC predicted for it; None before the decision and without an EDC.
    """

    number: int
    epoch: int
    start: int
    tokens: list[DraftToken]
    predicted_go: bool | None = None

    @property
    def end(self) -> int:
        """Position after the last token."""
        return self.start + len(self.tokens)

    @property
    def mean_entropy_nats(self) -> float:
        """Mean entropy of the tokens, nat."""
        return sum(token.entropy_nats for token in self.tokens) / len(self.tokens)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The NPU's verdict on one batch; a pass gives one to each batch, oldest first.

    Attributes
    ----------
    batch
        Which one.
    accepted
        Its leading tokens that the target confirms.
    committed
        Positions that the NPU has emitted, this verdict's next token included.
    bonus
        Token that follows a chain accepted in full, already emitted; None if there is none.
    """

    batch: Batch
    accepted: int
    committed: int
    bonus: int | None = None

    @property
    def full(self) -> bool:
        """Whether the whole batch was accepted."""
        return self.accepted == len(self.batch.tokens)
