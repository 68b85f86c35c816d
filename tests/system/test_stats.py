# SPDX-License-Identifier: Apache-2.0
"""Every metric from counts small enough to work it out by hand."""

from collections import Counter
from typing import Any, cast

import pytest

from ahasd.sim.clocked import Cycles
from ahasd.system.config import load_config
from ahasd.system.metrics.log import RunLog
from ahasd.system.schemes.activity import Activity
from ahasd.system.schemes.hardware import Measurements
from ahasd.system.schemes.ledger import Ledger, Preverify
from ahasd.system.schemes.npu import NPU_STATES
from ahasd.system.schemes.pim import PIM_STATES
from ahasd.system.simulate import Outcome
from ahasd.system.stats import cycle_account, flat, metrics


def spent(kinds, first, *spans):
    activity = Activity(kinds, first)
    now_ps = 0
    for state, duration_ps in spans:
        activity.enter(state, now_ps)
        now_ps += duration_ps
    activity.enter(activity.state, now_ps)
    return activity


@pytest.fixture
def found():
    ledger = Ledger(
        drafted=100,
        accepted=30,
        rejected=10,
        flushed=55,
        passes=20,
        rows=70,
        prefill_ps=5 * 10**11,
        edc=Counter(
            {
                ("go", "full"): 6,
                ("go", "rejected"): 4,
                ("go", "flushed"): 9,
                ("stop", "full"): 2,
                ("stop", "rejected"): 12,
                ("stop", "flushed"): 5,
            }
        ),
        decisions=Counter({"go": 19, "stop": 19, "empty": 3}),
        preverify=Preverify(asked=12, harmful_ps=25 * 10**10),
        log=RunLog(
            request=[0, 0, 1],
            drafted=[3, 2, 2],
            accepted=[2, 2, 0],
            emitted=[3, 3, 1],
            end_ps=[6 * 10**11, 10**12, 2 * 10**12],
            batches=Counter({("rule", 2): 3, ("cap", 16): 1}),
        ),
    )
    outcome = Outcome(
        config=load_config("test", {"workload.tokens": 50}),
        ranks=cast(Any, None),
        time_ps=2 * 10**12,
        first_token_ps=6 * 10**11,
        in_flight_contexts=Counter(),
        delayed_ps={"npu": 10**11, "pim": 0},
        memory_commands=0,
        devices=cast(Any, None),
        ledger=ledger,
        npu=spent(NPU_STATES, "starved", ("starved", 5 * 10**11), ("verifying", 15 * 10**11)),
        pim=spent(
            PIM_STATES,
            "waiting",
            ("drafting", 10**12),
            ("full", 2 * 10**11),
            ("deciding", 10**11),
            ("stopped", 6 * 10**11),
            ("seam", 10**11),
        ),
        in_flight=5,
        cycles={"pim": Cycles(stepped=7, skipped=93)},
        measurements=Measurements(),
        counters={},
        split_ps={"verify_only": 5 * 10**11, "draft_and_verify": 15 * 10**11},
    )
    return metrics(outcome)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("time_s", 2.0),
        ("prefill_s", 0.5),
        ("ttft_s", 0.6),
        ("throughput_tokens_s", 50 / 1.5),
        ("end_to_end_tokens_s", 25.0),
        ("delayed_s.npu", 0.1),
        ("mean_acceptance_length_tokens", 2.5),
        ("rows_per_pass", 3.5),
        ("verification_rate", 0.4),
        ("requests", 2),
        ("requests_per_s", 1.0),
        ("discard_rate", (10 + 55) / 50),
        ("accepted_tokens_s", 30 / 1.5),
        ("drafted_tokens_s", 100 / 1.5),
        ("speculation.alpha", 4 / 6),
        ("speculation.mean_acceptance_length", 1 + 4 / 3),
        ("speculation.mean_emitted_tokens", 7 / 3),
        ("acceptance_by_position.2.of_tested", 1.0),
        ("acceptance_by_position.1.of_all_steps", 2 / 3),
        ("drafting.early_exits", 3),
        ("drafting.requested_tokens", 64),
        ("latency.ttft_s.p50", 0.6),
        ("latency.ttft_s.p99", 1.0),
        ("latency.itl_s.p50", 0.4),
        ("latency.token_s.p50", 0.4 / 3),
        ("latency.tpot_s.p50", 0.4 / 5),
        ("split.draft_and_verify", 0.75),
        ("acceptance_rate", 0.30),
        ("judged_acceptance_rate", 0.75),
        ("drafted_per_token", 2.0),
        ("rejected_per_token", 0.2),
        ("flushed_per_token", 1.1),
        ("npu.busy", 0.75),
        ("npu.blocked", 0.0),
        ("npu.idle", 0.25),
        ("pim.busy", 0.5),
        ("pim.blocked", 0.15),
        ("pim.idle", 0.35),
        ("pim.states_s.stopped", 0.6),
        ("edc.confusion_batches.stop.flushed", 5),
        ("edc.reject_recall", 12 / 16),
        ("edc.false_stop_rate", 2 / 8),
        ("edc.accuracy", 18 / 24),
        ("edc.decisions.empty", 3),
        ("counts.in_flight_tokens", 5),
    ],
)
def test_a_metric_is_what_its_formula_says(found, key, value):
    assert flat(found)[key] == pytest.approx(value)


def test_the_shares_of_each_device_add_up_to_one(found):
    for device in ("npu", "pim"):
        assert sum(found[device][kind] for kind in ("busy", "blocked", "idle")) == pytest.approx(1)


def test_tokens_a_joule_are_the_inverse_of_joules_a_token(found):
    for level, styles in found["tokens_per_j"].items():
        for style, tokens in styles.items():
            energy = found["energy"][level][style]["mj_per_token"]
            assert tokens is None if not energy else tokens * energy == pytest.approx(1000)
    assert found["tokens_per_j"]["mid"]["wall"] > 0


def test_a_ratio_without_a_denominator_is_none():
    outcome = Outcome(
        config=load_config("test", {}),
        ranks=cast(Any, None),
        time_ps=1,
        first_token_ps=1,
        in_flight_contexts=Counter(),
        delayed_ps={"npu": 0, "pim": 0},
        memory_commands=0,
        devices=cast(Any, None),
        ledger=Ledger(passes=1),
        npu=spent(NPU_STATES, "verifying", ("verifying", 1)),
        pim=spent(PIM_STATES, "waiting", ("waiting", 1)),
        in_flight=0,
        cycles={"pim": Cycles()},
        measurements=Measurements(),
        counters={},
        split_ps={},
    )
    found = metrics(outcome)
    assert found["acceptance_rate"] is None
    assert found["speculation"]["alpha"] is None
    assert found["latency"]["ttft_s"]["p50"] is None
    assert found["edc"]["reject_recall"] is None


def test_the_cycle_account_adds_up():
    assert cycle_account({"pim": Cycles(7, 93)}) == {
        "pim": {"stepped": 7, "skipped": 93, "simulated": 100}
    }


def test_the_tvc_is_accounted_for(found):
    assert found["tvc"]["asked"] == 12
    assert found["tvc"]["harmful_s"] == 0.25
    assert found["tvc"]["prediction_error"]["nvct"]["predictions"] == 0
