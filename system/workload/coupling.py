# SPDX-License-Identifier: Apache-2.0
"""How draft and target choose their tokens at a position, and when these are the same.

In every coupling here the target's token has the target's law whatever the draft says, and depends
on nothing but the prefix and the position: not on how far anybody drafted. One trace therefore
serves every drafting rule.
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ahasd.system.workload.counter import uniform

Law = npt.NDArray[np.float64]
"""Probability of each token, shape (..., vocab_size)."""
Tokens = npt.NDArray[np.int64]
"""Token ids, shape (...)."""
Place = tuple[int, npt.ArrayLike, npt.ArrayLike]
"""Seed, and requests and positions of shape (...)."""


class Coupling(Protocol):
    """Chooses tokens; the same place and laws give the same ones."""

    def draft(self, q: Law, place: Place) -> Tokens:
        """Return the draft's tokens, from its laws after the prefixes."""
        ...

    def target(self, p: Law, q: Law, drafted: Tokens, place: Place) -> Tokens:
        """Return the target's tokens where the draft, from the same prefixes, chose `drafted`."""
        ...


class Greedy:
    """Both take their likeliest token; the lowest id wins ties."""

    def draft(self, q: Law, place: Place) -> Tokens:
        """Return the draft's tokens; see `Coupling`."""
        return q.argmax(axis=-1)

    def target(self, p: Law, q: Law, drafted: Tokens, place: Place) -> Tokens:
        """Return the target's tokens; see `Coupling`."""
        return p.argmax(axis=-1)


class Gumbel:
    """Both sample with the same noise: equal with probability (1-TV)/(1+TV) to 1-TV."""

    def draft(self, q: Law, place: Place) -> Tokens:
        """Return the draft's tokens; see `Coupling`."""
        return _noisy_argmax(q, place)

    def target(self, p: Law, q: Law, drafted: Tokens, place: Place) -> Tokens:
        """Return the target's tokens; see `Coupling`."""
        return _noisy_argmax(p, place)


class Maximal:
    """Speculative sampling (Leviathan et al. 2023): equal with probability 1-TV, the most there is.

    The target accepts the draft's token x with probability min(1, p(x)/q(x)); else it samples from
    max(0, p - q), normalised, where x has no mass.
    """

    def draft(self, q: Law, place: Place) -> Tokens:
        """Return the draft's tokens; see `Coupling`."""
        return _sample(q, "draft", place)

    def target(self, p: Law, q: Law, drafted: Tokens, place: Place) -> Tokens:
        """Return the target's tokens; see `Coupling`."""
        chosen = drafted[..., None]
        p_of, q_of = (np.take_along_axis(law, chosen, axis=-1)[..., 0] for law in (p, q))
        corrected = _sample(np.maximum(p - q, 0), "correct", place)
        return np.where(uniform(place[0], "accept", *place[1:]) * q_of < p_of, drafted, corrected)


COUPLINGS: dict[str, type[Greedy] | type[Gumbel] | type[Maximal]] = {
    "greedy": Greedy,
    "gumbel": Gumbel,
    "maximal": Maximal,
}
"""By the name that a trace's header has for them."""


def _noisy_argmax(law: Law, place: Place) -> Tokens:
    """Sample by the largest of ln p + g, g standard Gumbel noise of each token."""
    seed, request, position = place
    tokens = np.arange(law.shape[-1])
    draws = uniform(
        seed, "gumbel", np.expand_dims(request, -1), np.expand_dims(position, -1), tokens
    )
    # ln p - ln(-ln u) is largest where -ln u / p is least
    return (-np.log(draws) / law).argmin(axis=-1)


def _sample(weights: Law, label: str, place: Place) -> Tokens:
    """Sample from weights that need not be normalised: the inverse of their running sum."""
    sums = np.cumsum(weights, axis=-1)
    reached = uniform(place[0], label, *place[1:]) * sums[..., -1]
    # without the last sum: rounding cannot lead beyond the last token
    return (sums[..., :-1] <= reached[..., None]).sum(axis=-1)
