# SPDX-License-Identifier: Apache-2.0
"""Logits that match what a trace tells of them."""

from typing import cast

import numpy as np
import pytest

from ahasd.system.numerics.logits import (
    DEPTH_MAX,
    LARGEST,
    TAILS,
    Tail,
    TailModel,
    capped,
    entropy_nats,
)


def test_masses_in_proportion_with_a_cap_by_hand():
    # Shares of 8 by 4 : 2 : 1 : 1 would be 4, 2, 1, 1; at most 3 leaves 5 for 2 : 1 : 1.
    weights, ones = np.array([[4.0, 2.0, 1.0, 1.0]]), np.ones(4)
    total = np.array([8.0])
    assert capped(weights, ones, total, np.array([9.0]))[0] == pytest.approx([4, 2, 1, 1])
    assert capped(weights, ones, total, np.array([3.0]))[0] == pytest.approx([3, 2.5, 1.25, 1.25])
    assert capped(weights, ones, total, np.array([2.0]))[0] == pytest.approx([2, 2, 2, 2])
    # Two members of 2 in the first bin; what is left, 4, by 2 : 1 : 1 : 1.
    sizes = np.array([2.0, 1.0, 1.0, 2.0])
    assert capped(weights, sizes, total, np.array([2.0]))[0] == pytest.approx([2, 1.6, 0.8, 0.8])


def test_entropy_of_a_softmax_by_hand():
    # One of four with 1/2, two with 1/6, one with 1/6: ln 2 / 2 + ln 6 / 2.
    found, largest = entropy_nats(np.log([1 / 2, 1 / 6, 1 / 6, 1 / 6]) + 7)
    assert found == pytest.approx(np.log(2) / 2 + np.log(6) / 2)
    assert largest == pytest.approx(1 / 2)


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize(
    ("p1", "p2", "wanted"),
    [(0.5, 0.2, 1.6), (0.3, 0.1, 3.0), (0.9, 0.05, 0.6), (0.05, 0.04, 6.0), (0.7, 0.29, 0.7)],
)
def test_logits_have_the_probabilities_and_the_entropy(tail, p1, p2, wanted):
    model = TailModel(8192, tail)
    steepness = model.steepness(*(np.array([value]) for value in (p1, p2, wanted)))
    logits = model.logits(p1, p2, float(steepness[0]))
    assert logits.shape == (8192,)
    assert (np.diff(logits) <= 1e-9).all()
    assert logits[0] == LARGEST
    assert logits[-1] >= LARGEST - DEPTH_MAX
    powers = np.exp(logits - logits.max())
    assert powers[:2] / powers.sum() == pytest.approx([p1, p2], rel=1e-6)
    assert entropy_nats(logits)[0] == pytest.approx(wanted, abs=2e-3)


@pytest.mark.parametrize("tail", TAILS)
def test_what_no_tail_reaches_is_met_as_nearly_as_can_be(tail):
    model = TailModel(4096, tail)
    # A flat tail has the most entropy, one of as few tokens as the cap allows the least.
    most = -0.5 * np.log(0.5) - 0.1 * np.log(0.1) - 0.4 * np.log(0.4 / 4094)
    least = -0.5 * np.log(0.5) - 5 * 0.1 * np.log(0.1)
    for wanted, reached in ((12.0, most), (0.1, least)):
        steepness = model.steepness(np.array([0.5]), np.array([0.1]), np.array([wanted]))
        assert entropy_nats(model.logits(0.5, 0.1, float(steepness[0])))[0] == pytest.approx(
            reached, abs=1e-3
        )


def test_families_differ_where_they_have_the_same_entropy():
    rows = [np.array([value]) for value in (0.4, 0.1, 2.5)]
    tails = []
    for tail in TAILS:
        model = TailModel(4096, tail)
        tails.append(model.logits(0.4, 0.1, float(model.steepness(*rows)[0])))
    assert np.abs(tails[0] - tails[1]).max() > 1


def test_what_is_no_vocabulary_or_no_family_is_refused():
    with pytest.raises(ValueError, match="at least 4, not 3"):
        TailModel(3, "power")
    with pytest.raises(ValueError, match="power, exponential, not 'flat'"):
        TailModel(8, cast(Tail, "flat"))
