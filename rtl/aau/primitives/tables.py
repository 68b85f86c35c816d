# SPDX-License-Identifier: Apache-2.0
"""Functions as straight segments of equal length: what a table holds and how it is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ahasd.rtl.aau.primitives.integers import Ints, IntsLike, ints


@dataclass(frozen=True)
class LinearTable:
    """A function of one sign of slope, by straight segments.

    The high bits of an operand are the segment, the `rest_width` low ones the place in it. The
    result is the segment's first value and the rounded part of its rise, or fall.

    Parameters
    ----------
    first, last
        Values at the two ends of every segment.
    rest_width
        Bits of the place in a segment, at least 1.
    """

    first: tuple[int, ...]
    last: tuple[int, ...]
    rest_width: int

    @property
    def falling(self) -> bool:
        """Whether the function falls."""
        return self.last[0] < self.first[0]

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Rise, or fall, of every segment."""
        return tuple(abs(b - a) for a, b in zip(self.first, self.last, strict=True))

    @property
    def index_width(self) -> int:
        """Bits of the segment."""
        return (len(self.first) - 1).bit_length()

    @property
    def step_width(self) -> int:
        """Bits of the largest rise."""
        return max(self.steps).bit_length()

    @property
    def width(self) -> int:
        """Bits of a result."""
        return max(*self.first, *self.last).bit_length()

    def read(self, operands: IntsLike) -> Ints:
        """Return the function of operands of `index_width + rest_width` bits."""
        first, part = self._parts(operands)
        part = (part + (1 << (self.rest_width - 1))) >> self.rest_width
        return first - part if self.falling else first + part

    def exact(self, operands: IntsLike) -> Ints:
        """Return the same with `rest_width` bits more, so that nothing is rounded."""
        first, part = self._parts(operands)
        first = first << self.rest_width
        return first - part if self.falling else first + part

    def _parts(self, operands: IntsLike) -> tuple[Ints, Ints]:
        """Return the first values of segments, and the parts of their rises, not rounded."""
        operands = ints(operands)
        segment = operands >> self.rest_width
        rest = operands & ((1 << self.rest_width) - 1)
        return np.array(self.first)[segment], np.array(self.steps)[segment] * rest


def octave(
    function: Callable[[float], float],
    curvature: Callable[[float], float],
    start: float,
    end: float,
    segments: int,
    one: int,
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the first and last values of segments of a function on [start, end].

    Between two points of a curved function a straight line errs to one side by up to
    `length**2 / 8` times the second derivative. Points halfway in between halve that; those at
    the two ends stay where they are, so that values there are exact.

    Parameters
    ----------
    function, curvature
        The function and its second derivative.
    start, end
        Ends of the interval.
    segments
        Number of segments of equal length.
    one
        What stands for a value of 1.
    """
    length = (end - start) / segments
    points = [start + length * i for i in range(segments + 1)]
    values = [function(x) - curvature(x) * length**2 / 16 for x in points]
    values[0], values[-1] = function(start), function(end)
    whole = [round(value * one) for value in values]
    return whole[:-1], whole[1:]
