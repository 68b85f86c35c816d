# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from ahasd.system.drafting.adaedl import AdaEdl
from ahasd.system.drafting.banditspec import BanditSpec
from ahasd.system.drafting.base import Drafting, DraftToken, Judged, Outcome
from ahasd.system.drafting.fixed import Fixed
from ahasd.system.drafting.hf_confidence import HfConfidence
from ahasd.system.drafting.hf_heuristic import HfHeuristic
from ahasd.system.drafting.logistic import Logistic
from ahasd.system.drafting.oracle import Oracle
from ahasd.system.drafting.registry import (
    AdaEdlOptions,
    AnyRuleOptions,
    BanditSpecOptions,
    FixedOptions,
    HfHeuristicOptions,
    OracleOptions,
    SvipOptions,
)
from ahasd.system.drafting.saddle import Saddle
from ahasd.system.drafting.specdecpp import SpecDecPp, recorded_head
from ahasd.system.drafting.svip import Svip

ANY: TypeAdapter[Any] = TypeAdapter(AnyRuleOptions)


def _judged(drafted, accepted):
    return Judged((DraftToken(1, 0.5, 0.5, 0.5, 0.25),) * drafted, accepted)


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ({"rule": "fixed", "k": 5}, Fixed(5)),
        ({"rule": "fixed"}, Fixed(8)),
        ({"rule": "svip"}, Svip(c=0.15, h=0.3, source="repo")),
        ({"rule": "svip", "c": 1, "h": 0, "source": "paper"}, Svip(c=1, h=0, source="paper")),
        ({"rule": "adaedl", "k_max": 12}, AdaEdl(lambda0=0.7, k_max=12)),
        (
            {
                "rule": "adaedl",
                "lambda0": 0.3,
                "gamma": 0.1,
                "beta1": 0.6,
                "beta2": 0.8,
                "eps": 0.02,
                "alpha": 0.85,
                "lengthen": "at_cap",
                "restart_per_request": False,
            },
            AdaEdl(
                lambda0=0.3,
                k_max=16,
                gamma=0.1,
                beta1=0.6,
                beta2=0.8,
                eps=0.02,
                alpha=0.85,
                lengthen="at_cap",
                restart_per_request=False,
            ),
        ),
        ({"rule": "hf-heuristic"}, HfHeuristic(k0=5, k_max=16)),
        (
            {"rule": "hf-heuristic", "k0": 3, "k_max": 8, "restart_per_request": True},
            HfHeuristic(k0=3, k_max=8, restart_per_request=True),
        ),
        ({"rule": "hf-confidence"}, HfConfidence(0.4, True, "p_token", True)),
        (
            {
                "rule": "hf-confidence",
                "threshold": 0.75,
                "refit": False,
                "signal": "p_top1",
                "restart_per_request": False,
            },
            HfConfidence(0.75, False, "p_top1", False),
        ),
        ({"rule": "specdecpp", "head": "a_hat"}, SpecDecPp(recorded_head, 0.3, True)),
        (
            {"rule": "specdecpp", "head": "a_hat", "h": 0.7, "lags": False},
            SpecDecPp(recorded_head, 0.7, False),
        ),
        ({"rule": "banditspec"}, BanditSpec((1, 2, 3, 4), "ucb_paper", "tokens_per_round", 0.05)),
        (
            {
                "rule": "banditspec",
                "min_len": 2,
                "longest": 3,
                "mode": "ucb_repo",
                "reward": "tokens_per_s",
                "delta": 0.5,
                "restart_per_request": True,
            },
            BanditSpec((2, 3), "ucb_repo", "tokens_per_s", 0.5, 0, True),
        ),
        ({"rule": "saddle"}, Saddle(0.3)),
        ({"rule": "saddle", "tau": 1}, Saddle(1)),
        ({"rule": "oracle"}, Oracle()),
    ],
)
def test_a_table_builds_the_rule_it_names(table, rule):
    assert ANY.validate_python(table).build_rule() == rule


def test_limits_reach_the_drafting():
    options = SvipOptions(k_max=9, min_len=2, keep_tripping_token=False)
    assert options.build() == Drafting(Svip(), k_max=9, min_len=2, keep_tripping_token=False)
    assert FixedOptions().build() == Drafting(Fixed(8), k_max=16, min_len=1)


def test_every_build_has_a_state_of_its_own():
    options = AdaEdlOptions()
    first, second = options.build(), options.build()
    first.feedback(_judged(4, 0))
    assert second.rule == AdaEdl(lambda0=0.7, k_max=16)
    assert first.rule != second.rule


def test_a_fixed_length_keeps_its_last_token_whatever_the_convention():
    drafting = FixedOptions(k=2, keep_tripping_token=False).build()
    token = DraftToken(1, 0.5, 0.5, 0.5, 0.25)
    assert [drafting.observe(token) for _ in range(2)] == [Outcome.CONTINUE, Outcome.STOP_KEEP]


