# SPDX-License-Identifier: Apache-2.0
"""SADDLE: end the batch where the draft holds a rejection within it to be likely."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pydantic import Field

from ahasd.system.drafting.base import DraftingRule, DraftToken
from ahasd.system.drafting.options import RuleOptions


@dataclass
class Saddle(DraftingRule):
    """End the batch where the product of its tokens' draft probabilities falls below a threshold.

    The product is the draft model's own estimate that all of them are right; it begins at 1 with
    every batch. Source: SADDLE, doi 10.1109/HPCA68181.2026.11408598. It is kept as a sum of
    logarithms, which needs an adder where the paper has a multiplier.

    Attributes
    ----------
    tau : float
        Threshold, above 0 and at most 1.
    doubt_bits : float
        State: -log2 of the product.
    """

    name: ClassVar[str] = "saddle"

    tau: float
    doubt_bits: float = field(default=0.0, init=False)

    @property
    def limit_bits(self) -> float:
        """Doubt above which the rule trips."""
        return -math.log2(self.tau)

    def begin_batch(self) -> None:
        """Reset the product to 1."""
        self.doubt_bits = 0.0

    def trips(self, index: int, token: DraftToken) -> bool:
        """Take the token into the product, and return whether that is below the threshold."""
        # Half precision rounds the least probabilities to 0.
        self.doubt_bits += -math.log2(token.p_token) if token.p_token else math.inf
        return self.doubt_bits > self.limit_bits


class SaddleOptions(RuleOptions):
    """Options of SADDLE; see `Saddle`.

    The paper tunes `tau` for each pair and publishes no value; 0.3 is our choice.
    """

    rule: Literal["saddle"] = "saddle"
    tau: float = Field(
        default=0.3, gt=0, le=1, description="least probability that the batch is right so far"
    )

    def build_rule(self, seed: int = 0) -> Saddle:
        """Return the rule, in its first state."""
        return Saddle(self.tau)
