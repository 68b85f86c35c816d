# SPDX-License-Identifier: Apache-2.0
"""The machine: processing-in-memory ranks, channels, NPU, and how printed figures are read.

Rates are decimal (1 GB/s is 1e9 bytes a second), as on data sheets. Capacities are given in bytes,
so that nobody has to guess. Rates come out as exact fractions of what the file says: no rounding
before the last step to picoseconds.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from pydantic import Field, field_validator, model_validator

from ahasd.system.devices.offload import Offload
from ahasd.system.toml import TomlModel, load

_GIGA = 10**9
_MHZ_PERIOD_PS = 10**6  # one period at 1 MHz

OffchipScope = Literal["total", "per_channel", "per_rank"]


def _exact(value: float) -> Fraction:
    """Return the decimal number that the user wrote, not its binary neighbour."""
    return Fraction(str(value))


class _Clocked(TomlModel):
    """A clock domain on the integer-picosecond grid."""

    clock_mhz: int = Field(gt=0, description="clock, MHz; its period must be whole picoseconds")
    phase_ps: int = Field(default=0, ge=0, description="first rising edge, ps; below the period")

    @field_validator("clock_mhz")
    @classmethod
    def _period_is_whole(cls, clock_mhz: int) -> int:
        if _MHZ_PERIOD_PS % clock_mhz:
            # Divisors come in pairs, one of each up to the square root.
            small = [f for f in range(1, 1001) if _MHZ_PERIOD_PS % f == 0]
            fits = small + [_MHZ_PERIOD_PS // f for f in small]
            nearest = min(fits, key=lambda f: abs(f - clock_mhz))
            raise ValueError(
                f"{clock_mhz} MHz is not a whole number of picoseconds a period; "
                f"nearest that is: {nearest} MHz"
            )
        return clock_mhz

    @model_validator(mode="after")
    def _phase_is_inside_the_period(self) -> "_Clocked":
        if self.phase_ps >= self.period_ps:
            raise ValueError(
                f"phase_ps = {self.phase_ps} must be below the period of {self.period_ps} ps"
            )
        return self

    @property
    def period_ps(self) -> int:
        """Clock period, ps."""
        return _MHZ_PERIOD_PS // self.clock_mhz


class Pim(_Clocked):
    """Processing-in-memory ranks, one compute unit each."""

    # The rank masks of the task scheduling unit are 16 bits.
    ranks: int = Field(gt=0, le=16, description="ranks, one PIM unit each; multiple of channels")
    channels: int = Field(gt=0, description="memory channels")
    rank_capacity_bytes: int = Field(gt=0, description="capacity of one rank, bytes")
    bandwidth_gb_s: float = Field(ge=1e-3, le=1e6, description="bandwidth inside the memory, GB/s")
    bandwidth_scope: Literal["total", "per_rank"] = Field(
        description="what bandwidth_gb_s counts: all ranks together, or one rank"
    )
    gops: float = Field(ge=1e-3, le=1e6, description="INT8 compute rate, giga-operations a second")
    gops_scope: Literal["unit", "total"] = Field(
        default="unit", description="what gops counts: one PIM unit, or all together"
    )
    gops_counts: Literal["op", "mac"] = Field(
        default="op",
        description="what one operation is: a multiply or an add, or a multiply-accumulate",
    )
    efficiency: float = Field(
        gt=0, le=1, description="share of the rate that refresh and row changes leave, 0 to 1"
    )
    input_buffer_bytes: int = Field(
        default=16_384, ge=2048, description="inputs that one PIM unit holds, bytes"
    )

    @model_validator(mode="after")
    def _ranks_fill_the_channels(self) -> "Pim":
        if self.ranks % self.channels:
            raise ValueError(
                f"ranks = {self.ranks} must be a multiple of channels = {self.channels}"
            )
        return self

    @property
    def ranks_per_channel(self) -> int:
        """Ranks that share one channel."""
        return self.ranks // self.channels

    @property
    def rank_bandwidth_bytes_s(self) -> Fraction:
        """Bytes a second that one rank's banks give its unit, at full efficiency."""
        per_what = self.ranks if self.bandwidth_scope == "total" else 1
        return _exact(self.bandwidth_gb_s) * _GIGA / per_what

    @property
    def rank_mac_s(self) -> Fraction:
        """Multiply-accumulates a second of one unit: also the INT8 weight bytes it can use."""
        units = self.ranks if self.gops_scope == "total" else 1
        ops_per_mac = 2 if self.gops_counts == "op" else 1
        return _exact(self.gops) * _GIGA / units / ops_per_mac

    @property
    def rank_stream_bytes_s(self) -> Fraction:
        """Bytes a second that one rank reads and multiplies: the lower of the two, derated."""
        return min(self.rank_bandwidth_bytes_s, self.rank_mac_s) * _exact(self.efficiency)