@pytest.mark.parametrize(
    "options", [HfHeuristicOptions(k0=1), OracleOptions(), BanditSpecOptions(longest=1)]
)
def test_a_rule_that_settles_the_length_keeps_its_last_token_whatever_the_convention(options):
    drafting = options.model_copy(update={"keep_tripping_token": False}).build()
    token = DraftToken(1, 0.5, 0.5, 0.5, 0.25, next_right=False)
    assert drafting.observe(token) is Outcome.STOP_KEEP


def test_the_seed_reaches_the_rule_that_draws():
    options = BanditSpecOptions(mode="exp3", longest=16)
    firsts = [options.build_rule(seed).choice for seed in (1, 2, 3, 1)]
    assert firsts[0] == firsts[3]
    assert len(set(firsts)) > 1


def test_a_fitted_threshold_reaches_disco_lite():
    rule = ANY.validate_python({"rule": "disco-lite", "tau": 0.25}).build_rule()
    assert (rule.tau, type(rule.model)) == (0.25, Logistic)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"rule": "guess"}, "does not match any of the expected tags"),
        ({}, "Unable to extract tag"),
        ({"rule": "fixed", "h": 0.3}, "Extra inputs are not permitted"),
        ({"rule": "fixed", "k": 0}, "greater than or equal to 1"),
        ({"rule": "fixed", "k": 17}, "k 17 must lie in min_len..k_max, which is 1..16"),
        ({"rule": "fixed", "k": 2, "min_len": 3}, "k 2 must lie in min_len..k_max, which is 3..16"),
        ({"rule": "fixed", "k": True}, "valid integer"),
        ({"rule": "svip", "c": 0}, "greater than 0"),
        ({"rule": "svip", "h": -0.1}, "greater than or equal to 0"),
        ({"rule": "svip", "h": "0.3"}, "valid number"),
        ({"rule": "svip", "h": float("nan")}, "finite number"),
        ({"rule": "svip", "source": "blog"}, "'repo' or 'paper'"),
        ({"rule": "svip", "k_max": 0}, "greater than or equal to 1"),
        ({"rule": "svip", "k_max": 256}, "less than or equal to 255"),
        ({"rule": "svip", "min_len": 0}, "greater than or equal to 1"),
        ({"rule": "svip", "min_len": 5, "k_max": 4}, "min_len 5 must not exceed k_max 4"),
        ({"rule": "adaedl", "lambda0": 1.1}, "less than or equal to 1"),
        ({"rule": "adaedl", "gamma": 0}, "greater than 0"),
        ({"rule": "adaedl", "beta1": -1}, "greater than or equal to 0"),
        ({"rule": "adaedl", "lengthen": "never"}, "'below_cap' or 'at_cap'"),
        ({"rule": "hf-heuristic", "k0": 0}, "greater than or equal to 1"),
        ({"rule": "hf-heuristic", "k_max": 4}, "k0 5 must lie in min_len..k_max, which is 1..4"),
        ({"rule": "hf-confidence", "threshold": 1.5}, "less than or equal to 1"),
        ({"rule": "hf-confidence", "signal": "p_top2"}, "'p_token' or 'p_top1'"),
        ({"rule": "hf-confidence", "refit": 1}, "valid boolean"),
        ({"rule": "specdecpp", "h": -0.1}, "greater than or equal to 0"),
        ({"rule": "specdecpp", "head": "llm"}, "'logistic', 'fitted' or 'a_hat'"),
        ({"rule": "specdecpp", "bias": float("inf")}, "finite number"),
        ({"rule": "specdecpp", "reject_weight": 0}, "greater than 0"),
        ({"rule": "specdecpp", "fit_trace": ""}, "at least 1 character"),
        ({"rule": "banditspec", "longest": 17}, "longest 17 must lie in min_len..k_max"),
        ({"rule": "banditspec", "longest": 2, "min_len": 3}, "longest 2 must lie in min_len"),
        ({"rule": "banditspec", "delta": 0}, "greater than 0"),
        ({"rule": "banditspec", "mode": "thompson"}, "'ucb_paper', 'ucb_repo' or 'exp3'"),
        (
            {"rule": "banditspec", "mode": "exp3", "reward": "tokens_per_s"},
            'choose "tokens_per_round"',
        ),
        ({"rule": "saddle", "tau": 0}, "greater than 0"),
        ({"rule": "saddle", "tau": 1.1}, "less than or equal to 1"),
        ({"rule": "disco-lite", "tau": 2}, "less than or equal to 1"),
        ({"rule": "disco-lite", "fit_requests": "some"}, "'half' or 'all'"),
        ({"rule": "oracle", "k": 3}, "Extra inputs are not permitted"),
        ({"rule": "file", "name": "Own"}, "Field required"),
        ({"rule": "file", "path": "", "name": "Own"}, "at least 1 character"),
    ],
)
def test_a_bad_table_is_refused(table, complaint):
    with pytest.raises(ValidationError, match=complaint):
        ANY.validate_python(table)
