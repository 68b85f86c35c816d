# SPDX-License-Identifier: Apache-2.0
"""Fixed draft length."""

from dataclasses import dataclass
from typing import ClassVar

from ahasd.system.drafting.base import DraftingRule, DraftToken


@dataclass(frozen=True)
class Fixed(DraftingRule):
    """End every batch after `k` tokens (at least 1)."""

    name: ClassVar[str] = "fixed"

    k: int

    def trips(self, index: int, token: DraftToken) -> bool:
        """Return true from token `k` on."""
        return index >= self.k
