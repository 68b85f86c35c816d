# SPDX-License-Identifier: Apache-2.0
"""Long streams: rates against formulas and published figures, and skipping that changes nothing."""

from dataclasses import replace

import numpy as np
import pytest

from ahasd.system.devices.dram.commands import Command, Op
from ahasd.system.devices.dram.engine import RefreshOverdueError
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.reference import ReferenceEngine
from ahasd.system.devices.dram.stream import (
    AllBankMac,
    Known,
    SequentialRead,
    play,
    read_range,
)
from ahasd.system.devices.dram.timing import load_timing


def patterns(timing):
    """Return streams that begin and end in odd places, about ten refreshes long."""
    per_segment = timing.bank_groups * timing.bursts_per_row
    segments = 10 * timing.t_refi // (per_segment * timing.t_ccd_s)
    return {
        "read": SequentialRead(timing, segments * per_segment + 77, first_segment=5),
        "one burst": SequentialRead(timing, 1),
        "mac": AllBankMac(timing, 120, first_row=3),
        "one row": AllBankMac(timing, 1),
    }


def test_what_a_pattern_calls_alike_differs_in_rows_only(timing):
    for name, pattern in patterns(timing).items():
        seen = {}
        for index in range(min(pattern.segments - 1, 40)):
            base = pattern.base_row(index)
            commands = pattern.segment(index, fresh=False, last=False)
            commands[:, -1] -= base
            step = pattern.base_row(index + 1) - base
            for key in (("kind", pattern.kind(index)), ("place", index % pattern.period)):
                same, steps = seen.setdefault(key, (commands, step))
                assert (commands == same).all(), name
                assert steps == step, name


@pytest.mark.parametrize("name", ["read", "one burst", "mac", "one row"])
def test_skipping_changes_neither_cycles_nor_commands(timing, make_engine, name):
    timing = replace(timing, channels=1)
    whole = play(FastEngine(timing), patterns(timing)[name], skip=False)
    engine = make_engine(timing)
    skipped = play(engine, patterns(timing)[name])
    assert whole.skipped_commands == 0
    assert skipped.simulated_commands <= whole.simulated_commands
    total = skipped.simulated_commands + skipped.skipped_commands
    assert (skipped.cycles, skipped.refreshes, total) == (
        whole.cycles,
        whole.refreshes,
        whole.simulated_commands,
    )


def test_the_reference_plays_the_same_without_skipping(timing):
    timing = replace(timing, channels=1)
    bursts = 3 * timing.t_refi // timing.t_ccd_s // 2
    for pattern in (SequentialRead(timing, bursts), AllBankMac(timing, 30)):
        engines = ReferenceEngine(timing), FastEngine(timing)
        slow, fast = (play(engine, pattern, skip=False) for engine in engines)
        assert slow == fast
        assert slow.refreshes > 0


def test_an_engine_ends_where_it_would_without_skipping(timing):
    timing = replace(timing, channels=1)
    for name, pattern in patterns(timing).items():
        last_row = pattern.base_row(pattern.segments - 1)
        whole, skipped = FastEngine(timing), FastEngine(timing)
        play(whole, pattern, skip=False)
        play(skipped, pattern)
        assert skipped.save(0, last_row) == whole.save(0, last_row), name
        assert skipped.now(0) == whole.now(0)
        assert skipped.refresh_due(0, 0) == whole.refresh_due(0, 0)
        assert skipped.open_row(0, 0, 0) == whole.open_row(0, 0, 0)


def test_whole_periods_of_banks_and_refreshes_are_skipped_exactly(timing):
    # Long enough for the phase of the refreshes to come back, which the streams above are not.
    timing = replace(timing, channels=1)
    rows = 10_000 if timing.split_bus else 3000
    whole = play(FastEngine(timing), AllBankMac(timing, rows), skip=False)
    skipped = play(FastEngine(timing), AllBankMac(timing, rows))
    assert (skipped.cycles, skipped.refreshes) == (whole.cycles, whole.refreshes)
    assert skipped.simulated_commands + skipped.skipped_commands == whole.simulated_commands
    # A longer stream then takes little more to simulate: its last segment.
    longer = play(FastEngine(timing), AllBankMac(timing, rows + 5000))
    assert max(longer.simulated_commands, skipped.simulated_commands) < 500


