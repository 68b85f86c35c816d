# SPDX-License-Identifier: Apache-2.0
"""When what happens to a beat: one table for the hardware, for its model and for its contract.

A beat is taken in cycle 0 of its own; one more follows every `interval` cycles. In between, the
lane's one multiplier and adder serve several steps of each beat. A step in cycle `at` has its
operands in the operand registers then, its product a cycle later, its sum after two and its
result after three. All cycles are those in which the unit moves: a stall stops all of it.
"""

import enum
from dataclasses import dataclass, replace
from functools import cache

from ahasd.rtl.aau.encodings import APPLYING, Op
from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.scalar import program_cycles


class P(enum.IntEnum):
    """First factor of a step."""

    X = 0
    PARTNER = 1
    RESULT = 2
    POWER = 3
    """Mantissa of the beat's power, for sums only."""


class Q(enum.IntEnum):
    """Second factor of a step."""

    ONE = 0
    B = 1
    C = 2
    SAME = 3
    """The first factor."""
    RESULT = 4
    SIGMOID = 5
    K0 = 6
    K1 = 7
    FACTOR = 8
    DEPTH = 9
    """What the power was taken of, for sums only."""


class S(enum.IntEnum):
    """Addend of a step."""

    ZERO = 0
    B = 1
    C = 2
    RESULT = 3
    K2 = 4
    OFFSET = 5


@dataclass(frozen=True)
class Step:
    """A use of the multiplier and the adder.

    Attributes
    ----------
    at
        Cycle of the beat in which the operands stand in their registers.
    p, q, s
        `p*q + s` is calculated.
    """

    at: int
    p: P
    q: Q
    s: S = S.ZERO


class Out(enum.IntEnum):
    """What is stored."""

    NOTHING = 0
    RESULT = 1
    POSITIVE = 2
    """The result, or 0 if that is below."""
    POWER = 3


FIRST = 4
"""Cycle of the first step: x is read into a register, and takes three more to become a number."""
X_CYCLES = 3
"""From reading x to its number; other operands take one."""
RESULT_AFTER = 3
"""From a step to its result."""
SCALED_AFTER = 2
"""From a step to its scaled number."""
DEPTH_AFTER = SCALED_AFTER + 1
"""From a step to what its power is taken of: meanwhile the largest is found."""
POWER_AFTER = DEPTH_AFTER + 3
"""From a step to its power of two."""
SIGMOID_AFTER = 14
"""From a step to the cycle in which the sigmoids of all lanes stand: four share a reciprocal."""
STORE_CYCLES = 2
SUM_AFTER = 2
"""From the cycle in which products stand to the one in which they go into the sums."""
COMPARE_AT = 2
"""Cycle in which the largest element of a beat is compared with those before."""


@dataclass(frozen=True)
class Pass:
    """One time through a row.

    Attributes
    ----------
    interval
        Cycles from beat to beat.
    steps
        Uses of multiplier and adder, in cycles that differ by no multiple of the interval.
    scaled
        Index of the step whose product becomes a scaled number; None without one.
    align
        Cycle in which products and mantissas are shifted for the sums; None without sums.
    largest
        Cycle in which what the sums are relative to is compared.
    out
        What is stored.
    out_at
        Cycle in which it stands.
    """

    interval: int
    steps: tuple[Step, ...]
    scaled: int | None = None
    align: int | None = None
    largest: int | None = None
    out: Out = Out.NOTHING
    out_at: int = 0

    def __post_init__(self) -> None:
        used = {step.at % self.interval for step in self.steps}
        assert len(used) == len(self.steps), "steps of different beats never meet"

    @property
    def latency(self) -> int:
        """Cycle in which the last that a beat does is done."""
        if self.align is not None:
            return self.align + SUM_AFTER
        if self.out:
            return self.out_at + STORE_CYCLES
        return COMPARE_AT + self.interval - 1

    def delay(self, number: int) -> int:
        """Return for how many cycles a step's operand, the last result, waits for it."""
        steps = self.steps
        return steps[number].at - steps[number - 1].at - RESULT_AFTER if number else 0

    def newer(self, at: int) -> int:
        """Return how many beats were taken after the one that reads an operand in a cycle."""
        return (at - 1) // self.interval

    def cycles(self, beats: int) -> int:
        """Return the cycles of a row."""
        return self.interval * (beats - 1) + self.latency + 1 if beats else 0


