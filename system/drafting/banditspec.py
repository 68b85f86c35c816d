# SPDX-License-Identifier: Apache-2.0
"""BanditSpec: each draft length is an arm of a bandit, and the best one is learnt by trying."""

import math
import random
from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from ahasd import UserError
from ahasd.system.drafting.base import DraftingRule, DraftToken, Judged
from ahasd.system.drafting.options import LengthOptions

Mode = Literal["ucb_paper", "ucb_repo", "exp3"]
Reward = Literal["tokens_per_round", "tokens_per_s"]


@dataclass
class BanditSpec(DraftingRule):
    """Draft as many tokens as the arm that is chosen after every verdict.

    With K arms, L the longest length, t the rounds so far, n and m an arm's rounds and mean reward:

    - `ucb_paper`, UCBSpec: every arm once, then the largest m + (L / 2)
      sqrt((1 + n) / n^2 (1 + 2 ln(K t^2 sqrt(1 + n) / delta)));
    - `ucb_repo`, the authors' code for lengths: the arms in turn for 2 K - 1 rounds, then the
      largest mean, as the bonus that the code adds is the same for every arm;
    - `exp3`, EXP3Spec: an arm drawn with probability p from softmax(-eta Z), where eta =
      sqrt(ln K / ((t + 1) K)) and Z of the arm grows by (L - accepted) / (L p) after its round.

    A round's reward is what it emits, the target's own token included. Source: BanditSpec, arXiv
    2505.15141, and the authors' code. A verdict counts for the arm that its batch was drafted with,
    also where drafting runs ahead and another arm was chosen meanwhile; a batch that the end of a
    request cuts counts for none.

    Attributes
    ----------
    lengths : tuple of int
        The arms, ascending, at least one.
    mode : {"ucb_paper", "ucb_repo", "exp3"}
        How an arm is chosen.
    reward : {"tokens_per_round", "tokens_per_s"}
        Tokens, or tokens divided by the time of the round; `exp3` needs tokens. The radius is in
        tokens, so that `ucb_paper` counts time in mean rounds of all arms; the paper does not say.
    delta : float
        For `ucb_paper`: probability that the bounds fail, above 0 and at most 1.
    seed : int
        Of the draws of `exp3`.
    restart_per_request : bool
        Whether a new request forgets everything, as the authors' code does.
    rounds : int
        State: verdicts that counted.
    rounds_s : float
        State: their time, seconds; 0 where the reward does not need it.
    pulls, means, losses : list
        State: for each arm its rounds, its mean reward, and its Z.
    choice : tuple of (int, float)
        State: place of the chosen arm, and the probability with which it was drawn.
    drafting : tuple of (int, float)
        State: the same of the batch that is being drafted.
    finished : deque of (DraftToken, int, float)
        State: the same of batches that have no verdict yet, each behind its last token.
    """

    name: ClassVar[str] = "banditspec"

    lengths: tuple[int, ...]
    mode: Mode = "ucb_paper"
    reward: Reward = "tokens_per_round"
    delta: float = 0.05
    seed: int = 0
    restart_per_request: bool = False
    rounds: int = field(init=False)
    rounds_s: float = field(init=False)
    pulls: list[int] = field(init=False)
    means: list[float] = field(init=False)
    losses: list[float] = field(init=False)
    choice: tuple[int, float] = field(init=False)
    drafting: tuple[int, float] = field(init=False)
    finished: deque[tuple[DraftToken, int, float]] = field(init=False)
    _random: random.Random = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._random = random.Random(f"{self.seed} banditspec")
        self._restart()

    def _restart(self) -> None:
        arms = len(self.lengths)
        self.rounds = 0
        self.rounds_s = 0.0
        self.pulls = [0] * arms
        self.means = [0.0] * arms
        self.losses = [0.0] * arms
        self.choice = self.drafting = self._chosen()
        self.finished = deque()

    def begin_request(self) -> None:
        """Forget everything, if it is kept per request."""
        if self.restart_per_request:
            self._restart()

    def begin_batch(self) -> None:
        """Settle the arm of the batch."""
        self.drafting = self.choice

    def trips(self, index: int, token: DraftToken) -> bool:
        """Return whether the batch has the length of its arm."""
        arm, likelihood = self.drafting
        if index < self.lengths[arm]:
            return False
        self.finished.append((token, arm, likelihood))
        return True

    def feedback(self, judged: Judged) -> None:
        """Reward the arm and choose the next one.

        Raises
        ------
        UserError
            If the reward needs a time and there is none.
        """
        known = [token is judged.tokens[-1] for token, _, _ in self.finished]
        if True not in known:
            return
        for _ in range(known.index(True)):  # thrown away without a verdict
            self.finished.popleft()
        _, arm, likelihood = self.finished.popleft()
        reward = judged.accepted + 1.0
        if self.reward == "tokens_per_s":
            round_s = _round_s(judged)
            reward /= round_s
            self.rounds_s += round_s
        longest = self.lengths[-1]
        self.losses[arm] += (longest - judged.accepted) / (longest * likelihood)
        self.rounds += 1
        # As the authors' code has it: how it rounds decides between arms with equal means.
        pulls = self.pulls[arm]
        self.means[arm] = (self.means[arm] * pulls + reward) / (pulls + 1)
        self.pulls[arm] = pulls + 1
        self.choice = self._chosen()

    def adapted(self) -> dict[str, float]:
        """Return the arm of the next batch, as its length."""
        return {"arm_tokens": self.lengths[self.choice[0]]}

    def _chosen(self) -> tuple[int, float]:
        arms = range(len(self.lengths))
        if self.mode == "exp3":
            probabilities = self.probabilities()
            (arm,) = self._random.choices(arms, probabilities)
            return arm, probabilities[arm]
        if self.mode == "ucb_repo":
            in_turn = self.rounds < 2 * len(arms) - 1
            arm = self.rounds % len(arms) if in_turn else max(arms, key=self.means.__getitem__)
        elif 0 in self.pulls:
            arm = self.pulls.index(0)
        else:
            arm = max(arms, key=self._bound)
        return arm, 1.0

    def _bound(self, arm: int) -> float:
        unit = self.rounds_s / self.rounds if self.reward == "tokens_per_s" else 1.0
        return self.means[arm] * unit + self.radius_tokens(arm)

    def radius_tokens(self, arm: int) -> float:
        """Return what `ucb_paper` adds to the mean of an arm that had a round."""
        pulls = self.pulls[arm]
        trials = len(self.lengths) * self.rounds**2 * math.sqrt(1 + pulls) / self.delta
        radius = math.sqrt((1 + pulls) / pulls**2 * (1 + 2 * math.log(trials)))
        return self.lengths[-1] / 2 * radius

    def probabilities(self) -> list[float]:
        """Return the probability with which `exp3` draws each arm for the round to come."""
        arms = len(self.lengths)
        eta = math.sqrt(math.log(arms) / ((self.rounds + 1) * arms))
        least = min(self.losses)  # changes no ratio, and keeps the largest weight at 1
        weights = [math.exp(-eta * (loss - least)) for loss in self.losses]
        return [weight / sum(weights) for weight in weights]


