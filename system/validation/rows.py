# SPDX-License-Identifier: Apache-2.0
"""Rows of the validation table."""

from dataclasses import dataclass

ALLOWED = 0.10
"""Largest relative error that needs no reason."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One case that a peer published or that was measured on it, beside our result.

    Parameters
    ----------
    peer
        Simulator, with its version.
    case
        What was run.
    unit
        Of both values.
    theirs, ours
        Their value and ours, from the same access pattern or shape.
    reason
        Why they differ, where the error exceeds `ALLOWED`; found, not supposed.

    Raises
    ------
    ValueError
        The error exceeds `ALLOWED` and there is no reason.
    """

    peer: str
    case: str
    unit: str
    theirs: float
    ours: float
    reason: str = ""

    def __post_init__(self) -> None:
        if abs(self.error) > ALLOWED and not self.reason:
            raise ValueError(
                f"{self.peer}, {self.case}: error {self.error:+.1%} is above {ALLOWED:.0%} and has"
                " no reason: find it, and say it"
            )

    @property
    def error(self) -> float:
        """Relative error of ours."""
        return self.ours / self.theirs - 1
