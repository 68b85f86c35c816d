# SPDX-License-Identifier: Apache-2.0
import pytest
from pydantic import TypeAdapter, ValidationError

from ahasd.system.drafting.adaedl import AdaEdl
from ahasd.system.drafting.base import Drafting, DraftToken, Judged, Outcome
from ahasd.system.drafting.fixed import Fixed
from ahasd.system.drafting.registry import (
    AdaEdlOptions,
    AnyRuleOptions,
    FixedOptions,
    SvipOptions,
)
from ahasd.system.drafting.svip import Svip

ANY = TypeAdapter(AnyRuleOptions)


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
    ],
)
def test_a_bad_table_is_refused(table, complaint):
    with pytest.raises(ValidationError, match=complaint):
        ANY.validate_python(table)
