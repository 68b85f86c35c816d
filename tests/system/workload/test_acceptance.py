# SPDX-License-Identifier: Apache-2.0
from functools import cache

import numpy as np
import pytest

from ahasd import UserError
from ahasd.system.drafting.base import Drafting
from ahasd.system.drafting.fixed import Fixed
from ahasd.system.workload.acceptance import ByEntropy, FixedLength, Independent, Mixed
from ahasd.system.workload.entropy_model import EntropyModel
from ahasd.system.workload.replay import replay
from ahasd.system.workload.source import open_trace
from ahasd.system.workload.synthetic import Size

LONG = Size(requests=160, tokens=500, k_max=1)


@cache
def _right(name):
    trace = open_trace(name, seed=5, size=LONG)
    return (trace.run > 0).reshape(LONG.requests, LONG.tokens).tolist()


def _accepted(name, length):
    """Accepted tokens of each call with drafts of one length, as far as requests hold them all."""
    accepted = []
    for right in _right(name):
        position = 0
        while position + length < LONG.tokens:
            draft = right[position : position + length]
            accepted.append(draft.index(False) if False in draft else length)
            position += accepted[-1] + 1
    return accepted


def _acceptance_length(name, length):
    return 1 + np.mean(_accepted(name, length))


@pytest.mark.parametrize("alpha", [0.3, 0.6, 0.8, 0.95])
@pytest.mark.parametrize("length", [1, 2, 4, 8, 16])
def test_independent_acceptance_gives_the_geometric_acceptance_length(alpha, length):
    expected = (1 - alpha ** (length + 1)) / (1 - alpha)
    assert _acceptance_length(f"iid:{alpha}", length) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(("alpha", "expected"), [("0", 1), ("1", 9)])
def test_acceptance_of_none_and_of_all_is_exact(alpha, expected):
    assert _acceptance_length(f"iid:{alpha}", 8) == expected


@pytest.mark.parametrize("length", [3, 4, 16])
def test_whole_acceptance_lengths_are_exact_where_drafts_are_long_enough(length):
    assert set(_accepted("length:4", length)) == {3}


def test_drafts_that_are_too_short_take_what_they_can_of_a_fixed_length():
    """Right, right, right, wrong: with single drafts 1 and 1 are accepted; with pairs 2 and 0."""
    assert set(_accepted("length:4", 1)) == {1}
    assert set(_accepted("length:4", 2)) == {2, 0}


def test_replay_of_a_rule_agrees():
    drafting = Drafting(Fixed(8), k_max=16)
    made = open_trace("length:4", size=Size(requests=2, tokens=100, k_max=16))
    assert replay(made, drafting).acceptance_length == 4


@pytest.mark.parametrize("wanted", [1.5, 2.25, 3.9, 6.4])
@pytest.mark.parametrize("length", [8, 16])
def test_fractional_acceptance_lengths_are_met_in_the_mean(wanted, length):
    """The fraction is drawn: its standard error is at most 0.5 / sqrt(12000 calls)."""
    accepted = _accepted(f"length:{wanted}", length)
    assert 1 + np.mean(accepted) == pytest.approx(wanted, abs=4 * 0.5 / 12000**0.5)
    assert set(accepted) == {int(wanted) - 1, int(wanted)}


def test_flags_of_a_fixed_length_by_hand():
    flags = FixedLength(3).accepted(0, np.zeros((2, 8)))
    assert flags.tolist() == [[True, True, False, True, True, False, True, True]] * 2
    assert not FixedLength(1).accepted(0, np.zeros((1, 9))).any()
    assert FixedLength(256).accepted(0, np.zeros((1, 255))).all()


def test_by_entropy_certain_tokens_are_right_and_hopeless_ones_wrong():
    rule = ByEntropy(EntropyModel(0.2, 1.0, 1.0))
    entropy = np.tile([0.0, 700.0, np.log(2)], (20_000, 1))
    flags = rule.accepted(0, entropy)
    assert flags[:, 0].all()
    assert not flags[:, 1].any()
    assert flags[:, 2].mean() == pytest.approx(0.5, abs=4 * 0.5 / 20_000**0.5)


def test_rules_of_acceptance_share_their_draws():
    lower = Independent(0.5).accepted(1, np.zeros((10, 100)))
    higher = Independent(0.6).accepted(1, np.zeros((10, 100)))
    assert (lower <= higher).all()
    assert (lower != higher).any()
    assert (lower != Independent(0.5).accepted(2, np.zeros((10, 100)))).any()


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan")])
def test_an_impossible_acceptance_is_refused(value):
    with pytest.raises(UserError, match=r"acceptance must lie in 0\.\.1, not"):
        Independent(value)


@pytest.mark.parametrize("value", [0.99, 256.5, float("nan")])
def test_an_impossible_length_is_refused(value):
    with pytest.raises(UserError, match=r"acceptance length must lie in 1\.\.256, not"):
        FixedLength(value)


def test_stretches_have_their_mean_lengths_and_their_acceptance():
    mixed = Mixed(0.95, 0.5, 12, 4)
    assert mixed.alpha == pytest.approx((0.95 * 12 + 0.5 * 4) / 16)
    shape = (400, 500)
    easy = mixed.is_easy(0, shape)
    right = mixed.accepted(0, np.ones(shape))
    # Stretches of one request are few; so the errors are those of some 12,500 of each kind.
    assert easy.mean() == pytest.approx(12 / 16, abs=0.01)
    assert easy[:, 0].mean() == pytest.approx(12 / 16, abs=0.08), "at the start already"
    assert right[easy].mean() == pytest.approx(0.95, abs=0.005)
    assert right[~easy].mean() == pytest.approx(0.5, abs=0.01)
    changes = easy[:, 1:] != easy[:, :-1]
    assert easy.sum() / (changes & easy[:, :-1]).sum() == pytest.approx(12, rel=0.03)
    assert (~easy).sum() / (changes & easy[:, 1:]).sum() == pytest.approx(4, rel=0.03)


def test_stretches_of_one_token_take_turns():
    easy = Mixed(1, 0, 1, 1).is_easy(0, (3, 10))
    assert (easy[:, 1:] != easy[:, :-1]).all()


def test_a_mixed_trace_is_accepted_where_its_law_says():
    trace = open_trace("mix:1/0/8/2", seed=3, size=Size(requests=4, tokens=50, k_max=4))
    easy = Mixed(1, 0, 8, 2).is_easy(3, (4, 53))[:, :50]
    assert ((trace.run > 0).reshape(4, 50) == easy).all()
