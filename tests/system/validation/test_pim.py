# SPDX-License-Identifier: Apache-2.0
"""Our PIM kernels beside PIMSimulator's and AttAcc's."""

import pytest

from ahasd.system.validation import pim


def test_every_row_but_one_is_within_ten_percent():
    rows = pim.rows()
    assert [row.peer for row in rows] == ["PIMSimulator"] * 7 + ["AttAcc"] * 11
    far = [row for row in rows if abs(row.error) > 0.1]
    assert [row.case for row in far] == ["gpt-175b, 1 sequence, attention at banks"]
    # The one thing that closes the gap.
    assert pim.step_ms(mac_cycles=8) == pytest.approx(far[0].theirs, rel=0.02)


def test_a_head_at_the_banks_takes_the_cycles_of_its_commands():
    # 128 tokens: 8 columns x 2 pieces, keys and values: tRCD 19 + 15 x 6 + tRTP 8 + tRP 19 a row;
    # between them the 8 moves of an only head, 2 apart while the row opens, WL 6 + BL 2 to arrive.
    row = 19 + 15 * 6 + 8 + 19
    assert pim.attacc_bank_cycles(128, 16) == row + row + (7 * 2 + 6 + 2 - 19)
    # Of a pair, moves hide.
    assert pim.attacc_bank_cycles(128, 32) == 4 * row
    assert pim.attacc_bank_cycles(128, 17) == 4 * row


def test_a_tighter_power_limit_is_slower():
    cycles = [pim.attacc_bank_cycles(2048, 64, mac_cycles=each) for each in (4, 6, 8)]
    assert cycles == sorted(cycles)
    # 2048 MACs of two cycles more each, less 63 row changes that have none, and refreshes.
    assert cycles[1] - cycles[0] == pytest.approx(2 * 2048, rel=0.15)


def test_at_the_buffer_bursts_come_one_at_a_time():
    # 4 heads a channel, 2 x 2048 x 128 x 2 B each, half in a pseudo-channel: 65,536 bursts of 2.
    cycles = pim.attacc_buffer_cycles(2048, 64)
    assert 131_072 < cycles < 131_072 / 0.89
