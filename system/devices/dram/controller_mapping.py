# SPDX-License-Identifier: Apache-2.0
"""Address mappings: in which rank, group, bank, row and column of a channel an address lies."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ahasd.system.devices.dram.timing import Timing

FIELDS = ("rank", "group", "bank", "row", "column")
"""Columns of `Places`."""

Places = npt.NDArray[np.int64]
"""One row for each address, one column for each of `FIELDS`."""


@dataclass(frozen=True, kw_only=True)
class Mapping:
    """An order of the fields, and what is done to them.

    Parameters
    ----------
    order
        The fields from the most significant to the least, each once.
    low_columns
        Consecutive bursts that stay in their row before the rest of the order begins: as many
        columns are the least significant of all. A power of two; 1 for none.
    xor
        The bits of rank, group, bank and row, in this order, are changed by exclusive or with
        those of the column from its lowest on. The sizes must be powers of two.

    Raises
    ------
    ValueError
        A field is missing, or `low_columns` is no power of two.
    """

    order: tuple[str, ...]
    low_columns: int = 1
    xor: bool = False

    def __post_init__(self) -> None:
        if sorted(self.order) != sorted(FIELDS):
            raise ValueError(f"order = {self.order} must have each of {FIELDS} once")
        if self.low_columns < 1 or self.low_columns & (self.low_columns - 1):
            raise ValueError(f"low_columns = {self.low_columns} must be a power of two")

    def places(self, timing: Timing, addresses: npt.NDArray[np.int64]) -> Places:
        """Return where addresses of a channel lie.

        Raises
        ------
        ValueError
            An address is outside of the channel, or the sizes do not suit the mapping.
        """
        sizes = {
            "rank": timing.ranks,
            "group": timing.bank_groups,
            "bank": timing.banks_per_group,
            "row": timing.rows,
            "column": timing.bursts_per_row,
        }
        channel_bytes = timing.ranks * timing.banks * timing.rows * timing.row_bytes
        if addresses.min() < 0 or addresses.max() >= channel_bytes:
            raise ValueError(f"addresses must be 0 to below {channel_bytes} in {timing.name}")
        if sizes["column"] % self.low_columns:
            raise ValueError(
                f"low_columns = {self.low_columns} must divide the {sizes['column']} bursts of a "
                f"row of {timing.name}"
            )
        rest = addresses // timing.burst_bytes
        rest, low = np.divmod(rest, self.low_columns)
        found = {}
        for name in reversed(self.order):
            size = sizes[name] // self.low_columns if name == "column" else sizes[name]
            rest, found[name] = np.divmod(rest, size)
        found["column"] = found["column"] * self.low_columns + low
        if self.xor:
            self._mix(timing, sizes, found)
        return np.stack([found[name] for name in FIELDS], axis=1)

    def suits(self, timing: Timing) -> bool:
        """Tell whether a memory has the sizes that the mapping needs."""
        try:
            self.places(timing, np.zeros(1, np.int64))
        except ValueError:
            return False
        return True

    def _mix(
        self, timing: Timing, sizes: dict[str, int], found: dict[str, npt.NDArray[np.int64]]
    ) -> None:
        odd = [name for name, size in sizes.items() if size & (size - 1)]
        if odd:
            raise ValueError(f"xor needs powers of two; {odd} of {timing.name} are none")
        bits = found["column"]
        for name in ("rank", "group", "bank", "row"):
            found[name] ^= bits % sizes[name]
            bits = bits // sizes[name]


ROW_BANK_RANK_COLUMN = Mapping(order=("row", "bank", "group", "rank", "column"))
"""A row after the other, those of all banks before a bank's next: RoBaRaCoCh of Ramulator 2.1."""

FOUR_LINES_XOR = Mapping(order=("row", "column", "bank", "group", "rank"), low_columns=4, xor=True)
"""Four bursts, then the next bank, all spread by the column: MOP4CLXOR of Ramulator 2.1."""

GROUPS_INTERLEAVED = Mapping(order=("row", "rank", "bank", "column", "group"))
"""Each burst in the next bank group, so that a stream never waits for tCCD_L."""

MAPPINGS = {
    "row-bank-rank-column": ROW_BANK_RANK_COLUMN,
    "four-lines-xor": FOUR_LINES_XOR,
    "groups-interleaved": GROUPS_INTERLEAVED,
}
"""Mappings by name."""
