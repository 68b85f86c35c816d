# SPDX-License-Identifier: Apache-2.0
"""Batches of a run, counted by hand."""

from collections import Counter

import pytest

from ahasd.system.metrics.drafting import drafting
from ahasd.system.metrics.log import RunLog


def test_lengths_ends_and_the_course_of_what_is_adapted():
    log = RunLog(batches=Counter({("rule", 1): 2, ("rule", 3): 1, ("cap", 4): 3, ("link", 3): 2}))
    for request, value in ((0, 0.5), (0, 0.25), (1, 0.75)):
        log.note_policy(request, {"lambda": value})
    log.note_policy(1, {})
    assert log.policy_request == {"lambda": [0, 0, 1]}
    assert drafting(log, 4) == {
        "batches": 8,
        "mean_length_tokens": 23 / 8,
        # lengths 1 1 3 4 4 4 3 3: squares sum to 77
        "sd_length_tokens": pytest.approx((77 / 8 - (23 / 8) ** 2) ** 0.5),
        "batches_by_length": {"1": 2, "3": 3, "4": 3},
        "ended_by": {"rule": 3, "cap": 3, "request_end": 0, "link": 2},
        "early_exits": 3,
        "early_exit_rate": 3 / 8,
        "requested_tokens": 32,
        "generated_tokens": 23,
        "policy": {
            "lambda": {
                "first": 0.5,
                "last": 0.75,
                "least": 0.25,
                "most": 0.75,
                "mean": 0.5,
                "sd": pytest.approx((0.125 / 3) ** 0.5),
            }
        },
    }


def test_a_run_without_a_batch_has_no_mean():
    found = drafting(RunLog(), 16)
    assert (found["mean_length_tokens"], found["early_exit_rate"], found["policy"]) == (
        None,
        None,
        {},
    )
