# SPDX-License-Identifier: Apache-2.0
"""Attention as commands: counts by hand."""

from collections import Counter

import pytest

from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.pim.attention import Attention


def counted(segments):
    return Counter(op for segment in segments for op, _, _ in segment)


def test_a_head_reads_its_keys_and_values_once(lpddr5):
    # 1024 tokens x 128 elements x 2 B, keys and values: 512 KiB = 1024 MACab of 512 B. A key is 8
    # bursts, so 8 rows; values have 8 groups of 16 elements, a row of 64 bursts each.
    counts = counted(Attention(context=1024, head_dim=128).segments(lpddr5))
    assert counts[Op.MACAB] * 512 == 2 * 1024 * 128 * 2
    assert counts[Op.ACTAB] == counts[Op.PREAB] == 8 + 8
    # The query, 256 B; the mix, 8 x 16 x 4 B.
    assert counts[Op.WRB] == 8
    assert counts[Op.RDB] == 16


def test_a_context_that_fills_no_burst_reads_whole_ones(lpddr5):
    # 17 tokens: two groups of banks; 34 B of values an element are two bursts.
    counts = counted(Attention(context=17, head_dim=128).segments(lpddr5))
    assert counts[Op.MACAB] == 2 * 8 + 8 * 2
    assert counts[Op.ACTAB] == 1 + 8


def test_query_heads_of_a_kv_head_share_its_reads(lpddr5):
    alone = counted(Attention(context=512, head_dim=64).segments(lpddr5))
    grouped = counted(Attention(context=512, head_dim=64, queries=4).segments(lpddr5))
    assert grouped[Op.MACAB] == alone[Op.MACAB]
    assert grouped[Op.WRB] == 4 * alone[Op.WRB]
    assert grouped[Op.RDB] == 4 * alone[Op.RDB]
    assert Attention(context=1, head_dim=64, queries=4, tokens=3).rows_a_turn == 12


def test_queries_beyond_the_buffer_take_turns_that_read_the_cache_again(lpddr5):
    # 16 queries of 512 B in 2 KiB: four turns of four.
    few = Attention(context=64, head_dim=256, queries=4, buffer_bytes=2048)
    many = Attention(context=64, head_dim=256, queries=16, buffer_bytes=2048)
    assert (few.turns, few.rows_a_turn) == (1, 4)
    assert (many.turns, many.rows_a_turn) == (4, 4)
    once, again = counted(few.segments(lpddr5)), counted(many.segments(lpddr5))
    assert again == {op: 4 * count for op, count in once.items()}


def test_probabilities_beyond_the_buffer_come_in_chunks_with_results_of_each(lpddr5):
    # 2000 tokens x 2 B exceed 2 KiB: chunks of 1024 and 976, each of which has its sums.
    counts = counted(Attention(context=2000, head_dim=64, buffer_bytes=2048).segments(lpddr5))
    assert counts[Op.RDB] == 2 * 4 * 2
    assert counts[Op.MACAB] == 125 * 4 + 4 * (64 + 61)


@pytest.mark.parametrize("kv_bytes", [1, 2])
@pytest.mark.parametrize("buffer_bytes", [2048, 16_384])
def test_contexts_have_the_same_commands_where_they_have_the_same_columns(
    lpddr5, kv_bytes, buffer_bytes
):
    seen = {}
    for context in range(1500):
        head = Attention(
            context=context, head_dim=64, queries=3, kv_bytes=kv_bytes, buffer_bytes=buffer_bytes
        )
        segments = head.segments(lpddr5)
        assert seen.setdefault(head.columns(lpddr5), segments) == segments
    assert len(seen) == 1 + -(-1499 // 16)


def test_a_new_token_is_written_as_many_bursts_as_it_has(lpddr5):
    # 128 elements of 2 B: 8 bursts of keys into one bank, 8 of values into eight.
    counts = counted(Attention(context=5, head_dim=128).append_segments(lpddr5))
    assert counts == {Op.ACT: 9, Op.WR: 16, Op.PREAB: 2}
    # 256 elements: 16 and 16; 1 B each: half. Three tokens: three times.
    wide = Attention(context=5, head_dim=256, kv_bytes=1, tokens=3)
    assert counted(wide.append_segments(lpddr5))[Op.WR] == 3 * (8 + 8)
    # 20 bursts of values, one in each row of a bank: sixteen banks, then four.
    long = Attention(context=5, head_dim=320).append_segments(lpddr5)
    assert [counted([segment])[Op.ACT] for segment in long] == [1, 16, 4]


def test_without_context_there_is_nothing_to_attend_to(lpddr5):
    assert Attention(context=0, head_dim=64).segments(lpddr5) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"context": -1}, "context = -1 must not be negative"),
        ({"head_dim": 0}, "head_dim = 0 must be at least 1"),
        ({"queries": 0}, "queries = 0 must be at least 1"),
        ({"tokens": -2}, "tokens = -2 must be at least 1"),
        ({"kv_bytes": 4}, r"kv_bytes = 4 must be 1 \(INT8\) or 2"),
        ({"buffer_bytes": 64}, "a query of 128 bytes exceeds buffer_bytes = 64"),
    ],
)
def test_numbers_out_of_range_are_refused(changes, told):
    with pytest.raises(ValueError, match=told):
        Attention(**({"context": 4, "head_dim": 64} | changes))
