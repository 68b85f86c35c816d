# SPDX-License-Identifier: Apache-2.0
"""Gates as silicon, against figures worked out by hand."""

import pytest

from ahasd.synth.nodes import DIES, NODES
from ahasd.synth.silicon import shares_percent, silicon_mm2, verdict


def test_200_000_gates_are_a_tenth_of_a_square_millimetre_of_logic():
    mm2 = silicon_mm2(200_000)
    assert mm2["logic"] == pytest.approx((0.0833, 0.1399), abs=1e-4)  # at 2.4 and 1.43 MGE/mm2
    assert mm2["dram"] == pytest.approx((0.712, 0.712), abs=1e-3)  # HBM-PIM's own unit
    assert mm2["x10"] == pytest.approx((0.833, 1.399), abs=1e-3)


def test_macros_go_by_the_bit():
    mm2 = silicon_mm2(0, macro_bits=86_016)  # 10.5 KB
    assert mm2["logic"] == pytest.approx((0.0258, 0.1290), abs=1e-4)  # 0.3 and 1.5 um2 a bit
    assert mm2["dram"] == pytest.approx((0.129, 1.032), abs=1e-3)  # five and eight times that
    assert mm2["x10"] == pytest.approx((0.258, 1.290), abs=1e-3)


@pytest.mark.parametrize(
    ("die", "logic", "dram"),
    [
        ("18 mm2", 0.78, 3.9),
        ("12 Gb 1a", 0.38, 1.9),
        ("12 Gb 1z", 0.32, 1.6),
        ("16 Gb 1z", 0.24, 1.2),
    ],
)
def test_shares_of_dies_are_those_of_the_published_estimate(die, logic, dram):
    """Table for a unit of 200 kGE: 0.14 mm2 of logic, 0.71 mm2 at DRAM density."""
    shares = {
        share["conversion"]: share
        for share in shares_percent(silicon_mm2(200_000))
        if share["die"] == die
    }
    assert shares["logic"]["of_die"][1] == pytest.approx(logic, abs=0.006)
    assert shares["dram"]["of_die"][1] == pytest.approx(dram, abs=0.06)
    for share in shares.values():
        assert share["of_rank"] == pytest.approx([half / 2 for half in share["of_die"]])


def test_every_conversion_meets_every_die():
    shares = shares_percent(silicon_mm2(1000))
    assert len(shares) == 3 * len(DIES) == len({(s["conversion"], s["die"]) for s in shares})


@pytest.mark.parametrize(
    ("share", "told"),
    [
        ((0.1, 2.99), "holds"),
        ((3.0, 3.0), "fails"),
        ((2.9, 3.0), "open"),
        ((4.0, 9.0), "fails"),
    ],
)
def test_the_claim_is_judged_by_both_ends(share, told):
    assert verdict(share) == told


@pytest.mark.parametrize(
    ("nm", "area"), [(180, 0.0198), (130, 0.0577), (45, 0.368), (28, 1.0), (7, 6.26)]
)
def test_areas_scale_as_between_the_published_neighbours(nm, area):
    """Factors to 32 and 20 nm of Stillmaker and Baas, 28 nm between them on a log scale."""
    assert NODES[nm].area == pytest.approx(area, rel=0.015)


@pytest.mark.parametrize("nm", [180, 130, 45, 7])
def test_delays_scale_as_the_published_polynomials(nm):
    """Delay over supply of Stillmaker and Baas, high performance; 32 and 20 nm at 0.9 V."""
    cubic = {
        180: (0, 97.09, -356.7, 406.5),
        130: (-76.65, 334.9, -493.4, 275.8),
        45: (-501.6, 1567, -1619, 566.1),
        7: (-28.58, 76.6, -70.26, 24.69),
        32: (-1047, 2982, -2797, 873.5),
        20: (0, 34.63, -66.37, 41.15),
    }

    def delay(node: int, volts: float) -> float:
        a, b, c, d = cubic[node]
        return a * volts**3 + b * volts**2 + c * volts + d

    held = NODES[nm]
    source = delay(nm, held.supply_v)
    assert held.delay.low == pytest.approx(delay(32, 0.9) / source, rel=0.02)
    assert held.delay.high == pytest.approx(delay(20, 0.9) / source, rel=0.02)
