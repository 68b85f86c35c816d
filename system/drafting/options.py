# SPDX-License-Identifier: Apache-2.0
"""Options that drafting rules share, as a run configuration holds them, and what they build."""

from abc import ABC, abstractmethod
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ahasd.system.drafting.base import Drafting, DraftingRule

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
    def build_rule(self, seed: int = 0) -> DraftingRule:
        """Return a fresh rule in its first state.

        Parameters
        ----------
        seed
            Of the rule's own random draws, if it makes any.

        Raises
        ------
        UserError
            If the rule needs a file, and that is missing or wrong.
        """

    def build(self, seed: int = 0) -> Drafting:
        """Return a fresh rule under its limits; arguments and errors as for `build_rule`."""
        return Drafting(
            self.build_rule(seed),
            k_max=self.k_max,
            min_len=self.min_len,
            keep_tripping_token=self.keep_tripping_token,
        )


class LengthOptions(RuleOptions):
    """Options of a rule that settles a batch's length, whatever its tokens are like."""

    def build(self, seed: int = 0) -> Drafting:
        """Return the rule under its limits.

        `keep_tripping_token` has no effect: the length ends the batch, not a token's statistic.
        """
        return Drafting(self.build_rule(seed), k_max=self.k_max, min_len=self.min_len)

    def _check_length(self, key: str, length: int) -> None:
        if not self.min_len <= length <= self.k_max:
            raise ValueError(
                f"{key} {length} must lie in min_len..k_max, which is {self.min_len}..{self.k_max}"
            )
