# SPDX-License-Identifier: Apache-2.0
"""The oracle: end the batch with the last token that the target model will accept."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from ahasd import UserError
from ahasd.system.drafting.base import DraftingRule, DraftToken
from ahasd.system.drafting.options import LengthOptions


@dataclass(frozen=True)
class Oracle(DraftingRule):
    """End the batch just before the first token that the target model will reject.

    It looks into the future, and so bounds what any rule can do: no right token is left out below
    the cap, and no wrong one is drafted, but where the first token is wrong already: a batch has
    one token at least, unless it may skip.

    Attributes
    ----------
    may_skip : bool
        Whether the target model does a pass without a draft where the first token would be wrong.
        It has no effect where drafting runs ahead.
    """

    name: ClassVar[str] = "oracle"

    may_skip: bool = False

    def skips(self, right: bool) -> bool:
        """Return whether the first token would be wrong, if that matters."""
        return self.may_skip and not right

    def trips(self, index: int, token: DraftToken) -> bool:
        """Return whether the next token would be wrong.

        Raises
        ------
        UserError
            If nobody knows.
        """
        if token.next_right is None:
            raise UserError(
                "rule oracle needs to know what the target model will accept, but nothing tells; "
                "draft from a trace"
            )
        return not token.next_right


class OracleOptions(LengthOptions):
    """Options of the oracle; see `Oracle`."""

    rule: Literal["oracle"] = "oracle"
    may_skip: bool = Field(
        default=False, description="verify without a draft where none is right; not drafting ahead"
    )

    def build_rule(self, seed: int = 0) -> Oracle:
        """Return the rule."""
        return Oracle(self.may_skip)
