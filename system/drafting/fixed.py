# SPDX-License-Identifier: Apache-2.0
"""Fixed draft length."""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from ahasd.system.drafting.base import DraftingRule, DraftToken
from ahasd.system.drafting.options import LengthOptions


@dataclass(frozen=True)
class Fixed(DraftingRule):
    """End every batch after `k` tokens (at least 1)."""

    name: ClassVar[str] = "fixed"

    k: int

    def trips(self, index: int, token: DraftToken) -> bool:
        """Return true from token `k` on."""
        return index >= self.k


class FixedOptions(LengthOptions):
    """Options of the fixed draft length; see `Fixed`."""

    rule: Literal["fixed"] = "fixed"
    k: int = Field(default=8, ge=1, description="tokens of every batch")

    @model_validator(mode="after")
    def _check_k(self) -> Self:
        self._check_length("k", self.k)
        return self

    def build_rule(self, seed: int = 0) -> Fixed:
        """Return the rule."""
        return Fixed(self.k)
