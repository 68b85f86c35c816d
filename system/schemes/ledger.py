# SPDX-License-Identifier: Apache-2.0
"""What happened in a run, counted."""

from collections import Counter
from dataclasses import dataclass, field

from ahasd.system.devices.machine import Job
from ahasd.system.devices.work import Events
from ahasd.system.energy.account import Fate
from ahasd.system.metrics.log import RunLog


@dataclass
class Preverify:
    """What became of pre-verifications.

    Attributes
    ----------
    asked
        Requests to the TVC.
    inserted
        Of them, those that it answered with at least one token.
    run, broken_off
        Pre-verifications that ran to their end, and that a rejection ended.
    tokens
        Tokens processed by those that ran, those in flight included.
    predicted
        Rejections that they foretold: a hint was drafted on.
    survived
        Branches that a rejection at their start confirmed.
    useful
        Pre-verifications that changed what the NPU verified: it confirmed a token of their branch,
        or the branch survived the rejection.
    harmful
        Those during which the NPU starved.
    harmful_ps
        For how long it did.
    time_ps
        Time that the PIM spent on all of them, switches included.
    """

    asked: int = 0
    inserted: int = 0
    run: int = 0
    broken_off: int = 0
    tokens: int = 0
    predicted: int = 0
    survived: int = 0
    useful: int = 0
    harmful: int = 0
    harmful_ps: int = 0
    time_ps: int = 0


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
    verified
        Passes by their rows, KV length and the tokens that they emitted.
    draft_steps, accepted_steps, rejected_steps
        Draft steps by KV length: all that ended, and those whose token was accepted or rejected.
    preverified
        Pre-verifications that ran to their end, by rows and KV length.
    prefills
        Prompts by length.
    prefill_ps
        Time that they took.
    abandoned
        Events of PIM work that was given up half-way, by fate.
    corrections, bonuses
        Tokens emitted after a rejection, and after a chain accepted in full.
    confirmed_bonuses
        Bonuses that were also drafted: accepted tokens that had been emitted before.
    judged_full, judged_rejected, judged_void
        Batches by verdict.
    edc
        Confusion matrix: (predicted `go` or `stop`, fate) to batches; the fates are `full`,
        `rejected`, `void` (cut, and right as far as it was verified) and `flushed`.
    decisions
        EDC decisions by cause, `predicted` split into `go` and `stop`.
    accepted_hints
        Tokens of pre-verifications that the target confirmed; they count as no draft.
    cut_tokens
        Drafted tokens that the NPU did not verify because of a cut.
    preverify
        Pre-verification, counted.
    log
        Passes and batches one by one.
    """

    drafted: int = 0
    accepted: int = 0
    rejected: int = 0
    flushed: int = 0
    off_trace: int = 0
    passes: int = 0
    rows: int = 0
    verified: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    draft_steps: Counter[int] = field(default_factory=Counter)
    accepted_steps: Counter[int] = field(default_factory=Counter)
    rejected_steps: Counter[int] = field(default_factory=Counter)
    preverified: Counter[tuple[int, int]] = field(default_factory=Counter)
    prefills: Counter[int] = field(default_factory=Counter)
    prefill_ps: int = 0
    abandoned: dict[Fate, Events] = field(default_factory=dict)
    corrections: int = 0
    bonuses: int = 0
    confirmed_bonuses: int = 0
    judged_full: int = 0
    judged_rejected: int = 0
    judged_void: int = 0
    accepted_hints: int = 0
    cut_tokens: int = 0
    preverify: "Preverify" = field(default_factory=lambda: Preverify())
    edc: Counter[tuple[str, str]] = field(default_factory=Counter)
    decisions: Counter[str] = field(default_factory=Counter)
    log: RunLog = field(default_factory=RunLog)

    def count_pass(self, rows: int, context: int, emitted: int) -> None:
        """Count a pass over token positions with a KV length, and the tokens it emitted."""
        self.passes += 1
        self.rows += rows
        self.verified[rows, context, emitted] += 1

    def count_abandoned(self, fate: Fate, job: Job) -> None:
        """Count the part that was done of a PIM task that is given up."""
        done = job.task.events.part(job.share_done)
        self.abandoned[fate] = self.abandoned.get(fate, Events()) + done
