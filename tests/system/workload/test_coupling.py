# SPDX-License-Identifier: Apache-2.0
"""Couplings against the laws that they sample from."""

import numpy as np
import pytest

from ahasd.system.workload.coupling import COUPLINGS, Greedy, Gumbel, Maximal

DRAWS = 100_000
P = np.array([0.30, 0.05, 0.25, 0.02, 0.18, 0.10, 0.07, 0.03])
Q = np.array([0.10, 0.20, 0.25, 0.05, 0.02, 0.10, 0.20, 0.08])
SHARED = np.minimum(P, Q).sum()


def _draws(coupling, p, q, place):
    """Draft and target tokens at so many places."""
    drafted = coupling.draft(q, place)
    return drafted, coupling.target(p, q, drafted, place)


@pytest.fixture(scope="module", params=["gumbel", "maximal"])
def sampled(request):
    laws = np.broadcast_to(P, (DRAWS, 8)), np.broadcast_to(Q, (DRAWS, 8))
    place = (1, np.arange(DRAWS) % 7, np.arange(DRAWS) // 7)
    return request.param, _draws(COUPLINGS[request.param](), *laws, place)


def _total_variation(tokens, law):
    return np.abs(np.bincount(tokens, minlength=law.size) / tokens.size - law).sum() / 2


def _expected_total_variation(law):
    """Of so many independent draws: each share is off by sqrt(2 p (1 - p) / (pi n)) in the mean."""
    return np.sqrt(2 * law * (1 - law) / (np.pi * DRAWS)).sum() / 2


def test_the_target_emits_its_own_law_and_the_draft_its_own(sampled):
    """No draft leaves a trace in what is emitted: that is what makes speculation lossless."""
    _, (drafted, emitted) = sampled
    assert _total_variation(drafted, Q) < 2 * _expected_total_variation(Q)
    assert _total_variation(emitted, P) < 2 * _expected_total_variation(P)
    # the bound is sharp enough to tell the two laws, and a tenth of them, apart
    assert _total_variation(emitted, 0.9 * P + 0.1 * Q) > 4 * _expected_total_variation(P)


def test_tokens_agree_as_often_as_theory_has_it(sampled):
    name, (drafted, emitted) = sampled
    error = 4 * np.sqrt(0.25 / DRAWS)
    agreement = (drafted == emitted).mean()
    if name == "maximal":
        assert agreement == pytest.approx(SHARED, abs=error)
    else:
        # With shared exponentials token i wins both with 1 / sum_j max(p_j / p_i, q_j / q_i).
        expected = sum(1 / np.maximum(P / P[token], Q / Q[token]).sum() for token in range(P.size))
        assert agreement == pytest.approx(expected, abs=error)
        assert SHARED / (2 - SHARED) < agreement < SHARED


def test_a_rejected_token_is_replaced_by_one_that_the_draft_undersells(sampled):
    name, (drafted, emitted) = sampled
    if name == "maximal":
        corrected = emitted[drafted != emitted]
        left = np.maximum(P - Q, 0) / (1 - SHARED)
        assert set(corrected) == set(np.flatnonzero(left))
        shares = np.bincount(corrected, minlength=8) / corrected.size
        assert shares == pytest.approx(left, abs=4 * np.sqrt(0.25 / corrected.size))


def test_a_whole_draft_leaves_the_law_of_every_sequence():
    """Two positions, whose laws depend on the token before: joint law of the emitted pairs."""
    target, draft = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 4))
    emitted = [np.zeros(DRAWS, np.int64)]
    for position in range(2):
        before = emitted[-1]
        place = (3, np.arange(DRAWS), position)
        emitted.append(_draws(Maximal(), target[before], draft[before], place)[1])
    law = target[0][:, None] * target
    tokens = emitted[1] * 4 + emitted[2]
    assert _total_variation(tokens, law.ravel()) < 2 * _expected_total_variation(law.ravel())


@pytest.mark.parametrize("coupling", [Greedy(), Gumbel(), Maximal()])
def test_a_draft_that_is_the_target_is_always_right(coupling):
    law = np.broadcast_to(P, (DRAWS, 8))
    drafted, emitted = _draws(coupling, law, law, (0, 0, np.arange(DRAWS)))
    assert (drafted == emitted).all()


def test_greedy_takes_the_likeliest_and_of_equals_the_first():
    p, q = np.array([0.2, 0.4, 0.4]), np.array([0.5, 0.1, 0.4])
    assert Greedy().draft(q, (0, 0, 0)) == 0
    assert Greedy().target(p, q, np.array(0), (0, 0, 0)) == 1


@pytest.mark.parametrize("coupling", [Gumbel(), Maximal()])
def test_a_token_without_mass_is_never_taken(coupling):
    law = np.array([0.5, 1e-300, 0.5])
    drafted = coupling.draft(np.broadcast_to(law, (500, 3)), (0, 0, np.arange(500)))
    assert set(drafted.tolist()) == {0, 2}


@pytest.mark.parametrize("coupling", [Gumbel(), Maximal()])
def test_a_place_gives_the_same_tokens_whoever_asks_and_other_places_others(coupling):
    laws = np.broadcast_to(P, (60, 8)), np.broadcast_to(Q, (60, 8))
    many = _draws(coupling, *laws, (5, 2, np.arange(60)))
    one = _draws(coupling, P, Q, (5, 2, 9))
    assert (many[0][9], many[1][9]) == one
    assert len(set(many[0].tolist())) > 3
    assert (coupling.draft(laws[1], (5, 3, np.arange(60))) != many[0]).any()
    assert (coupling.draft(laws[1], (6, 2, np.arange(60))) != many[0]).any()
