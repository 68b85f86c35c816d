# SPDX-License-Identifier: Apache-2.0
"""Address mappings and traffic."""

from dataclasses import replace

import numpy as np
import pytest

from ahasd.system.devices.dram.controller_mapping import (
    FIELDS,
    FOUR_LINES_XOR,
    GROUPS_INTERLEAVED,
    MAPPINGS,
    ROW_BANK_RANK_COLUMN,
    Mapping,
)
from ahasd.system.devices.dram.controller_traffic import mixed, random, strided


@pytest.fixture
def small(load):
    """Four groups of four banks, 64 bursts of 32 bytes a row."""
    return load("lpddr5-6400", channels=1, ranks=2, rows=8)


@pytest.mark.parametrize("name", MAPPINGS)
def test_every_burst_has_a_place_of_its_own(small, name):
    bursts = small.ranks * small.banks * small.rows * small.bursts_per_row
    places = MAPPINGS[name].places(small, np.arange(bursts) * 32)
    assert len(np.unique(places, axis=0)) == bursts
    sizes = (small.ranks, small.bank_groups, small.banks_per_group, small.rows, 64)
    assert (places.max(axis=0) == np.array(sizes) - 1).all()
    assert places.min() == 0


def place(timing, mapping, burst):
    (found,) = mapping.places(timing, np.array([burst * timing.burst_bytes]))
    return dict(zip(FIELDS, found.tolist(), strict=True))


def test_rows_follow_each_other_over_ranks_groups_and_banks(small):
    def at(burst):
        return place(small, ROW_BANK_RANK_COLUMN, burst)

    assert at(63) == {"rank": 0, "group": 0, "bank": 0, "row": 0, "column": 63}
    assert at(64) == {"rank": 1, "group": 0, "bank": 0, "row": 0, "column": 0}
    assert at(128) == {"rank": 0, "group": 1, "bank": 0, "row": 0, "column": 0}
    assert at(64 * 8) == {"rank": 0, "group": 0, "bank": 1, "row": 0, "column": 0}
    assert at(64 * 32) == {"rank": 0, "group": 0, "bank": 0, "row": 1, "column": 0}


def test_four_lines_are_spread_by_their_column(small):
    # One rank: bits from the lowest are column 0-1, group, bank, column 2-5, row; then group is
    # changed by column bits 0-1, bank by 2-3 and row by 4-5.
    one = replace(small, ranks=1)
    found = [place(one, FOUR_LINES_XOR, burst) for burst in range(5)]
    assert [each["group"] for each in found] == [0, 1, 2, 3, 1]
    assert [each["column"] for each in found] == [0, 1, 2, 3, 0]
    # Column 0b101100: bank 0 ^ 3, row 0 ^ 2.
    burst = 0b1011 << 6
    assert place(one, FOUR_LINES_XOR, burst) == {
        "rank": 0,
        "group": 0,
        "bank": 3,
        "row": 2,
        "column": 0b101100,
    }


def test_interleaved_groups_change_with_each_burst(small):
    found = [place(small, GROUPS_INTERLEAVED, burst)["group"] for burst in range(6)]
    assert found == [0, 1, 2, 3, 0, 1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"order": ("row", "bank")}, "must have each of"),
        ({"order": ("row", "row", "bank", "group", "rank")}, "must have each of"),
        ({"low_columns": 3}, "low_columns = 3 must be a power of two"),
        ({"low_columns": 0}, "low_columns = 0"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        replace(FOUR_LINES_XOR, **change)


def test_a_mapping_that_does_not_suit_the_memory_is_refused(small):
    wide = Mapping(order=ROW_BANK_RANK_COLUMN.order, low_columns=128)
    with pytest.raises(ValueError, match="low_columns = 128 must divide the 64 bursts"):
        wide.places(small, np.array([0]))
    with pytest.raises(ValueError, match=r"xor needs powers of two; \['rank'\]"):
        FOUR_LINES_XOR.places(replace(small, ranks=3), np.array([0]))


def test_strides_touch_every_burst_once_before_any_again():
    addresses = strided(32, 256, 64, 2048)
    assert sorted(addresses.tolist()) == list(range(0, 2048, 64))
    assert addresses[:3].tolist() == [0, 256, 512]
    assert addresses[8] == 64


def test_random_bursts_and_mixes_are_what_their_seed_says():
    first = random(np.random.default_rng(5), 1000, 64, 2**16)
    again = random(np.random.default_rng(5), 1000, 64, 2**16)
    assert first.tolist() == again.tolist()
    assert (first % 64 == 0).all()
    assert first.min() >= 0
    assert first.max() < 2**16
    share = mixed(np.random.default_rng(5), first, 0.75).writes.mean()
    assert 0.2 < share < 0.3
