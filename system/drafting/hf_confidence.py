# SPDX-License-Identifier: Apache-2.0
"""Transformers' confidence rule: end the batch at an unlikely token, by a threshold that learns."""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pydantic import Field

from ahasd.system.drafting.base import DraftingRule, DraftToken, Judged
from ahasd.system.drafting.options import RuleOptions, Unit

_FEWEST_SAMPLES = 6
_MISS_COST = 3  # of stopping at a right token, against 1 for going on after a wrong one


@dataclass
class HfConfidence(DraftingRule):
    """End the batch at the first token whose draft probability is below a threshold.

    After every verdict the threshold is fitted again to all tested tokens of the request, those
    accepted and the first one rejected of each batch: among the probabilities seen it is the one
    with the least false positive rate + 3 false negative rate, where a token at or above the
    threshold counts as predicted right; of equals, the highest. That needs more than five tokens,
    of both kinds. Source: Hugging Face Transformers, `AssistedCandidateGenerator`, which fits if
    scikit-learn is installed; the counts here are integers, so that equal costs are equal.

    Attributes
    ----------
    threshold0 : float
        First threshold, 0..1.
    refit : bool
        Whether the threshold is fitted; else it stays.
    signal : {"p_token", "p_top1"}
        Probability of the drafted token, as in Transformers, or of the likeliest one.
    restart_per_request : bool
        Whether a new request forgets threshold and tokens, as a new call of `generate` does.
    threshold : float
        State: below it the rule trips.
    scores : list of float
        State: probabilities of the tested tokens, ascending, each once.
    counts : list of [int, int]
        State: tokens rejected and accepted at each of them.
    """

    name: ClassVar[str] = "hf-confidence"

    threshold0: float = 0.4
    refit: bool = True
    signal: Literal["p_token", "p_top1"] = "p_token"
    restart_per_request: bool = True
    threshold: float = field(init=False)
    scores: list[float] = field(init=False)
    counts: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self._restart()

    def _restart(self) -> None:
        self.threshold = self.threshold0
        self.scores = []
        self.counts = []

    def _score(self, token: DraftToken) -> float:
        return token.p_token if self.signal == "p_token" else token.p_top1

    def begin_request(self) -> None:
        """Forget threshold and tokens, if they are kept per request."""
        if self.restart_per_request:
            self._restart()

    def trips(self, index: int, token: DraftToken) -> bool:
        """Return whether the token's probability is below the threshold."""
        return self._score(token) < self.threshold

    def feedback(self, judged: Judged) -> None:
        """Add the tested tokens and fit the threshold again."""
        if not self.refit:
            return
        for place, token in enumerate(judged.tested):
            self._note(self._score(token), right=place < judged.accepted)
        self._fit()

    def adapted(self) -> dict[str, float]:
        """Return the threshold, if it is fitted."""
        return {"threshold": self.threshold} if self.refit else {}

    def _note(self, score: float, *, right: bool) -> None:
        place = bisect_left(self.scores, score)
        if place == len(self.scores) or self.scores[place] != score:
            self.scores.insert(place, score)
            self.counts.insert(place, [0, 0])
        self.counts[place][right] += 1

    def _fit(self) -> None:
        rejected = sum(count[False] for count in self.counts)
        accepted = sum(count[True] for count in self.counts)
        if rejected + accepted < _FEWEST_SAMPLES or not rejected or not accepted:
            return
        false_positives, false_negatives = 0, accepted
        least = None
        for score, (wrong, right) in zip(reversed(self.scores), reversed(self.counts), strict=True):
            false_positives += wrong
            false_negatives -= right
            # both rates times rejected x accepted
            cost = false_positives * accepted + _MISS_COST * false_negatives * rejected
            if least is None or cost < least:
                least = cost
                self.threshold = score


class HfConfidenceOptions(RuleOptions):
    """Options of the confidence rule; see `HfConfidence`."""

    rule: Literal["hf-confidence"] = "hf-confidence"
    threshold: Unit = Field(default=0.4, description="first probability below which a batch ends")
    refit: bool = Field(default=True, description="fit the threshold again after every verdict")
    signal: Literal["p_token", "p_top1"] = Field(
        default="p_token", description="probability of the drafted token, or of the likeliest"
    )
    restart_per_request: bool = Field(
        default=True, description="forget what was seen at every new sequence"
    )

    def build_rule(self, seed: int = 0) -> HfConfidence:
        """Return the rule, in its first state."""
        return HfConfidence(self.threshold, self.refit, self.signal, self.restart_per_request)
