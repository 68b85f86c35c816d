# SPDX-License-Identifier: Apache-2.0
"""What binds and why: the rules, on figures made up for each."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ahasd.system.devices.work import Events, Phase, Task
from ahasd.system.matrix.binding import (
    Gist,
    binds,
    change,
    factors,
    mean,
    mean_shares,
    pass_shares,
    reason,
    sentence,
)

BASE = Gist(
    tokens_s=7.2,
    tokens_per_pass=2.0,
    alone_s=0.25,
    stretch=1.0,
    verifying=0.9,
    pim_busy=0.9,
    pim_blocked=0.0,
    drafted=3.0,
    flushed=2.0,
)
RELIEF = (
    "it takes work off the PIM (busy 90.0% -> 50.0%, flushed 2.00 -> 1.00 a token), which does not"
    " bind"
)
READS = {"weights.memory": 0.95, "attention.memory": 0.05}


def after(**changes):
    """Return a run of changed figures whose throughput follows from them."""
    gist = replace(BASE, **changes)
    speed = gist.tokens_per_pass * gist.verifying / (gist.alone_s * gist.stretch)
    return replace(gist, tokens_s=speed)


def test_the_gist_leaves_the_prompts_out():
    found = {
        "scheme": "ahasd",
        "time_s": 12.0,
        "prefill_s": 2.0,
        "throughput_tokens_s": 4.0,
        "mean_acceptance_length_tokens": 2.0,
        "passes": 20,
        "npu": {"states_s": {"verifying": 8.0, "prefilling": 2.0, "starved": 2.0}},
        "delayed_s": {"npu": 3.0},
        "pim": {"busy": 0.5, "blocked": 0.25},
        "drafted_per_token": 1.5,
        "flushed_per_token": 0.5,
    }
    gist = Gist.of(found)
    assert gist == Gist(
        tokens_s=4.0,
        tokens_per_pass=2.0,
        alone_s=0.25,  # 8 - 3 s in 20 passes
        stretch=1.6,
        verifying=0.8,
        pim_busy=0.6,
        pim_blocked=0.3,
        drafted=1.5,
        flushed=0.5,
    )
    # The four figures make up the throughput.
    assert gist.tokens_per_pass * gist.verifying / (gist.alone_s * gist.stretch) == 4.0
    assert Gist.of(found | {"scheme": "pim-sd"}).turns
    assert Gist.of(found | {"scheme": "specpim"}).turns
    del found["pim"], found["drafted_per_token"], found["flushed_per_token"]
    assert (Gist.of(found).pim_busy, Gist.of(found).drafted) == (0, 0)
    # Who only decodes has nobody to take turns with.
    assert not Gist.of(found | {"scheme": "pim-ar"}).turns


def test_the_factors_make_up_the_ratio_of_throughputs():
    now = after(tokens_per_pass=1.8, verifying=0.95, alone_s=0.3, stretch=1.1)
    found = factors(BASE, now)
    assert found == pytest.approx(
        {"tokens": 0.9, "waiting": 0.95 / 0.9, "pass": 0.25 / 0.3, "contention": 1 / 1.1}
    )
    product = 1.0
    for each in found.values():
        product *= each
    assert product == pytest.approx(now.tokens_s / BASE.tokens_s)


def test_means_keep_the_product():
    other = after(tokens_per_pass=4.0, alone_s=0.5, pim_busy=0.3)
    both = mean([BASE, other])
    assert both.tokens_per_pass == pytest.approx(8**0.5)
    assert both.pim_busy == pytest.approx(0.6)
    assert both.tokens_s == pytest.approx(
        both.tokens_per_pass * both.verifying / (both.alone_s * both.stretch)
    )
    assert mean_shares([{"a": 1.0}, {"a": 0.5, "b": 0.5}]) == {"a": 0.75, "b": 0.25}


@pytest.mark.parametrize(
    ("gist", "shares", "words"),
    [
        (BASE, READS, "the verifier binds, in passes 90.0% of the time, 95% of a pass reading the"),
        (BASE, {"kernels.compute": 1.0}, "100% of a pass the kernels of its model"),
        (BASE, {"else.compute": 1.0}, "100% of a pass else on the compute"),
        (
            replace(BASE, verifying=0.8, pim_busy=0.2, turns=True),
            READS,
            "drafting, 20.0% of the time, and passes, 80.0%, take turns, 95% of a pass reading the",
        ),
        (replace(BASE, verifying=0.749), READS, "the PIM binds, busy 90.0% of the time"),
        (
            replace(BASE, verifying=0.5, pim_busy=0.4),
            READS,
            "nothing is busy all the time: in passes 50.0%, the PIM busy 40.0%",
        ),
    ],
)
def test_what_binds_is_whoever_is_busy(gist, shares, words):
    assert words in binds(gist, shares)


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (after(tokens_per_pass=1.5), "mostly tokens/pass 2.00 -> 1.50 (x0.75)"),
        (after(verifying=0.45), "mostly time in passes 90.0% -> 45.0% (x0.50)"),
        (after(alone_s=0.125), "mostly a pass alone 250.0 -> 125.0 ms (x2.00)"),
        (after(stretch=1.25), "mostly passes longer by contention 0.0% -> 25.0% (x0.80)"),
        (after(tokens_per_pass=1.9, verifying=0.6), "mostly time in passes"),
        (after(tokens_per_pass=2.009), "no factor changes by 0.5%"),
    ],
)
def test_the_greatest_factor_says_what_changed(now, words):
    assert change(BASE, now).startswith(words)


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (after(tokens_per_pass=2.2), ""),
        # The EDC: the PIM has less to do, and the NPU was what bound.
        (
            after(tokens_per_pass=1.8, pim_busy=0.5, flushed=1.0),
            f"{RELIEF}, and passes bring less",
        ),
        (
            after(pim_busy=0.5, flushed=1.0),
            RELIEF,
        ),
        # The AAU: the PIM is faster, and as busy.
        (after(pim_busy=0.88), "it serves the PIM (busy 90.0% -> 88.0%), which does not bind"),
        # The PIM has much more to do: what of it costs most?
        (
            replace(after(stretch=1.5, pim_busy=0.99), verifying=0.7),
            "the PIM delays the verifier more (busy 90.0% -> 99.0%)",
        ),
        (after(verifying=0.3), "the verifier waits longer"),
        # Less work for the PIM is no reason where the verifier does not bind.
        (after(verifying=0.3, pim_busy=0.4), "the verifier waits longer"),
        (replace(after(alone_s=0.5), verifying=0.7), "passes take longer"),
        (
            replace(after(tokens_per_pass=1.0, flushed=4.0), verifying=0.7),
            "passes bring less (flushed 2.00 -> 4.00 a token)",
        ),
    ],
)
def test_a_step_that_does_not_help_has_its_reason(now, words):
    assert reason(BASE, now) == words


def test_a_sentence_tells_all_three():
    now = after(tokens_per_pass=1.8, pim_busy=0.5, flushed=1.0)
    told = sentence("+ EDC", [now], READS, [BASE], over="+ AAU")
    assert told == (
        "+ EDC: x0.90 over + AAU; the verifier binds, in passes 90.0% of the time, 95% of a pass"
        " reading the target's weights from the memory; mostly tokens/pass 2.00 -> 1.80 (x0.90); no"
        f" help: {RELIEF}, and passes bring less."
    )
    assert sentence("gpu-sd", [BASE], READS).startswith("gpu-sd: the verifier binds")
    better = after(tokens_per_pass=2.2)
    told = sentence("+ TVC", [better, BASE], READS, [BASE, BASE], over="+ EDC")
    assert told.startswith("+ TVC: x1.05 over + EDC, faster in 1 of 2; ")
    assert "no help" not in told


def test_shares_of_a_pass_are_by_phase_and_what_it_takes_longer_for():
    phases = (
        Phase(name="weights", memory_ps=60, compute_ps=20),
        Phase(name="attention", memory_ps=10, compute_ps=30),
        Phase(name="drain", compute_ps=10),
        Phase(name="nonlinear"),
    )
    devices = SimpleNamespace(verify=lambda rows, context: Task(phases=phases, events=Events()))
    outcome: Any = SimpleNamespace(
        ledger=SimpleNamespace(verified={(1, 5, 1): 3, (2, 9, 1): 1}), devices=devices
    )
    assert pass_shares(outcome) == {
        "weights.memory": 0.6,
        "attention.compute": 0.3,
        "drain.compute": 0.1,
    }
