# SPDX-License-Identifier: Apache-2.0
"""Rates of a platform: as printed, as the memory's commands give them, and which limit binds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.stream import AllBankMac, play, read_range
from ahasd.system.devices.dram.timing import Timing
from ahasd.system.devices.pim.unit import mac_bytes, pace, paced
from ahasd.system.platform import Platform

READ_BYTES = 2**30
MAC_ROWS = 10_000
"""Lengths of the long streams, or what the memory holds, should that be less."""


@dataclass(frozen=True, kw_only=True)
class PathRates:
    """Rates of one way out of the memory, bytes a second, weights of one byte used once.

    Parameters
    ----------
    path
        Name.
    each
        What there are several of: `rank` or `channel`.
    count
        How many.
    commands, printed
        What the memory's commands give to one at most, and what the platform's file says.
    units
        What those behind it can take, each limit by its name.
    streamed
        What the commands of a long stream give: with row changes and refresh.
    attained
        The same, commands no faster than the file and the units allow.
    derated
        What the file says, efficiency included.
    """

    path: str
    each: str
    count: int
    commands: Fraction
    printed: Fraction
    units: Mapping[str, Fraction]
    streamed: Fraction
    attained: Fraction
    derated: Fraction

    @property
    def limits(self) -> dict[str, Fraction]:
        """All limits by name: `commands`, `file`, then those of the units."""
        return {"commands": self.commands, "file": self.printed, **self.units}

    @property
    def binds(self) -> str:
        """Name of the lowest limit, of equal ones the first."""
        return min(self.limits, key=lambda name: self.limits[name])

    @property
    def ceiling(self) -> Fraction:
        """Lower one of commands and file: what the memory side gives at most."""
        return min(self.commands, self.printed)


def pim_rates(platform: Platform, timing: Timing) -> PathRates:
    """Return the rates of one rank's banks to their unit."""
    pim = platform.pim
    rows = min(MAC_ROWS, timing.rows)

    def streamed(memory: Timing) -> Fraction:
        return play(FastEngine(memory), AllBankMac(memory, rows)).bytes_s(memory)

    return PathRates(
        path="one rank to its unit",
        each="rank",
        count=pim.ranks,
        commands=mac_bytes(timing) * 10**12 / (timing.t_mac * timing.period_ps),
        printed=pim.rank_bandwidth_bytes_s,
        units={"compute": pim.rank_mac_s},
        streamed=streamed(replace(timing, channels=1, ranks=1)),
        attained=streamed(paced(timing, pace(pim, timing, 1))),
        derated=pim.rank_stream_bytes_s,
    )


def npu_rates(platform: Platform, timing: Timing) -> PathRates:
    """Return the rates of one channel to the NPU, of which each channel has an equal part."""
    npu, channels = platform.npu, timing.channels
    held_bytes = channels * timing.banks * timing.rows * timing.row_bytes
    played = read_range(FastEngine, timing, 0, min(READ_BYTES, held_bytes))
    streamed = played.bytes_s(timing) / channels
    printed = platform.offchip_peak_bytes_s / channels
    loads = {} if npu.ideal_array else {"weight load": npu.weight_load_bytes_s / channels}
    return PathRates(
        path="all channels to the NPU",
        each="channel",
        count=channels,
        commands=timing.channel_bytes_s,
        printed=printed,
        units={**loads, "compute": npu.mac_s / channels},
        streamed=streamed,
        attained=min(streamed, printed),
        derated=platform.offchip_bytes_s / channels,
    )
