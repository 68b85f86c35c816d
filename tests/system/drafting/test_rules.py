# SPDX-License-Identifier: Apache-2.0
import math
import random

import pytest

from ahasd.system.drafting.adaedl import AdaEdl
from ahasd.system.drafting.base import Drafting, DraftToken, Judged, Outcome
from ahasd.system.drafting.fixed import Fixed, TokenByToken
from ahasd.system.drafting.svip import Svip


def _token(entropy_nats):
    return DraftToken(1, entropy_nats, 0.5, 0.5, 0.25)


def _judged(drafted, accepted):
    return Judged((DraftToken(1, 0.5, 0.5, 0.5, 0.25),) * drafted, accepted)


def _entropies():
    draw = random.Random(0)
    return [0.0, *(draw.expovariate(1.0) for _ in range(500))]


@pytest.mark.parametrize("k", [1, 4])
def test_a_fixed_length_trips_at_its_last_token(k):
    rule = Fixed(k)
    assert [rule.trips(index, _token(9.0)) for index in range(1, k + 1)] == [False] * (k - 1) + [
        True
    ]


def test_token_by_token_has_one_longer_batch_at_the_start_of_a_chain():
    drafting = Drafting(TokenByToken(3))

    def lengths(batches):
        found = []
        for _ in range(batches):
            length = 1
            while drafting.observe(_token(9.0)) is Outcome.CONTINUE:
                length += 1
            found.append(length)
        return found

    assert lengths(3) == [3, 1, 1]
    drafting.begin_chain()
    assert lengths(2) == [3, 1]
    drafting.observe(_token(0.0))
    drafting.begin_chain()
    drafting.observe(_token(0.0))
    drafting.begin_batch()  # a batch that is given up was the first one all the same
    assert lengths(1) == [1]


def test_svip_trips_above_six_tenths_of_a_nat_by_default():
    assert Svip().entropy_limit_nats == pytest.approx(0.6)
    assert not Svip().trips(1, _token(0.599))
    assert Svip().trips(1, _token(0.601))


def test_svip_of_the_paper_leaves_the_factor_out():
    rule = Svip(source="paper")
    assert rule.entropy_limit_nats == pytest.approx(0.09)
    assert not rule.trips(1, _token(0.089))
    assert rule.trips(1, _token(0.091))


@pytest.mark.parametrize(("c", "h"), [(0.15, 0.3), (0.18, 0.5), (0.2, 0.2)])
def test_svip_agrees_with_its_formula_at_every_entropy(c, h):
    for entropy in _entropies():
        tripped = math.sqrt(c * entropy) > h
        assert Svip(c=c, h=h).trips(3, _token(entropy)) == tripped
        literal = math.sqrt(entropy) > h
        assert Svip(c=c, h=h, source="paper").trips(3, _token(entropy)) == literal


@pytest.mark.parametrize(
    ("threshold", "limit"),
    [(0.3, 2.45), (0.4, 1.8), (0.5, 1.25), (0.6, 0.8), (0.7, 0.45), (0.8, 0.2), (0.9, 0.05)],
)
def test_adaedl_limits_are_those_of_its_thresholds(threshold, limit):
    rule = AdaEdl(lambda0=threshold, k_max=16)
    assert rule.entropy_limit_nats == pytest.approx(limit)
    for entropy in _entropies():
        assert rule.trips(1, _token(entropy)) == (1 - math.sqrt(0.2 * entropy) < threshold)


def test_adaedl_starts_its_rate_at_alpha():
    rule = AdaEdl(lambda0=0.5, k_max=16, alpha=0.8)
    assert (rule.threshold, rule.rate) == (0.5, 0.8)


def test_adaedl_shortens_drafts_after_poor_acceptance():
    rule = AdaEdl(lambda0=0.5, k_max=16)
    rule.feedback(_judged(4, 1))
    assert rule.rate == pytest.approx(0.5 * 0.9 + 0.5 * 0.25)
    assert rule.threshold == pytest.approx(0.501)


def test_adaedl_lengthens_drafts_after_good_acceptance_below_the_cap():
    rule = AdaEdl(lambda0=0.5, k_max=16)
    rule.feedback(_judged(4, 4))
    assert rule.rate == pytest.approx(0.95)
    assert rule.threshold == pytest.approx(0.499)


def test_adaedl_leaves_a_full_draft_at_the_cap_alone():
    rule = AdaEdl(lambda0=0.5, k_max=4)
    rule.feedback(_judged(4, 4))
    assert rule.threshold == pytest.approx(0.5)


def test_adaedl_lengthens_a_draft_at_the_cap_that_was_not_accepted_in_full():
    rule = AdaEdl(lambda0=0.5, k_max=16)
    rule.feedback(_judged(16, 15))
    assert rule.rate > rule.alpha
    assert rule.threshold == pytest.approx(0.499)


def test_adaedl_of_the_fork_lengthens_only_at_the_cap():
    rule = AdaEdl(lambda0=0.5, k_max=4, lengthen="at_cap")
    rule.feedback(_judged(3, 3))
    assert rule.threshold == pytest.approx(0.5)
    rule.feedback(_judged(4, 4))
    assert rule.threshold == pytest.approx(0.499)


def test_adaedl_uses_each_constant_where_its_formula_has_it():
    rule = AdaEdl(lambda0=0.6, k_max=8, gamma=0.1, beta1=0.25, beta2=0.5, eps=0.04, alpha=0.7)
    assert rule.entropy_limit_nats == pytest.approx(1.6)
    rule.feedback(_judged(4, 2))
    assert rule.rate == pytest.approx(0.25 * 0.7 + 0.75 * 0.5)
    assert rule.threshold == pytest.approx(0.5 * 0.6 + 0.5 * 0.64)


def test_adaedl_counts_a_rate_of_exactly_alpha_as_reached():
    rule = AdaEdl(lambda0=0.5, k_max=16, alpha=0.5, beta1=0.5)
    rule.feedback(_judged(2, 1))
    assert rule.threshold == pytest.approx(0.499)


@pytest.mark.parametrize(("lambda0", "accepted", "end"), [(0.9995, 0, 1.0), (0.0005, 4, 0.0)])
def test_adaedl_clamps_its_threshold(lambda0, accepted, end):
    rule = AdaEdl(lambda0=lambda0, k_max=16)
    for _ in range(3):
        rule.feedback(_judged(4, accepted))
    assert rule.threshold == end


def test_adaedl_forgets_at_a_new_request_by_default():
    rule = AdaEdl(lambda0=0.5, k_max=16)
    rule.feedback(_judged(4, 0))
    rule.begin_request()
    assert (rule.threshold, rule.rate) == (0.5, 0.9)


def test_adaedl_remembers_across_requests_on_request():
    rule = AdaEdl(lambda0=0.5, k_max=16, restart_per_request=False)
    rule.feedback(_judged(4, 0))
    rule.begin_request()
    assert (rule.threshold, rule.rate) == (pytest.approx(0.501), pytest.approx(0.45))


def test_adaedl_keeps_its_state_over_batches():
    rule = AdaEdl(lambda0=0.5, k_max=16)
    rule.feedback(_judged(4, 0))
    rule.begin_batch()
    assert rule.threshold == pytest.approx(0.501)
