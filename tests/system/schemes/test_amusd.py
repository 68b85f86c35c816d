# SPDX-License-Identifier: Apache-2.0
"""Scheme amusd on devices with round numbers: a pass takes 100 ps."""

import pytest

from ahasd.system import simulate as simulation
from ahasd.system.config import load_config
from ahasd.system.simulate import prepare, simulate


def run(monkeypatch, devices, trace, tokens, **overrides):
    config = load_config(
        "test",
        {"scheme": "amusd", "workload.tokens": tokens, "memory.fidelity": "analytic", **overrides},
    )
    monkeypatch.setattr(simulation, "_devices", lambda *_: devices)
    return simulate(config, trace, prepare(config)[1])


def perfect(build_trace, wrong=(), length=60):
    """A trace whose draft is right but for some positions."""
    rollouts = [[at + 500 if at in wrong else at for at in range(t, t + 4)] for t in range(length)]
    return build_trace([(list(range(length)), rollouts)])


def test_the_verifier_takes_every_token_that_was_drafted_since_it_last_looked(
    monkeypatch, drafting_in, build_trace
):
    devices = drafting_in(31)
    outcome = run(monkeypatch, devices, perfect(build_trace), 18)
    # The first token alone, at 31. Until the pass ends, at 131, three are drafted, the first of
    # which is the bonus that comes with it: two are verified with the row of the last emitted one,
    # and bring three. Steps end at multiples of 31: four of them between 431 and 531.
    assert devices.rows == [2, 3, 3, 3, 3, 4]
    assert outcome.time_ps == 31 + 6 * 100
    assert outcome.ledger.confirmed_bonuses == 5
    assert outcome.npu.state_ps["starved"] == 31


def test_a_wrong_token_rolls_the_draft_back(monkeypatch, drafting_in, build_trace):
    devices = drafting_in(31)
    outcome = run(monkeypatch, devices, perfect(build_trace, wrong={5}), 8)
    # At 231 the NPU takes 4, a bonus, and 5 and 6; the last, 7, is drafted meanwhile. 6 and 7 were
    # in vain; 6 is drafted again, and verified alone.
    assert devices.rows == [2, 3, 3, 2]
    assert outcome.time_ps == 331 + 31 + 100
    ledger = outcome.ledger
    assert (ledger.corrections, ledger.rejected, ledger.flushed) == (1, 1, 2)


def test_a_pass_takes_no_more_than_its_cap_and_as_many_wait(monkeypatch, drafting_in, build_trace):
    devices = drafting_in(1)
    outcome = run(monkeypatch, devices, perfect(build_trace), 40)
    # Of sixteen tokens one is the bonus that is out already.
    assert devices.rows == [2, 16, 16, 7]
    # The second pass takes sixteen at 101; so many are drafted again at 117, and the PIM waits.
    assert outcome.pim
    assert outcome.pim.state_ps["full"] >= 2 * (100 - 16 - 2)


@pytest.mark.parametrize("rule", ["fixed", "svip", "specdecpp"])
def test_no_rule_changes_it(monkeypatch, drafting_in, build_trace, rule):
    trace = perfect(build_trace, wrong={5, 9})
    outcome = run(monkeypatch, drafting_in(10), trace, 30, **{"draft.rule": rule})
    assert outcome.time_ps == run(monkeypatch, drafting_in(10), trace, 30).time_ps
