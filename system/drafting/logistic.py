# SPDX-License-Identifier: Apache-2.0
"""Logistic models of acceptance, and their fit to the drafts of a trace."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ahasd import UserError
from ahasd.system.drafting.base import DraftToken
from ahasd.system.workload.playback import DraftTable
from ahasd.system.workload.trace import Trace

FitRequests = Literal["half", "all"]

_RIDGE = 1e-6  # keeps weights finite where the features separate the classes


@dataclass(frozen=True)
class Logistic:
    """Probability 1 / (1 + exp(-(weights . features + bias))).

    Attributes
    ----------
    weights : tuple of float
        One for each feature.
    bias : float
        Logit where all features are 0.
    """

    weights: tuple[float, ...]
    bias: float

    def probability(self, features: Sequence[float]) -> float:
        """Return the probability, 0..1, at one value for each weight."""
        logit = self.bias + sum(w * x for w, x in zip(self.weights, features, strict=True))
        return (1 + math.tanh(logit / 2)) / 2  # exp would overflow


def judged_drafts(trace: Trace, requests: FitRequests) -> Iterator[tuple[int, DraftToken, bool]]:
    """Yield place (from 1), token and verdict of the drafts that a target would test.

    Those are, of every row, the tokens up to the first wrong one. `half` takes every second request
    from the first on, so that the others are left to judge the fit by.
    """
    table = DraftTable(trace)
    for request in trace.requests[:: 2 if requests == "half" else 1]:
        for row in range(request.first_row, request.first_row + request.length):
            run = int(trace.run[row])
            for step in range(min(run + 1, trace.k_max)):
                yield step + 1, table.entry(row, step), step < run


def fit(
    source: str,
    features: Sequence[Sequence[float]],
    right: Sequence[bool],
    *,
    reject_weight: float = 1.0,
) -> Logistic:
    """Return the model of the largest likelihood.

    Parameters
    ----------
    source
        Where the samples are from, for messages.
    features
        Samples by features.
    right
        Whether each sample was accepted.
    reject_weight
        How often a rejected sample counts, positive; an accepted one counts once.

    Raises
    ------
    UserError
        If there are not both kinds.
    """
    y = np.array(right, dtype=float)
    if y.all() or not y.any():
        raise UserError(
            f"{source}: an acceptance model needs accepted and rejected drafts to be fitted to, "
            f"but all {len(y)} are {'accepted' if y.all() else 'rejected'}; take another trace"
        )
    x = np.column_stack([np.array(features, dtype=float), np.ones(len(y))])
    counts = np.where(y, 1.0, reject_weight)
    counts /= counts.sum()

    def loss(weights: np.ndarray) -> float:
        wrongness = np.logaddexp(0.0, (1 - 2 * y) * (x @ weights))
        return float(counts @ wrongness + _RIDGE / 2 * weights @ weights)

    # Newton's method with shorter steps where a full one leads uphill; the loss is convex.
    weights = np.zeros(x.shape[1])
    moved = math.inf
    while moved > 1e-9:
        p = (1 + np.tanh(x @ weights / 2)) / 2
        slope = x.T @ (counts * (p - y)) + _RIDGE * weights
        curvature = (x.T * (counts * p * (1 - p))) @ x + _RIDGE * np.eye(x.shape[1])
        step = np.linalg.solve(curvature, slope)
        while loss(weights - step) > loss(weights) and np.abs(step).max() > 1e-9:
            step /= 2
        weights = weights - step
        moved = float(np.abs(step).max())
    *of_features, bias = weights.tolist()
    return Logistic(tuple(of_features), bias)
