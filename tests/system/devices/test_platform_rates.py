# SPDX-License-Identifier: Apache-2.0
"""Platforms whose rates are those of their memory's commands."""

import pytest

from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.stream import AllBankMac, play, read_range
from ahasd.system.devices.dram.timing import load_timing
from ahasd.system.devices.tables import platform_rates_table
from ahasd.system.platform import load_platform

# tCCD_L and tCCD_S, ns.
SPACINGS = {"mobile-jedec": (5.0, 2.5), "mobile-lpddr5x": (3.75, 1.875)}


@pytest.mark.parametrize("name", SPACINGS)
def test_a_rank_and_the_channels_have_the_rates_of_their_commands(name):
    platform = load_platform(name)
    group_ns, burst_ns = SPACINGS[name]
    rank = 16 * 32 / group_ns
    assert float(platform.pim.rank_bandwidth_bytes_s) / 1e9 == pytest.approx(rank, rel=1e-4)
    assert platform.npu.offchip_bandwidth_gb_s == pytest.approx(4 * 32 / burst_ns, rel=1e-4)
    # Neither the unit nor a rounded figure of the file lies below the commands.
    assert float(platform.pim.rank_mac_s) / 1e9 >= rank
    assert float(platform.pim.rank_bandwidth_bytes_s) / 1e9 >= rank
    assert platform.npu.offchip_bandwidth_gb_s >= 4 * 32 / burst_ns


@pytest.mark.parametrize("name", SPACINGS)
def test_the_efficiencies_are_what_long_streams_get(name):
    platform = load_platform(name)
    timing = load_timing(platform.dram)
    mac = play(FastEngine(timing), AllBankMac(timing, 10_000)).bytes_s(timing)
    assert float(platform.pim.rank_stream_bytes_s) == pytest.approx(float(mac), rel=2e-3)
    read = read_range(FastEngine, timing, 0, 2**30).bytes_s(timing)
    assert float(platform.offchip_bytes_s) == pytest.approx(float(read), rel=2e-3)


@pytest.mark.parametrize("name", SPACINGS)
def test_the_platform_has_the_channels_ranks_and_capacity_of_its_memory(name):
    platform = load_platform(name)
    timing = load_timing(platform.dram)
    assert platform.pim.channels == timing.channels
    assert platform.pim.ranks == timing.channels * timing.ranks
    assert platform.pim.rank_capacity_bytes == timing.banks * timing.rows * timing.row_bytes


def test_only_the_rates_of_mobile_jedec_differ_from_the_printed_ones():
    paper, jedec = (load_platform(name).model_dump() for name in ("mobile-paper", "mobile-jedec"))
    differing = {
        f"{table}.{key}"
        for table in ("pim", "npu")
        for key in paper[table]
        if paper[table][key] != jedec[table][key]
    }
    assert differing == {
        "pim.bandwidth_gb_s",
        "pim.bandwidth_scope",
        "pim.gops_counts",
        "pim.efficiency",
        "npu.offchip_efficiency",
    }


def test_commands_bind_but_for_the_printed_rate_of_a_rank():
    lines = platform_rates_table().splitlines()[2:]
    binds = [tuple(cell.strip() for cell in line.split("|")[1:5:3]) for line in lines]
    assert binds == [
        ("mobile-paper", "file"),
        ("mobile-paper", "commands"),
        ("mobile-jedec", "commands"),
        ("mobile-jedec", "commands"),
        ("mobile-lpddr5x", "commands"),
        ("mobile-lpddr5x", "commands"),
    ]
