# SPDX-License-Identifier: Apache-2.0
"""Runs of constant step times and independent acceptance against the closed forms.

A run is one long request: where requests end, batches are cut short, which no closed form knows.
"""

from itertools import accumulate

import pytest

from ahasd.system.constant_run import PASS_PS, constant_run, tokens_per_pass_time
from ahasd.system.devices.closed_forms import async_rate, oracle_rate, sync_rate
from ahasd.system.metrics.speculation import by_position, speculation

SLOW = pytest.mark.slow


def rate(ratio, alpha, tokens, **settings):
    """Return committed tokens in the time of a pass; `ratio` is a draft step's time in passes."""
    return tokens_per_pass_time(constant_run(f"iid:{alpha}", ratio, tokens, settings))


@pytest.mark.parametrize(
    ("alpha", "k"),
    [(0.75, 4), *(pytest.param(*each, marks=SLOW) for each in ((0.75, 8), (0.9, 5), (0.5, 2)))],
)
@pytest.mark.parametrize("ratio", [0.05, pytest.param(0.4, marks=SLOW)])
def test_taking_turns_gives_the_rate_of_leviathan_and_others(alpha, k, ratio):
    found = rate(ratio, alpha, 16384, **{"scheme": "sync", "draft.rule": "fixed", "draft.k": k})
    assert found == pytest.approx(sync_rate(alpha, k, ratio, 1), rel=0.03)


@pytest.mark.parametrize(
    ("alpha", "ratio"),
    [(0.75, 0.14), *(pytest.param(*each, marks=SLOW) for each in ((0.5, 0.05), (0.9, 0.2)))],
)
def test_stopping_before_the_first_wrong_token_gives_the_rate_of_the_oracle(alpha, ratio):
    # A pass without a draft where the first token would be wrong, and no cap to speak of.
    oracle = {"draft.rule": "oracle", "draft.may_skip": True, "draft.k_max": 255}
    found = rate(ratio, alpha, 16384, **{"scheme": "sync", **oracle})
    assert found == pytest.approx(oracle_rate(alpha, ratio, 1), rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "k"), [(0.75, 4), (0.9, 8)])
@pytest.mark.parametrize("ratio", [0.05, 0.3])
def test_one_batch_a_pass_with_flushes_gives_the_rate_of_drafting_ahead(alpha, k, ratio):
    settings = {
        "scheme": "async",
        "draft.rule": "fixed",
        "draft.k": k,
        "verification.take": "one",
        "verification.bonus": "drop",
    }
    found = rate(ratio, alpha, 8192, **settings)
    assert found == pytest.approx(async_rate(alpha, k, ratio, 1), rel=0.03)


CAP = 16
PUBLISHED = {
    (0.75, 0.054): ("1.02 (1.03)", "1.29 (1.31)"),
    (0.75, 0.138): ("1.07 (1.20)", "1.40 (1.56)"),
    (0.9, 0.2): ("1.25 (1.26)", "1.41 (1.42)"),
}
"""By acceptance and draft step in passes: gain over the best fixed length up to 16, and over 8,
when turns are taken; of drafting ahead, and of an oracle. A Monte Carlo by others."""


def drain_all(alpha, ratio, first):
    """Return tokens in the time of a pass when the verifier takes all that is there.

    Drafting never stops, but at CAP tokens that wait. After a wrong token the verifier waits for
    `first` tokens. No bonus token. An expectation over where the first wrong token is, no draws.
    """
    tokens = time = done = now = left = 0.0
    reached, taken = (
        1.0,
        first,
    )  # probability that all was right so far, and tokens of the next pass
    now = first * ratio
    while reached > 1e-12:
        now += 1
        for right in range(taken):
            ends = reached * alpha**right * (1 - alpha)
            tokens += ends * (done + right + 1)
            time += ends * now
        reached *= alpha**taken
        done += taken
        # What is drafted during the pass; a step that ends with it is in time.
        taken, left = int((1 + left) / ratio + 1e-9), 1 + left
        left = 0.0 if taken >= CAP else left - taken * ratio
        taken = min(taken, CAP)
        if not taken:
            now += ratio - left
            taken, left = 1, 0.0
    return (tokens + reached * done) / (time + reached * now)


def best_first(alpha, ratio):
    return max(range(1, CAP + 1), key=lambda first: drain_all(alpha, ratio, first))


