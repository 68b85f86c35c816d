# SPDX-License-Identifier: Apache-2.0
import itertools
import math

import pytest

from ahasd import UserError
from ahasd.system.drafting.banditspec import BanditSpec
from ahasd.system.drafting.base import Drafting, Judged, Outcome
from ahasd.system.workload.replay import replay

MS_PS = 10**9


def _play(rule, token, verdict, rounds):
    """Play synchronous rounds; verdict(length) gives accepted tokens and, maybe, the time."""
    drafting, played = Drafting(rule), []
    for _ in range(rounds):
        batch = [token()]
        while drafting.observe(batch[-1]) is Outcome.CONTINUE:
            batch.append(token())
        drafting.feedback(Judged(tuple(batch), *verdict(len(batch))))
        played.append(len(batch))
    return played


def _all_right(length):
    return (length,)


def _timed(pass_ms):
    """All right; a draft step takes 1 ms."""
    return lambda length: (length, (length + pass_ms) * MS_PS)


@pytest.mark.parametrize(
    ("rounds", "radius"), [(20, "4.75"), (100, "2.3"), (400, "1.24"), (1600, "0.67")]
)
def test_the_radius_is_that_of_the_published_consequence(rounds, radius):
    # Four arms pulled equally often, delta 0.05.
    rule = BanditSpec((1, 2, 3, 4))
    rule.rounds, rule.pulls = rounds, [rounds // 4] * 4
    digits = len(radius.partition(".")[2])
    assert f"{rule.radius_tokens(2):.{digits}f}" == radius


def test_ucb_of_the_paper_tries_every_arm_once_and_then_takes_the_highest_bound(token):
    rule = BanditSpec((1, 2, 3), delta=0.1)
    assert _play(rule, token, _all_right, 3) == [1, 2, 3]
    assert (rule.pulls, rule.means) == ([1, 1, 1], [2.0, 3.0, 4.0])
    # Equal pulls, equal radii: the largest mean.
    assert _play(rule, token, _all_right, 1) == [3]
    # After four rounds, with 3 x 4^2 / 0.1 = 480: two pulls have the radius
    # 1.5 sqrt(3/4 (1 + 2 ln(480 sqrt(3)))), one has 1.5 sqrt(2 (1 + 2 ln(480 sqrt(2)))).
    radii = [rule.radius_tokens(arm) for arm in range(3)]
    assert radii == pytest.approx([7.949, 7.949, 4.937], abs=0.001)
    # 9.95, 10.95 and 8.94: the second arm's turn
    assert _play(rule, token, _all_right, 1) == [2]


@pytest.mark.parametrize("longest", [4, 8])
def test_ucb_of_the_paper_chooses_what_its_formula_says_all_along_a_trace(shipped, longest):
    arms = range(longest)
    counts, means, expected = [0] * longest, [0.0] * longest, []
    rounds = replay(shipped, Drafting(BanditSpec(tuple(range(1, longest + 1))), k_max=12))
    for t, accepted in enumerate(rounds.accepted_per_round):
        if t < longest:
            arm = t
        else:
            arm = max(
                arms,
                key=lambda i: (
                    means[i]
                    + longest
                    / 2
                    * math.sqrt(
                        (1 + counts[i])
                        / counts[i] ** 2
                        * (1 + 2 * math.log(longest * t * t * math.sqrt(1 + counts[i]) / 0.05))
                    )
                ),
            )
        expected.append(arm + 1)
        means[arm] = (means[arm] * counts[arm] + accepted + 1) / (counts[arm] + 1)
        counts[arm] += 1
    assert list(rounds.drafted_per_round) == expected


def test_the_authors_code_takes_turns_for_seven_rounds_and_is_greedy_then(token):
    rule = BanditSpec((1, 2, 3, 4), mode="ucb_repo")
    # Lengths 1, 2, 3 are right, 4 fails at once: rewards 2, 3, 4, 1.
    accepted = {1: (1,), 2: (2,), 3: (3,), 4: (0,)}
    assert _play(rule, token, accepted.get, 9) == [1, 2, 3, 4, 1, 2, 3, 3, 3]
    # Now 3 fails until its mean is below 3: 12 tokens in 3 rounds, then 13 in 4 and 14 in 5.
    accepted[3] = (0,)
    assert _play(rule, token, accepted.get, 5) == [3, 3, 2, 2, 2]


def test_tokens_per_second_prefer_another_length_than_tokens_per_round(token):
    # All is right: k + 1 tokens in k + 1 ms, or in k + 9 ms.
    for mode in ("ucb_repo", "ucb_paper"):
        rule = BanditSpec((1, 2, 3, 4), mode=mode, reward="tokens_per_s")
        _play(rule, token, _timed(9), 8)
        assert rule.means == pytest.approx([2 / 0.010, 3 / 0.011, 4 / 0.012, 5 / 0.013])
    rule = BanditSpec((1, 4), mode="ucb_repo", reward="tokens_per_s")
    # 2 tokens in 2 ms against 5 in 20: the short one, though the long one emits more.
    times = {1: (1, 2 * MS_PS), 4: (4, 20 * MS_PS)}
    assert _play(rule, token, times.get, 6) == [1, 4, 1, 1, 1, 1]
    tokens = BanditSpec((1, 4), mode="ucb_repo")
    assert _play(tokens, token, times.get, 6) == [1, 4, 1, 4, 4, 4]


def test_the_unit_of_time_changes_no_choice(token):
    played = []
    for unit in (1, 1000):
        rule = BanditSpec((1, 2, 3, 4), reward="tokens_per_s", delta=0.9)
        times = {k: (k - k // 4, unit * (k + 5) * MS_PS) for k in (1, 2, 3, 4)}
        played.append(_play(rule, token, times.get, 200))
    assert played[0] == played[1]
    assert len(set(played[0][100:])) > 1


def test_seconds_are_counted_in_mean_rounds_beside_the_radius(token):
    rule = BanditSpec((1, 2), reward="tokens_per_s")
    _play(rule, token, {1: (1, 4 * MS_PS), 2: (0, 8 * MS_PS)}.get, 2)
    # 2 tokens in 4 ms and 1 in 8 ms; a mean round of 6 ms: 3 and 0.75 tokens, equal radii.
    assert rule.means == pytest.approx([500, 125])
    assert rule.rounds_s / rule.rounds == pytest.approx(0.006)
    assert rule.choice == (0, 1.0)


def test_tokens_per_second_need_a_time(token):
    rule = BanditSpec((1, 2), reward="tokens_per_s")
    with pytest.raises(UserError, match="needs the time of a round, but nothing is timed here"):
        _play(rule, token, _all_right, 1)


def test_exp3_weighs_arms_as_worked_out_by_hand(token):
    rule = BanditSpec((1, 2, 3, 4), mode="exp3", seed=3)
    assert rule.probabilities() == [0.25] * 4
    (length,) = _play(rule, token, lambda length: (0,), 1)
    # Loss (L + 1 - Y) / (L p) = 4 / (4 / 4) = 4; eta = sqrt(ln 4 / (2 x 4)).
    weight = math.exp(-math.sqrt(math.log(4) / 8) * 4)
    expected = [1 / (3 + weight)] * 4
    expected[length - 1] = weight / (3 + weight)
    assert rule.probabilities() == pytest.approx(expected)
    # A second round: divided by the probability with which that arm was drawn.
    before = list(rule.losses)
    (second,) = _play(rule, token, lambda length: (1,), 1)
    before[second - 1] += 3 / (4 * expected[second - 1])
    assert rule.losses == pytest.approx(before)


def test_exp3_draws_with_its_probabilities_from_a_generator_of_its_own(token):
    first = [
        _play(BanditSpec((1, 2, 3, 4), mode="exp3", seed=seed), token, _all_right, 1)[0]
        for seed in range(2000)
    ]
    # 500 of each expected, with a standard deviation of 19
    assert all(abs(first.count(length) - 500) < 80 for length in (1, 2, 3, 4))
    again = [
        _play(BanditSpec((1, 2, 3, 4), mode="exp3", seed=seed), token, _all_right, 30)
        for seed in (7, 7, 8)
    ]
    assert again[0] == again[1] != again[2]


def test_exp3_learns_the_better_arm_and_survives_the_worse_one(token):
    rule = BanditSpec((1, 4), mode="exp3")
    played = _play(rule, token, {1: (0,), 4: (4,)}.get, 3000)
    assert played[-1000:].count(4) > 900
    assert sum(rule.probabilities()) == pytest.approx(1)


def test_one_arm_is_a_fixed_length(token):
    for mode in ("ucb_paper", "ucb_repo", "exp3"):
        assert _play(BanditSpec((3,), mode=mode), token, _all_right, 4) == [3] * 4


def test_a_verdict_counts_for_the_arm_of_its_batch_though_another_was_chosen_meanwhile(token):
    rule = BanditSpec((1, 2))
    drafting = Drafting(rule)
    batches = [(token(),) for _ in range(3)]  # three ahead, all with the first arm
    assert [drafting.observe(batch[0]) for batch in batches] == [Outcome.STOP_KEEP] * 3
    drafting.feedback(Judged(batches[0], 1))
    assert rule.choice == (1, 1.0)
    drafting.feedback(Judged(batches[1], 0))  # a rejection: the third has no verdict
    assert (rule.pulls, rule.means) == ([2, 0], [1.5, 0.0])
    assert _play(rule, token, _all_right, 1) == [2]
    assert (rule.pulls, rule.means, len(rule.finished)) == ([2, 1], [1.5, 3.0], 0)


def test_an_arm_chosen_within_a_batch_holds_from_the_next_batch_on(token):
    rule = BanditSpec((1, 3))
    drafting = Drafting(rule)
    _play(rule, token, _all_right, 1)
    batch = (token(), token(), token())
    drafting.observe(batch[0])
    rule.choice = (0, 1.0)
    outcomes = [drafting.observe(each) for each in batch[1:]]
    assert outcomes == [Outcome.CONTINUE, Outcome.STOP_KEEP]
    drafting.feedback(Judged(batch, 3))
    assert rule.pulls == [1, 1]


def test_a_batch_that_was_cut_counts_for_no_arm(token):
    rule = BanditSpec((2, 3))
    drafting = Drafting(rule)
    only = token()
    drafting.observe(only)
    drafting.feedback(Judged((only,), 1))
    assert (rule.rounds, rule.pulls) == (0, [0, 0])


def test_what_was_learnt_stays_over_requests_unless_told_otherwise(token):
    kept, reset = BanditSpec((1, 2)), BanditSpec((1, 2), restart_per_request=True)
    for rule in (kept, reset):
        _play(rule, token, _all_right, 5)
        rule.begin_request()
    assert kept.rounds == 5
    assert reset == BanditSpec((1, 2), restart_per_request=True)


def test_a_restart_does_not_repeat_the_draws(token):
    rule = BanditSpec(tuple(range(1, 9)), mode="exp3", restart_per_request=True)
    firsts = []
    for _ in range(20):
        firsts += _play(rule, token, _all_right, 1)
        rule.begin_request()
    assert len({*itertools.pairwise(firsts)}) > 5
