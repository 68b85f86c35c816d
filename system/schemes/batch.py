# SPDX-License-Identifier: Apache-2.0
"""What travels between PIM and NPU."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ahasd.system.drafting.base import DraftToken


def drafted(tokens: Iterable[DraftToken]) -> int:
    """Return how many tokens the draft model made; hints are the target model's own."""
    return sum(not token.hint for token in tokens)


@dataclass(slots=True)
class Batch:
    """A finished draft batch.

    Attributes
    ----------
    number
        Counts the batches of a run.
    epoch
        Of the sequence state that it was drafted in; a rejection ends an epoch.
    branch
        Of the chain that it continues. The first batch of another branch starts at a cut, or behind
        what is committed.
    start
        Simulated position of its first token.
    tokens
        At least one where drafting runs ahead. Else there may be none: the target model then does a
        pass without a draft.
    predicted_go
        What the EDC predicted for it; None before the decision and without an EDC.
    kept
        Its leading tokens that belong to the present chain, as far as the PIM knows: all of them,
        but for a cut, or a chain given up.
    begun_ps
        When its first draft step began; for what is left of earlier batches, that of the last one.
    """

    number: int
    epoch: int
    branch: int
    start: int
    tokens: list[DraftToken]
    predicted_go: bool | None = None
    kept: int = -1
    begun_ps: int = 0

    def __post_init__(self) -> None:
        if self.kept < 0:
            self.kept = len(self.tokens)

    @property
    def end(self) -> int:
        """Position after the last token."""
        return self.start + len(self.tokens)

    @property
    def mean_entropy_nats(self) -> float:
        """Mean entropy of the drafted tokens, nat; 0 if there is none."""
        entropies = [token.entropy_nats for token in self.tokens if not token.hint]
        return sum(entropies) / len(entropies) if entropies else 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The NPU's verdict on one batch; they come oldest batch first.

    Attributes
    ----------
    batch
        Which one.
    outcome
        Accepted in full; rejected, which ends the epoch; or void: cut, and right as far as it was
        verified.
    accepted
        Its leading tokens that the target confirms.
    next_token
        Token that the NPU emitted behind them: a correction or a bonus; None if there is none.
    """

    batch: Batch
    outcome: Literal["full", "rejected", "void"]
    accepted: int
    next_token: int | None = None

    @property
    def committed(self) -> int:
        """Positions that are out after this verdict, if anything of a void batch is accepted."""
        return self.batch.start + self.accepted + (self.next_token is not None)
