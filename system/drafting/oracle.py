# SPDX-License-Identifier: Apache-2.0
"""The oracle: end the batch with the last token that the target model will accept."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ahasd import UserError
from ahasd.system.drafting.base import DraftingRule, DraftToken
from ahasd.system.drafting.options import LengthOptions


@dataclass(frozen=True)
class Oracle(DraftingRule):
    """End the batch just before the first token that the target model will reject.

    It looks into the future, and so bounds what any rule can do: no right token is left out below
    the cap, and no wrong one is drafted, but where the first token is wrong already: a batch has
    one token at least.
    """

    name: ClassVar[str] = "oracle"

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
    """Options of the oracle; it has none of its own."""

    rule: Literal["oracle"] = "oracle"

    def build_rule(self, seed: int = 0) -> Oracle:
        """Return the rule."""
        return Oracle()
