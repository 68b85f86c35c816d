# SPDX-License-Identifier: Apache-2.0
"""Logistic models, their fit, and what is built on them."""

import dataclasses
import math
import random

import pytest

from ahasd import UserError
from ahasd.system.drafting.disco import DiscoLite, DiscoLiteOptions
from ahasd.system.drafting.logistic import Logistic, fit, judged_drafts
from ahasd.system.drafting.specdecpp import SpecDecPpOptions
from ahasd.system.workload.trace import save_trace


def _logit(p):
    return math.log(p / (1 - p))


def test_a_model_gives_the_logistic_function_of_its_sum():
    model = Logistic((2.0, -1.0), 0.5)
    assert model.probability((1.0, 3.0)) == pytest.approx(1 / (1 + math.exp(0.5)))
    assert Logistic((1000.0,), 0.0).probability((9.0,)) == 1
    assert Logistic((1000.0,), 0.0).probability((-9.0,)) == 0


def test_a_model_refuses_another_number_of_features():
    with pytest.raises(ValueError, match="longer"):
        Logistic((1.0,), 0.0).probability((1.0, 2.0))


def test_a_fit_to_two_groups_gives_the_logits_of_their_frequencies():
    # 30 of 40 right where the feature is 0, 10 of 50 where it is 1.
    features = [(0.0,)] * 40 + [(1.0,)] * 50
    right = [True] * 30 + [False] * 10 + [True] * 10 + [False] * 40
    model = fit("here", features, right)
    assert model.bias == pytest.approx(_logit(0.75), abs=1e-3)
    assert model.weights[0] == pytest.approx(_logit(0.2) - _logit(0.75), abs=1e-3)


def test_a_weight_of_rejected_samples_counts_them_so_often():
    features = [(0.0,)] * 40
    right = [True] * 30 + [False] * 10
    assert fit("here", features, right, reject_weight=6).bias == pytest.approx(
        _logit(30 / 90), abs=1e-3
    )


def test_a_fit_finds_the_weights_that_made_the_samples():
    draw = random.Random(2)
    true = Logistic((3.0, -1.5, 0.02), -0.5)
    features = [(draw.random(), draw.expovariate(1), draw.uniform(1, 255)) for _ in range(20_000)]
    right = [draw.random() < true.probability(each) for each in features]
    found = fit("here", features, right)
    # four standard errors: about 0.08, 0.03, 0.0005 and 0.05 from the curvature at the truth
    assert found.weights[0] == pytest.approx(3.0, abs=0.32)
    assert found.weights[1] == pytest.approx(-1.5, abs=0.12)
    assert found.weights[2] == pytest.approx(0.02, abs=0.002)
    assert found.bias == pytest.approx(-0.5, abs=0.2)


def test_a_fit_to_separable_samples_ends_and_separates_them():
    features = [(x / 10,) for x in range(20)]
    right = [x >= 10 for x in range(20)]
    model = fit("here", features, right)
    assert [model.probability(each) > 0.5 for each in features] == right
    assert math.isfinite(model.weights[0])


@pytest.mark.parametrize(("right", "told"), [([True] * 3, "accepted"), ([False] * 3, "rejected")])
def test_a_fit_needs_both_kinds(right, told):
    with pytest.raises(UserError, match=f"here: .* all 3 are {told}; take another trace"):
        fit("here", [(1.0,), (2.0,), (3.0,)], right)


def _drafts(trace, requests):
    return [(place, t.token, right) for place, t, right in judged_drafts(trace, requests)]


def test_the_judged_drafts_of_a_trace_end_with_the_first_wrong_one(build_trace):
    # Row 0: 10 is right, 91 wrong; row 1: 91 wrong; row 2: 12 right, 94 beyond the end.
    trace = build_trace(
        [
            ([10, 11, 12], [[10, 91, 92], [91, 92, 93], [12, 94, 95]]),
            ([20, 21], [[20, 81, 82], [81, 82, 83]]),
        ]
    )
    half = [(1, 10, True), (2, 91, False), (1, 91, False), (1, 12, True), (2, 94, False)]
    assert _drafts(trace, "half") == half
    assert _drafts(trace, "all") == [*half, (1, 20, True), (2, 81, False), (1, 81, False)]


def test_a_rollout_that_is_right_to_its_end_has_no_wrong_token(build_trace):
    trace = build_trace([([1, 2, 3, 4], [[1, 2], [2, 3], [3, 4], [4, 9]])])
    assert [right for *_, right in judged_drafts(trace, "all")] == [True] * 7 + [False]


