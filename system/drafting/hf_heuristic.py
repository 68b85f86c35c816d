# SPDX-License-Identifier: Apache-2.0
"""Transformers' heuristic schedule: drafts grow by two after a success and shrink by one else."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from ahasd.system.drafting.base import DraftingRule, DraftToken, Judged
from ahasd.system.drafting.options import LengthOptions


@dataclass
class HfHeuristic(DraftingRule):
    """Draft two tokens more after a batch that was accepted in full, else one less.

    Source: Hugging Face Transformers, `AssistedCandidateGenerator` with the schedule `heuristic`,
    which bounds the length below only; a cap is as in SVIP's code, where the rule is a baseline.

    Attributes
    ----------
    k0 : int
        First length, 1..k_max.
    k_max : int
        The draft cap, beyond which the length does not grow.
    restart_per_request : bool
        Whether a new request resets the length, as the schedule `heuristic_transient` does.
    length : int
        State: tokens of the next batch, 1..k_max.
    """

    name: ClassVar[str] = "hf-heuristic"

    k0: int
    k_max: int
    restart_per_request: bool = False
    length: int = field(init=False)

    def __post_init__(self) -> None:
        self.length = self.k0

    def begin_request(self) -> None:
        """Reset the length, if it is kept per request."""
        if self.restart_per_request:
            self.length = self.k0

    def trips(self, index: int, token: DraftToken) -> bool:
        """Return whether the batch has its length."""
        return index >= self.length

    def feedback(self, judged: Judged) -> None:
        """Change the length after one judged batch."""
        if judged.accepted == judged.drafted:
            self.length = min(self.length + 2, self.k_max)
        else:
            self.length = max(self.length - 1, 1)

    def adapted(self) -> dict[str, float]:
        """Return the length of the next batch."""
        return {"length_tokens": self.length}


class HfHeuristicOptions(LengthOptions):
    """Options of the heuristic schedule; see `HfHeuristic`.

    Transformers began with 5 tokens before its default became a constant 20, ended by confidence.
    """

    rule: Literal["hf-heuristic"] = "hf-heuristic"
    k0: int = Field(default=5, ge=1, description="tokens of the first batch")
    restart_per_request: bool = Field(
        default=False, description="begin every sequence with k0 again"
    )

    @model_validator(mode="after")
    def _check_k0(self) -> Self:
        self._check_length("k0", self.k0)
        return self

    def build_rule(self, seed: int = 0) -> HfHeuristic:
        """Return the rule, in its first state."""
        return HfHeuristic(self.k0, self.k_max, self.restart_per_request)
