# SPDX-License-Identifier: Apache-2.0
"""GEMV as commands: counts and cycles worked out by hand."""

from collections import Counter
from dataclasses import replace

import pytest

from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.stream import play
from ahasd.system.devices.pim.gemv import Gemv
from ahasd.system.devices.pim.program import Packer, Program


def counted(segments):
    return Counter(op for segment in segments for op, _, _ in segment)


def cycles(timing, gemv, **options):
    free = replace(timing, refresh_slack=10**6)
    return play(FastEngine(free), Program(free, gemv.segments(free)), **options).cycles


def test_a_gemv_reads_every_weight_once_and_every_result(lpddr5):
    # 64 outputs are 4 groups of 16; 4096 inputs are 128 bursts, two rows of each bank.
    counts = counted(Gemv(outputs=64, inputs=4096).segments(lpddr5))
    assert counts[Op.MACAB] * 512 == 64 * 4096
    assert counts[Op.ACTAB] == counts[Op.PREAB] == 8
    assert counts[Op.RDB] * 32 == 64 * 4
    assert counts[Op.WRB] == 0


def test_inputs_beyond_the_buffer_come_in_chunks_and_results_of_each_are_read(lpddr5):
    gemv = Gemv(outputs=32, inputs=5000, buffer_bytes=2048)
    assert gemv.chunks(lpddr5) == [2048, 2048, 904]
    counts = counted(gemv.segments(lpddr5))
    # 904 inputs are 28.25 bursts. The first chunk is the exchange's.
    assert counts[Op.MACAB] == 2 * (64 + 64 + 29)
    assert counts[Op.WRB] == 64 + 29
    assert counts[Op.RDB] == 3 * 2 * 2


