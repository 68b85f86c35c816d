# SPDX-License-Identifier: Apache-2.0
"""The tables of `docs/dram.md`, computed from the packaged timing files."""

from dataclasses import replace

from ahasd.system.devices.dram.controller_tables import mix_table, pattern_table
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.stream import AllBankMac, SequentialRead, play, read_range
from ahasd.system.devices.dram.timing import ASSUMED, Intervals, load_file, load_timing
from ahasd.system.devices.markdown import markdown_table

MEMORIES = (
    "lpddr5-6400",
    "paper",
    "lpddr5x-8533",
    "hbm2",
    "hbm3-5200",
    "lpddr4-2400",
    "lpddr3-1600",
)

READ_BYTES = 2**30
MAC_ROWS = 10_000


def organisation_table() -> str:
    """Return what each memory is made of, and the peak rate of its data buses."""
    rows = []
    for name in MEMORIES:
        t = load_timing(name)
        rows.append(
            (
                name,
                f"{float(t.period_ps):.2f}",
                str(t.channels),
                str(t.ranks),
                f"{t.bank_groups} x {t.banks_per_group}",
                str(t.rows),
                str(t.row_bytes),
                str(t.burst_bytes),
                f"{float(t.channel_bytes_s * t.channels) / 1e9:.1f}",
            )
        )
    header = (
        "memory",
        "clock ps",
        "channels",
        "ranks each",
        "banks",
        "rows",
        "row bytes",
        "burst bytes",
        "peak GB/s",
    )
    return markdown_table(header, rows)


def cycles_table() -> str:
    """Return every interval of every memory in clock cycles."""
    timings = [load_timing(name) for name in MEMORIES]
    rows = [
        (f"`{name}`", *(str(getattr(timing, name)) for timing in timings))
        for name in Intervals.model_fields
    ]
    return markdown_table(("interval", *MEMORIES), rows)


def assumed_table() -> str:
    """Return every value that no reference gives, with the reason for the one that is taken."""
    rows = []
    for name in MEMORIES:
        file = load_file(name)
        values = {
            "clock": file.clock,
            "refresh_slack": file.refresh_slack,
            **dict(file.organisation),
            **dict(file.intervals),
        }
        rows.extend(
            (name, f"`{key}`", value.source.removeprefix(ASSUMED))
            for key, value in values.items()
            if value.source.startswith(ASSUMED)
        )
    return markdown_table(("memory", "value", "why"), rows, text_columns=3)


def rates_table() -> str:
    """Return the rates of long streams: reads over all channels, MAC passes in one rank."""
    rows = []
    for name in MEMORIES:
        timing = load_timing(name)
        peak = timing.channel_bytes_s * timing.channels
        read = read_range(FastEngine, timing, 0, READ_BYTES)
        alone = replace(timing, channels=1, refresh_slack=10**6)
        bursts = READ_BYTES // timing.channels // timing.burst_bytes
        free = play(FastEngine(alone), SequentialRead(alone, bursts), refresh=False)
        mac = play(FastEngine(timing), AllBankMac(timing, MAC_ROWS))
        rows.append(
            (
                name,
                f"{float(read.bytes_s(timing)) / 1e9:.1f}",
                f"{float(read.bytes_s(timing) / peak):.1%}",
                f"{float(free.bytes_s(timing) / timing.channel_bytes_s):.1%}",
                f"{float(mac.bytes_s(timing)) / 1e9:.1f}",
                str(read.simulated_commands),
                str(read.skipped_commands),
            )
        )
    header = (
        "memory",
        "read GB/s",
        "of peak",
        "without refresh",
        "MAC GB/s per rank",
        "simulated",
        "skipped",
    )
    return markdown_table(header, rows)


TABLES = {
    "organisation": organisation_table,
    "cycles": cycles_table,
    "assumed": assumed_table,
    "rates": rates_table,
    "patterns": pattern_table,
    "mixes": mix_table,
}
"""Generator of each marked table in the page, by marker name."""
