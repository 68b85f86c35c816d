# SPDX-License-Identifier: Apache-2.0
"""What happened in a run, counted."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Ledger:
    """Event counts of one run.

    Attributes
    ----------
    drafted
        Tokens that the draft model produced.
    accepted, rejected, flushed
        Their fates: confirmed by the target; at or behind the first wrong token of a judged batch;
        thrown away unjudged. What is in flight when the run ends has none.
    off_trace
        Drafted tokens that the trace does not hold; they follow a wrong one and are never emitted.
    passes
        NPU passes of the target model.
    rows
        Token positions processed in them.
    corrections, bonuses
        Tokens emitted after a rejection, and after a chain accepted in full.
    confirmed_bonuses
        Bonuses that were also drafted: accepted tokens that had been emitted before.
    judged_full, judged_rejected
        Batches by verdict.
    edc
        Confusion matrix: (predicted `go` or `stop`, `full`, `rejected` or `flushed`) to batches.
    decisions
        EDC decisions by cause, `predicted` split into `go` and `stop`.
    """

    drafted: int = 0
    accepted: int = 0
    rejected: int = 0
    flushed: int = 0
    off_trace: int = 0
    passes: int = 0
    rows: int = 0
    corrections: int = 0
    bonuses: int = 0
    confirmed_bonuses: int = 0
    judged_full: int = 0
    judged_rejected: int = 0
    edc: Counter[tuple[str, str]] = field(default_factory=Counter)
    decisions: Counter[str] = field(default_factory=Counter)
