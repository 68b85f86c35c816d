# SPDX-License-Identifier: Apache-2.0
"""A slower memory for weights that find no place, such as flash or a host's DRAM over PCIe."""

from fractions import Fraction

from pydantic import Field

from ahasd.system.toml import TomlModel


class Offload(TomlModel):
    """The tier and its link; a machine has one only if its configuration says so."""

    bandwidth_gb_s: float = Field(ge=1e-3, le=1e6, description="sustained rate of the link, GB/s")
    capacity_bytes: int = Field(gt=0, description="weights that the tier holds, bytes")

    def stream_ps(self, spilled_bytes: int) -> int:
        """Return the time that weights on the tier add to one pass, ps, rounded up.

        They are streamed once a pass, as nothing nearer has room for them. Embeddings count in
        full, though a pass needs few of their rows: an upper bound.
        """
        return -(-spilled_bytes * 1000 // Fraction(str(self.bandwidth_gb_s)))
