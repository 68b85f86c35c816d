# SPDX-License-Identifier: Apache-2.0
"""Which resource binds a run, and what a step of the ablation changed: sentences from figures.

Decoding throughput is tokens a pass, times the share of the time in which the verifier verifies,
over the time of a pass; and that is its time alone, times what others on the memory add. So the
ratio of two throughputs is the product of four ratios, and the one that is furthest from 1 says
what a step mostly did.
"""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ahasd.system.schemes.names import ONE_DEVICE
from ahasd.system.simulate import Outcome

SATURATED = 0.75
"""Share of the time from which on a device binds."""
HELPS = 1.01
"""Speed-up from which on a step helps."""
NOTABLE = 0.005
"""Relative change from which on it is told."""
RELIEF = 0.05
"""Share of the time by which a device's load changes notably."""

RESOURCES = {
    "weights.memory": "reading the target's weights from the memory",
    "weights.compute": "multiplying by the target's weights",
    "attention.memory": "reading keys and values from the memory",
    "attention.compute": "computing attention",
    "all.memory": "the slowest of its rates",
    "offload.compute": "reading weights from the slower memory",
    "kernels.compute": "the kernels of its model, spilled weights included",
}


def pass_shares(outcome: Outcome) -> dict[str, float]:
    """Return what the time of a run's passes alone went into, as shares by phase and resource.

    The resource is `memory` or `compute`, whichever a phase takes longer for.
    """
    spent = Counter[str]()
    for (rows, context, _), times in outcome.ledger.verified.items():
        for phase in outcome.devices.verify(rows, context).phases:
            resource = "memory" if phase.memory_ps >= phase.compute_ps else "compute"
            spent[f"{phase.name}.{resource}"] += times * phase.alone_ps
    total = spent.total()
    return {name: ps / total for name, ps in spent.most_common() if ps}


@dataclass(frozen=True, kw_only=True)
class Gist:
    """What of a run says what binds it; shares are of the time behind the prompts.

    Parameters
    ----------
    tokens_s
        Decoding throughput.
    tokens_per_pass
        Emitted tokens.
    alone_s
        Time of a pass if nobody else used the memory.
    stretch
        What contention makes of that time, 1 or more.
    verifying
        Share of the time in passes.
    pim_busy, pim_blocked
        Shares of the PIM's time.
    drafted, flushed
        Tokens for one that is emitted.
    turns
        Whether one machine drafts and verifies by turns; `pim_busy` is then its drafting.
    """

    tokens_s: float
    tokens_per_pass: float
    alone_s: float
    stretch: float
    verifying: float
    pim_busy: float
    pim_blocked: float
    drafted: float
    flushed: float
    turns: bool = False

    @classmethod
    def of(cls, found: dict[str, Any]) -> "Gist":
        """Return the gist of a run's metrics."""
        decoding_s = found["time_s"] - found["prefill_s"]
        verifying_s = found["npu"]["states_s"]["verifying"]
        alone_s = verifying_s - found["delayed_s"]["npu"]
        whole = found["time_s"] / decoding_s
        pim = found.get("pim", {"busy": 0.0, "blocked": 0.0})
        return cls(
            tokens_s=found["throughput_tokens_s"],
            tokens_per_pass=found["mean_acceptance_length_tokens"],
            alone_s=alone_s / found["passes"],
            stretch=verifying_s / alone_s,
            verifying=verifying_s / decoding_s,
            pim_busy=pim["busy"] * whole,
            pim_blocked=pim["blocked"] * whole,
            drafted=found.get("drafted_per_token", 0.0),
            flushed=found.get("flushed_per_token", 0.0),
            turns="pim" in found and found["scheme"] in (*ONE_DEVICE, "specpim"),
        )


def mean(gists: Sequence[Gist]) -> Gist:
    """Return the geometric means of speeds and times, the arithmetic ones of shares and counts."""
    means: dict[str, float] = {}
    for name in ("tokens_s", "tokens_per_pass", "alone_s", "stretch", "verifying"):
        means[name] = statistics.geometric_mean(getattr(gist, name) for gist in gists)
    for name in ("pim_busy", "pim_blocked", "drafted", "flushed"):
        means[name] = statistics.fmean(getattr(gist, name) for gist in gists)
    return Gist(**means, turns=all(gist.turns for gist in gists))


