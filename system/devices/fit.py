# SPDX-License-Identifier: Apache-2.0
"""Whether models fit a device with one memory, such as a GPU."""

from dataclasses import dataclass

from ahasd import UserError
from ahasd.system.devices.capacity import Share, size_text
from ahasd.system.devices.markdown import markdown_table
from ahasd.system.devices.offload import Offload


@dataclass(frozen=True, kw_only=True)
class MemoryFit:
    """What lies in one memory, fit or not.

    Parameters
    ----------
    device
        Name in messages.
    usable_bytes
        What the runtime leaves of the memory, bytes.
    context_tokens
        Longest context of the run, prompt included.
    shares
        Models that are resident together; their masks mean nothing here.
    """

    device: str
    usable_bytes: int
    context_tokens: int
    shares: tuple[Share, ...]

    @property
    def total_bytes(self) -> int:
        """Weights and keys/values of all models, bytes."""
        return sum(share.total_bytes for share in self.shares)

    @property
    def missing_bytes(self) -> int:
        """Bytes that find no place."""
        return max(0, self.total_bytes - self.usable_bytes)

    def spilled_bytes(self, offload: Offload | None) -> int:
        """Return the weights that go to the offload tier, bytes; 0 if everything fits.

        Raises
        ------
        UserError
            Something is missing and there is no tier, it is too small, or keys and values alone
            exceed the memory; the table is a note.
        """
        missing = self.missing_bytes
        if not missing:
            return 0
        names = " + ".join(share.model for share in self.shares)
        told = (
            f"{names} do not fit on {self.device}: {size_text(missing)} of "
            f"{size_text(self.total_bytes)} missing (weights, and keys/values of "
            f"{self.context_tokens} tokens; usable {size_text(self.usable_bytes)}); "
        )
        remedy = "choose smaller models, a shorter context or an offload tier (gpu.offload = true)"
        if offload:
            spillable = min(
                offload.capacity_bytes, sum(share.weight_bytes for share in self.shares)
            )
            if missing <= spillable:
                return missing
            remedy = (
                f"the offload tier takes {size_text(spillable)} of weights, and keys/values never: "
                "choose smaller models, a shorter context or a larger tier"
            )
        error = UserError(told + remedy)
        error.add_note(self.as_table())
        raise error

    def as_table(self) -> str:
        """Return the models and what they need as a Markdown table. Units are decimal."""
        rows = [
            (
                share.model,
                size_text(share.weight_bytes),
                size_text(share.kv_bytes),
                size_text(share.total_bytes),
            )
            for share in self.shares
        ]
        rows.append((f"{self.device} holds", "", "", size_text(self.usable_bytes)))
        rows.append(("missing", "", "", size_text(self.missing_bytes)))
        return markdown_table(("model", "weights", "KV", "total"), rows)