def capped_oracle(alpha, ratio):
    """Return the rate of taking turns if a batch ends with its last right token.

    It has a token at least and CAP at most.
    """
    survival = list(accumulate([alpha] * CAP, lambda p, q: p * q))
    return (1 + sum(survival)) / (1 + ratio * (sum(survival) + 1 - alpha))


def gains(found, alpha, ratio):
    """Return a rate over those of the best fixed length and of 8, as they are printed."""
    turns = [sync_rate(alpha, k, ratio, 1) for k in range(1, CAP + 1)]
    return found / max(turns), found / turns[8 - 1]


def printed(gain, over_8):
    return f"{gain:.2f} ({over_8:.2f})"


@pytest.mark.parametrize(("alpha", "ratio"), PUBLISHED)
def test_the_published_gains_are_understood(alpha, ratio):
    ahead = max(drain_all(alpha, ratio, first) for first in range(1, CAP + 1))
    assert (
        printed(*gains(ahead, alpha, ratio)),
        printed(*gains(capped_oracle(alpha, ratio), alpha, ratio)),
    ) == PUBLISHED[alpha, ratio]


def numbers(text):
    return [float(part) for part in text.replace("(", "").replace(")", "").split()]


@pytest.mark.parametrize(
    ("alpha", "ratio"),
    [(0.75, 0.138), *(pytest.param(*e, marks=SLOW) for e in PUBLISHED if e != (0.75, 0.138))],
)
def test_drafting_ahead_without_control_gains_what_was_published(alpha, ratio):
    first = best_first(alpha, ratio)
    # A step that ends with a pass is in time for the next one: let it end a picosecond before.
    found = rate(
        ratio - 1 / PASS_PS,
        alpha,
        16384,
        **{"scheme": "amusd", "verification.bonus": "drop", "verification.first_tokens": first},
    )
    assert found == pytest.approx(drain_all(alpha, ratio, first), rel=0.03)
    assert gains(found, alpha, ratio) == pytest.approx(
        numbers(PUBLISHED[alpha, ratio][0]), rel=0.03
    )


@pytest.mark.parametrize(
    ("alpha", "ratio"),
    [(0.75, 0.138), *(pytest.param(*e, marks=SLOW) for e in PUBLISHED if e != (0.75, 0.138))],
)
def test_an_oracle_with_a_cap_gains_what_was_published(alpha, ratio):
    found = rate(ratio, alpha, 16384, **{"scheme": "sync", "draft.rule": "oracle"})
    assert found == pytest.approx(capped_oracle(alpha, ratio), rel=0.03)
    assert gains(found, alpha, ratio) == pytest.approx(
        numbers(PUBLISHED[alpha, ratio][1]), rel=0.03
    )


@SLOW
def test_the_best_first_length_is_the_simulator_s_best_too():
    alpha, ratio = 0.75, 0.138
    found = {
        first: rate(
            ratio,
            alpha,
            16384,
            **{"scheme": "amusd", "verification.bonus": "drop", "verification.first_tokens": first},
        )
        for first in (1, 3, 8)
    }
    assert max(found, key=found.__getitem__) == 3 == best_first(alpha, ratio)


@pytest.mark.parametrize("scheme", ["sync", "amusd"])
def test_metrics_of_steps_have_the_values_of_independent_acceptance(scheme):
    alpha, k = 0.75, 4
    settings = {"scheme": scheme, "draft.rule": "fixed", "draft.k": k}
    log = constant_run(f"iid:{alpha}", 0.138, 8192, settings).ledger.log
    found = speculation(log.drafted, log.accepted, log.emitted)
    # Of 8,192 tokens some 8,000 are tested: 0.02 is four standard errors of a share.
    assert found["alpha"] == pytest.approx(alpha, abs=0.02)
    for place in by_position(log.drafted, log.accepted).values():
        if place["tested"] > 100:
            error = 4 * (alpha * (1 - alpha) / place["tested"]) ** 0.5
            assert place["of_tested"] == pytest.approx(alpha, abs=error)
    if scheme == "sync":
        tokens = (1 - alpha ** (k + 1)) / (1 - alpha)
        assert found["mean_acceptance_length"] == pytest.approx(tokens, rel=0.03)
        assert found["draft_acceptance_rate"] == pytest.approx((tokens - 1) / k, rel=0.04)
        for i, place in enumerate(by_position(log.drafted, log.accepted).values(), 1):
            assert place["of_all_steps"] == pytest.approx(alpha**i, abs=0.04)
