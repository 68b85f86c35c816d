# SPDX-License-Identifier: Apache-2.0
"""What a rule says that it adapts, after verdicts whose effect is worked out by hand."""

import pytest
from pydantic import TypeAdapter

from ahasd import UserError
from ahasd.system.drafting.file import FileOptions
from ahasd.system.drafting.registry import AnyRuleOptions

ANY = TypeAdapter(AnyRuleOptions)


def rule(**options):
    return ANY.validate_python(options).build_rule()


def test_adaedl_adapts_lambda_and_its_rate(judged):
    adaedl = rule(rule="adaedl", lambda0=0.5)
    assert adaedl.adapted() == {"lambda": 0.5, "rate": 0.9}
    adaedl.feedback(judged(4, 1))  # rate (0.9 + 0.25) / 2 is below 0.9: lambda + 0.001
    assert adaedl.adapted() == pytest.approx({"lambda": 0.501, "rate": 0.575})


def test_the_heuristic_adapts_its_length(judged):
    heuristic = rule(rule="hf-heuristic", k0=3)
    heuristic.feedback(judged(3, 3))
    assert heuristic.adapted() == {"length_tokens": 5}


def test_confidence_adapts_its_threshold_if_it_is_fitted(judged):
    fitted = rule(rule="hf-confidence")
    assert fitted.adapted() == {"threshold": 0.4}
    fitted.feedback(judged(8, 7, p_token=0.9))
    assert fitted.adapted() == {"threshold": 0.9}
    assert rule(rule="hf-confidence", refit=False).adapted() == {}


def test_a_bandit_adapts_its_arm(judged, token):
    bandit = rule(rule="banditspec", longest=2)
    assert bandit.adapted() == {"arm_tokens": 1}
    drafted = judged(1, 1)
    bandit.begin_batch()
    assert bandit.trips(1, drafted.tokens[0])
    bandit.feedback(drafted)
    assert bandit.adapted() == {"arm_tokens": 2}, "every arm once"


def test_a_fixed_rule_adapts_nothing():
    assert rule(rule="fixed").adapted() == {}
    assert rule(rule="svip").adapted() == {}


OWN = """\
from ahasd.system.drafting.base import DraftingRule


class Own(DraftingRule):
    def trips(self, index, token):
        return True

    def adapted(self):
        return {answer}
"""


def own(tmp_path, answer):
    path = tmp_path / "own.py"
    path.write_text(OWN.replace("{answer}", answer))
    return FileOptions(path=str(path), name="Own").build_rule()


def test_a_user_s_rule_may_adapt_something(tmp_path):
    assert own(tmp_path, '{"limit": 0.5}').adapted() == {"limit": 0.5}


@pytest.mark.parametrize(
    "answer", ["0.5", '{"limit": "high"}', "{1: 2.0}", '{"limit": float("nan")}', "None"]
)
def test_what_is_no_number_by_name_is_told(tmp_path, answer):
    with pytest.raises(UserError, match=r"adapted must return finite numbers by name"):
        own(tmp_path, answer).adapted()


def test_what_a_user_s_rule_raises_is_told_in_a_line(tmp_path):
    with pytest.raises(UserError, match=r"own.py.*division by zero") as told:
        own(tmp_path, '{"limit": 1 / 0}').adapted()
    assert "\n" not in str(told.value)
