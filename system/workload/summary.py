# SPDX-License-Identifier: Apache-2.0
"""What a trace says about its pair."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ahasd.system.workload.trace import Trace

ENTROPY_EDGES_NATS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Lower edges of the bins in which acceptance is told; the last one is open."""

_LEAST_NATS = 1e-5  # entropies below it are rounding, and their logarithm is cut there


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of a trace.

    A step of a rollout is *tested* if all steps before it are right and the trace holds the
    target's token there. None stands where nothing was tested.

    Attributes
    ----------
    tested : tuple of int
        Tested tokens at each step of a rollout, from the first.
    conditional : tuple of float or None
        Share of these that are right.
    survival : tuple of float or None
        Share of rollouts that are right up to each step: the running product of `conditional`
        (Kaplan and Meier), so that rollouts cut by a request's end count as far as they go.
    run_shares : tuple of float
        Share of rollouts with 0, 1, ... leading right tokens, as far as `survival` goes; the last
        is that of all longer ones.
    alpha : float
        Right share of all first steps: acceptance after the committed prefix.
    entropy_nats : dict
        `mean`, `p5`, `median`, `p95` of first steps; means of tested tokens that are `right` and
        `wrong`, and of the tokens `behind` a wrong one.
    certain : float
        Share of first steps below 0.01 nat.
    lag_one : float or None
        Correlation of log10 H of neighbouring first steps, about their request's mean.
    by_entropy : tuple of (int, float or None)
        Tested tokens in each bin of `ENTROPY_EDGES_NATS`, and the share of them that is right.
    auc : dict
        How well `entropy` (low), `p_top1` and `margin` (p_top1 - p_top2) tell tested tokens that
        are right from others: probability that a right one has the better value, 0.5 by chance.
    """

    tested: tuple[int, ...]
    conditional: tuple[float | None, ...]
    survival: tuple[float | None, ...]
    run_shares: tuple[float, ...]
    alpha: float
    entropy_nats: dict[str, float | None]
    certain: float
    lag_one: float | None
    by_entropy: tuple[tuple[int, float | None], ...]
    auc: dict[str, float | None]


def summarise(trace: Trace) -> Summary:
    """Return the figures of a trace."""
    step = np.arange(trace.k_max)
    run = trace.run.astype(np.int64)[:, None]
    ends = np.array([request.first_row + request.length for request in trace.requests])
    left = ends[trace.seq] - np.arange(trace.rows)
    tested = (step <= run) & (step < left[:, None])
    right = step < run
    entropy = trace.h_nats.astype(np.float64)
    top1, top2 = trace.p_top1.astype(np.float64), trace.p_top2.astype(np.float64)
    judged = right[tested]
    first = entropy[:, 0]

    counts = tested.sum(axis=0)
    conditional = [
        float(right[tested[:, k], k].mean()) if count else None for k, count in enumerate(counts)
    ]
    reached = conditional.index(None) if None in conditional else trace.k_max
    survival = np.cumprod(np.array(conditional[:reached], np.float64))
    binned = np.digitize(entropy[tested], ENTROPY_EDGES_NATS[1:])
    return Summary(
        tested=tuple(counts.tolist()),
        conditional=tuple(conditional),
        survival=(*survival.tolist(), *(None,) * (trace.k_max - reached)),
        run_shares=tuple((-np.diff(survival, prepend=1, append=0)).tolist()),
        alpha=float(right[:, 0].mean()),
        entropy_nats={
            "mean": float(first.mean()),
            **{
                name: float(np.quantile(first, share))
                for name, share in (("p5", 0.05), ("median", 0.5), ("p95", 0.95))
            },
            "right": _mean(entropy[tested & right]),
            "wrong": _mean(entropy[tested & ~right]),
            "behind": _mean(entropy[step > run]),
        },
        certain=float((first < 0.01).mean()),
        lag_one=_lag_one(trace, first),
        by_entropy=tuple(
            (int((binned == number).sum()), _mean(judged[binned == number]))
            for number in range(len(ENTROPY_EDGES_NATS))
        ),
        auc={
            "entropy": _auc(-entropy[tested], judged),
            "p_top1": _auc(top1[tested], judged),
            "margin": _auc((top1 - top2)[tested], judged),
        },
    )


def _mean(values: npt.NDArray[Any]) -> float | None:
    return float(values.mean()) if values.size else None


def _lag_one(trace: Trace, first_nats: npt.NDArray[np.float64]) -> float | None:
    log10 = np.log10(np.maximum(first_nats, _LEAST_NATS))
    parts = np.split(log10, [request.first_row for request in trace.requests[1:]])
    off = [part - part.mean() for part in parts]
    products = sum(float(part[1:] @ part[:-1]) for part in off)
    squares = sum(float(part[:-1] @ part[:-1] + part[1:] @ part[1:]) for part in off) / 2
    return products / squares if squares else None


def _auc(score: npt.NDArray[np.float64], right: npt.NDArray[np.bool_]) -> float | None:
    """Return the probability that a right token has the higher score; ties count half."""
    positives, negatives = int(right.sum()), int((~right).sum())
    if not positives or not negatives:
        return None
    _, group, sizes = np.unique(score, return_inverse=True, return_counts=True)
    rank = np.cumsum(sizes) - (sizes - 1) / 2  # from 1, ties share their mean
    above = rank[group][right].sum() - positives * (positives + 1) / 2
    return float(above / positives / negatives)
