# SPDX-License-Identifier: Apache-2.0
"""How far apart MACab commands are, against the printed rates by hand."""

import pytest

from ahasd.system.devices.pim.unit import mac_bytes, pace, paced
from ahasd.system.platform import load_platform


def pim(**changes):
    return load_platform("mobile-paper", {f"pim.{key}": each for key, each in changes.items()}).pim


@pytest.mark.parametrize(
    ("changes", "slots", "cycles", "limit"),
    [
        # 512 B a MACab. 256 GB/s / 16 = 16 GB/s: 32 ns = 25.6 cycles of 1.25 ns.
        ({}, 1, 26, "bandwidth"),
        # 51.2 GMAC/s: 10 ns a slot of 512, so bandwidth binds up to three slots (24 cycles).
        ({}, 3, 26, "bandwidth"),
        ({}, 4, 32, "compute"),
        # 512 B / 256 GB/s = 2 ns, 512 MAC / 51.2 GMAC/s = 10 ns = 8 cycles.
        ({"bandwidth_scope": "per_rank"}, 1, 8, "compute"),
        ({"bandwidth_scope": "per_rank", "gops_counts": "mac"}, 1, 4, "t_mac"),
        # 102.4 GOPS in total: 3.2 GMAC/s a unit, 160 ns = 128 cycles.
        ({"gops_scope": "total"}, 1, 128, "compute"),
        # Faster than the banks allow: tCCD_L.
        ({"bandwidth_scope": "per_rank", "gops": 1e5}, 1, 4, "t_mac"),
    ],
)
def test_the_spacing_is_that_of_the_slowest_limit(lpddr5, changes, slots, cycles, limit):
    found = pace(pim(**changes), lpddr5, slots)
    assert (found.cycles, found.limit) == (cycles, limit)
    assert paced(lpddr5, found).t_mac == cycles


def test_a_mac_reads_a_burst_of_every_bank(lpddr5):
    assert mac_bytes(lpddr5) == 16 * 32


def test_a_unit_that_does_nothing_is_refused(lpddr5):
    with pytest.raises(ValueError, match="slots = 0 must be at least 1"):
        pace(pim(), lpddr5, 0)
