# SPDX-License-Identifier: Apache-2.0
"""Fixed draft lengths."""

from dataclasses import dataclass, field
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


@dataclass
class TokenByToken(DraftingRule):
    """Make every token a batch, but for the first batch of a chain.

    Where drafting runs ahead, the verifier so takes whatever is there. How much it waits for where
    nothing is there yet, at the start and after a rejection, is worth a choice of its own.

    Attributes
    ----------
    first : int
        Tokens of the first batch of a chain, at least 1.
    fresh : bool
        State: whether the next batch is the first of a chain.
    length : int
        State: tokens of the present batch.
    """

    name: ClassVar[str] = "token-by-token"

    first: int = 1
    fresh: bool = field(default=True, init=False)
    length: int = field(default=1, init=False)

    def begin_chain(self) -> None:
        """Make the next batch the first of a chain."""
        self.fresh = True

    def begin_batch(self) -> None:
        """Settle the length."""
        self.length = self.first if self.fresh else 1
        self.fresh = False

    def trips(self, index: int, token: DraftToken) -> bool:
        """Return whether the batch has its length."""
        return index >= self.length


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
