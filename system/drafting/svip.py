# SPDX-License-Identifier: Apache-2.0
"""SVIP: end the batch at a token of high draft entropy."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from ahasd.system.drafting.base import DraftingRule, DraftToken
from ahasd.system.drafting.options import RuleOptions


@dataclass(frozen=True)
class Svip(DraftingRule):
    """End the batch at the first token whose entropy exceeds a fixed limit.

    The rule bounds a token's acceptance probability by about 1 - sqrt(c H) and stops when that
    falls below 1 - h. Source: SVIP, arXiv 2411.18462, and the authors' code.

    Attributes
    ----------
    c : float
        Factor under the root, 1/nat, positive; the paper's text leaves it out.
    h : float
        Threshold, not negative.
    source : {"repo", "paper"}
        `repo` stops if sqrt(c H) > h, as the authors' code does: 0.6 nat at its defaults.
        `paper` stops if sqrt(H) > h, the paper read literally: 0.09 nat at h = 0.3.
    """

    name: ClassVar[str] = "svip"

    c: float = 0.15
    h: float = 0.3
    source: Literal["repo", "paper"] = "repo"

    @property
    def entropy_limit_nats(self) -> float:
        """Entropy above which the rule trips: the test squared, so that no token needs a root."""
        factor = self.c if self.source == "repo" else 1.0
        return self.h**2 / factor

    def trips(self, index: int, token: DraftToken) -> bool:
        """Return whether the token's entropy exceeds the limit."""
        return token.entropy_nats > self.entropy_limit_nats


class SvipOptions(RuleOptions):
    """Options of SVIP; see `Svip`."""

    rule: Literal["svip"] = "svip"
    c: float = Field(default=0.15, gt=0, description="factor of the entropy under the root")
    h: float = Field(default=0.3, ge=0, description="the batch ends where the root exceeds it")
    source: Literal["repo", "paper"] = Field(
        default="repo", description="with the factor, as the code has it, or without, as printed"
    )

    def build_rule(self, seed: int = 0) -> Svip:
        """Return the rule."""
        return Svip(c=self.c, h=self.h, source=self.source)
