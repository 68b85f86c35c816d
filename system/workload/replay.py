# SPDX-License-Identifier: Apache-2.0
"""Untimed, synchronous replay of a drafting rule on a trace."""

import math
from dataclasses import dataclass

from ahasd import UserError
from ahasd.system.drafting.base import Drafting, DraftToken, Judged, Outcome
from ahasd.system.workload.playback import DraftTable
from ahasd.system.workload.trace import Trace


@dataclass(frozen=True, slots=True)
class Replay:
    """Counts of one replay.

    Attributes
    ----------
    drafted_per_round : tuple of int
        Tokens sent to verification in each round, L.
    accepted_per_round : tuple of int
        Leading ones that were right, n; the round emits n + 1.
    tokens : int
        Target tokens of the trace. The last round of a request may emit beyond its end; such
        tokens count in the acceptance length but not here.
    """

    drafted_per_round: tuple[int, ...]
    accepted_per_round: tuple[int, ...]
    tokens: int

    @property
    def rounds(self) -> int:
        """Target calls."""
        return len(self.drafted_per_round)

    @property
    def drafted(self) -> int:
        """Tokens sent to verification."""
        return sum(self.drafted_per_round)

    @property
    def accepted(self) -> int:
        """Drafted tokens that were right."""
        return sum(self.accepted_per_round)

    @property
    def rejected(self) -> int:
        """Drafted tokens that were discarded."""
        return self.drafted - self.accepted

    @property
    def mean_length(self) -> float:
        """Mean L."""
        return self.drafted / self.rounds

    @property
    def sd_length(self) -> float:
        """Standard deviation of L over all rounds (divisor: rounds)."""
        mean = self.mean_length
        return math.sqrt(sum((n - mean) ** 2 for n in self.drafted_per_round) / self.rounds)

    @property
    def acceptance_rate(self) -> float:
        """Accepted per drafted token; the bonus token counts in neither."""
        return self.accepted / self.drafted

    @property
    def acceptance_length(self) -> float:
        """Mean of n + 1: tokens per target call with the bonus or correction token."""
        return 1 + self.accepted / self.rounds

    @property
    def verification_rate(self) -> float:
        """Target calls per token of the trace."""
        return self.rounds / self.tokens

    @property
    def discard_rate(self) -> float:
        """Rejected draft tokens per token of the trace."""
        return self.rejected / self.tokens


def replay(trace: Trace, drafting: Drafting) -> Replay:
    """Replay a rule on every request of a trace, one round after the other.

    At anchor t the rule takes the first L entries of row t; n = min(L, run[t]) of them are
    accepted, and the next anchor is t + n + 1 until the request ends. The rule is told of every
    new request and every verdict. A draft is not cut at a request's end.

    Raises
    ------
    UserError
        If the draft cap exceeds the trace's k_max, whose rows end there.
    """
    if drafting.k_max > trace.k_max:
        raise UserError(
            f"{trace.source}: the draft cap must not exceed the trace's k_max = {trace.k_max}, "
            f"but it is {drafting.k_max}; lower the cap"
        )
    table = DraftTable(trace)
    run = trace.run.tolist()
    drafted, accepted = [], []
    for request in trace.requests:
        drafting.begin_request()
        row, end = request.first_row, request.first_row + request.length
        while row < end:
            tokens = draft(table, row, drafting)
            right = min(len(tokens), run[row])
            drafting.feedback(Judged(tokens, right))
            drafted.append(len(tokens))
            accepted.append(right)
            row += right + 1
    return Replay(tuple(drafted), tuple(accepted), trace.rows)


def draft(table: DraftTable, row: int, drafting: Drafting) -> tuple[DraftToken, ...]:
    """Return the entries of a row that the rule sends to verification, the first ones."""
    tokens = []
    while True:
        token = table.entry(row, len(tokens))
        outcome = drafting.observe(token)
        if outcome is Outcome.STOP_DROP:
            return tuple(tokens)
        tokens.append(token)
        if outcome is Outcome.STOP_KEEP:
            return tuple(tokens)
