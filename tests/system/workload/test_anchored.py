# SPDX-License-Identifier: Apache-2.0
import numpy as np

from ahasd.system.workload.anchored import rollouts, runs


def test_runs_count_right_tokens_up_to_the_first_wrong_one():
    right = np.array([[1, 1, 0, 1, 1, 1], [0, 0, 1, 1, 0, 1]], bool)
    assert runs(right, k_max=3).tolist() == [[2, 1, 0, 3], [0, 0, 2, 1]]


def test_single_steps_are_right_or_not():
    assert runs(np.array([[1, 0]], bool), k_max=1).tolist() == [[1, 0]]


def test_a_rollout_walks_the_committed_path_and_then_follows_its_first_wrong_token():
    # values[r, p, j] = 100 p + j, and 1000 more in request 1
    values = np.arange(6)[:, None] * 100 + np.arange(3)
    values = np.stack([values, values + 1000])
    run = np.array([[2, 1, 0, 3], [0, 0, 2, 1]])
    assert rollouts(values, run).tolist() == [
        [[0, 100, 200], [100, 200, 201], [200, 201, 202], [300, 400, 500]],
        [[1000, 1001, 1002], [1100, 1101, 1102], [1200, 1300, 1400], [1300, 1400, 1401]],
    ]