def factors(before: Gist, now: Gist) -> dict[str, float]:
    """Return the ratios whose product is that of the throughputs; above 1 is faster."""
    return {
        "tokens": now.tokens_per_pass / before.tokens_per_pass,
        "waiting": now.verifying / before.verifying,
        "pass": before.alone_s / now.alone_s,
        "contention": before.stretch / now.stretch,
    }


def binds(now: Gist, shares: dict[str, float]) -> str:
    """Return which resource binds.

    Parameters
    ----------
    now
        The run.
    shares
        Its `pass_shares`.
    """
    name = max(shares, key=shares.__getitem__)
    what = f"{shares[name]:.0%} of a pass {RESOURCES.get(name, name.replace('.', ' on the '))}"
    if now.turns:
        told = f"drafting, {now.pim_busy:.1%} of the time, and passes, {now.verifying:.1%}"
        return f"{told}, take turns, {what}"
    if now.verifying >= SATURATED:
        return f"the verifier binds, in passes {now.verifying:.1%} of the time, {what}"
    if now.pim_busy >= SATURATED:
        return f"the PIM binds, busy {now.pim_busy:.1%} of the time"
    return (
        f"nothing is busy all the time: in passes {now.verifying:.1%}, the PIM busy"
        f" {now.pim_busy:.1%}"
    )


def change(before: Gist, now: Gist) -> str:
    """Return what a step mostly changed, and where that comes from."""
    ratios = factors(before, now)
    name = max(ratios, key=lambda each: abs(math.log(ratios[each])))
    if abs(ratios[name] - 1) < NOTABLE:
        return f"no factor changes by {NOTABLE:.1%}"
    told = {
        "tokens": f"tokens/pass {before.tokens_per_pass:.2f} -> {now.tokens_per_pass:.2f}",
        "waiting": f"time in passes {before.verifying:.1%} -> {now.verifying:.1%}",
        "pass": f"a pass alone {before.alone_s * 1e3:.1f} -> {now.alone_s * 1e3:.1f} ms",
        "contention": f"passes longer by contention {before.stretch - 1:.1%} ->"
        f" {now.stretch - 1:.1%}",
    }
    return f"mostly {told[name]} (x{ratios[name]:.2f})"


def reason(before: Gist, now: Gist) -> str:
    """Return why a step does not help; empty if it does."""
    if now.tokens_s / before.tokens_s >= HELPS:
        return ""
    load = f"busy {before.pim_busy:.1%} -> {now.pim_busy:.1%}"
    waste = f"flushed {before.flushed:.2f} -> {now.flushed:.2f} a token"
    relieved = before.pim_busy - now.pim_busy
    if now.verifying >= SATURATED and relieved > RELIEF:
        more = ", and passes bring less" if factors(before, now)["tokens"] < 1 else ""
        return f"it takes work off the PIM ({load}, {waste}), which does not bind{more}"
    if now.verifying >= SATURATED and relieved >= -RELIEF:
        return f"it serves the PIM ({load}), which does not bind"
    ratios = factors(before, now)
    worst = min(ratios, key=ratios.__getitem__)
    return {
        "tokens": f"passes bring less ({waste})",
        "waiting": "the verifier waits longer",
        "pass": "passes take longer",
        "contention": f"the PIM delays the verifier more ({load})",
    }[worst]


def sentence(
    label: str,
    now: Sequence[Gist],
    shares: dict[str, float],
    before: Sequence[Gist] = (),
    *,
    over: str = "",
) -> str:
    """Return one line on a step: what binds, what it changed, and why it does not help.

    Parameters
    ----------
    label
        The step.
    now
        Its runs, at least one.
    shares
        Mean of their `pass_shares`.
    before
        The same runs of the step before; none for the first.
    over
        The step before.
    """
    here = mean(now)
    if not before:
        return f"{label}: {binds(here, shares)}."
    there = mean(before)
    ratio = here.tokens_s / there.tokens_s
    faster = sum(a.tokens_s > b.tokens_s for a, b in zip(now, before, strict=True))
    runs = f", faster in {faster} of {len(now)}" if len(now) > 1 else ""
    why = reason(there, here)
    parts = [f"x{ratio:.2f} over {over}{runs}", binds(here, shares), change(there, here)]
    if why:
        parts.append(f"no help: {why}")
    return f"{label}: {'; '.join(parts)}."


def mean_shares(each: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the means of several runs' `pass_shares`."""
    names = dict.fromkeys(name for shares in each for name in shares)
    return {name: statistics.fmean(shares.get(name, 0.0) for shares in each) for name in names}
