# SPDX-License-Identifier: Apache-2.0
"""How well drafts were accepted, from the passes of a run or of one request.

A step is a pass of the target model. Its draft tokens are accepted up to the first wrong one; one
that is compared with a bonus token that is out already is judged by no pass, and in no step.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ahasd.system.metrics.spread import ratio


def speculation(
    drafted: Sequence[int], accepted: Sequence[int], emitted: Sequence[int]
) -> dict[str, Any]:
    """Return the figures of steps, JSON-ready; a ratio without a denominator is None.

    Parameters
    ----------
    drafted, accepted, emitted
        Of every step: draft tokens in it, how many of them were right, and tokens emitted.
    """
    steps, tokens, right = len(drafted), sum(drafted), sum(accepted)
    tested = right + sum(a < d for d, a in zip(drafted, accepted, strict=True))
    shares = [(a + 1) / (d + 1) for d, a in zip(drafted, accepted, strict=True)]
    histogram = Counter(accepted)
    return {
        "num_spec_steps": steps,
        "num_draft_tokens": tokens,
        "num_accepted_draft_tokens": right,
        "mean_acceptance_length": 1 + right / steps if steps else None,
        "mean_accepted_tokens": ratio(right, steps),
        "mean_emitted_tokens": ratio(sum(emitted), steps),
        "draft_acceptance_rate": ratio(right, tokens),
        "alpha": ratio(right, tested),
        "accepted_per_verified": ratio(sum(shares), steps),
        "acceptance_histogram": {
            str(count): histogram[count] for count in range(max(histogram, default=-1) + 1)
        },
    }


def by_position(drafted: Sequence[int], accepted: Sequence[int]) -> dict[str, dict[str, Any]]:
    """Return acceptance by a draft token's place in its step, from 1.

    Returns
    -------
    dict
        By place: `drafted`, steps that long; `tested`, those of them that were right up to there;
        `accepted`; and its shares of all steps and of the tested ones.
    """
    lengths, runs = Counter(drafted), Counter(accepted)
    tested_at = Counter(a + 1 for d, a in zip(drafted, accepted, strict=True) if a < d)
    found: dict[str, dict[str, Any]] = {}
    long, right = len(drafted), len(accepted)
    for place in range(1, max(drafted, default=0) + 1):
        long -= lengths[place - 1]
        right -= runs[place - 1]
        tested = right + tested_at[place]
        found[str(place)] = {
            "drafted": long,
            "tested": tested,
            "accepted": right,
            "of_all_steps": right / len(drafted),
            "of_tested": ratio(right, tested),
        }
    return found
