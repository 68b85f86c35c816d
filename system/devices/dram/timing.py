# SPDX-License-Identifier: Apache-2.0
"""Timing files: what a memory is made of and how long its commands keep each other waiting.

A file under `configs/dram/` gives every value with its source. Intervals are picoseconds, clock
cycles or both, of which the longer counts; `load_timing` turns them into whole clock cycles.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Literal

from pydantic import Field, model_validator

from ahasd import UserError
from ahasd.system.toml import TomlModel, load

ASSUMED = "assumed: "
"""Head of the source of a value that no reference gives; the reason follows."""


class Sourced(TomlModel):
    """Something with a source: a standard, a paper, a published table; or `assumed: <reason>`."""

    source: str = Field(min_length=8, description="where the value is from")


class Count(Sourced):
    """A number of things."""

    value: int = Field(ge=1)


class Interval(Sourced):
    """A time between commands, in picoseconds, in clock cycles, or the longer of both."""

    ps: int = Field(default=0, ge=0)
    cycles: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _is_given(self) -> "Interval":
        if not self.ps and not self.cycles:
            raise ValueError("an interval needs ps or cycles above 0")
        return self


class Period(Sourced):
    """A clock period as an exact fraction of picoseconds."""

    numerator_ps: int = Field(ge=1)
    denominator: int = Field(default=1, ge=1)


class CommandBus(Sourced):
    """One command bus, or one for rows (activate, precharge, refresh) and one for columns."""

    kind: Literal["shared", "split"]


class Organisation(TomlModel):
    """What there is: channels of ranks of bank groups of banks of rows."""

    channels: Count
    ranks: Count
    bank_groups: Count
    banks_per_group: Count
    rows: Count
    row_bytes: Count
    burst_bytes: Count
    banks_per_refresh: Count


class Intervals(TomlModel):
    """Every interval of a file; `Timing` says what each means."""

    command: Interval
    act_command: Interval
    burst: Interval
    burst_max: Interval
    rl: Interval
    wl: Interval
    t_rcd_rd: Interval
    t_rcd_wr: Interval
    t_rcd_ab: Interval
    t_ras: Interval
    t_rc: Interval
    t_rp: Interval
    t_rp_ab: Interval
    t_ppd: Interval
    t_rtp: Interval
    t_wr: Interval
    t_ccd_s: Interval
    t_ccd_l: Interval
    t_mac: Interval
    t_mac_rdb: Interval
    t_rtw_gap: Interval
    t_wtr_s: Interval
    t_wtr_l: Interval
    t_cs: Interval
    t_rrd_s: Interval
    t_rrd_l: Interval
    t_faw: Interval
    t_rfc_ab: Interval
    t_rfc_pb: Interval
    t_pbr_pbr: Interval
    t_pbr_act: Interval
    t_refi: Interval
    t_refi_pb: Interval


class DramFile(TomlModel):
    """A timing file as it is written."""

    name: str = Field(min_length=1)
    clock: Period
    command_bus: CommandBus
    refresh_slack: Count
    organisation: Organisation
    intervals: Intervals


# Refresh must come at least this often, so these two are rounded down; all others are minima.
_MAXIMA = ("t_refi", "t_refi_pb")


@dataclass(frozen=True, kw_only=True)
class Timing:
    """A memory's organisation and intervals; plain `t_` fields are clock cycles between commands.

    Names follow JEDEC (JESD209-5, JESD235, JESD238). Intervals count from the first cycle of the
    earlier command to the first cycle of the later one unless the field says otherwise.

    Parameters
    ----------
    name
        Name of the file.
    period_ps
        Clock period, exact.
    split_bus
        Rows and columns have command buses of their own (HBM).
    refresh_slack
        Refreshes that may be postponed, or pulled in, at any time.
    channels, ranks, bank_groups, banks_per_group
        Sizes: channels, ranks per channel, groups per rank, banks per group.
    rows, row_bytes, burst_bytes
        Rows per bank; bytes of one row and of one burst, over all chips of a rank.
    banks_per_refresh
        Banks that one REFpb refreshes: bank b and those a whole share of the rank's banks further.
    command, act_command
        Cycles on the command bus: of any command, and of an ACT or ACTab.
    burst, burst_max
        Cycles of a burst on the data bus, and in its bank group (BL/n_min and BL/n_max of JEDEC).
    rl, wl
        From RD to its data; from WR to its data.
    t_rcd_rd, t_rcd_wr, t_rcd_ab
        Activate to RD; to WR; to MACab, and from ACTab to any column command.
    t_ras, t_rc
        Activate to precharge; activate to activate or refresh of one bank.
    t_rp, t_rp_ab, t_ppd
        PRE, and PREab, to activate or refresh; precharge to precharge.
    t_rtp, t_wr
        RD or MACab to precharge; end of write data to precharge.
    t_ccd_s, t_ccd_l, t_mac
        Column command to column command: other group, same group; MACab to MACab.
    t_mac_rdb
        MACab to the RDB of its results: the depth of the PIM unit.
    t_rtw_gap
        Idle cycles of the data bus between the data of a RD and of a WR in one rank.
    t_wtr_s, t_wtr_l
        End of write data to RD of another group; end of a write in its group to RD there, or MACab.
    t_cs
        Idle cycles of the data bus between data of two ranks.
    t_rrd_s, t_rrd_l, t_faw
        ACT to ACT: other group, same group; first to fifth ACT of a rank.
    t_rfc_ab, t_rfc_pb
        REFab, and REFpb, to the next command of the refreshed banks.
    t_pbr_pbr, t_pbr_act
        REFpb to REFpb, and to an ACT of another bank, in one rank.
    t_refi, t_refi_pb
        Average interval between REFab, or between REFpb: maxima.

    Raises
    ------
    ValueError
        Two values contradict each other; the message names them.
    """

    name: str
    period_ps: Fraction
    split_bus: bool
    refresh_slack: int
    channels: int
    ranks: int
    bank_groups: int
    banks_per_group: int
    rows: int
    row_bytes: int
    burst_bytes: int
    banks_per_refresh: int
    command: int
    act_command: int
    burst: int
    burst_max: int
    rl: int
    wl: int
    t_rcd_rd: int
    t_rcd_wr: int
    t_rcd_ab: int
    t_ras: int
    t_rc: int
    t_rp: int
    t_rp_ab: int
    t_ppd: int
    t_rtp: int
    t_wr: int
    t_ccd_s: int
    t_ccd_l: int
    t_mac: int
    t_mac_rdb: int
    t_rtw_gap: int
    t_wtr_s: int
    t_wtr_l: int
    t_cs: int
    t_rrd_s: int
    t_rrd_l: int
    t_faw: int
    t_rfc_ab: int
    t_rfc_pb: int
    t_pbr_pbr: int
    t_pbr_act: int
    t_refi: int
    t_refi_pb: int

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise ValueError(f"{field.name} = {value} must be at least 1")
        for longer, shorter in (
            ("burst_max", "burst"),
            ("t_ccd_s", "burst"),
            ("t_ccd_l", "t_ccd_s"),
            ("t_rrd_l", "t_rrd_s"),
            ("t_wtr_l", "t_wtr_s"),
            ("t_rc", "t_ras"),
            ("t_rc", "t_faw"),
            ("rl", "wl"),
            ("t_refi", "t_refi_pb"),
            ("t_refi", "t_rfc_ab"),
        ):
            a, b = getattr(self, longer), getattr(self, shorter)
            if a < b:
                raise ValueError(f"{longer} = {a} must be at least {shorter} = {b}")
        for whole, part in (("row_bytes", "burst_bytes"), ("banks", "banks_per_refresh")):
            a, b = getattr(self, whole), getattr(self, part)
            if a % b:
                raise ValueError(f"{whole} = {a} must be a multiple of {part} = {b}")

    @property
    def banks(self) -> int:
        """Banks of a rank."""
        return self.bank_groups * self.banks_per_group

    @property
    def bursts_per_row(self) -> int:
        """Column accesses that read one row."""
        return self.row_bytes // self.burst_bytes

    @property
    def channel_bytes_s(self) -> Fraction:
        """Peak rate of one channel's data bus, bytes a second."""
        return self.burst_bytes * 10**12 / (self.burst * self.period_ps)

    def time_ps(self, cycles: int) -> int:
        """Return the first whole picosecond at or after a clock edge."""
        return -(-cycles * self.period_ps // 1)


def load_timing(name_or_path: str, overrides: Mapping[str, object] | None = None) -> Timing:
    """Return a packaged memory such as `lpddr5-6400`, or one from a path, in clock cycles.

    Raises
    ------
    UserError
        As `ahasd.system.toml.load`, or two values of the file contradict each other.
    """
    try:
        return resolved(load_file(name_or_path, overrides))
    except ValueError as error:
        raise UserError(f"dram {name_or_path}: {error}") from error


def load_file(name_or_path: str, overrides: Mapping[str, object] | None = None) -> DramFile:
    """Return a timing file as it is written, sources included."""
    return load(DramFile, "dram", name_or_path, overrides)


def resolved(file: DramFile) -> Timing:
    """Return a file's values in whole clock cycles: minima rounded up, maxima down.

    Raises
    ------
    ValueError
        As `Timing`.
    """
    period_ps = Fraction(file.clock.numerator_ps, file.clock.denominator)
    intervals: dict[str, Interval] = dict(file.intervals)
    cycles = {
        name: max(
            each.cycles,
            int(each.ps // period_ps) if name in _MAXIMA else int(-(-each.ps // period_ps)),
        )
        for name, each in intervals.items()
    }
    counts: dict[str, Count] = dict(file.organisation)
    return Timing(
        name=file.name,
        period_ps=period_ps,
        split_bus=file.command_bus.kind == "split",
        refresh_slack=file.refresh_slack.value,
        **{name: each.value for name, each in counts.items()},
        **cycles,
    )
