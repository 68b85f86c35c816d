# SPDX-License-Identifier: Apache-2.0
"""Parameters of the AAU and its cycles by formula, until there is hardware to measure.

An operation reads its vector in beats of one element a lane. Softmax and the normalisations read it
twice: for the maximum and sum, or the moments, and again for the results. SiLU and GELU need a
reciprocal for each element, and lanes share reciprocal units in fours.
"""

import enum
from dataclasses import dataclass


class Operation(enum.Enum):
    """What a vector goes through."""

    LAYERNORM = "layernorm"
    RMSNORM = "rmsnorm"
    SOFTMAX = "softmax"
    RELU = "relu"
    GELU = "gelu"
    SILU = "silu"
    """With the product by the other half, where the feed-forward block is gated."""
    ROPE = "rope"
    ADD = "add"
    STATISTICS = "statistics"
    """Of the vocabulary: largest logit, sum of exponentials, entropy; no vector comes out."""


_NORM = (2, 24)
_SIGMOID = (4, 14)
_ELEMENTWISE = (1, 6)
_BEATS_AND_LATENCY = {
    Operation.LAYERNORM: _NORM,
    Operation.RMSNORM: _NORM,
    Operation.SOFTMAX: (2, 20),
    Operation.RELU: _ELEMENTWISE,
    Operation.GELU: _SIGMOID,
    Operation.SILU: _SIGMOID,
    Operation.ROPE: _ELEMENTWISE,
    Operation.ADD: _ELEMENTWISE,
    # The pipeline of a softmax whose second pass is left out.
    Operation.STATISTICS: (1, 20),
}


@dataclass(frozen=True, kw_only=True)
class AauParams:
    """Size of the AAU.

    Parameters
    ----------
    lanes
        Elements taken in a cycle, a power of two.

    Raises
    ------
    ValueError
        A value is outside its range; the message names the rule and the value.
    """

    lanes: int = 16

    timing = "formula"
    """Where `cycles` come from, for reports."""

    def __post_init__(self) -> None:
        if not 1 <= self.lanes <= 64 or self.lanes & (self.lanes - 1):
            raise ValueError(f"lanes must be a power of two in 1..64, not {self.lanes}")

    def cycles(self, operation: Operation, length: int) -> int:
        """Return the cycles from the first element of a vector in to the last result out.

        With 16 lanes and N elements: softmax 2N/16 + 20, normalisation 2N/16 + 24, SiLU and GELU
        4N/16 + 14, ReLU, RoPE and addition N/16 + 6, statistics N/16 + 20; beats are whole.

        Raises
        ------
        ValueError
            `length` is below 1.
        """
        if length < 1:
            raise ValueError(f"length must be at least 1, not {length}")
        beats, latency = _BEATS_AND_LATENCY[operation]
        return beats * -(-length // self.lanes) + latency