def _round_s(judged: Judged) -> float:
    if judged.round_ps is None:
        raise UserError(
            'draft.reward = "tokens_per_s" needs the time of a round, but nothing is timed here; '
            'choose reward = "tokens_per_round"'
        )
    return judged.round_ps * 1e-12


class BanditSpecOptions(LengthOptions):
    """Options of BanditSpec; see `BanditSpec`. The arms are min_len..longest tokens.

    The paper prints no `delta`; 0.05 is our choice.
    """

    rule: Literal["banditspec"] = "banditspec"
    longest: int = Field(default=4, ge=1, description="arms are all lengths from min_len to this")
    mode: Mode = Field(
        default="ucb_paper", description="UCBSpec, the authors' code for lengths, or EXP3Spec"
    )
    reward: Reward = Field(
        default="tokens_per_round", description="what a round is worth; exp3 knows tokens only"
    )
    delta: float = Field(
        default=0.05, gt=0, le=1, description="probability that the bounds of ucb_paper fail"
    )
    restart_per_request: bool = Field(
        default=False, description="forget what was learnt at every new sequence"
    )

    @model_validator(mode="after")
    def _check_arms(self) -> Self:
        self._check_length("longest", self.longest)
        if self.mode == "exp3" and self.reward == "tokens_per_s":
            raise ValueError(
                'mode "exp3" needs a bounded reward, which reward "tokens_per_s" is not: choose '
                '"tokens_per_round"'
            )
        return self

    def build_rule(self, seed: int = 0) -> BanditSpec:
        """Return the rule, in its first state."""
        return BanditSpec(
            lengths=tuple(range(self.min_len, self.longest + 1)),
            mode=self.mode,
            reward=self.reward,
            delta=self.delta,
            seed=seed,
            restart_per_request=self.restart_per_request,
        )