def test_a_stream_can_follow_another(timing):
    timing = replace(timing, channels=1)
    engine = FastEngine(timing)
    read = play(engine, SequentialRead(timing, 20_000))
    engine.run([Command(op=Op.PREAB)])
    began = engine.now(0)
    mac = play(engine, AllBankMac(timing, 50))
    assert mac.cycles == engine.now(0) - began + timing.t_rp_ab
    assert read.cycles < mac.cycles + began


def test_a_short_read_takes_the_cycles_of_its_commands(load):
    # Four activates at tRRD 4 (0, 4, 8, 12), reads from the first's tRCD on: 15, 19 (tRRD and
    # the other rows' tRCD), 23, 27; the data of the last ends RL 17 + 2 later.
    timing = load("lpddr5-6400", channels=1)
    played = play(FastEngine(timing), SequentialRead(timing, 4))
    assert (played.cycles, played.simulated_commands) == (27 + 17 + 2, 8)


def test_a_mac_row_takes_the_cycles_of_its_commands(timing):
    # Open, then one MAC each t_mac, close after tRTP (or tRAS), open again after tRPab (or tRC).
    timing = replace(timing, channels=1)
    last_mac = timing.t_rcd_ab + (timing.bursts_per_row - 1) * timing.t_mac
    row = max(last_mac + timing.t_rtp, timing.t_ras) + timing.t_rp_ab
    for rows in (1, 3):
        played = play(FastEngine(timing), AllBankMac(timing, rows), refresh=False)
        assert played.cycles == rows * row
        assert played.simulated_commands + played.skipped_commands == rows * (
            timing.bursts_per_row + 2
        )


def test_reads_without_refresh_come_close_to_the_peak(timing):
    timing = replace(timing, channels=1)
    pattern = SequentialRead(timing, 4000)
    rate = play(FastEngine(timing), pattern, refresh=False).bytes_s(timing)
    assert 0.97 < rate / timing.channel_bytes_s < 1


def test_refresh_costs_its_share_of_the_time(timing):
    # In each interval the rank is closed, refreshed and opened again; the burst in flight and the
    # wait for the end of a segment are the rest.
    timing = replace(timing, channels=1)
    pattern = SequentialRead(timing, 2**21)
    rate = play(FastEngine(timing), pattern).bytes_s(timing)
    lost = timing.t_rp_ab + timing.t_rfc_ab + timing.t_rcd_rd
    expected = 1 - lost / timing.t_refi
    assert float(rate / timing.channel_bytes_s) == pytest.approx(expected, abs=0.02)


def test_the_read_rate_is_that_of_a_published_simulator(load):
    # Ramulator 2.1, one x16 channel of LPDDR5-6400, 200,000 reads of 32 B in sequence, open page:
    # 12,637 MB/s without refresh and 11,545 MB/s with REFab. Other mapping, same bounds.
    timing = load("lpddr5-6400", channels=1)
    pattern = SequentialRead(timing, 200_000)
    engine = FastEngine(replace(timing, refresh_slack=1000))
    without = play(engine, pattern, refresh=False).bytes_s(timing)
    refreshed = play(FastEngine(timing), pattern).bytes_s(timing)
    assert float(without) == pytest.approx(12_637e6, rel=0.015)
    assert float(refreshed) == pytest.approx(11_545e6, rel=0.015)


def test_mac_passes_of_a_rank_come_from_the_rate_that_was_published_for_lpddr5_pim(load):
    # Samsung, Hot Chips 2023: 102.4 GB/s inside. Less the row changes: 64 MACs of 4 cycles in
    # 15 + 63 * 4 + 8 + 17 = 292; and refresh, 224 + 17 of 3124 and a row's wait.
    timing = load("lpddr5-6400", channels=1)
    assert timing.banks * 32 / (timing.t_mac * 1.25e-9) == pytest.approx(102.4e9)
    rate = play(FastEngine(timing), AllBankMac(timing, 5000)).bytes_s(timing)
    assert float(rate) == pytest.approx(102.4e9 * 256 / 292 * (1 - 241 / 3124), rel=0.01)


