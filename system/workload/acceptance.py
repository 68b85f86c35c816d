# SPDX-License-Identifier: Apache-2.0
"""Which positions' draft tokens a synthetic target accepts."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ahasd import UserError
from ahasd.system.workload.counter import uniform
from ahasd.system.workload.entropy_model import EntropyModel

Flags = npt.NDArray[np.bool_]


class Acceptance(Protocol):
    """Decides by position, so that the target's sequence does not depend on who drafts."""

    def accepted(self, seed: int, entropy_nats: npt.NDArray[np.float64]) -> Flags:
        """Return whether the token drafted after the committed prefix is the target's.

        Parameters
        ----------
        seed : int
            Of the draws.
        entropy_nats : numpy.ndarray of float, shape (requests, positions)
            Entropy of the draft there, nat.

        Returns
        -------
        numpy.ndarray of bool, shape (requests, positions)
        """
        ...


@dataclass(frozen=True, slots=True)
class ByEntropy:
    """Each token with probability exp(-kappa H)."""

    model: EntropyModel

    def accepted(self, seed: int, entropy_nats: npt.NDArray[np.float64]) -> Flags:
        """Return one flag for each position; see `Acceptance`."""
        return _draws(seed, entropy_nats.shape) < self.model.acceptance(entropy_nats)


@dataclass(frozen=True, slots=True)
class Independent:
    """Each token with the same probability, whatever the draft knew.

    Attributes
    ----------
    alpha : float
        That probability, 0..1.

    Raises
    ------
    UserError
        It is out of its range.
    """

    alpha: float

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise UserError(f"acceptance must lie in 0..1, not {self.alpha}")

    def accepted(self, seed: int, entropy_nats: npt.NDArray[np.float64]) -> Flags:
        """Return one flag for each position; see `Acceptance`."""
        return _draws(seed, entropy_nats.shape) < self.alpha


@dataclass(frozen=True, slots=True)
class Mixed:
    """Easy and hard stretches of text that take turns, each with its own probability.

    The lengths of the stretches are geometric: after every token there is a constant probability
    that the other kind begins. A request begins with either kind by its share.

    Attributes
    ----------
    easy, hard : float
        Probability in an easy and in a hard stretch, 0..1.
    easy_tokens, hard_tokens : float
        Mean length of a stretch, tokens, at least 1.

    Raises
    ------
    UserError
        A number is out of its range.
    """

    easy: float
    hard: float
    easy_tokens: float
    hard_tokens: float

    def __post_init__(self) -> None:
        for alpha in (self.easy, self.hard):
            if not 0 <= alpha <= 1:
                raise UserError(f"acceptance must lie in 0..1, not {alpha}")
        for tokens in (self.easy_tokens, self.hard_tokens):
            if not tokens >= 1:
                raise UserError(f"a stretch has at least 1 token in the mean, not {tokens}")

    @property
    def alpha(self) -> float:
        """Mean probability."""
        tokens = self.easy_tokens + self.hard_tokens
        return (self.easy * self.easy_tokens + self.hard * self.hard_tokens) / tokens

    def is_easy(self, seed: int, shape: tuple[int, int]) -> Flags:
        """Return which positions are in an easy stretch; `shape` is (requests, positions)."""
        change = uniform(seed, "stretch", *np.ogrid[: shape[0], : shape[1]])
        easy = np.empty(shape, np.bool_)
        easy[:, 0] = change[:, 0] < self.easy_tokens / (self.easy_tokens + self.hard_tokens)
        for place in range(1, shape[1]):
            before = easy[:, place - 1]
            leaves = change[:, place] < 1 / np.where(before, self.easy_tokens, self.hard_tokens)
            easy[:, place] = before ^ leaves
        return easy

    def accepted(self, seed: int, entropy_nats: npt.NDArray[np.float64]) -> Flags:
        """Return one flag for each position; see `Acceptance`."""
        requests, positions = entropy_nats.shape
        shape = requests, positions
        return _draws(seed, shape) < np.where(self.is_easy(seed, shape), self.easy, self.hard)


@dataclass(frozen=True, slots=True)
class FixedLength:
    """A fixed mean of tokens per target call, as servers' synthetic acceptance gives it.

    A call accepts floor(length - 1) tokens, and one more with the fractional probability. By
    position: so many right ones, a wrong one, and again. Drafts that wait for their verdict and are
    at least as long as the longest such run get that acceptance length.

    Attributes
    ----------
    acceptance_length : float
        Tokens per target call, the bonus or correction token included; 1 to 256.

    Raises
    ------
    UserError
        It is out of its range.
    """

    acceptance_length: float

    def __post_init__(self) -> None:
        if not 1 <= self.acceptance_length <= 256:
            raise UserError(
                f"acceptance length must lie in 1..256, not {self.acceptance_length};"
                " it counts the bonus token"
            )

    def accepted(self, seed: int, entropy_nats: npt.NDArray[np.float64]) -> Flags:
        """Return one flag for each position; see `Acceptance`."""
        requests, positions = entropy_nats.shape
        whole, fraction = divmod(self.acceptance_length - 1, 1)
        # One call emits at least a token, so there are no more calls than positions.
        more = _draws(seed, (requests, positions)) < fraction
        wrong = np.cumsum(int(whole) + 1 + more, axis=1) - 1  # the last position of each call
        flags = np.ones((requests, positions), np.bool_)
        for request, places in enumerate(wrong):
            flags[request, places[places < positions]] = False
        return flags


def _draws(seed: int, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    requests, positions = shape
    return uniform(seed, "accept", *np.ogrid[:requests, :positions])
