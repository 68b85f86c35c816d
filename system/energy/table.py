# SPDX-License-Identifier: Apache-2.0
"""Energy per event, low to high, each value with its source.

Public figures for one event differ by up to four times, so no row is a single number. Low, mid and
high are taken together for all rows; they are no confidence interval.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal, get_args

from pydantic import Field, model_validator

from ahasd import UserError
from ahasd.system.devices.dram.timing import Sourced
from ahasd.system.toml import TomlModel, load

Level = Literal["low", "mid", "high"]
LEVELS: tuple[Level, ...] = get_args(Level)


class Range(Sourced):
    """A quantity that is known within bounds; the key that holds it names the unit."""

    low: float = Field(ge=0)
    mid: float = Field(ge=0)
    high: float = Field(ge=0)

    @model_validator(mode="after")
    def _is_ordered(self) -> "Range":
        if not self.low <= self.mid <= self.high:
            raise ValueError(
                f"low = {self.low:g}, mid = {self.mid:g}, high = {self.high:g} must not fall"
            )
        return self

    def at(self, level: Level) -> Fraction:
        """Return the decimal number that the file says, exactly."""
        return Fraction(str(getattr(self, level)))


class Floor(Sourced):
    """A quantity that nothing may lie below."""

    value: float = Field(gt=0)

    @property
    def exact(self) -> Fraction:
        """The decimal number that the file says."""
        return Fraction(str(self.value))


class Activation(Range):
    """Energy of one activate with its precharge, for a row of a given size."""

    row_bytes: int = Field(ge=1, description="bytes of the row that the energy is for")


class EnergyTable(TomlModel):
    """Energy of every event of one machine.

    Rows that a machine has no use for may be left out; an event that needs one is then refused. A
    write costs what a read of as many bytes does.
    """

    name: str = Field(min_length=1, description="name in reports")
    activate_pj: Activation | None = Field(
        default=None, description="pJ, activate and precharge of one row in one bank"
    )
    array_pj_per_bit: Range = Field(description="pJ/bit, cells and sense amplifiers")
    column_pj_per_bit: Range = Field(
        description="pJ/bit, from the sense amplifiers to the memory's pads"
    )
    io_pj_per_bit: Range = Field(description="pJ/bit, drivers and receivers of the memory")
    phy_pj_per_bit: Range = Field(description="pJ/bit, controller and PHY at the other end")
    pim_read_pj_per_bit: Range | None = Field(
        default=None, description="pJ/bit, cells to the PIM unit beside its banks"
    )
    pim_mac_pj: Range | None = Field(default=None, description="pJ, INT8 MAC of a PIM unit")
    npu_mac_pj: Range = Field(description="pJ, INT8 MAC of the NPU, registers included")
    scratchpad_pj_per_byte: Range = Field(description="pJ/byte, into or out of the scratchpad")
    vector_pj: Range = Field(description="pJ, an element through the NPU's vector unit")
    refresh_nj: Range | None = Field(default=None, description="nJ, REFab of one rank")
    background_w: Range | None = Field(
        default=None, description="W, standby of one rank, refresh left out"
    )
    static_w: Range = Field(description="W, NPU or GPU: leakage, clocks, and what is always on")
    link_pj_per_bit: Range | None = Field(
        default=None, description="pJ/bit, link to a slower memory, that memory included"
    )
    sustained_w: Range | None = Field(
        default=None, description="W that the case gets rid of for minutes, for comparison"
    )
    floor_pj_per_bit: Floor = Field(description="pJ/bit, below which no read is believed")

    @model_validator(mode="after")
    def _reads_lie_above_the_floor(self) -> "EnergyTable":
        activation = self.activate_pj
        share = activation.at("low") / (8 * activation.row_bytes) if activation else Fraction(0)
        for key in ("array_pj_per_bit", "pim_read_pj_per_bit"):
            row: Range | None = getattr(self, key)
            if row and row.at("low") + share < self.floor_pj_per_bit.exact:
                raise ValueError(
                    f"{key}.low = {row.low:g} and {float(share):.3g} pJ/bit of an activate, spread"
                    f" over its row, are below floor_pj_per_bit = {self.floor_pj_per_bit.value:g}"
                )
        return self

    def rows(self) -> dict[str, Range]:
        """Return the rows that the file gives, by key."""
        return {key: row for key, row in self if isinstance(row, Range)}

    def row(self, key: str) -> Range:
        """Return a row.

        Raises
        ------
        ValueError
            The file leaves it out.
        """
        found = self.rows().get(key)
        if found is None:
            raise ValueError(f"energy table {self.name} has no {key}, which this run needs")
        return found

    def check_memory(self, memory: str, row_bytes: int) -> None:
        """Refuse a memory whose rows are of another size than `activate_pj` is for.

        Raises
        ------
        UserError
            Names both sizes.
        """
        if self.activate_pj and self.activate_pj.row_bytes != row_bytes:
            raise UserError(
                f"energy table {self.name} has activate_pj for rows of "
                f"{self.activate_pj.row_bytes} bytes, but rows of {memory} have {row_bytes}: "
                "choose a table made for this memory"
            )


def load_energy(name_or_path: str, overrides: Mapping[str, object] | None = None) -> EnergyTable:
    """Return a packaged table such as `mobile`, or one from a path.

    Raises
    ------
    UserError
        See `ahasd.system.toml.load`.
    """
    return load(EnergyTable, "energy", name_or_path, overrides)
