# SPDX-License-Identifier: Apache-2.0
"""What the TVC's estimates mean, in exact fractions: the truth that its arithmetic approximates.

With integer cycles and lengths, `table_entries` = N entries at most and F fraction bits of a stored
ratio, the TVC is within these bounds, saturation apart:

- affine model, NPU task: the exact value rounded down.
- affine model, tokens in a slack: exact.
- ratio model, NPU task: at most 2**-F cycles a token too little, for the stored ratios, then
  rounded down.
- tokens in a slack by the ratio model: never too few, and never more than fit into a slack that is
  2**-F cycles a token longer.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class Measured(NamedTuple):
    """A measurement: duration [PIM cycles], tokens or KV length."""

    cycles: int
    length: int


class Model(NamedTuple):
    """Cycles as a function of a length: `intercept + slope * length`."""

    intercept: Fraction
    slope: Fraction

    def cycles(self, length: int) -> Fraction:
        """Return the duration at a length."""
        return self.intercept + self.slope * length

    def tokens(self, slack: Fraction) -> int | None:
        """Return the largest length that takes no longer than a slack; None if any does."""
        if self.slope == 0:
            return None if self.intercept <= slack else 0
        return max((slack - self.intercept) // self.slope, 0)


def ratio_model(table: Sequence[Measured]) -> Model:
    """Return the model through the origin whose slope is the mean ratio."""
    ratios = [Fraction(cycles, length) for cycles, length in table]
    return Model(Fraction(0), sum(ratios, Fraction(0)) / len(table))


def affine_model(table: Sequence[Measured]) -> Model:
    """Return the least-squares line of slope 0 or more.

    For equal lengths, or if that line's intercept is below 0, it is the ratio model.
    """
    n = len(table)
    mean_cycles = Fraction(sum(measured.cycles for measured in table), n)
    mean_length = Fraction(sum(measured.length for measured in table), n)
    spread = sum((measured.length - mean_length) ** 2 for measured in table)
    if spread == 0:
        return ratio_model(table)
    products = sum(
        (measured.length - mean_length) * (measured.cycles - mean_cycles) for measured in table
    )
    slope = max(Fraction(products) / spread, Fraction(0))
    intercept = mean_cycles - slope * mean_length
    return ratio_model(table) if intercept < 0 else Model(intercept, slope)


def is_affine(table: Sequence[Measured]) -> bool:
    """Tell whether the affine model of a table is a line of its own."""
    return affine_model(table) != ratio_model(table)
