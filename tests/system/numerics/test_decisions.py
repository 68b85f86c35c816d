# SPDX-License-Identifier: Apache-2.0
"""Decisions that come out otherwise with other numbers, by hand."""

import pytest

from ahasd.system.drafting.base import Drafting
from ahasd.system.drafting.svip import Svip
from ahasd.system.numerics.decisions import compare


def _rule() -> Drafting:
    return Drafting(Svip(), k_max=3)  # stops behind an entropy above 0.6 nat


@pytest.fixture
def traces(build_trace):
    def build(entropies):
        return build_trace([([1, 2], [[1, 2, 3], [2, 3, 4]])], entropies=entropies)

    return build


def test_equal_numbers_change_nothing(traces):
    one = traces([[0.1, 0.7, 0.1], [0.1, 0.1, 0.1]])
    found = compare(one, one, _rule)
    assert (found.batches, found.lengths_changed, found.length_change) == (2, 0, 0)
    assert set(found.bucket_flips.values()) == {0}


def test_a_length_and_a_bucket_that_change(traces):
    # First row: 0.7 ends the batch with the second token; 0.59 lets it go on to the cap.
    # Second row: both go to the cap; the mean rises from 0.5 to 0.59.
    reference = traces([[0.1, 0.7, 0.1], [0.5, 0.5, 0.5]])
    other = traces([[0.1, 0.59, 0.1], [0.59, 0.59, 0.59]])
    found = compare(reference, other, _rule)
    assert found.lengths_changed == 1 / 2
    assert (found.mean_length_reference, found.mean_length) == (2.5, 3)
    assert found.length_change == pytest.approx(0.2)
    # sqrt4 has boundaries at 4*(i/8)^2: 0.0625, 0.25, 0.5625. Means of the reference's batches:
    # 0.4 and 0.345 are both in the third bucket, 0.5 and 0.59 are not.
    assert found.bucket_flips["sqrt4"] == 1 / 2
    # linear4 has them at 0.5 and 1: neither 0.4 nor 0.345, both 0.5 and 0.59.
    assert found.bucket_flips["linear4"] == 0
    assert found.bucket_flips["linear10"] == 0


def test_traces_of_different_drafts_are_refused(build_trace, traces):
    other = build_trace([([1, 2], [[1, 2, 3], [2, 3, 9]])])
    with pytest.raises(ValueError, match="the same drafts"):
        compare(traces([[0.1] * 3] * 2), other, _rule)
