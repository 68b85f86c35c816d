# SPDX-License-Identifier: Apache-2.0
"""What is proved of the draft-length control."""

from typing import Any

from amaranth.hdl import Assert, Cover, Module, Mux, Signal, Value

from ahasd.rtl.draftctl.params import Outcome, Rule
from ahasd.rtl.draftctl.unit import DraftctlUnit
from ahasd.rtl.lib.properties import Offers, Proof, Properties, Quiescence


class Answers(Properties):
    """The handshake: one answer to every token."""

    unit: DraftctlUnit

    def check(self, m: Module) -> None:
        """Follow each token to its answer."""
        token, decision = self.unit.token, self.unit.decision
        taken, stalled = Signal(), Signal()
        m.d.comb += [
            taken.eq(self.transfer(token)),
            stalled.eq(decision.valid & ~decision.ready),
        ]
        was_taken, was_stalled = self.past(m, taken), self.past(m, stalled)
        m.d.comb += [
            Assert(~was_taken | decision.valid, "a token is answered one cycle later"),
            Assert(
                ~decision.valid | was_taken | was_stalled,
                "there is no answer but to a token of the cycle before",
            ),
            Assert(token.ready == ~stalled, "a token stalls where an answer does, and only there"),
            Cover(was_taken & taken & decision.valid, "tokens are taken in adjacent cycles"),
            Cover(was_stalled & decision.ready, "a stalled decision is taken"),
        ]


class Batches(Properties):
    """What is decided, from sums and counts of its own that do not saturate."""

    unit: DraftctlUnit

    def check(self, m: Module) -> None:
        """Count the tokens of the batch and add their doubts; compare each decision with those."""
        unit, params = self.unit, self.unit.params
        token, decision = unit.token.payload, unit.decision
        taken = self.transfer(unit.token)
        outcome = decision.payload.outcome

        def at_token(value: Any) -> Value:
            """Return a value as it stood when the token that is answered was taken."""
            then = Signal(len(Value.cast(value)))
            with m.If(taken):
                m.d.pim += then.eq(value)
            return then

        ended, ended_was = Signal(init=1), Signal(init=1)
        m.d.comb += ended.eq(Mux(decision.valid, outcome != Outcome.CONTINUE, ended_was))
        m.d.pim += ended_was.eq(ended)
        begins = ended | token.first
        count = Signal(params.length_width + 1)
        doubt = Signal(params.doubt_width + params.length_width)
        doubt_before = Signal.like(doubt)
        before = Mux(begins, 0, doubt)
        with m.If(taken):
            m.d.pim += [
                count.eq(Mux(begins, 0, count) + 1),
                doubt.eq(before + token.doubt),
                doubt_before.eq(before),
            ]

        rule, keep = at_token(unit.rule), at_token(unit.keep_tripping_token)
        k_max, min_len = at_token(unit.k_max), at_token(unit.min_len)
        entropy = at_token(token.entropy)
        entropy_limit, doubt_limit = at_token(unit.entropy_limit), at_token(unit.doubt_limit)
        length = Signal(params.length_width + 1)
        at_cap, ends, free = Signal(), Signal(), Signal()
        m.d.comb += [
            length.eq(count - ~keep),
            at_cap.eq(decision.valid & (count >= k_max)),
            ends.eq(decision.valid & (outcome != Outcome.CONTINUE)),
            # No limit of the length decides.
            free.eq(decision.valid & ~at_cap & (length >= min_len) & length.any()),
        ]

        def exceeds(exact: Value) -> Value:
            """Tell whether a sum is above the limit, which it never is above the largest doubt."""
            return Value.cast((exact > doubt_limit) & (doubt_limit != params.doubt_max))

        m.d.comb += [
            Assert(
                ~decision.valid | (decision.payload.place == count),
                "the place counts the tokens since the batch began",
            ),
            Assert(~at_cap | (outcome == Outcome.KEEP), "the token at k_max ends the batch, kept"),
            Assert(~ends | at_cap | free, "no batch is shorter than min_len, but by k_max"),
            Assert(
                ~(decision.valid & (outcome == Outcome.DROP)) | (count > 1),
                "no batch is empty",
            ),
            Assert(
                ~ends | at_cap | (outcome == Mux(keep, Outcome.KEEP, Outcome.DROP)),
                "a token that trips is kept or dropped as the register says",
            ),
            Assert(
                ~(free & (rule == Rule.FIXED)) | ~ends,
                "FIXED ends a batch at k_max only",
            ),
            Assert(
                ~(free & (rule == Rule.ENTROPY)) | (ends == (entropy > entropy_limit)),
                "ENTROPY trips exactly above its limit",
            ),
            Assert(
                ~(free & (rule == Rule.PRODUCT)) | (ends == exceeds(doubt)),
                "PRODUCT trips exactly where the doubts of the batch add up to more than the limit",
            ),
            Assert(
                ~(free & (rule == Rule.LAGGED_PRODUCT)) | (ends == exceeds(doubt_before)),
                "LAGGED_PRODUCT leaves out the newest doubt",
            ),
            *(
                Cover(free & ends & (rule == each), f"{each.name} ends a batch")
                for each in (Rule.ENTROPY, Rule.PRODUCT, Rule.LAGGED_PRODUCT)
            ),
            Cover(free & (outcome == Outcome.DROP), "a token is dropped"),
            Cover(at_cap & (count > 1), "a batch reaches k_max"),
            Cover(doubt > params.doubt_max, "a sum saturates"),
            Cover(taken & token.first & ~ended, "a batch is abandoned"),
        ]


PROOFS = (
    Proof(properties=Answers, configuration="paper", cover_depth=8),
    Proof(properties=Offers, configuration="paper", cover_depth=8),
    Proof(properties=Quiescence, configuration="paper", cover_depth=8),
    Proof(properties=Batches, configuration="test", cover_depth=12),
)
