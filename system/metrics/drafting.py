# SPDX-License-Identifier: Apache-2.0
"""What the drafting rule did: how long its batches were, what ended them, what it adapted."""

from collections import Counter
from typing import Any

from ahasd.system.metrics.log import RunLog
from ahasd.system.metrics.spread import mean_and_sd, ratio

ENDS = ("rule", "cap", "request_end", "link")


def drafting(log: RunLog, k_max: int) -> dict[str, Any]:
    """Return the figures of a run's finished batches, JSON-ready.

    An early exit is a batch that its rule ended before the cap. What was asked for is the cap, once
    a batch.

    Parameters
    ----------
    log
        Of the run.
    k_max
        The cap, tokens.
    """
    lengths: Counter[int] = Counter()
    ended = dict.fromkeys(ENDS, 0)
    for (end, length), batches in log.batches.items():
        lengths[length] += batches
        ended[end] += batches
    batches = lengths.total()
    generated = sum(length * times for length, times in lengths.items())
    mean, sd = mean_and_sd(list(lengths.elements()))
    return {
        "batches": batches,
        "mean_length_tokens": mean,
        "sd_length_tokens": sd,
        "batches_by_length": {str(length): lengths[length] for length in sorted(lengths)},
        "ended_by": ended,
        "early_exits": ended["rule"],
        "early_exit_rate": ratio(ended["rule"], batches),
        "requested_tokens": batches * k_max,
        "generated_tokens": generated,
        "policy": {name: _course(values) for name, values in log.policy.items()},
    }


def _course(values: list[float]) -> dict[str, float | None]:
    """Return how a value went over the run."""
    mean, sd = mean_and_sd(values)
    return {
        "first": values[0],
        "last": values[-1],
        "least": min(values),
        "most": max(values),
        "mean": mean,
        "sd": sd,
    }
