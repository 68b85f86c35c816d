# SPDX-License-Identifier: Apache-2.0
import pytest

from ahasd.system.drafting.base import Drafting, DraftingRule, DraftToken, Judged, Outcome

CONTINUE, KEEP, DROP = Outcome.CONTINUE, Outcome.STOP_KEEP, Outcome.STOP_DROP


class TripsOn(DraftingRule):
    """Trips at the given places, and notes what it is asked and told."""

    name = "trips-on"

    def __init__(self, *places):
        self.places = places
        self.heard = []

    def begin_request(self):
        self.heard.append("request")

    def begin_batch(self):
        self.heard.append("batch")

    def trips(self, index, token):
        self.heard.append(index)
        return index in self.places

    def feedback(self, judged):
        self.heard.append(judged)


def _token():
    return DraftToken(1, 0.5, 0.5, 0.5, 0.25)


def _observe(drafting, count):
    return [drafting.observe(_token()) for _ in range(count)]


def test_the_tripping_token_is_kept_by_default():
    assert _observe(Drafting(TripsOn(3)), 3) == [CONTINUE, CONTINUE, KEEP]


def test_the_tripping_token_is_dropped_on_request():
    drafting = Drafting(TripsOn(3), keep_tripping_token=False)
    assert _observe(drafting, 3) == [CONTINUE, CONTINUE, DROP]


def test_the_cap_ends_a_batch_and_keeps_its_last_token():
    assert _observe(Drafting(TripsOn(), k_max=3), 3) == [CONTINUE, CONTINUE, KEEP]
    drop = Drafting(TripsOn(3), k_max=3, keep_tripping_token=False)
    assert _observe(drop, 3) == [CONTINUE, CONTINUE, KEEP]


def test_the_default_cap_is_16():
    assert _observe(Drafting(TripsOn()), 17)[14:] == [CONTINUE, KEEP, CONTINUE]


def test_no_batch_is_shorter_than_min_len():
    assert _observe(Drafting(TripsOn(1, 2), min_len=2), 2) == [CONTINUE, KEEP]
    # where the tripping token is dropped, token 3 is the first that leaves two behind
    drop = Drafting(TripsOn(1, 2, 3), min_len=2, keep_tripping_token=False)
    assert _observe(drop, 3) == [CONTINUE, CONTINUE, DROP]


def test_a_dropped_first_token_never_leaves_an_empty_batch():
    drafting = Drafting(TripsOn(1, 2), keep_tripping_token=False)
    assert _observe(drafting, 2) == [CONTINUE, DROP]


def test_a_stop_begins_a_new_batch_by_itself():
    rule = TripsOn(2)
    assert _observe(Drafting(rule), 4) == [CONTINUE, KEEP, CONTINUE, KEEP]
    assert rule.heard == ["batch", 1, 2, "batch", 1, 2]


def test_an_abandoned_batch_starts_again_at_its_first_token():
    rule = TripsOn(2)
    drafting = Drafting(rule)
    drafting.observe(_token())
    drafting.begin_batch()
    assert _observe(drafting, 2) == [CONTINUE, KEEP]
    assert rule.heard == ["batch", 1, "batch", 1, 2]


def test_the_rule_sees_tokens_that_a_limit_decides():
    rule = TripsOn()
    _observe(Drafting(rule, k_max=2, min_len=2), 2)
    assert rule.heard == ["batch", 1, 2]


def test_a_new_request_abandons_the_batch_and_reaches_the_rule():
    rule = TripsOn(2)
    drafting = Drafting(rule)
    drafting.observe(_token())
    drafting.begin_request()
    drafting.observe(_token())
    assert rule.heard == ["batch", 1, "request", "batch", 1]


def test_verdicts_reach_the_rule():
    rule = TripsOn()
    judged = Judged((_token(),) * 4, 2, round_ps=7)
    Drafting(rule).feedback(judged)
    assert rule.heard == [judged]


def test_a_verdict_tells_how_many_tokens_were_drafted_and_which_were_tested():
    tokens = tuple(DraftToken(number, 0.5, 0.5, 0.5, 0.25) for number in range(3))
    assert Judged(tokens, 1).drafted == 3
    assert [Judged(tokens, n).tested for n in (0, 1, 3)] == [tokens[:1], tokens[:2], tokens]


@pytest.mark.parametrize(("drafted", "accepted"), [(0, 0), (2, 3), (2, -1)])
def test_an_impossible_verdict_is_refused(drafted, accepted):
    with pytest.raises(ValueError, match="1 <= drafted and 0 <= accepted <= drafted"):
        Judged((_token(),) * drafted, accepted)


@pytest.mark.parametrize(("min_len", "k_max"), [(0, 4), (5, 4), (1, 0)])
def test_impossible_limits_are_refused(min_len, k_max):
    with pytest.raises(ValueError, match="min_len must lie in"):
        Drafting(TripsOn(), k_max=k_max, min_len=min_len)