def test_disco_lite_trips_below_its_threshold(token):
    # logit 2 p1 - p2 - H + 0.5 index - 1
    rule = DiscoLite(Logistic((2.0, -1.0, -1.0, 0.5), -1.0), tau=0.5)
    sample = token(p_top1=0.6, p_top2=0.2, entropy_nats=0.6)  # 1.2 - 0.2 - 0.6 - 1 = -0.6
    assert rule.trips(1, sample)  # -0.1
    assert not rule.trips(2, sample)  # 0.4
    assert DiscoLite(rule.model, tau=0.6).trips(2, sample)  # probability 0.599


def _requests(trace, start):
    """Return a trace of every second request."""
    kept = trace.seq % 2 == start
    columns = {name: values[kept] for name, values in trace.columns().items()}
    columns["seq"] //= 2
    lists = {key: trace.header[key][start::2] for key in ("prompt_len", "category")}
    return dataclasses.replace(trace, header={**trace.header, **lists}, **columns)


def test_disco_lite_learns_from_every_second_request(shipped, tmp_path):
    save_trace(_requests(shipped, 0), tmp_path / "first.npz")
    model = DiscoLiteOptions().build_rule().model
    path = str(tmp_path / "first.npz")
    assert model == DiscoLiteOptions(fit_trace=path, fit_requests="all").build_rule().model
    # On those that it did not see it says far more than their share of right tokens does.
    unseen = [
        (right, model.probability((t.p_top1, t.p_top2, t.entropy_nats, float(place))))
        for place, t, right in judged_drafts(_requests(shipped, 1), "all")
    ]
    share = sum(right for right, _ in unseen) / len(unseen)
    loss = -sum(math.log(p if right else 1 - p) for right, p in unseen)
    constant = -sum(math.log(share if right else 1 - share) for right, _ in unseen)
    assert loss < 0.85 * constant


def test_a_rule_learns_from_the_trace_that_it_is_given(tmp_path, build_trace, token):
    # Sure tokens are wrong here, and unsure ones right.
    requests = [([1, 2] * 20, [[9, 9] if t % 2 else [1, 9] for t in range(40)])]
    entropies = [[0.0, 0.0] if t % 2 else [4.0, 0.0] for t in range(40)]
    save_trace(build_trace(requests, entropies), tmp_path / "own.npz")
    path = str(tmp_path / "own.npz")
    disco = DiscoLiteOptions(fit_trace=path).build_rule()
    assert disco.trips(1, token(entropy_nats=0.0))
    assert not disco.trips(1, token(entropy_nats=4.0))
    head = SpecDecPpOptions(head="fitted", fit_trace=path).build_rule().head
    assert head(token(entropy_nats=0.0)) < 0.05 < 0.95 < head(token(entropy_nats=4.0))


def test_a_made_trace_can_be_learnt_from(token):
    rule = DiscoLiteOptions(fit_trace="synthetic:chat").build_rule()
    assert rule.trips(1, token(p_top1=0.1, p_top2=0.1, entropy_nats=6.0))
    assert not rule.trips(1, token(p_top1=1.0, p_top2=0.0, entropy_nats=0.0))


def test_the_fitted_head_comes_near_the_given_weights(shipped, token):
    # Both are fits to half of the prompts, of different halves perhaps.
    given = SpecDecPpOptions().build_rule().head
    fitted = SpecDecPpOptions(head="fitted").build_rule().head
    gaps = [abs(given(t) - fitted(t)) for _, t, _ in judged_drafts(shipped, "all")]
    assert sum(gaps) / len(gaps) < 0.05


def test_a_fitted_head_is_the_fit_to_what_its_options_name(shipped, token):
    samples = list(judged_drafts(shipped, "all"))
    features = [(t.p_top1, math.sqrt(t.entropy_nats)) for _, t, _ in samples]
    model = fit("here", features, [right for *_, right in samples], reject_weight=6)
    options = SpecDecPpOptions(head="fitted", fit_requests="all", reject_weight=6)
    sample = token(p_top1=0.6, entropy_nats=2.25)
    assert options.build_rule().head(sample) == model.probability((0.6, 1.5))
    for change in ({"fit_requests": "half"}, {"reject_weight": 1.0}):
        other = options.model_copy(update=change).build_rule().head(sample)
        assert abs(other - model.probability((0.6, 1.5))) > 0.001


@pytest.mark.parametrize(
    "options",
    [
        DiscoLiteOptions(fit_trace="nowhere.npz"),
        SpecDecPpOptions(fit_trace="nowhere.npz", head="fitted"),
    ],
)
def test_a_missing_trace_to_learn_from_is_told(options):
    with pytest.raises(UserError, match=r"nowhere\.npz: there is no such file"):
        options.build()
