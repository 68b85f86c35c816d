# SPDX-License-Identifier: Apache-2.0
"""A drafting rule whose decisions come from the draft-length control in hardware."""

from collections import Counter
from dataclasses import dataclass, field

from ahasd import UserError
from ahasd.rtl.draftctl.params import Outcome as UnitOutcome
from ahasd.rtl.draftctl.params import Rule, Token
from ahasd.sim.draftctl import DraftLengthControl
from ahasd.system.drafting.adaedl import AdaEdl
from ahasd.system.drafting.base import Drafting, DraftToken, Outcome
from ahasd.system.drafting.fixed import Fixed
from ahasd.system.drafting.saddle import Saddle
from ahasd.system.drafting.specdecpp import SpecDecPp
from ahasd.system.drafting.svip import Svip

RULES = (Fixed, Svip, AdaEdl, Saddle, SpecDecPp)
"""Rules that the unit evaluates."""

_OUTCOMES = {
    UnitOutcome.CONTINUE: Outcome.CONTINUE,
    UnitOutcome.KEEP: Outcome.STOP_KEEP,
    UnitOutcome.DROP: Outcome.STOP_DROP,
}


@dataclass(kw_only=True)
class HardwareDrafting(Drafting):
    """A rule under its limits, as the unit decides with quantised statistics.

    The rule itself sees the same tokens at the same places and learns the same verdicts; what it
    would have answered is compared with the unit's decision, which holds. A decision takes the unit
    two cycles, some ns beside the ms of a draft step: they are not part of a run's time.

    Attributes
    ----------
    control : DraftLengthControl
        The unit.
    decided : int
        State: tokens that were decided on.
    differing : Counter
        State: those where the rule answered otherwise, by its answer and the unit's.

    Raises
    ------
    UserError
        If the unit does not have the rule, or its batches are not as long.
    """

    control: DraftLengthControl
    decided: int = field(default=0, init=False)
    differing: Counter[tuple[Outcome, Outcome]] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.begin_batch()  # the base class, which has slots, leaves no default of `index` behind
        if not isinstance(self.rule, RULES):
            names = ", ".join(rule.name for rule in RULES)
            raise UserError(
                f"the draft-length control has no rule {self.rule.name!r}: choose draft.rule from "
                f"{names}, or decide in software"
            )
        longest = self.control.params.length_max
        if self.k_max > longest:
            raise UserError(
                f"draft.k_max = {self.k_max} is longer than a batch of the draft-length control, "
                f"{longest} tokens: lower it, or choose a configuration with a larger length_width"
            )
        self.control.write(
            k_max=self.k_max,
            min_len=self.min_len,
            keep_tripping_token=int(self.keep_tripping_token),
        )

    def observe(self, token: DraftToken) -> Outcome:
        """Let the unit decide on a token; see `Drafting`."""
        first = self.index == 0
        self.control.write(**self._limits())
        params = self.control.params
        decision = self.control.decide(
            Token(
                first,
                params.encode_entropy(token.entropy_nats),
                params.encode_doubt(self._probability(token)),
            )
        )
        outcome = _OUTCOMES[decision.outcome]
        answer = super().observe(token)
        self.index = decision.place if outcome is Outcome.CONTINUE else 0
        self.decided += 1
        if answer is not outcome:
            self.differing[answer, outcome] += 1
        return outcome

    def _limits(self) -> dict[str, int]:
        """Return the registers of the rule; one that learns may have changed them."""
        rule, params = self.rule, self.control.params
        match rule:
            case Svip() | AdaEdl():
                limit = params.encode_entropy(rule.entropy_limit_nats)
                return {"rule": Rule.ENTROPY, "entropy_limit": limit}
            case Saddle():
                limit = params.encode_doubt_limit(rule.tau)
                return {"rule": Rule.PRODUCT, "doubt_limit": limit}
            case SpecDecPp():
                limit = params.encode_doubt_limit(1 - rule.h)
                product = Rule.LAGGED_PRODUCT if rule.lags else Rule.PRODUCT
                return {"rule": product, "doubt_limit": limit}
            case Fixed():
                return {"rule": Rule.FIXED, "k_max": min(rule.k, self.k_max)}
        raise AssertionError(f"{rule.name} is not among the rules")

    def _probability(self, token: DraftToken) -> float:
        """Return the probability that the rule multiplies; 1 for a rule that multiplies none."""
        match self.rule:
            case Saddle():
                return token.p_token
            case SpecDecPp(head=head):
                return head(token)
        return 1.0


def in_hardware(drafting: Drafting, control: DraftLengthControl) -> HardwareDrafting:
    """Return a rule under its limits, in its first state, decided by the unit; errors as there."""
    return HardwareDrafting(
        drafting.rule,
        drafting.k_max,
        drafting.min_len,
        drafting.keep_tripping_token,
        control=control,
    )