def test_random_rows_are_bound_by_four_activates_in_a_window(load):
    # One burst a row, banks in turn: 4 x 32 B in tFAW 20 ns = 6,400 MB/s.
    timing = load("lpddr5-6400", channels=1, refresh_slack=1000)
    rng = np.random.default_rng(1)
    commands = []
    previous = []
    for turn in range(4000):
        where = {"group": turn % 4, "bank": turn // 4 % 4}
        if turn >= 12:
            old = {"group": turn % 4, "bank": (turn - 12) // 4 % 4}
            commands.append(Command(op=Op.PRE, **old))
        row = int(rng.integers(timing.rows))
        commands.append(Command(op=Op.ACT, row=row, **where))
        previous.append(Command(op=Op.RD, row=row, **where))
        if turn >= 4:
            commands.append(previous[turn - 4])
    cycles = FastEngine(timing).run(commands)[-1]
    rate = 4000 * 32 / (cycles * 1250e-12)
    assert rate == pytest.approx(6_400e6, rel=0.02)


def test_a_range_is_striped_over_all_channels(timing):
    length = 40 * timing.burst_bytes * timing.channels + 1
    played = read_range(FastEngine, timing, 0, length)
    # One channel has a burst more; each opens as many banks as it has groups.
    opens = timing.channels * timing.bank_groups
    assert played.bytes == (40 * timing.channels + 1) * timing.burst_bytes
    assert played.simulated_commands + played.skipped_commands == opens + 40 * timing.channels + 1
    alone = play(FastEngine(timing), SequentialRead(timing, 41))
    assert played.cycles == alone.cycles


def test_a_gibibyte_is_read_by_simulating_little(timing):
    played = read_range(FastEngine, timing, 0, 2**30)
    assert played.simulated_commands < 10_000
    assert played.skipped_commands > 2**25
    assert 0.88 < played.bytes_s(timing) / (timing.channel_bytes_s * timing.channels) < 0.93


def test_refreshes_left_out_become_overdue_even_where_everything_is_known(load):
    timing = load("lpddr5-6400", channels=1)
    with pytest.raises(RefreshOverdueError, match=f"legal up to cycle {9 * 3124}"):
        play(FastEngine(timing), AllBankMac(timing, 1000), refresh=False)


@pytest.mark.parametrize(
    ("start", "length", "told"),
    [
        (32, 64, "start_bytes = 32 must be a multiple of 32768"),
        (0, 0, "must lie in segments"),
        (0, 2**40, "must lie in segments"),
        (2**40, 32, "must lie in segments"),
    ],
)
def test_a_range_outside_the_memory_is_refused(load, start, length, told):
    with pytest.raises(ValueError, match=told):
        read_range(FastEngine, load("lpddr5-6400"), start, length)


def test_streams_that_the_memory_cannot_hold_are_refused(load):
    timing = load("lpddr5-6400")
    with pytest.raises(ValueError, match="must lie in 0 to"):
        AllBankMac(timing, 2, first_row=timing.rows - 1)
    with pytest.raises(ValueError, match="two banks"):
        SequentialRead(replace(timing, banks_per_group=1, banks_per_refresh=1), 1)


def test_what_is_known_of_one_range_changes_no_figure_of_the_next() -> None:
    timing = load_timing("lpddr5-6400")
    known: Known = {}
    for size in (5_000_000, 1_234_567, 32, 5_000_032, 777_777):
        fresh = read_range(FastEngine, timing, 0, size)
        again = read_range(FastEngine, timing, 0, size, known=known)
        assert (again.cycles, again.refreshes) == (fresh.cycles, fresh.refreshes)
        assert again.simulated_commands <= fresh.simulated_commands
        total = fresh.simulated_commands + fresh.skipped_commands
        assert again.simulated_commands + again.skipped_commands == total
