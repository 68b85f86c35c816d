# SPDX-License-Identifier: Apache-2.0
"""What is kept of passes and batches, on traces of a few tokens, worked out by hand.

A draft step takes 10 ps, a pass 100 ps, a pre-verification 20 ps, a prompt none; batches have two
tokens.
"""

import pytest

from ahasd.system.drafting.base import Drafting
from ahasd.system.drafting.fixed import Fixed, TokenByToken
from ahasd.system.drafting.oracle import OracleOptions
from ahasd.system.schemes.link import AlwaysGo


def requests(*lengths, wrong=()):
    """Return requests with targets 0, 1, ... whose drafts are wrong at some positions."""
    made, first = [], 0
    for length in lengths:
        targets = list(range(first, first + length))
        rollouts = [
            [t + i if not set(wrong) & set(range(t, t + i + 1)) else 900 + t + i for i in range(4)]
            for t in targets
        ]
        made.append((targets, rollouts))
        first += length
    return made


class StopsAtTwo(AlwaysGo):
    """Stops after the second batch and lets the others go."""

    def __init__(self, kernel) -> None:
        super().__init__(kernel)
        self._count = 0

    def draft(self, entropy_nats: float) -> None:
        self._count += 1
        self._kernel.after(0, self._decided, self._count != 2, "predicted")


def passes(seen):
    """Return request, drafted, accepted, emitted and end of every pass."""
    log = seen.ledger.log
    return list(zip(log.request, log.drafted, log.accepted, log.emitted, log.end_ps, strict=True))


def test_decoding_alone_drafts_nothing(play, build_trace):
    seen = play(build_trace(requests(2, 1)), 3, decode=True)
    assert passes(seen) == [(0, 0, 0, 1, 100), (0, 0, 0, 1, 200), (1, 0, 0, 1, 300)]
    assert (seen.ledger.log.batches, seen.ledger.log.generated) == ({}, {})


def test_taking_turns_with_a_wrong_draft_and_a_request_s_end(play, build_trace):
    # [0 1] to 20, 1 is wrong; [2 3] to 140, bonus 4; 5 to 250, where the request ends.
    seen = play(build_trace(requests(6, wrong=[1])), 6, ahead=False)
    assert passes(seen) == [(0, 2, 1, 2, 120), (0, 2, 2, 3, 240), (0, 1, 1, 1, 350)]
    assert seen.ledger.log.batches == {("rule", 2): 2, ("request_end", 1): 1}
    assert seen.ledger.log.generated == {0: 5}


def test_a_draft_that_is_the_bonus_already_is_in_no_pass(play, build_trace):
    # [0 1] to 20, [2 3] to 40, [4 5] to 60; bonus 2 at 120; the second pass judges 3, 4 and 5.
    seen = play(build_trace(requests(6)), 6)
    assert passes(seen) == [(0, 2, 2, 3, 120), (0, 3, 3, 3, 220)]
    assert seen.ledger.log.generated == {0: 6}


def test_flushed_drafts_are_generated_and_in_no_pass(play, build_trace):
    # [0 1] is wrong at 1; [2 3] and [4 5] are flushed at 120 and drafted again; bonus 4 at 240.
    seen = play(build_trace(requests(6, wrong=[1])), 6)
    assert passes(seen) == [(0, 2, 1, 2, 120), (0, 2, 2, 3, 240), (0, 1, 1, 1, 340)]
    assert seen.ledger.log.generated == {0: 10}
    assert seen.ledger.log.batches == {("rule", 2): 5}


def test_every_request_has_its_own_passes_and_drafts(play, build_trace):
    # The instances of both requests, and the first one's again.
    seen = play(build_trace(requests(2, 1)), 5, ahead=False)
    assert passes(seen) == [(0, 2, 2, 2, 120), (1, 1, 1, 1, 230), (2, 2, 2, 2, 350)]
    assert seen.ledger.log.generated == {0: 2, 1: 1, 2: 2}


def test_a_hint_is_no_draft(play, build_trace):
    # [0 1] to 20, [2 3] to 40, 3 is wrong: hint 3 at 60, [3 4 5] and [6] to 90. 2 is the bonus of
    # the first pass; the second one judges 3 to 6.
    trace = build_trace(requests(7, wrong=[3]))
    seen = play(trace, 7, control=StopsAtTwo, answers=[2])
    assert passes(seen) == [(0, 2, 2, 3, 120), (0, 3, 3, 4, 220)]
    assert seen.ledger.log.batches == {("rule", 2): 3, ("request_end", 1): 1}
    assert seen.ledger.log.generated == {0: 7}


@pytest.mark.parametrize(("k_max", "end"), [(2, "cap"), (3, "rule")])
def test_a_batch_as_long_as_the_cap_was_ended_by_it(play, build_trace, k_max, end):
    drafting = Drafting(Fixed(2), k_max=k_max)
    seen = play(build_trace(requests(3)), 3, ahead=False, drafting=drafting)
    assert seen.ledger.log.batches == {(end, 2): 1}


@pytest.mark.parametrize("bonus", ["compare", "drop"])
def test_an_oracle_that_may_skip_drafts_nothing_where_nothing_would_be_right(
    play, build_trace, bonus
):
    # 0 is wrong: a pass of one row, to 100. [1 2] to 120, 3 is wrong: to 220 and, without a bonus,
    # a pass without a draft to 320. 4 ends the request.
    trace = build_trace(requests(5, wrong=[0, 3]))
    drafting = OracleOptions(may_skip=True).build()
    seen = play(trace, 5, ahead=False, drafting=drafting, bonus=bonus)
    first = [(0, 0, 0, 1, 100), (0, 2, 2, 3, 220)]
    last = [(0, 1, 1, 1, 330)]
    if bonus == "drop":
        first = [(0, 0, 0, 1, 100), (0, 2, 2, 2, 220), (0, 0, 0, 1, 320)]
        last = [(0, 1, 1, 1, 430)]
    assert passes(seen) == first + last
    assert seen.ledger.drafted == seen.ledger.accepted == 3
    assert seen.ledger.corrections == 0
    assert seen.ledger.bonuses == 2
    assert seen.ledger.log.batches["rule", 0] == (1 if bonus == "compare" else 2)


def test_an_oracle_skips_nothing_where_drafting_runs_ahead(play, build_trace):
    trace = build_trace(requests(5, wrong=[0, 3]))
    seen = play(trace, 5, drafting=OracleOptions(may_skip=True).build())
    assert seen.ledger.log.batches["rule", 0] == 0
    assert seen.ledger.rejected == 2


def test_a_rule_that_skips_everything_decodes_alone(play, build_trace):
    class Never(Fixed):
        def skips(self, right):
            return True

    trace = build_trace(requests(2, 3))
    seen = play(trace, 5, ahead=False, drafting=Drafting(Never(2)), prefill_ps=30)
    assert [end for *_, end in passes(seen)] == [130, 230, 330, 430, 530]
    assert seen.rows == [1] * 5
    assert seen.ledger.drafted == 0


def test_token_by_token_waits_for_its_first_length_after_every_rejection(play, build_trace):
    # [0 1] to 20, 1 is wrong; [2] to [5] to 60 are flushed at 120. [2 3] to 140, judged at 240,
    # then [4] and [5] together.
    trace = build_trace(requests(6, wrong=[1]))
    seen = play(trace, 6, drafting=Drafting(TokenByToken(2)), bonus="drop")
    assert passes(seen) == [(0, 2, 1, 2, 120), (0, 2, 2, 2, 240), (0, 2, 2, 2, 340)]
    assert seen.ledger.log.batches == {("rule", 2): 2, ("rule", 1): 6}