_POWERS = (Step(FIRST, P.X, Q.K0),)
_SUMS_AT = FIRST + POWER_AFTER + 1  # the step that multiplies powers by depths
_REDUCE_POWERS = Pass(1, _POWERS, scaled=0, align=_SUMS_AT + 1, largest=FIRST + SCALED_AFTER)
_MOMENTS = Pass(1, (Step(FIRST, P.X, Q.SAME),), align=FIRST + 1, largest=FIRST)
REDUCE: dict[Op, Pass] = {
    Op.SOFTMAX: _REDUCE_POWERS,
    Op.STATISTICS: replace(
        _REDUCE_POWERS, interval=2, steps=(*_POWERS, Step(_SUMS_AT, P.POWER, Q.DEPTH))
    ),
    Op.LAYERNORM: _MOMENTS,
    Op.RMSNORM: _MOMENTS,
    Op.SUM: _MOMENTS,
    Op.MAX: Pass(1, ()),
}
"""First passes, but for that of TOP."""


@cache
def first_passes(top_k: int) -> dict[Op, Pass]:
    """Return the first passes of a unit that keeps so many of the largest elements.

    The largest elements of a beat are merged with those before, a comparison a cycle.
    """
    return REDUCE | ({Op.TOP: Pass(top_k, ())} if top_k else {})


def _elementwise(
    interval: int, *steps: Step, out: Out = Out.RESULT, scaled: int | None = None
) -> Pass:
    return Pass(interval, steps, scaled=scaled, out=out, out_at=steps[-1].at + RESULT_AFTER)


def _gated(q: Q) -> Pass:
    start = FIRST + SIGMOID_AFTER
    return _elementwise(
        4,
        Step(FIRST, P.X, Q.K0),
        Step(start, P.X, Q.SIGMOID),
        Step(start + 3, P.RESULT, q),
        Step(start + 9, P.RESULT, Q.K1),
        scaled=0,
    )


APPLY: dict[Op, Pass] = {
    Op.SOFTMAX: Pass(1, _POWERS, scaled=0, out=Out.POWER, out_at=FIRST + POWER_AFTER),
    Op.LAYERNORM: _elementwise(
        3,
        Step(FIRST, P.X, Q.ONE, S.OFFSET),
        Step(FIRST + 4, P.RESULT, Q.B),
        Step(FIRST + 8, P.RESULT, Q.FACTOR, S.C),
    ),
    Op.RMSNORM: _elementwise(2, Step(FIRST, P.X, Q.B), Step(FIRST + 3, P.RESULT, Q.FACTOR)),
    Op.ADD: _elementwise(1, Step(FIRST, P.X, Q.K0, S.B)),
    Op.RELU: _elementwise(1, Step(FIRST, P.X, Q.K0), out=Out.POSITIVE),
    Op.ROPE: _elementwise(2, Step(FIRST, P.X, Q.B), Step(FIRST + 3, P.PARTNER, Q.C, S.RESULT)),
    Op.SILU: _gated(Q.ONE),
    Op.SWIGLU: _gated(Q.B),
    Op.GELU: _elementwise(
        6,
        Step(FIRST, P.X, Q.SAME),
        Step(FIRST + 3, P.RESULT, Q.K0, S.K2),
        Step(FIRST + 7, P.X, Q.RESULT),
        Step(FIRST + 8 + SIGMOID_AFTER, P.X, Q.SIGMOID),
        Step(FIRST + 12 + SIGMOID_AFTER, P.RESULT, Q.K1),
        scaled=2,
    ),
}
"""Second passes, and the only ones of what is done element by element."""


def command_cycles(
    op: Op,
    length: int,
    *,
    lanes: int,
    numerics: Numerics,
    top_k: int = 0,
    imports: int = 0,
    reduces: bool = True,
    exports: bool = False,
    applies: bool = True,
) -> int:
    """Return the cycles from one command to the next if nothing stalls.

    A cycle takes the command, one each state that is merged, and one hands over the summary or the
    state. Of TOP every state is an element, which takes `top_k` cycles to merge, and `top_k`
    summaries or states are handed over. In between are the passes and what ends a row.
    """
    beats = -(-length // lanes)
    passes = first_passes(top_k)
    entries = top_k if op is Op.TOP and top_k else 1
    cycles = 1 + (imports + 1) * entries
    if op in passes and reduces:
        cycles += passes[op].cycles(beats)
    if exports:
        return cycles
    if op in passes:
        cycles += program_cycles(op, numerics)
    if op in APPLYING and applies:
        cycles += APPLY[op].cycles(beats)
    return cycles
