# SPDX-License-Identifier: Apache-2.0
import pytest

from ahasd import UserError
from ahasd.system.drafting.base import Outcome
from ahasd.system.drafting.oracle import Oracle, OracleOptions
from ahasd.system.workload.replay import replay
from ahasd.system.workload.source import open_trace


def test_the_oracle_ends_a_batch_with_its_last_right_token(token):
    drafting = OracleOptions(keep_tripping_token=False).build()
    known = [token(next_right=right) for right in (True, True, False)]
    assert [drafting.observe(each) for each in known] == [Outcome.CONTINUE] * 2 + [
        Outcome.STOP_KEEP
    ]


def test_the_oracle_needs_to_know(token):
    with pytest.raises(UserError, match="rule oracle needs to know what the target model will"):
        Oracle().trips(1, token())


def test_the_oracle_drafts_only_right_tokens_or_one_wrong_one(build_trace):
    # Right: 10 11, then 99 for 12; 13 at once; 99 for 14.
    targets = [10, 11, 12, 13, 14]
    rollouts = [[10, 11, 99], [11, 99, 99], [99, 99, 99], [13, 99, 99], [99, 99, 99]]
    result = replay(build_trace([(targets, rollouts)]), OracleOptions(k_max=3).build())
    assert result.drafted_per_round == (2, 1)
    assert result.accepted_per_round == (2, 1)
    assert replay(build_trace([(targets[2:], rollouts[2:])]), OracleOptions(k_max=3).build()) == (
        type(result)((1, 1), (0, 1), 3)
    )


@pytest.mark.parametrize("alpha", [0.5, 0.75, 0.9])
def test_the_oracle_reaches_its_closed_form_on_independent_acceptance(alpha):
    trace = open_trace(f"iid:{alpha}", seed=1)
    cap = trace.k_max
    result = replay(trace, OracleOptions(k_max=cap).build())
    # 1 / (1 - a) tokens a round without a cap; a draft step for each right token but the round's
    # own one, and one in vain where the first is wrong.
    tokens = (1 - alpha ** (cap + 1)) / (1 - alpha)
    assert result.acceptance_length == pytest.approx(tokens, rel=0.03)
    assert result.mean_length == pytest.approx(tokens - 1 + (1 - alpha), rel=0.03)


def test_the_oracle_skips_a_batch_without_a_right_token_if_it_may():
    assert OracleOptions(may_skip=True).build().skips(right=False)
    assert not OracleOptions(may_skip=True).build().skips(right=True)
    assert not OracleOptions().build().skips(right=False)
