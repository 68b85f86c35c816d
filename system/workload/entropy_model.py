# SPDX-License-Identifier: Apache-2.0
"""A three-parameter model of a draft: how uncertain it is, and how that bears on acceptance.

A share of tokens is nearly certain; the entropy of the others is exponential, and a token is
accepted with probability exp(-kappa H). Fitted by others' and our measurements, see docs/trace.md.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np
import numpy.typing as npt

from ahasd import UserError
from ahasd.system.workload.counter import normal, spread

REQUEST_VARIANCE = 0.2
"""Share of the latent variance that a request's tokens have in common; measured 0.15 to 0.27."""
LAG_ONE = 0.22
"""Correlation of the latent's other share with that of the token before."""
CERTAIN_LOG10 = (-5.0, 3.7)
"""Nearly certain tokens: log10 of the least entropy, 1e-5 nat, and the decades above, to 0.05."""

_cdf = np.vectorize(NormalDist().cdf, otypes=[np.float64])
_inverse_cdf = np.vectorize(NormalDist().inv_cdf, otypes=[np.float64])


@dataclass(frozen=True, slots=True)
class EntropyModel:
    """Parameters of one pair of models in one domain, and what follows from them.

    The closed forms take nearly certain tokens to have no entropy and set no upper limit.

    Attributes
    ----------
    certain : float
        Share of nearly certain tokens, pi0, 0..1.
    mean_nats : float
        Mean entropy of the others, m, nat, above 0.
    kappa_per_nat : float
        Decay of the acceptance with entropy, kappa, 1/nat, not negative.

    Raises
    ------
    UserError
        A parameter is out of its range.
    """

    certain: float
    mean_nats: float
    kappa_per_nat: float

    def __post_init__(self) -> None:
        if not 0 <= self.certain <= 1:
            raise UserError(f"the share of certain tokens must lie in 0..1, not {self.certain}")
        if not 0 < self.mean_nats < math.inf:
            raise UserError(f"the mean entropy must be above 0 nat, not {self.mean_nats}")
        if not 0 <= self.kappa_per_nat < math.inf:
            raise UserError(f"kappa must be at least 0 per nat, not {self.kappa_per_nat}")

    @classmethod
    def with_alpha(cls, alpha: float, certain: float, kappa_per_nat: float) -> Self:
        """Return the model of a wanted acceptance; its mean entropy is solved for.

        Raises
        ------
        UserError
            No mean entropy gives that acceptance.
        """
        if not (certain < alpha < 1 and kappa_per_nat > 0):
            raise UserError(
                f"acceptance {alpha} needs to lie between the share of certain tokens,"
                f" {certain}, and 1, and kappa above 0; choose another"
            )
        return cls(certain, ((1 - certain) / (alpha - certain) - 1) / kappa_per_nat, kappa_per_nat)

    @property
    def alpha(self) -> float:
        """Share of tested tokens that are accepted."""
        return self.certain + (1 - self.certain) / (1 + self.kappa_per_nat * self.mean_nats)

    @property
    def entropy_nats(self) -> float:
        """Mean entropy of all tokens, nat."""
        return (1 - self.certain) * self.mean_nats

    def acceptance(self, entropy_nats: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the probability that tokens of these entropies are accepted."""
        return np.exp(-self.kappa_per_nat * entropy_nats)

    def entropies(
        self, seed: int, requests: int, positions: int, steps: int
    ) -> npt.NDArray[np.float64]:
        """Draw entropies, nat.

        Step 0 follows the committed prefix; along it, neighbours are correlated. The steps after
        it follow a wrong token: they share no more than the request's own level.

        Returns
        -------
        numpy.ndarray of float, shape (requests, positions, steps)
        """
        request, position, step = np.ogrid[:requests, :positions, :steps]
        own = normal(seed, "latent", request, position, step)
        for place in range(1, positions):
            own[:, place, 0] *= math.sqrt(1 - LAG_ONE**2)
            own[:, place, 0] += LAG_ONE * own[:, place - 1, 0]
        level = _inverse_cdf(spread(seed, "request", requests))[:, None, None]
        latent = math.sqrt(REQUEST_VARIANCE) * level + math.sqrt(1 - REQUEST_VARIANCE) * own
        return self.quantile(_cdf(latent))

    def quantile(self, u: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Map uniform numbers to entropies, nat: below `certain` the nearly certain tokens.

        Within each of the two groups a larger number is a larger entropy.
        """
        lowest, decades = CERTAIN_LOG10
        is_certain = u < self.certain
        certain_part = np.where(is_certain, u, 0) / max(self.certain, np.finfo(float).tiny)
        other_part = np.where(is_certain, 0, u - self.certain) / max(1 - self.certain, 2.0**-53)
        return np.where(
            is_certain,
            10 ** (lowest + decades * certain_part),
            -self.mean_nats * np.log1p(-np.minimum(other_part, 1 - 2.0**-53)),
        )