@pytest.mark.parametrize(
    ("tokens", "input_bytes", "chunk"), [(1, 1, 16_384), (1, 2, 8192), (3, 1, 5440), (8, 2, 1024)]
)
def test_tokens_share_the_buffer(lpddr5, tokens, input_bytes, chunk):
    gemv = Gemv(outputs=16, inputs=20_000, tokens=tokens, input_bytes=input_bytes)
    assert gemv.chunks(lpddr5)[0] == chunk
    assert sum(gemv.chunks(lpddr5)) == 20_000
    counts = counted(gemv.segments(lpddr5))
    # Weights once, results for every token.
    assert counts[Op.MACAB] == sum(-(-each // 32) for each in gemv.chunks(lpddr5))
    assert counts[Op.RDB] == len(gemv.chunks(lpddr5)) * 2 * tokens


def test_groups_that_do_not_go_evenly_are_split_by_inputs(lpddr5):
    # 128 groups on 12 ranks: 10 whole ones, and 8 x 64 bursts / 12 = 42.67 of two more.
    gemv = Gemv(outputs=2048, inputs=2048, ranks=12)
    counts = counted(gemv.segments(lpddr5))
    assert counts[Op.MACAB] == 10 * 64 + 43
    assert counts[Op.RDB] == 2 * 12
    assert gemv.mac_count(lpddr5) * 512 == 2048 * 2048
    # One group on four ranks: a quarter each.
    counts = counted(Gemv(outputs=16, inputs=2048, ranks=4).segments(lpddr5))
    assert (counts[Op.MACAB], counts[Op.RDB]) == (16, 2)


def test_one_row_takes_the_cycles_of_its_commands(timing):
    # Open, a MAC each t_mac, then the results when the unit is through, two bursts of them.
    t = replace(timing, row_bytes=2048)
    last_mac = t.t_rcd_ab + 63 * t.t_mac
    first_read = max(last_mac + t.t_mac_rdb, max(last_mac + t.t_rtp, t.t_ras) + t.command)
    found = cycles(t, Gemv(outputs=16, inputs=2048), refresh=False)
    assert found == first_read + t.t_ccd_s + t.rl + t.burst


def test_row_after_row_takes_the_row_cycle_where_results_fit_into_it(lpddr5):
    # LPDDR5, 26 cycles a MAC: 15 + 63 x 26 + 8 + 17 = 1678 a row; the end as above.
    t = replace(lpddr5, t_mac=26)
    found = cycles(t, Gemv(outputs=16 * 10, inputs=2048), refresh=False)
    assert found == 9 * 1678 + 15 + 63 * 26 + 20 + 2 + 17 + 2


def test_results_in_the_middle_of_a_row_stop_the_macs(lpddr5):
    # Two groups of 32 bursts in a row: MAC, 20 cycles through the unit, RDB, RDB 2 later; then
    # MAC one command cycle after it, 23 cycles after the last instead of 4.
    t = replace(lpddr5, t_mac=4)
    found = cycles(t, Gemv(outputs=32, inputs=1024), refresh=False)
    assert found == 15 + 31 * 4 + 23 + 31 * 4 + 20 + 2 + 17 + 2


@pytest.mark.parametrize("tokens", [1, 2, 4, 8])
def test_tokens_cost_macs_by_their_spacing_and_no_further_reads(lpddr5, tokens):
    # 8 cycles a slot. From the last MAC of a row to the first of the next: 8 + 17 + 15 to close and
    # open; or close, open, and two cycles later the results, 2 apart, and a command cycle.
    spacing, reads = 8 * tokens, 2 * tokens
    row_change = max(8 + 17 + 15, 8 + 17 + 2 + 2 * (reads - 1) + 1, spacing)
    found = cycles(
        replace(lpddr5, t_mac=spacing),
        Gemv(outputs=256, inputs=2048, tokens=tokens),
        refresh=False,
    )
    end = 20 + 2 * (reads - 1) + 17 + 2
    assert found == 15 + 16 * 63 * spacing + 15 * row_change + end


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"outputs": 0}, "outputs = 0 must be at least 1"),
        ({"inputs": -1}, "inputs = -1 must be at least 1"),
        ({"tokens": 0}, "tokens = 0 must be at least 1"),
        ({"ranks": 0}, "ranks = 0 must be at least 1"),
        ({"input_bytes": 4}, r"input_bytes = 4 must be 1 \(INT8\) or 2"),
    ],
)
def test_numbers_out_of_range_are_refused(changes, told):
    with pytest.raises(ValueError, match=told):
        Gemv(**({"outputs": 16, "inputs": 32} | changes))


def test_more_tokens_than_the_buffer_holds_are_refused_with_a_remedy(lpddr5):
    gemv = Gemv(outputs=16, inputs=32, tokens=65, buffer_bytes=2048)
    with pytest.raises(ValueError, match="exceed buffer_bytes = 2048: pass fewer tokens"):
        gemv.segments(lpddr5)


def test_a_program_without_work_or_beyond_the_rank_is_refused(lpddr5):
    row = Gemv(outputs=16, inputs=2048).segments(lpddr5)
    for segments, times in (([], 1), (row, 0), ([()], 1)):
        with pytest.raises(ValueError, match="there must be some to do"):
            Program(lpddr5, segments, times)
    with pytest.raises(ValueError, match="spread the model over more ranks"):
        Program(lpddr5, row, lpddr5.rows + 1)
    with pytest.raises(ValueError, match="must lie in 0 to"):
        Program(lpddr5, row, 2, first_row=lpddr5.rows - 1)


def test_transfers_behind_the_last_row_stay_behind_it(lpddr5):
    packer = Packer(lpddr5)
    packer.mac(64)
    packer.transfer(Op.RDB, 1)
    packer.mac(3)
    packer.transfer(Op.WRB, 1)
    packer.mac(1)
    packer.transfer(Op.RDB, 2)
    first, second = ([op.name for op, _, _ in segment] for segment in packer.packed())
    assert first == ["ACTAB", *["MACAB"] * 64, "PREAB"]
    assert second == [
        *("ACTAB", "RDB", "MACAB", "MACAB", "MACAB", "WRB", "MACAB", "RDB", "RDB", "PREAB")
    ]
