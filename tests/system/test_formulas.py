# SPDX-License-Identifier: Apache-2.0
"""Runs of constant step times and independent acceptance against the closed forms."""

from typing import cast

import pytest

from ahasd.system.config import load_config
from ahasd.system.devices.closed_forms import async_rate, oracle_rate, sync_rate
from ahasd.system.devices.pool import DevicePool
from ahasd.system.devices.work import Events, Phase, Task
from ahasd.system.model import load_model
from ahasd.system.simulate import prepare, simulate

PASS_PS = 10**11
PASS_S = 0.1


class Constant:
    """Devices whose steps and passes take the same time at any context."""

    simulated_commands = 0
    origin = None

    def __init__(self, draft_ps):
        self.target_shape = load_model("llama2-13b")
        self.draft_ps = draft_ps

    def of(self, config, ranks):
        return self

    def task(self, time_ps):
        return Task(phases=(Phase(name="all", compute_ps=time_ps),), events=Events())

    def draft(self, context):
        return self.task(self.draft_ps)

    def verify(self, rows, context):
        return self.task(PASS_PS)

    def prefill(self, rows, *, drafts):
        return self.task(1)


TOKENS = 4096
"""Of a run: all of a made trace, once."""


def rate(draft_ps, alpha, seeds, **settings):
    """Return committed tokens a second over runs with several seeds."""
    time_ps = 0
    for seed in range(seeds):
        config = load_config(
            "default",
            {
                "workload.trace": f"iid:{alpha}",
                "workload.tokens": TOKENS,
                "seed": seed,
                "tlm": "llama2-13b",
                # Room for as long a context as the run needs; its length changes nothing here.
                "dlm.max_context": 10**6,
                "tlm.max_context": 10**6,
                "memory.fidelity": "analytic",
                **settings,
            },
        )
        trace, ranks = prepare(config)
        pool = cast(DevicePool, Constant(draft_ps))
        time_ps += simulate(config, trace, ranks, pool=pool).time_ps
    return seeds * TOKENS * 10**12 / time_ps


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("alpha", "k"),
    [(0.75, 4), *(pytest.param(*each, marks=SLOW) for each in ((0.75, 8), (0.9, 5), (0.5, 2)))],
)
@pytest.mark.parametrize("draft_ps", [5 * 10**9, pytest.param(4 * 10**10, marks=SLOW)])
def test_taking_turns_gives_the_rate_of_leviathan_and_others(alpha, k, draft_ps):
    found = rate(draft_ps, alpha, 4, **{"scheme": "sync", "draft.rule": "fixed", "draft.k": k})
    assert found == pytest.approx(sync_rate(alpha, k, draft_ps / 1e12, PASS_S), rel=0.03)


@pytest.mark.parametrize("alpha", [pytest.param(0.5, marks=SLOW), 0.75])
@pytest.mark.parametrize("draft_ps", [pytest.param(5 * 10**9, marks=SLOW), 14 * 10**9])
def test_stopping_before_the_first_wrong_token_gives_the_rate_of_the_oracle(alpha, draft_ps):
    found = rate(draft_ps, alpha, 4, **{"scheme": "sync", "draft.rule": "oracle"})
    draft_s = draft_ps / 1e12
    expected = oracle_rate(alpha, draft_s, PASS_S)
    # A batch has a token even where that is wrong: one more draft step in 1 - alpha of all rounds.
    # At 16 tokens it ends in any case, which alpha ** 16, 1 % at most, would pass.
    with_it = 1 / (1 / expected + (1 - alpha) ** 2 * draft_s)
    assert found == pytest.approx(with_it, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "k"), [(0.75, 4), (0.9, 8)])
@pytest.mark.parametrize("draft_ps", [5 * 10**9, 3 * 10**10])
def test_one_batch_a_pass_with_flushes_gives_the_rate_of_drafting_ahead(alpha, k, draft_ps):
    settings = {
        "scheme": "async",
        "draft.rule": "fixed",
        "draft.k": k,
        "verification.take": "one",
        "verification.bonus": "drop",
    }
    found = rate(draft_ps, alpha, 2, **settings)
    expected = async_rate(alpha, k, draft_ps / 1e12, PASS_S)
    assert found == pytest.approx(expected, rel=0.03)
