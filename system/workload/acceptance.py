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
