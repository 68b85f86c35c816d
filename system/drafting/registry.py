# SPDX-License-Identifier: Apache-2.0
"""Options of every drafting rule, as a run configuration holds them, and what they build."""

from abc import ABC, abstractmethod
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ahasd.system.drafting.adaedl import AdaEdl
from ahasd.system.drafting.base import Drafting, DraftingRule
from ahasd.system.drafting.fixed import Fixed
from ahasd.system.drafting.svip import Svip

Unit = Annotated[float, Field(ge=0, le=1)]


class RuleOptions(BaseModel, ABC):
    """Limits that every rule shares; see `Drafting` for their meaning.

    Unknown keys, wrong types and values out of range raise `pydantic.ValidationError`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    k_max: int = Field(default=16, ge=1, le=255, description="longest batch, tokens")
    min_len: int = Field(default=1, ge=1, description="shortest batch, tokens")
    keep_tripping_token: bool = Field(
        default=True, description="verify the token whose statistic ends the batch, too"
    )

    @model_validator(mode="after")
    def _check_min_len(self) -> Self:
        if self.min_len > self.k_max:
            raise ValueError(f"min_len {self.min_len} must not exceed k_max {self.k_max}")
        return self

    @abstractmethod
    def build_rule(self) -> DraftingRule:
        """Return a fresh rule in its first state."""

    def build(self) -> Drafting:
        """Return a fresh rule under its limits."""
        return Drafting(
            self.build_rule(),
            k_max=self.k_max,
            min_len=self.min_len,
            keep_tripping_token=self.keep_tripping_token,
        )


class FixedOptions(RuleOptions):
    """Options of the fixed draft length; see `Fixed`."""

    rule: Literal["fixed"] = "fixed"
    k: int = Field(default=8, ge=1, description="tokens of every batch")

    @model_validator(mode="after")
    def _check_k(self) -> Self:
        if not self.min_len <= self.k <= self.k_max:
            raise ValueError(
                f"k {self.k} must lie in min_len..k_max, which is {self.min_len}..{self.k_max}"
            )
        return self

    def build_rule(self) -> Fixed:
        """Return the rule."""
        return Fixed(self.k)

    def build(self) -> Drafting:
        """Return the rule under its limits.

        `keep_tripping_token` has no effect: the length ends the batch, not a token's statistic.
        """
        return Drafting(self.build_rule(), k_max=self.k_max, min_len=self.min_len)


class SvipOptions(RuleOptions):
    """Options of SVIP; see `Svip`."""

    rule: Literal["svip"] = "svip"
    c: float = Field(default=0.15, gt=0, description="factor of the entropy under the root")
    h: float = Field(default=0.3, ge=0, description="the batch ends where the root exceeds it")
    source: Literal["repo", "paper"] = Field(
        default="repo", description="with the factor, as the code has it, or without, as printed"
    )

    def build_rule(self) -> Svip:
        """Return the rule."""
        return Svip(c=self.c, h=self.h, source=self.source)


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

    def build_rule(self) -> AdaEdl:
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


AnyRuleOptions = Annotated[
    FixedOptions | SvipOptions | AdaEdlOptions,
    Field(discriminator="rule"),
]
"""The options of any rule; a table's field `rule` says whose."""
