# SPDX-License-Identifier: Apache-2.0
"""Our controller beside peers' results."""

import pytest

from ahasd.system.validation import dram
from ahasd.system.validation.rows import ALLOWED, Row

pytestmark = pytest.mark.slow  # the record's quick rows are always checked


@pytest.fixture(scope="module")
def few():
    """Every case with a tenth of the requests."""
    return dram.rows(20_000)


def test_every_case_is_within_the_allowed_error_or_says_why(few):
    # A row above the allowed error without a reason cannot be made.
    above = {row.case for row in few if abs(row.error) > ALLOWED}
    assert above <= {
        "LPDDR5-6400 read, REFab, stream of 8.63 GB/s: latency of random reads",
        "LPDDR5-6400 read, REFab, stream of 10.2 GB/s: latency of random reads",
        "HBM2, 64 channels, GEMV 1024 x 1024 without PIM",
    }


def test_all_three_peers_and_both_kinds_of_result_are_there(few):
    assert {row.peer for row in few} == {dram.RAMULATOR, dram.DRAMSIM3, dram.PIMSIMULATOR}
    assert {row.unit for row in few} == {"MB/s", "GB/s", "cycles", "ns"}
    assert len({(row.peer, row.case) for row in few}) == len(few) == 35


def test_no_rate_is_above_the_peak(few):
    peaks = {"LPDDR5-6400": 12_800, "LPDDR4-2400": 19.28, "LPDDR3-1600": 12.8, "HBM2": 256}
    for row in few:
        name = next(name for name in peaks if row.case.startswith(name))
        if row.unit in ("MB/s", "GB/s"):
            assert row.ours <= peaks[name]


def test_a_refresh_costs_its_share(few):
    # (tRTP + tRPab + tRFC + tRCD) / tREFI = 264 / 3124, less what the queue makes up for.
    rates = {row.case: row.ours for row in few if row.unit == "MB/s" and "stream" in row.case}
    with_refresh = rates["LPDDR5-6400 read, stream, MOP4CLXOR, REFab"]
    without = rates["LPDDR5-6400 read, stream, MOP4CLXOR, no refresh"]
    assert 1 - 270 / 3124 < with_refresh / without < 1 - 224 / 3124


def test_a_wrong_rate_needs_a_reason():
    with pytest.raises(ValueError, match=r"error \+20.0% is above 10% and has no reason"):
        Row(peer="a", case="b", unit="GB/s", theirs=10, ours=12)
