# SPDX-License-Identifier: Apache-2.0
"""When what happens to a beat: one table for the hardware, for its model and for its contract.

A beat is taken in cycle 0 of its own; one more follows every `interval` cycles. In between, the
lane's one multiplier and adder serve several steps of each beat. A step in cycle `at` has its
factors then, its product and its addend a cycle later, and its result after three. All cycles are
those in which the unit moves: a stall stops all of it.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ahasd.rtl.aau.encodings import APPLYING, MOMENTS, POWERS, Op
from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.scalar_programs import program_cycles


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
    C = 1
    BEFORE = 2
    """The product of the step a cycle before, to which 0 was added."""
    K2 = 3
    OFFSET = 4


@dataclass(frozen=True)
class Step:
    """A use of the multiplier and the adder.

    Attributes
    ----------
    at
        Cycle of the beat in which the factors stand.
    p, q, s
        `p*q + s` is calculated.
    early
        For how many cycles c as an addend has been read before it must be; it stands until the next
        that is read.
    """

    at: int
    p: P
    q: Q
    s: S = S.ZERO
    early: int = 0

    @property
    def reads(self) -> int | None:
        """Cycle in which b or c is read; None without one."""
        if self.q in (Q.B, Q.C):
            return self.at - OPERAND_CYCLES
        return self.at + PRODUCT_AFTER - OPERAND_CYCLES - self.early if self.s is S.C else None


class Out(enum.IntEnum):
    """What is stored."""

    NOTHING = 0
    RESULT = 1
    POSITIVE = 2
    """The result, or 0 if that is below."""
    POWER = 3


FIRST = 2
"""Cycle of the first step: x is read into a register, and takes one more to become a number."""
OPERAND_CYCLES = 1
"""From reading an operand to its number."""
PRODUCT_AFTER = 1
"""From a step to its product, and to its addend."""
RESULT_AFTER = 3
"""From a step to its result."""
SCALED_AFTER = PRODUCT_AFTER + 1
"""From a step to its scaled number."""
DEPTH_AFTER = SCALED_AFTER + 1
"""From a step to what its power is taken of: meanwhile the largest is found."""
POWER_AFTER = DEPTH_AFTER + 2
"""From a step to its power of two."""
SIGMOID_AFTER = POWER_AFTER + 6
"""From a step to the cycle in which the sigmoids of all lanes stand: four share a reciprocal."""
STORE_CYCLES = 1
SUM_AFTER = 2
"""From the cycle in which a term is shifted to the one in which its sum goes into the state."""
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
    firsts, seconds
        Cycles in which the terms of the first and the second sum are shifted; None without that
        sum. One shifter and one tree of adders do both, so the second are a cycle behind the first.
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
    firsts: int | None = None
    seconds: int | None = None
    largest: int | None = None
    out: Out = Out.NOTHING
    out_at: int = 0

    def __post_init__(self) -> None:
        used = {step.at % self.interval for step in self.steps}
        assert len(used) == len(self.steps), "steps of different beats never meet"
        delays = [(step.at, self.delay(i)) for i, step in enumerate(self.steps)]
        assert self._stand([(at - delay, delay) for at, delay in delays if delay]), "one is kept"
        operands = [(step.reads, step.early + 1) for step in self.steps if step.reads is not None]
        assert self._stand(operands), "one operand stands"

    def _stand(self, taken: Sequence[tuple[int, int]]) -> bool:
        """Tell whether all that one register takes in a cycle stands there for so many cycles."""
        apart = len({at % self.interval for at, _ in taken}) == len(taken)
        return apart and all(
            (other - at - 1) % self.interval + 1 >= lasts
            for at, lasts in taken
            for other, _ in taken
        )

    @property
    def summed(self) -> int | None:
        """Cycle in which the sums of a beat go into the state; None without sums."""
        shifted = self.firsts if self.seconds is None else self.seconds
        return None if shifted is None else shifted + SUM_AFTER

    @property
    def weighted(self) -> bool:
        """Its second sums are of powers times what these were taken of."""
        return self.scaled is not None and self.seconds is not None

    @property
    def rebase_after(self) -> int | None:
        """Cycles from the comparison of the largest to its use; None without sums.

        What the first sums move into weighted ones takes a cycle of its own.
        """
        if self.summed is None or self.largest is None:
            return None
        return self.summed - self.largest - self.weighted

    @property
    def latency(self) -> int:
        """Cycle in which the last that a beat does is done."""
        if self.summed is not None:
            return self.summed
        if self.out:
            return self.out_at + STORE_CYCLES
        return COMPARE_AT + self.interval - 1

    def delay(self, number: int) -> int:
        """Return for how many cycles a step's operand, the last result, waits for it; 0 of none."""
        step = self.steps[number]
        if P.RESULT is step.p or Q.RESULT is step.q:
            return step.at - self.steps[number - 1].at - RESULT_AFTER
        return 0

    def newer(self, at: int) -> int:
        """Return how many beats were taken after the one that reads an operand in a cycle."""
        return (at - 1) // self.interval

    def cycles(self, beats: int) -> int:
        """Return the cycles of a row."""
        return self.interval * (beats - 1) + self.latency + 1 if beats else 0


