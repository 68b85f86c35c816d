# SPDX-License-Identifier: Apache-2.0
"""Disco-lite: end the batch at a token that a classifier holds to be wrong."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from ahasd.system.drafting.base import DraftingRule, DraftToken
from ahasd.system.drafting.logistic import FitRequests, Logistic, fit, judged_drafts
from ahasd.system.drafting.options import RuleOptions, Unit
from ahasd.system.workload.source import open_trace


@dataclass(frozen=True)
class DiscoLite(DraftingRule):
    """End the batch at the first token whose predicted acceptance is below a threshold.

    Source: Disco, arXiv 2405.04304, whose classifier is a small network over the ten largest draft
    probabilities, the entropy and the token's place in the batch, trained offline on the pair.
    Lite, because traces hold two probabilities and the classifier here is a logistic one.

    Attributes
    ----------
    model : Logistic
        Over top-1 and top-2 probability, entropy in nats and place from 1.
    tau : float
        Threshold, 0..1.
    """

    name: ClassVar[str] = "disco-lite"

    model: Logistic
    tau: float

    def trips(self, index: int, token: DraftToken) -> bool:
        """Return whether the token is held to be wrong."""
        return self.model.probability(_features(index, token)) < self.tau


def _features(index: int, token: DraftToken) -> tuple[float, ...]:
    return token.p_top1, token.p_top2, token.entropy_nats, float(index)


def fitted_classifier(trace_name: str, requests: FitRequests) -> Logistic:
    """Return the classifier fitted to a trace.

    Raises
    ------
    UserError
        If the trace cannot be read or holds one kind of draft only.
    """
    samples = list(judged_drafts(open_trace(trace_name), requests))
    features = [_features(index, token) for index, token, _ in samples]
    return fit(trace_name, features, [right for _, _, right in samples])


class DiscoLiteOptions(RuleOptions):
    """Options of Disco-lite; see `DiscoLite`. The threshold 0.5 is our choice."""

    rule: Literal["disco-lite"] = "disco-lite"
    tau: Unit = Field(default=0.5, description="least probability that the token is right")
    fit_trace: str = Field(
        default="smollm2-rtn4", min_length=1, description="to train on: name or path"
    )
    fit_requests: FitRequests = Field(
        default="half", description="every second request of fit_trace, or all"
    )

    def build_rule(self, seed: int = 0) -> DiscoLite:
        """Return the rule; see the base class for errors."""
        return DiscoLite(fitted_classifier(self.fit_trace, self.fit_requests), self.tau)
