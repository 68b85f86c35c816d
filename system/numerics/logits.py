# SPDX-License-Identifier: Apache-2.0
"""Logits of a whole vocabulary that match what a trace tells of them.

A trace holds no logits, only the two largest probabilities and the entropy of each step. Those
leave open how the rest of the probability is spread, so that families of tails are offered: what
holds for all of them does not hang on the choice.
"""

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

Tail = Literal["power", "exponential"]
TAILS: tuple[Tail, ...] = get_args(Tail)
"""How probability falls behind the second token, with its rank i: as i^-s, or as e^(-s*i)."""

Floats = npt.NDArray[np.floating[Any]]

LARGEST = 20.0
"""Largest logit: the order of what decoders of some billion parameters give; an assumption. It
decides how coarse 16-bit formats are, as these have a relative precision."""
DEPTH_MAX = 40.0
"""No logit lies lower than this below the largest: together they would have less than 1e-11."""

_EXACT_RANKS = 64
_BIN_RATIO = 1.05
_BISECTIONS = 60
_STEEPEST = 40.0


class TailModel:
    """Spreads probability over the vocabulary behind the two likeliest tokens.

    Parameters
    ----------
    vocabulary
        Tokens, at least 4.
    tail
        Family.

    Raises
    ------
    ValueError
        The vocabulary is too small, or there is no such family.
    """

    def __init__(self, vocabulary: int, tail: Tail) -> None:
        if vocabulary < 4:
            raise ValueError(f"vocabulary must be at least 4, not {vocabulary}")
        if tail not in TAILS:
            raise ValueError(f"tail must be one of {', '.join(TAILS)}, not {tail!r}")
        self.vocabulary, self.tail = vocabulary, tail
        count = vocabulary - 2
        edges = np.arange(1, min(_EXACT_RANKS, count) + 1, dtype=float)
        while edges[-1] < count:
            edges = np.append(edges, min(count, np.ceil(edges[-1] * _BIN_RATIO)))
        first = np.append(0.0, edges[:-1]) + 1
        # Ranks of a bin are taken as its middle one, for solving only.
        self._middle, self._size = np.sqrt(first * edges), edges - first + 1

    def steepness(self, p1: Floats, p2: Floats, entropy_nats: Floats) -> Floats:
        """Return the steepness of the tail that gives the entropy, or the nearest there is.

        Parameters
        ----------
        p1, p2, entropy_nats
            Shape (steps,): two largest probabilities, 0 < p2 <= p1, p1 + p2 <= 1; entropy, nat.

        Returns
        -------
        numpy.ndarray, shape (steps,)
            0 is a flat tail.
        """
        rest = np.clip(1 - p1 - p2, 0, None)
        wanted = entropy_nats + _plogp(p1) + _plogp(p2)
        low, high = np.zeros_like(p1), np.full_like(p1, _STEEPEST)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            # A steeper tail has less entropy.
            more = self._entropy(middle, rest, p2) > wanted
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        return (low + high) / 2

    def _entropy(self, steepness: Floats, rest: Floats, cap: Floats) -> Floats:
        """Return the entropy of the tail, nat; shape (steps,)."""
        depths = self._depths(self._middle, steepness)
        each = capped(np.exp(-depths), self._size, rest, cap)
        return -(_plogp(each) * self._size).sum(axis=1)

    def _depths(self, ranks: Floats, steepness: Floats) -> Floats:
        """Return how far below the first of the tail ranks lie; shape (steps, ranks)."""
        distance = np.log(ranks) if self.tail == "power" else ranks - 1
        return steepness[:, None] * distance

    def logits(self, p1: float, p2: float, steepness: float) -> Floats:
        """Return logits in the order of probability, the largest `LARGEST`; shape (vocabulary,)."""
        ranks = np.arange(1, self.vocabulary - 1, dtype=float)
        weights = np.exp(-self._depths(ranks, np.array([steepness])))
        rest = np.array([max(0.0, 1 - p1 - p2)])
        tail = capped(weights, np.ones_like(ranks), rest, np.array([p2]))[0]
        masses = np.concatenate([[p1, p2], tail])
        floor = p1 * np.exp(-DEPTH_MAX)
        return LARGEST + np.log(np.maximum(masses, floor) / p1)


def capped(weights: Floats, sizes: Floats, total: Floats, cap: Floats) -> Floats:
    """Return masses in proportion to weights, none above a cap, that add up to a total.

    Parameters
    ----------
    weights
        Shape (steps, bins), falling within each row.
    sizes
        Shape (bins,): members of each bin, all of the same mass.
    total, cap
        Shape (steps,). A total above all caps together leaves every member at its cap.

    Returns
    -------
    numpy.ndarray, shape (steps, bins)
        Mass of one member of each bin.
    """
    bins = weights.shape[1]
    held = np.append(0.0, np.cumsum(sizes)[:-1])
    sums = weights * sizes
    left = sums[:, ::-1].cumsum(axis=1)[:, ::-1]
    # With the first k bins at the cap, the others share what is left.
    factor = np.clip(total[:, None] - held * cap[:, None], 0, None) / np.maximum(left, 1e-300)
    fits = factor * weights <= cap[:, None]
    first = np.where(fits.any(axis=1), fits.argmax(axis=1), bins)
    at_cap = np.arange(bins) < first[:, None]
    chosen = factor[np.arange(len(factor)), np.minimum(first, bins - 1)]
    return np.where(at_cap, cap[:, None], chosen[:, None] * weights)


def entropy_nats(logits: Floats) -> tuple[float, float]:
    """Return entropy [nat] and largest probability of a softmax, in float64."""
    above = logits - logits.max()
    powers = np.exp(above)
    total = powers.sum()
    return float(np.log(total) - (powers * above).sum() / total), float(1 / total)


def _plogp(p: Floats) -> Floats:
    return p * np.log(np.maximum(p, 1e-300))
