# SPDX-License-Identifier: Apache-2.0
"""Hugging Face Transformers' two rules."""

import random
from fractions import Fraction

import pytest

from ahasd.system.drafting.base import Judged
from ahasd.system.drafting.hf_confidence import HfConfidence
from ahasd.system.drafting.hf_heuristic import HfHeuristic


def test_the_heuristic_grows_by_two_and_shrinks_by_one(judged):
    rule = HfHeuristic(k0=3, k_max=16)
    seen = []
    for drafted, accepted in [(3, 3), (5, 5), (7, 6), (6, 0), (5, 5), (1, 1)]:
        rule.feedback(judged(drafted, accepted))
        seen.append(rule.length)
    assert seen == [5, 7, 6, 5, 7, 9]


def test_the_heuristic_stays_between_one_and_the_cap(judged):
    rule = HfHeuristic(k0=2, k_max=5)
    for _ in range(3):
        rule.feedback(judged(2, 1))
    assert rule.length == 1
    for _ in range(4):
        rule.feedback(judged(2, 2))
    assert rule.length == 5


def test_the_heuristic_trips_at_its_length(token, judged):
    rule = HfHeuristic(k0=2, k_max=8)
    assert [rule.trips(index, token()) for index in (1, 2, 3)] == [False, True, True]
    rule.feedback(judged(2, 2))
    assert [rule.trips(index, token()) for index in (3, 4)] == [False, True]


@pytest.mark.parametrize(("restart", "length"), [(False, 7), (True, 5)])
def test_the_heuristic_keeps_its_length_over_requests_unless_transient(judged, restart, length):
    rule = HfHeuristic(k0=5, k_max=16, restart_per_request=restart)
    rule.feedback(judged(5, 5))
    rule.begin_request()
    assert rule.length == length


@pytest.mark.parametrize(("signal", "other"), [("p_token", "p_top1"), ("p_top1", "p_token")])
def test_confidence_trips_below_its_threshold(token, signal, other):
    rule = HfConfidence(threshold0=0.4, signal=signal)
    assert rule.trips(1, token(**{signal: 0.399, other: 0.9}))
    assert not rule.trips(1, token(**{signal: 0.4, other: 0.1}))


def _verdict(token, probabilities, accepted):
    return Judged(tuple(token(p_token=p) for p in probabilities), accepted)


def test_confidence_fits_its_threshold_as_worked_out_by_hand(token):
    rule = HfConfidence()
    # Right: 0.9, 0.8, 0.3; wrong: 0.5, 0.2; what follows a wrong token is unknown.
    rule.feedback(_verdict(token, [0.9, 0.8, 0.5, 0.1, 0.1], 2))
    rule.feedback(_verdict(token, [0.3, 0.2], 1))
    assert rule.threshold == 0.4  # five tokens are too few
    rule.feedback(_verdict(token, [0.7], 1))
    # Right 0.9 0.8 0.7 0.3, wrong 0.5 0.2. Cost fpr + 3 fnr at a threshold of
    # 0.9: 9/4; 0.8: 6/4; 0.7: 3/4; 0.5: 1/2 + 3/4; 0.3: 1/2; 0.2: 1.
    assert rule.threshold == 0.3


def test_of_equal_costs_confidence_takes_the_highest_threshold(token):
    rule = HfConfidence()
    # Right 0.9 twice and 0.4, wrong 0.6 and three below: 0.9 costs 3 / 3, and 0.4 costs 1 / 4.
    rule.feedback(_verdict(token, [0.9, 0.9, 0.4, 0.6], 3))
    for p in (0.1, 0.1, 0.1):
        rule.feedback(_verdict(token, [p], 0))
    assert rule.threshold == 0.4
    # One wrong at 0.8 costs 1 / n: right 0.9 and 0.5, equal where 1 wrong in 2 meets 3 x 1 in 6.
    rule = HfConfidence()
    rule.feedback(_verdict(token, [0.9, 0.9, 0.9, 0.9, 0.9, 0.5, 0.8], 6))
    rule.feedback(_verdict(token, [0.1], 0))
    assert rule.threshold == 0.9  # 0.9 costs 3 / 6, and so does 0.5: 1 / 2


def _best_threshold(samples):
    """Try every probability as a threshold, in exact fractions."""
    right = [p for p, good in samples if good]
    wrong = [p for p, good in samples if not good]

    def cost(threshold):
        false_positive = Fraction(sum(p >= threshold for p in wrong), len(wrong))
        false_negative = Fraction(sum(p < threshold for p in right), len(right))
        return false_positive + 3 * false_negative, -threshold

    return min((p for p, _ in samples), key=cost)


@pytest.mark.parametrize("seed", range(5))
def test_confidence_fits_the_best_of_all_thresholds(token, seed):
    draw = random.Random(seed)
    rule, samples = HfConfidence(), []
    for _ in range(40):
        batch = [draw.randrange(1, 21) / 20 for _ in range(4)]
        accepted = next((i for i, p in enumerate(batch) if draw.random() > p), 4)
        samples += [(p, i < accepted) for i, p in enumerate(batch[: accepted + 1])]
        rule.feedback(_verdict(token, batch, accepted))
        if len(samples) > 5 and len({good for _, good in samples}) == 2:
            assert rule.threshold == _best_threshold(samples)
        else:
            assert rule.threshold == 0.4


def test_confidence_needs_both_kinds_of_tokens(token):
    rule = HfConfidence()
    rule.feedback(_verdict(token, [0.9] * 9, 9))
    assert rule.threshold == 0.4
    rule.feedback(_verdict(token, [0.1], 0))
    assert rule.threshold == 0.9
    rule = HfConfidence()
    for _ in range(9):
        rule.feedback(_verdict(token, [0.9], 0))
    assert rule.threshold == 0.4


def test_confidence_without_a_fit_stays(token):
    rule = HfConfidence(refit=False)
    rule.feedback(_verdict(token, [0.9] * 9, 8))
    assert (rule.threshold, rule.scores) == (0.4, [])


@pytest.mark.parametrize("restart", [True, False])
def test_confidence_forgets_at_a_new_request_if_so_told(token, restart):
    rule = HfConfidence(restart_per_request=restart)
    rule.feedback(_verdict(token, [0.9] * 6 + [0.2], 6))
    assert rule.threshold == 0.9
    rule.begin_request()
    if restart:
        assert rule == HfConfidence()
    else:
        assert (rule.threshold, rule.scores, rule.counts) == (0.9, [0.2, 0.9], [[1, 0], [0, 6]])