class Npu(_Clocked):
    """Weight-stationary systolic arrays that read the memory through its channels."""

    arrays: int = Field(gt=0, description="systolic arrays")
    array_rows: int = Field(gt=0, description="rows of one array, cells")
    array_columns: int = Field(gt=0, description="columns of one array, cells")
    weight_load_bytes_per_cycle: int = Field(
        gt=0, description="INT8 weights that one array takes in a cycle, bytes"
    )
    ideal_array: bool = Field(
        default=False, description="weight load costs nothing: an upper bound, not a machine"
    )
    scratchpad_bytes: int = Field(gt=0, description="on-chip scratchpad, bytes")
    offchip_bandwidth_gb_s: float = Field(
        ge=1e-3, le=1e6, description="memory bandwidth for the NPU, GB/s"
    )
    offchip_scope: OffchipScope = Field(
        description="what offchip_bandwidth_gb_s counts: all channels together, one, or one rank"
    )
    offchip_efficiency: float = Field(
        default=0.9, gt=0, le=1, description="share of it that a long read gets, 0 to 1"
    )
    dataflow: Literal["ws", "os"] = Field(
        default="ws", description="what stays in the arrays: weights, or outputs"
    )
    vector_elements_per_cycle: int = Field(
        default=8192, gt=0, description="elements that the vector unit takes in a cycle"
    )
    round_trip_ns: int = Field(
        default=1000,
        ge=0,
        description="from a PIM rank's interrupt to the NPU's answer, beside the transfer, ns",
    )

    @property
    def mac_s(self) -> Fraction:
        """Peak multiply-accumulates a second of all arrays."""
        cells = self.arrays * self.array_rows * self.array_columns
        return Fraction(cells * self.clock_mhz * 10**6)

    @property
    def weight_load_bytes_s(self) -> Fraction:
        """Weight bytes a second that all arrays take together."""
        per_cycle = self.arrays * self.weight_load_bytes_per_cycle
        return Fraction(per_cycle * self.clock_mhz * 10**6)


class Platform(TomlModel):
    """One machine, and the readings of the figures that its source leaves open."""

    name: str = Field(min_length=1, description="name in reports")
    dlm_ranks: Literal["map", "all"] = Field(
        default="map",
        description="ranks that draft: those the rank map gives, or all (an idealisation)",
    )
    kv_bytes: int = Field(default=2, ge=1, le=2, description="bytes of one key or value element")
    dram: str = Field(default="lpddr5-6400", description="memory: its timing file, by name or path")
    offload: Offload | None = Field(
        default=None, description="slower memory for target weights that do not fit"
    )
    pim: Pim = Field(description="table of the processing-in-memory ranks")
    npu: Npu = Field(description="table of the neural processing unit")

    @property
    def capacity_bytes(self) -> int:
        """Bytes in all ranks."""
        return self.pim.ranks * self.pim.rank_capacity_bytes

    @property
    def offchip_peak_bytes_s(self) -> Fraction:
        """Bytes a second that the NPU reads at most as printed, all paths together."""
        scope = self.npu.offchip_scope
        paths = {"total": 1, "per_channel": self.pim.channels, "per_rank": self.pim.ranks}[scope]
        return _exact(self.npu.offchip_bandwidth_gb_s) * _GIGA * paths

    @property
    def offchip_bytes_s(self) -> Fraction:
        """Bytes a second that the NPU reads, all paths together, derated."""
        return self.offchip_peak_bytes_s * _exact(self.npu.offchip_efficiency)


def load_platform(name_or_path: str, overrides: Mapping[str, object] | None = None) -> Platform:
    """Return a packaged platform by name, or a user's own by path.

    Raises
    ------
    UserError
        See `ahasd.system.toml.load`.
    """
    return load(Platform, "platforms", name_or_path, overrides)
