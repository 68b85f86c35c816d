# SPDX-License-Identifier: Apache-2.0
"""Figures of five steps, worked out by hand, and of many, by brute force from their tokens."""

import random

import pytest

from ahasd.system.metrics.speculation import by_position, speculation

# right, right, wrong | all of two right | nothing drafted | wrong, and one more | one right
DRAFTED = [3, 2, 0, 2, 1]
ACCEPTED = [2, 2, 0, 0, 1]
EMITTED = [3, 3, 1, 1, 1]  # no bonus behind the last, as at the end of a request


def test_figures_of_five_steps():
    assert speculation(DRAFTED, ACCEPTED, EMITTED) == {
        "num_spec_steps": 5,
        "num_draft_tokens": 8,
        "num_accepted_draft_tokens": 5,
        "mean_acceptance_length": 2.0,
        "mean_accepted_tokens": 1.0,
        "mean_emitted_tokens": 9 / 5,
        "draft_acceptance_rate": 5 / 8,
        "alpha": 5 / 7,
        "accepted_per_verified": pytest.approx((3 / 4 + 1 + 1 + 1 / 3 + 1) / 5),
        "acceptance_histogram": {"0": 2, "1": 1, "2": 2},
    }


def test_acceptance_by_position_of_five_steps():
    assert by_position(DRAFTED, ACCEPTED) == {
        "1": {"drafted": 4, "tested": 4, "accepted": 3, "of_all_steps": 0.6, "of_tested": 0.75},
        "2": {"drafted": 3, "tested": 2, "accepted": 2, "of_all_steps": 0.4, "of_tested": 1.0},
        "3": {"drafted": 1, "tested": 1, "accepted": 0, "of_all_steps": 0.0, "of_tested": 0.0},
    }


def test_a_place_that_no_right_draft_reached_has_no_share_of_tested():
    assert by_position([2], [0])["2"] == {
        "drafted": 1,
        "tested": 0,
        "accepted": 0,
        "of_all_steps": 0.0,
        "of_tested": None,
    }


def test_without_drafts_there_are_steps_and_no_rates():
    found = speculation([0, 0], [0, 0], [1, 1])
    assert (found["num_spec_steps"], found["mean_acceptance_length"]) == (2, 1.0)
    assert (found["draft_acceptance_rate"], found["alpha"]) == (None, None)
    assert by_position([0, 0], [0, 0]) == {}
    nothing = speculation([], [], [])
    assert nothing["mean_acceptance_length"] is None
    assert nothing["acceptance_histogram"] == {}


def test_many_steps_give_what_counting_token_by_token_gives():
    draw = random.Random(0)
    steps = [[draw.random() < 0.7 for _ in range(draw.randrange(9))] for _ in range(500)]
    runs = [next((i for i, right in enumerate(s) if not right), len(s)) for s in steps]
    tested = [right for s, n in zip(steps, runs, strict=True) for right in s[: n + 1]]
    found = speculation([len(s) for s in steps], runs, [n + 1 for n in runs])
    assert found["alpha"] == sum(tested) / len(tested)
    assert found["mean_emitted_tokens"] == pytest.approx(found["mean_acceptance_length"])
    places = by_position([len(s) for s in steps], runs)
    for place in range(8):
        reached = [
            s[place] for s, n in zip(steps, runs, strict=True) if place < len(s) > 0 <= n - place
        ]
        accepted = sum(place < n for n in runs)
        assert places[str(place + 1)] == {
            "drafted": sum(place < len(s) for s in steps),
            "tested": len(reached),
            "accepted": accepted,
            "of_all_steps": accepted / 500,
            "of_tested": sum(reached) / len(reached),
        }
    assert sum(place["accepted"] for place in places.values()) == sum(runs)
