# SPDX-License-Identifier: Apache-2.0
"""Rates of a platform beside hand-worked ones."""

from dataclasses import replace

import pytest

from ahasd.system.devices.dram.timing import load_timing
from ahasd.system.devices.report.rates import npu_rates, pim_rates
from ahasd.system.platform import load_platform

pytestmark = pytest.mark.full

TIMING = load_timing("lpddr5-6400")
# JESD209-5 for 16 Gb: tRFCab 280 ns of every 3906 ns.
REFRESHED = 1 - 280 / 3906


def pim(**overrides):
    return pim_rates(load_platform("mobile-paper", overrides), TIMING)


def npu(**overrides):
    return npu_rates(load_platform("mobile-paper", overrides), TIMING)


def test_a_rank_of_the_paper_has_its_printed_sixteenth_and_that_binds():
    made = pim()
    # 16 banks of 32 bytes every 5 ns; 256 GB/s for 16 ranks; 102.4 GOPS of two operations.
    rates = (made.commands, made.printed, made.units["compute"])
    assert [float(each) / 1e9 for each in rates] == [102.4, 16.0, 51.2]
    assert (made.binds, float(made.ceiling), made.count) == ("file", 16e9, 16)
    assert float(made.derated) / 1e9 == pytest.approx(14.4)


@pytest.mark.parametrize(
    ("field", "mac_cycles"),
    # 512 bytes at 16 GB/s are 32 ns: 26 cycles; the commands alone have tCCD_L, 4.
    [("attained", 26), ("streamed", 4)],
)
def test_a_long_stream_pays_for_its_rows_and_for_refresh(field, mac_cycles):
    # tRCD 15, 63 gaps, tRTP 8, tRPab 17 a row of 64 columns in 16 banks; 1.25 ns.
    row_ns = (15 + 63 * mac_cycles + 8 + 17) * 1.25
    expected = 16 * 2048 / row_ns * REFRESHED
    assert float(getattr(pim(), field)) / 1e9 == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("overrides", "binds"),
    [
        ({"pim.bandwidth_scope": "per_rank"}, "compute"),
        ({"pim.bandwidth_scope": "per_rank", "pim.gops": 1024.0}, "commands"),
        ({"pim.gops": 16.0}, "compute"),
    ],
)
def test_the_lowest_limit_of_a_rank_binds(overrides, binds):
    assert pim(**overrides).binds == binds


def test_of_equal_limits_the_memory_comes_first():
    equal = {"pim.bandwidth_scope": "per_rank", "pim.bandwidth_gb_s": 102.4, "pim.gops": 204.8}
    made = pim(**equal)
    assert len(set(made.limits.values())) == 1
    assert made.binds == "commands"


def test_a_channel_has_its_bus_less_refresh():
    made = npu()
    # x16 at 6.4 Gb/s; two arrays of 128 weights a cycle at 1 GHz; 32,768 cells, over 4 channels.
    rates = [float(each) / 1e9 for each in made.limits.values()]
    assert rates == [12.8, 12.8, 64.0, 8192.0]
    assert list(made.limits) == ["commands", "file", "weight load", "compute"]
    assert made.binds == "commands"
    assert 0.97 < float(made.streamed) / 1e9 / (12.8 * REFRESHED) < 1
    assert made.attained == made.streamed


@pytest.mark.parametrize(
    ("overrides", "binds"),
    [
        ({"npu.offchip_bandwidth_gb_s": 20.0}, "file"),
        ({"npu.weight_load_bytes_per_cycle": 8}, "weight load"),
        ({"npu.arrays": 1, "npu.array_rows": 2, "npu.array_columns": 2}, "compute"),
    ],
)
def test_the_lowest_limit_of_the_npu_binds(overrides, binds):
    assert npu(**overrides).binds == binds


def test_a_printed_rate_below_the_stream_is_what_is_attained():
    made = npu(**{"npu.offchip_bandwidth_gb_s": 20.0})
    assert made.attained == made.printed == 5 * 10**9
    assert made.streamed > 11 * 10**9


def test_an_ideal_array_has_no_weight_load():
    assert "weight load" not in npu(**{"npu.ideal_array": True}).limits


def test_a_memory_smaller_than_the_long_streams_has_about_the_same_rates():
    small = replace(TIMING, rows=1024)
    platform = load_platform("mobile-paper")
    for made, whole in (
        (pim_rates(platform, small), pim()),
        (npu_rates(platform, small), npu()),
    ):
        assert float(made.streamed) == pytest.approx(float(whole.streamed), rel=0.01)
