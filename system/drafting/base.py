# SPDX-License-Identifier: Apache-2.0
"""What a drafting rule sees, what it answers, and the limits that hold for every rule."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import ClassVar, Protocol


@dataclass(frozen=True, slots=True)
class DraftToken:
    """One drafted token and what the draft model knew when it chose it.

    Attributes
    ----------
    token : int
        Token id.
    entropy_nats : float
        Entropy of the draft's raw softmax (temperature 1, full vocabulary), nat, not negative.
    p_token, p_top1, p_top2 : float
        Draft probability of this token and of the two likeliest ones, 0..1.
    off_trace : bool
        True if the trace did not reach this far and its last entry stands in. Such a token follows
        a wrong one, so it can never be emitted.
    hint : bool
        True if the target model in the PIM chose it, in a pre-verification; the rest is void then.
    """

    token: int
    entropy_nats: float
    p_token: float
    p_top1: float
    p_top2: float
    off_trace: bool = False
    hint: bool = False


class Outcome(Enum):
    """What becomes of the batch after a token was observed."""

    CONTINUE = auto()
    """Draft another token."""
    STOP_KEEP = auto()
    """The batch ends with this token."""
    STOP_DROP = auto()
    """The batch ends before this token, which was drafted in vain."""


class DraftingRule(Protocol):
    """Decides where a draft batch ends.

    A rule inherits from this class and implements `trips`; the other methods do nothing here.
    """

    name: ClassVar[str]

    def begin_request(self) -> None:
        """Start a new sequence; forget what belongs to the last one."""

    def begin_batch(self) -> None:
        """Start a new batch; whatever was seen of an unfinished one is void."""

    def trips(self, index: int, token: DraftToken) -> bool:
        """Return whether the rule wants the batch to end at this token.

        Called once for every drafted token, also where a limit overrides the answer.

        Parameters
        ----------
        index : int
            Place of the token in the batch, from 1.
        token : DraftToken
            The token just drafted.
        """
        ...

    def feedback(self, drafted: int, accepted: int) -> None:
        """Learn the verdict on one judged batch: 1 <= drafted, 0 <= accepted <= drafted."""


@dataclass(slots=True)
class Drafting:
    """A drafting rule under the limits that every rule shares.

    Attributes
    ----------
    rule : DraftingRule
        The rule; its own state lives in it.
    k_max : int
        Longest batch, at least 1. The batch that reaches it ends and keeps its last token.
    min_len : int
        Shortest batch, 1..k_max. The rule is overruled where a shorter batch would result.
    keep_tripping_token : bool
        Whether the token that trips the rule is sent to verification. If not, the batch ends
        before it, as in implementations that test before they sample.
    index : int
        State: tokens observed of the current batch.
    """

    rule: DraftingRule
    k_max: int = 16
    min_len: int = 1
    keep_tripping_token: bool = True
    index: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.min_len <= self.k_max:
            raise ValueError(
                f"min_len must lie in 1..k_max, but min_len is {self.min_len} and k_max "
                f"{self.k_max}"
            )

    def begin_request(self) -> None:
        """Start a new sequence."""
        self.begin_batch()
        self.rule.begin_request()

    def begin_batch(self) -> None:
        """Abandon an unfinished batch; the next token observed is the first of a new one.

        Not needed after a stop.
        """
        self.index = 0

    def observe(self, token: DraftToken) -> Outcome:
        """Take one drafted token into the current batch and say how to go on.

        After a stop the next token begins a new batch.
        """
        if self.index == 0:
            self.rule.begin_batch()
        self.index += 1
        index = self.index
        tripped = self.rule.trips(index, token)
        length = index if self.keep_tripping_token else index - 1
        if index == self.k_max:
            outcome = Outcome.STOP_KEEP
        elif not tripped or length < self.min_len:
            return Outcome.CONTINUE
        else:
            outcome = Outcome.STOP_KEEP if self.keep_tripping_token else Outcome.STOP_DROP
        self.index = 0
        return outcome

    def feedback(self, drafted: int, accepted: int) -> None:
        """Pass the verdict on one judged batch to the rule.

        Parameters
        ----------
        drafted : int
            Tokens sent to verification, at least 1.
        accepted : int
            Leading ones that were right, 0..drafted.

        Raises
        ------
        ValueError
            If the counts are impossible.
        """
        if not 0 <= accepted <= drafted or drafted < 1:
            raise ValueError(
                f"a verdict needs 1 <= drafted and 0 <= accepted <= drafted, but drafted is "
                f"{drafted} and accepted {accepted}"
            )
        self.rule.feedback(drafted, accepted)
