# SPDX-License-Identifier: Apache-2.0
"""What a run keeps of every pass and batch, so that figures can be made of it afterwards."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

End = Literal["rule", "cap", "request_end", "link"]
"""What ended a batch: its rule, before the cap; the cap `k_max`; its request; the queue's width."""


@dataclass
class RunLog:
    """Lists of passes and of verdicts, and counts of batches.

    A request is an instance of one of the trace's, numbered along the run. What is judged by no
    pass, because it was compared with a bonus token that is out already, is in none.

    Attributes
    ----------
    request, drafted, accepted, emitted, end_ps
        Of every pass of the target model, in order: its request, the draft tokens in it, how many
        of them were right, the tokens that it emitted, and when it ended, ps.
    generated
        Tokens of the draft model by request, whatever became of them.
    batches
        Finished batches by what ended them and by their number of draft tokens.
    policy
        Values that the drafting rule adapts, by name, after every verdict that it learnt; a value
        that the rule did not tell then is in no list.
    policy_request
        The request of each of these values.
    """

    request: list[int] = field(default_factory=list)
    drafted: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    emitted: list[int] = field(default_factory=list)
    end_ps: list[int] = field(default_factory=list)
    generated: Counter[int] = field(default_factory=Counter)
    batches: Counter[tuple[End, int]] = field(default_factory=Counter)
    policy: dict[str, list[float]] = field(default_factory=dict)
    policy_request: dict[str, list[int]] = field(default_factory=dict)

    def count_pass(
        self, request: int, *, drafted: int, accepted: int, emitted: int, end_ps: int
    ) -> None:
        """Add a pass."""
        self.request.append(request)
        self.drafted.append(drafted)
        self.accepted.append(accepted)
        self.emitted.append(emitted)
        self.end_ps.append(end_ps)

    def note_policy(self, request: int, values: Mapping[str, float]) -> None:
        """Add what a rule adapts, after a verdict; the names of a user's rule may vary."""
        for name, value in values.items():
            self.policy_request.setdefault(name, []).append(request)
            self.policy.setdefault(name, []).append(value)
