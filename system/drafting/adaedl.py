# SPDX-License-Identifier: Apache-2.0
"""AdaEDL: end the batch at high draft entropy, with a limit that follows the acceptance rate."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pydantic import Field

from ahasd.system.drafting.base import DraftingRule, DraftToken, Judged
from ahasd.system.drafting.options import RuleOptions, Unit


@dataclass
class AdaEdl(DraftingRule):
    """End the batch where 1 - sqrt(gamma H) < lambda, and adapt lambda after each verdict.

    On a verdict of n accepted out of L drafted tokens:

    - rate <- beta1 rate + (1 - beta1) n / L
    - wish = lambda + eps if rate < alpha, else lambda - eps if the middle branch holds, else lambda
    - lambda <- beta2 lambda + (1 - beta2) wish, clamped to 0..1

    One verdict thus moves lambda by at most (1 - beta2) eps, 0.001 by default. Source: AdaEDL,
    arXiv 2410.18351; without an official code, the update is the one on which most
    re-implementations agree.

    Attributes
    ----------
    lambda0 : float
        First threshold, 0..1. The paper sweeps 0.3 to 0.9 and fixes none.
    k_max : int
        The draft cap, which the middle branch compares with n; at least 1.
    gamma : float
        Factor under the root, 1/nat, positive.
    beta1, beta2 : float
        Weights of the past in rate and lambda, 0..1.
    eps : float
        Step of the wish, not negative.
    alpha : float
        Acceptance rate aimed at, 0..1; the running rate starts there.
    lengthen : {"below_cap", "at_cap"}
        Middle branch: lengthen drafts (lower lambda) if n != k_max, the majority form, or if
        n == k_max, as one fork has it.
    restart_per_request : bool
        Whether a new request resets threshold and rate.
    threshold : float
        State: lambda.
    rate : float
        State: running acceptance rate.
    """

    name: ClassVar[str] = "adaedl"

    lambda0: float
    k_max: int
    gamma: float = 0.2
    beta1: float = 0.5
    beta2: float = 0.9
    eps: float = 0.01
    alpha: float = 0.9
    lengthen: Literal["below_cap", "at_cap"] = "below_cap"
    restart_per_request: bool = True
    threshold: float = field(init=False)
    rate: float = field(init=False)

    def __post_init__(self) -> None:
        self._restart()

    def _restart(self) -> None:
        self.threshold = self.lambda0
        self.rate = self.alpha

    @property
    def entropy_limit_nats(self) -> float:
        """Entropy above which the rule trips now; it changes only with a verdict."""
        return (1 - self.threshold) ** 2 / self.gamma

    def begin_request(self) -> None:
        """Reset threshold and rate, if they are kept per request."""
        if self.restart_per_request:
            self._restart()

    def trips(self, index: int, token: DraftToken) -> bool:
        """Return whether the token's entropy exceeds the present limit."""
        return token.entropy_nats > self.entropy_limit_nats

    def feedback(self, judged: Judged) -> None:
        """Update rate and threshold from one judged batch."""
        self.rate = self.beta1 * self.rate + (1 - self.beta1) * judged.accepted / judged.drafted
        at_cap = judged.accepted == self.k_max
        if self.rate < self.alpha:
            wish = self.threshold + self.eps
        elif at_cap == (self.lengthen == "at_cap"):
            wish = self.threshold - self.eps
        else:
            wish = self.threshold
        moved = self.beta2 * self.threshold + (1 - self.beta2) * wish
        self.threshold = min(1.0, max(0.0, moved))

    def adapted(self) -> dict[str, float]:
        """Return lambda and the running acceptance rate."""
        return {"lambda": self.threshold, "rate": self.rate}


class AdaEdlOptions(RuleOptions):
    """Options of AdaEDL; see `AdaEdl`.

    The paper fixes no `lambda0`; 0.7 (0.45 nat at first) is our choice from the range it sweeps.
    """

    rule: Literal["adaedl"] = "adaedl"
    lambda0: Unit = Field(default=0.7, description="first threshold of the acceptance estimate")
    gamma: float = Field(default=0.2, gt=0, description="factor of the entropy under the root")
    beta1: Unit = Field(default=0.5, description="memory of the acceptance rate")
    beta2: Unit = Field(default=0.9, description="memory of the threshold")
    eps: Unit = Field(default=0.01, description="step of the threshold")
    alpha: Unit = Field(default=0.9, description="acceptance rate aimed at")
    lengthen: Literal["below_cap", "at_cap"] = Field(
        default="below_cap", description="when drafts may grow: majority form, or one fork's"
    )
    restart_per_request: bool = Field(
        default=True, description="begin every sequence with lambda0 again"
    )

    def build_rule(self, seed: int = 0) -> AdaEdl:
        """Return the rule, in its first state."""
        return AdaEdl(
            lambda0=self.lambda0,
            k_max=self.k_max,
            gamma=self.gamma,
            beta1=self.beta1,
            beta2=self.beta2,
            eps=self.eps,
            alpha=self.alpha,
            lengthen=self.lengthen,
            restart_per_request=self.restart_per_request,
        )
