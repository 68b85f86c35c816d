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
    a_hat : float or None
        Acceptance probability that a trained head predicts, 0..1; None where the trace has none.
    next_right : bool or None
        Whether the target model would accept the token after this one, too. It is the future: only
        an oracle may look at it. None where nobody knows.
    """

    token: int
    entropy_nats: float
    p_token: float
    p_top1: float
    p_top2: float
    off_trace: bool = False
    hint: bool = False
    a_hat: float | None = None
    next_right: bool | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one batch that was verified.

    Attributes
    ----------
    tokens : tuple of DraftToken
        What was sent to verification, at least one: the very objects that the rule was given.
    accepted : int
        Leading ones that were right, 0..drafted.
    round_ps : int or None
        Time from the batch's first draft step to its verdict, positive; None where no time passes,
        as in a replay.

    Raises
    ------
    ValueError
        If the counts are impossible.
    """

    tokens: tuple[DraftToken, ...]
    accepted: int
    round_ps: int | None = None

    def __post_init__(self) -> None:
        if not self.tokens or not 0 <= self.accepted <= self.drafted:
            raise ValueError(
                f"a verdict needs 1 <= drafted and 0 <= accepted <= drafted, but drafted is "
                f"{self.drafted} and accepted {self.accepted}"
            )

    @property
    def drafted(self) -> int:
        """Tokens sent to verification."""
        return len(self.tokens)

    @property
    def tested(self) -> tuple[DraftToken, ...]:
        """Tokens that have a verdict of their own: those accepted, and the first one rejected."""
        return self.tokens[: self.accepted + 1]


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

    def begin_chain(self) -> None:
        """Start to draft behind what is out: nothing that was drafted beyond it is left."""

    def begin_batch(self) -> None:
        """Start a new batch; whatever was seen of an unfinished one is void."""

    def skips(self, right: bool) -> bool:
        """Return whether the target model shall do a pass without a draft.

        Asked before the first token of a batch, where drafting takes turns with verification.

        Parameters
        ----------
        right : bool
            Whether that token would be right. It is the future: only an oracle may look at it.
        """
        return False

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

    def feedback(self, judged: Judged) -> None:
        """Learn the verdict on one batch; they come oldest batch first.

        Where drafting runs ahead, younger batches are drafted already. What was drafted behind a
        wrong token is thrown away without a verdict.
        """

    def adapted(self) -> dict[str, float]:
        """Return what the rule adapts, by name and as it is now; a fixed rule adapts nothing.

        A run keeps these values after every verdict.
        """
        return {}


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

    def begin_chain(self) -> None:
        """Start anew behind what is out."""
        self.begin_batch()
        self.rule.begin_chain()

    def skips(self, right: bool) -> bool:
        """Return whether the next batch shall be empty; see `DraftingRule`."""
        return self.rule.skips(right)

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

    def feedback(self, judged: Judged) -> None:
        """Pass the verdict on one batch to the rule."""
        self.rule.feedback(judged)
