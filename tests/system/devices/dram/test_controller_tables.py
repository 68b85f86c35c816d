# SPDX-License-Identifier: Apache-2.0
"""Bandwidth against the access pattern: bounds by formula, one figure by a peer."""

from dataclasses import replace

import pytest

from ahasd.system.devices.dram.controller_mapping import MAPPINGS
from ahasd.system.devices.dram.controller_tables import READ_SHARES, bandwidth_table
from ahasd.system.devices.dram.timing import load_timing

TIMING = replace(load_timing("lpddr5-6400"), ranks=1)
# 280 ns of every 3906 ns.
REFRESHED = 1 - 280 / 3906


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    return {(each.pattern, each.read_share, each.mapping): each for each in bandwidth_table(TIMING)}


def test_every_pattern_is_there_under_every_mapping(found):
    patterns = {pattern for pattern, share, _ in found if share == 1}
    assert len(patterns) == 9
    assert len(found) == 9 * 3 + 2 * 3
    assert all(0 < each.bus_share <= 1 and 0 <= each.row_hits < 1 for each in found.values())


def test_a_sequential_read_over_all_groups_has_nearly_the_whole_bus(found):
    made = found["sequential", 1.0, "groups-interleaved"]
    # Beside tRFC a refresh costs at most tRTP, tRPab and tRCD: 264 cycles of 3124.
    assert 12.8 * (1 - 264 / 3124) < made.gb_s < 12.8 * REFRESHED
    assert made.gb_s == pytest.approx(12.8 * made.bus_share, rel=0.01)


def test_random_reads_have_four_rows_in_a_window(found):
    # tFAW 20 ns for four bursts; Ramulator 2.1 measured 5,589 MB/s of these 6,400, with refresh.
    made = found["random", 1.0, "four-lines-xor"]
    assert made.gb_s < 4 * 32 / 20
    assert made.gb_s == pytest.approx(5.589, rel=0.05)
    assert made.row_hits < 0.01


def test_a_stride_that_stays_in_one_bank_has_a_row_cycle_for_each_burst(found):
    # tRC is 49 cycles, 61.25 ns.
    for mapping in ("row-bank-rank-column", "groups-interleaved"):
        made = found["stride 1048576", 1.0, mapping]
        assert made.gb_s == pytest.approx(32 / 61.25 * REFRESHED, rel=0.02)


def test_mixing_reads_and_writes_costs_turnarounds(found):
    for pattern in ("sequential", "random"):
        rates = [found[pattern, share, "groups-interleaved"].gb_s for share in READ_SHARES]
        assert min(rates) == rates[2]
        assert rates[0] > rates[1] > rates[2] < rates[3]


def test_a_read_waits_at_least_its_latency(found):
    # RL 17 and BL 2 cycles; nobody reads where all write.
    for (_, share, _), made in found.items():
        assert (made.read_latency_ns >= 19 * 1.25) == (share > 0)


def test_a_mapping_that_does_not_suit_the_memory_is_left_out():
    # 12 Gb dies have three quarters of the rows.
    odd = replace(TIMING, rows=TIMING.rows * 3 // 4)
    assert [name for name, each in MAPPINGS.items() if not each.suits(odd)] == ["four-lines-xor"]
    mappings = {each.mapping for each in bandwidth_table(odd, requests=64)}
    assert mappings == {"row-bank-rank-column", "groups-interleaved"}
