# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahasd.system.devices.closed_forms import (
    async_rate,
    best_split_s,
    oracle_rate,
    sync_rate,
    sync_tokens_per_round,
    time_shared_s,
)

probabilities = st.floats(0, 1)
lengths = st.integers(1, 16)
times_s = st.floats(1e-3, 1)


def test_a_round_worked_by_hand():
    # 1 + 1/2 + 1/4 + 1/8.
    assert sync_tokens_per_round(0.5, 3) == 1.875
    assert sync_rate(0.5, 3, t_draft_s=0.1, t_pass_s=0.7) == pytest.approx(1.875)


@given(st.floats(0, 0.999), lengths)
def test_a_round_is_the_published_expectation(alpha, k):
    expected = (1 - alpha ** (k + 1)) / (1 - alpha)
    assert sync_tokens_per_round(alpha, k) == pytest.approx(expected)


@given(lengths)
def test_a_round_at_the_limits_of_acceptance(k):
    assert sync_tokens_per_round(0.0, k) == 1
    assert sync_tokens_per_round(1.0, k) == k + 1


def test_one_draft_token_commits_one_and_alpha():
    assert sync_tokens_per_round(0.3, 1) == pytest.approx(1.3)


def test_an_asynchronous_step_worked_by_hand():
    # k = 2, alpha = 1/2. Tokens: 1/4 x 2 + 1/2 x 1 + 1/4 x 2 = 1.5.
    # Time: 1/4 x max(10, 2) + 3/4 x (10 + 2) = 11.5.
    assert async_rate(0.5, 2, t_draft_s=1, t_pass_s=10) == pytest.approx(1.5 / 11.5)
    # Drafting the longer: 1/4 x 12 + 3/4 x (10 + 12) = 19.5.
    assert async_rate(0.5, 2, t_draft_s=6, t_pass_s=10) == pytest.approx(1.5 / 19.5)


@given(lengths, times_s, times_s)
def test_an_asynchronous_step_at_the_limits_of_acceptance(k, t_draft, t_pass):
    assert async_rate(0.0, k, t_draft, t_pass) == pytest.approx(1 / (t_pass + k * t_draft))
    assert async_rate(1.0, k, t_draft, t_pass) == pytest.approx(k / max(t_pass, k * t_draft))


@given(probabilities, times_s, times_s)
def test_one_draft_token_asynchronously_commits_one_token_a_pass(alpha, t_draft, t_pass):
    time = alpha * max(t_pass, t_draft) + (1 - alpha) * (t_pass + t_draft)
    assert async_rate(alpha, 1, t_draft, t_pass) == pytest.approx(1 / time)


@pytest.mark.parametrize(
    ("alpha", "k", "t_draft", "t_pass"),
    [(0.75, 4, 0.054, 1.0), (0.9, 8, 0.2, 1.0), (0.6, 3, 0.5, 1.0), (0.9, 5, 0.138, 1.0)],
)
def test_the_asynchronous_rate_is_that_of_two_clocks_run_for_long(alpha, k, t_draft, t_pass):
    # Trials up to the first reject; a batch ends at k whatever comes after.
    trials = np.random.default_rng(20).geometric(1 - alpha, size=100_000)
    drafter = k * t_draft  # when the batch now under way is complete
    verifier = 0.0
    tokens = 0
    for accepted in np.minimum(trials - 1, k).tolist():
        start = max(drafter, verifier)
        verifier = start + t_pass
        tokens += k if accepted == k else accepted + 1
        # The next batch grows during the pass; after a reject it starts over when the pass ends.
        drafter = (start if accepted == k else verifier) + k * t_draft
    assert async_rate(alpha, k, t_draft, t_pass) == pytest.approx(tokens / verifier, rel=0.01)


def test_an_oracle_worked_by_hand():
    # alpha = 3/4: 4 tokens for one pass and 3 draft steps.
    assert oracle_rate(0.75, t_draft_s=1, t_pass_s=10) == pytest.approx(4 / 13)


@given(times_s, times_s)
def test_an_oracle_at_the_limits_of_acceptance(t_draft, t_pass):
    assert oracle_rate(0.0, t_draft, t_pass) == pytest.approx(1 / t_pass)
    assert oracle_rate(1.0, t_draft, t_pass) == pytest.approx(1 / t_draft)


@given(probabilities, lengths, times_s, times_s)
def test_no_fixed_length_beats_the_oracle_when_drafting_and_passes_alternate(
    alpha, k, t_draft, t_pass
):
    # A draft that is slower than its target is better off without drafting at all.
    t_draft = min(t_draft, t_pass)
    oracle = oracle_rate(alpha, t_draft, t_pass)
    assert sync_rate(alpha, k, t_draft, t_pass) <= oracle * (1 + 1e-9)


def test_time_sharing_and_the_best_split_take_the_same_time_when_the_split_is_whole():
    # Draft 300 bytes at 10, pass 1000 at 20 bytes a second and rank: 30 + 50 rank seconds.
    work = (300, 10, 1000, 20)
    assert time_shared_s(*work, ranks=16) == 5
    assert best_split_s(*work, ranks=16) == 5  # 6 ranks draft, 10 verify
    assert time_shared_s(*work, ranks=5) == 16
    assert best_split_s(*work, ranks=5) == pytest.approx(50 / 3)  # 2 and 3: 15 and 16.7 s


@given(
    st.integers(1, 10**12),
    st.integers(1, 10**12),
    st.integers(1, 10**12),
    st.integers(1, 10**12),
    st.integers(2, 16),
)
def test_overlap_never_beats_time_sharing(draft, draft_rate, verify, verify_rate, ranks):
    work = (draft, draft_rate, verify, verify_rate, ranks)
    assert best_split_s(*work) >= time_shared_s(*work) * (1 - 1e-12)


@given(st.integers(1, 15), st.floats(1e-6, 1e6))
def test_a_split_in_proportion_to_the_work_loses_nothing(draft_ranks, seconds):
    work = (draft_ranks * seconds, 1, (16 - draft_ranks) * seconds, 1, 16)
    assert best_split_s(*work) == pytest.approx(time_shared_s(*work))


def test_a_single_rank_cannot_be_split():
    with pytest.raises(ValueError, match="ranks = 1 cannot be split"):
        best_split_s(1, 1, 1, 1, 1)


@pytest.mark.parametrize("alpha", [-0.1, 1.1])
def test_acceptance_outside_zero_to_one_is_refused(alpha):
    for action in (
        lambda: sync_tokens_per_round(alpha, 1),
        lambda: async_rate(alpha, 1, 1, 1),
        lambda: oracle_rate(alpha, 1, 1),
    ):
        with pytest.raises(ValueError, match=f"alpha = {alpha} must be a probability"):
            action()


def test_an_empty_draft_is_refused():
    for action in (lambda: sync_rate(0.5, 0, 1, 1), lambda: async_rate(0.5, 0, 1, 1)):
        with pytest.raises(ValueError, match="draft_length = 0 must be at least 1"):
            action()
