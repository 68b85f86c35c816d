# SPDX-License-Identifier: Apache-2.0
"""SpecDec++: end the batch where a head's predictions make a rejection within it likely."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ahasd import UserError
from ahasd.system.drafting.base import DraftingRule, DraftToken
from ahasd.system.drafting.logistic import FitRequests, Logistic, fit, judged_drafts
from ahasd.system.drafting.options import RuleOptions, Unit
from ahasd.system.workload.source import open_trace

Head = Callable[[DraftToken], float]
"""Predicts the probability, 0..1, that the target model accepts a token."""

Weight = Annotated[float, Field(ge=-100, le=100)]


@dataclass
class SpecDecPp(DraftingRule):
    """End the batch where 1 - product of predicted acceptances exceeds a threshold.

    Source: SpecDec++, arXiv 2405.19715, and the authors' code. There the head reads the state that
    drafting a token begins with, so that its prediction is about the token before: after drafting
    token i, the product runs over tokens 1 to i - 1, and no batch is shorter than 2.

    Attributes
    ----------
    head : callable
        Stands in for the trained head, or reads its recorded output.
    h : float
        Threshold of the probability that a token of the batch is rejected, 0..1; longer drafts if
        larger.
    lags : bool
        Whether the product leaves out the newest token, as in the authors' code.
    all_right : float
        State: the product.
    newest : float
        State: the factor that the product leaves out.
    """

    name: ClassVar[str] = "specdecpp"

    head: Head
    h: float = 0.3
    lags: bool = True
    all_right: float = field(default=1.0, init=False)
    newest: float = field(default=1.0, init=False)

    def begin_batch(self) -> None:
        """Reset the product to 1."""
        self.all_right = self.newest = 1.0

    def trips(self, index: int, token: DraftToken) -> bool:
        """Take the token into account, and return whether a rejection is too likely."""
        accepted = self.head(token)
        if self.lags:
            self.newest, accepted = accepted, self.newest
        self.all_right *= accepted
        return 1 - self.all_right > self.h


def recorded_head(token: DraftToken) -> float:
    """Return the output of the head that the trace holds.

    Raises
    ------
    UserError
        If it holds none.
    """
    if token.a_hat is None:
        raise UserError(
            'draft.head = "a_hat" reads the trace\'s column a_hat, but the trace has none; '
            "dump one with it, or choose another head"
        )
    return token.a_hat


def logistic_head(model: Logistic) -> Head:
    """Return a head that knows top-1 probability and root of the entropy only."""
    return lambda token: model.probability(_features(token))


def _features(token: DraftToken) -> tuple[float, float]:
    return token.p_top1, math.sqrt(token.entropy_nats)


def fitted_head(trace_name: str, requests: FitRequests, reject_weight: float) -> Head:
    """Return the same, fitted to a trace.

    Raises
    ------
    UserError
        If the trace cannot be read or holds one kind of draft only.
    """
    samples = list(judged_drafts(open_trace(trace_name), requests))
    features = [_features(token) for _, token, _ in samples]
    right = [right for _, _, right in samples]
    return logistic_head(fit(trace_name, features, right, reject_weight=reject_weight))


class SpecDecPpOptions(RuleOptions):
    """Options of SpecDec++; see `SpecDecPp`.

    The default head is no trained one: a logistic stand-in with the weights of an earlier fit to
    half of the prompts of `smollm2-rtn4`. The authors bound drafts to 2..20 tokens.
    """

    rule: Literal["specdecpp"] = "specdecpp"
    h: Unit = Field(default=0.3, description="most probability that a token is rejected")
    head: Literal["logistic", "fitted", "a_hat"] = Field(
        default="logistic",
        description="stand-in with given weights, one fitted to a trace, or the trace's column",
    )
    lags: bool = Field(default=True, description="the newest token does not count, as in the code")
    p_top1_weight: Weight = Field(default=5.80, description="of the logistic head")
    root_entropy_weight: Weight = Field(default=0.14, description="of the logistic head, nat^-1/2")
    bias: Weight = Field(default=-2.31, description="of the logistic head")
    fit_trace: str = Field(
        default="smollm2-rtn4", min_length=1, description="for the fitted head: name or path"
    )
    fit_requests: FitRequests = Field(
        default="half", description="every second request of fit_trace, or all"
    )
    reject_weight: float = Field(
        default=1.0, gt=0, description="how often a rejected token counts in the fit; authors: 6"
    )

    def build_rule(self, seed: int = 0) -> SpecDecPp:
        """Return the rule, in its first state; see the base class for errors."""
        return SpecDecPp(self._head(), self.h, self.lags)

    def _head(self) -> Head:
        if self.head == "a_hat":
            return recorded_head
        if self.head == "fitted":
            return fitted_head(self.fit_trace, self.fit_requests, self.reject_weight)
        return logistic_head(Logistic((self.p_top1_weight, self.root_entropy_weight), self.bias))