_POWERS = (Step(FIRST, P.X, Q.K0),)
_POWERS_AT = FIRST + POWER_AFTER
_LARGEST_POWER = FIRST + SCALED_AFTER
_MOMENTS_AT = FIRST + PRODUCT_AFTER
REDUCE: dict[Op, Pass] = {
    Op.SOFTMAX: Pass(1, _POWERS, scaled=0, firsts=_POWERS_AT, largest=_LARGEST_POWER),
    Op.STATISTICS: Pass(
        2,
        (*_POWERS, Step(_POWERS_AT, P.POWER, Q.DEPTH)),
        scaled=0,
        firsts=_POWERS_AT + PRODUCT_AFTER - 1,  # powers stand for a second cycle
        seconds=_POWERS_AT + PRODUCT_AFTER,
        largest=_LARGEST_POWER,
    ),
    Op.LAYERNORM: Pass(
        2,
        (Step(FIRST, P.X, Q.ONE), Step(FIRST + 1, P.X, Q.SAME)),
        firsts=_MOMENTS_AT,
        seconds=_MOMENTS_AT + 1,
        largest=FIRST,
    ),
    Op.RMSNORM: Pass(1, (Step(FIRST, P.X, Q.SAME),), seconds=_MOMENTS_AT, largest=FIRST),
    Op.SUM: Pass(1, (Step(FIRST, P.X, Q.ONE),), firsts=_MOMENTS_AT, largest=FIRST),
    Op.MAX: Pass(1, ()),
}
"""First passes, but for that of TOP."""
DELAYS = tuple(sorted({do.rebase_after for do in REDUCE.values() if do.rebase_after is not None}))
"""Cycles from the comparison of the largest to its use, of all passes."""


@cache
def first_passes(top_k: int) -> dict[Op, Pass]:
    """Return the first passes of a unit that keeps so many of the largest elements.

    The largest elements of a beat are merged with those before, a comparison a cycle.
    """
    return REDUCE | ({Op.TOP: Pass(top_k, ())} if top_k else {})


def import_cycles(op: int, top_k: int = 0) -> int:
    """Return the cycles in which a state is merged.

    Sums need one for the references and one for the addition; weighted ones one more in between. Of
    TOP every state is an element, and merged in `top_k` steps.
    """
    if op == Op.TOP and top_k:
        return top_k
    return 2 + REDUCE[Op(op)].weighted if op in POWERS | MOMENTS else 1


def _elementwise(
    interval: int, *steps: Step, out: Out = Out.RESULT, scaled: int | None = None
) -> Pass:
    return Pass(interval, steps, scaled=scaled, out=out, out_at=steps[-1].at + RESULT_AFTER)


def _gated(q: Q) -> Pass:
    return _elementwise(
        4,
        Step(FIRST, P.X, Q.K0),
        Step(FIRST + 2, P.X, q),
        Step(FIRST + 2 + RESULT_AFTER, P.RESULT, Q.K1),
        Step(FIRST + SIGMOID_AFTER, P.RESULT, Q.SIGMOID),
        scaled=0,
    )


APPLY: dict[Op, Pass] = {
    Op.SOFTMAX: Pass(1, _POWERS, scaled=0, out=Out.POWER, out_at=_POWERS_AT),
    Op.LAYERNORM: _elementwise(
        3,
        Step(FIRST, P.X, Q.ONE, S.OFFSET),
        Step(FIRST + RESULT_AFTER + 1, P.RESULT, Q.B),
        Step(FIRST + 2 * RESULT_AFTER + 2, P.RESULT, Q.FACTOR, S.C, early=1),
    ),
    Op.RMSNORM: _elementwise(
        2, Step(FIRST, P.X, Q.B), Step(FIRST + RESULT_AFTER, P.RESULT, Q.FACTOR)
    ),
    Op.ADD: _elementwise(1, Step(FIRST, P.X, Q.K0, S.C)),
    Op.RELU: _elementwise(1, Step(FIRST, P.X, Q.K0), out=Out.POSITIVE),
    Op.ROPE: _elementwise(
        2,
        Step(FIRST, P.X, Q.B),
        Step(FIRST + 1, P.PARTNER, Q.C, S.BEFORE),
    ),
    Op.SILU: _gated(Q.ONE),
    Op.SWIGLU: _gated(Q.B),
    Op.GELU: _elementwise(
        11,  # x does not change until its last step
        Step(FIRST, P.X, Q.SAME),
        Step(FIRST + RESULT_AFTER, P.RESULT, Q.K0, S.K2),
        Step(FIRST + 2 * RESULT_AFTER, P.X, Q.RESULT),
        Step(FIRST + 2 * RESULT_AFTER - 1, P.X, Q.K1),
        Step(FIRST + 2 * RESULT_AFTER + SIGMOID_AFTER + 1, P.RESULT, Q.SIGMOID),
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

    A cycle takes the command, `import_cycles` each state that is merged, and one hands over the
    summary or the state, of TOP `top_k`. In between are the passes and what ends a row.
    """
    beats = -(-length // lanes)
    passes = first_passes(top_k)
    entries = top_k if op is Op.TOP and top_k else 1
    cycles = 1 + imports * import_cycles(op, top_k) + entries
    if op in passes and reduces:
        cycles += passes[op].cycles(beats)
    if exports:
        return cycles
    if op in passes:
        cycles += program_cycles(op, numerics)
    if op in APPLYING and applies:
        cycles += APPLY[op].cycles(beats)
    return cycles
