# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from ahasd import UserError
from ahasd.system.drafting.adaedl import AdaEdl
from ahasd.system.drafting.base import Drafting, Judged, Outcome
from ahasd.system.drafting.fixed import Fixed
from ahasd.system.drafting.svip import Svip
from ahasd.system.workload.playback import DraftChain, TargetStream
from ahasd.system.workload.replay import replay

RULES = {
    "fixed 1": lambda: Fixed(1),
    "fixed 2": lambda: Fixed(2),
    "fixed 4": lambda: Fixed(4),
    "svip": lambda: Svip(),
    "adaedl 0.3": lambda: AdaEdl(lambda0=0.3, k_max=12),
    "adaedl 0.7": lambda: AdaEdl(lambda0=0.7, k_max=12),
}

# Measured once by an independent program on the shipped trace: mean L, acceptance rate,
# acceptance length, target calls and rejected drafts per trace token, each with the digits of the
# table, then the standard deviation of L.
GOLDEN = {
    "fixed 1": ("1.00", ".703", "1.70", ".590", ".175", "0.0"),
    "fixed 2": ("2.00", ".612", "2.22", ".452", ".351", "0.0"),
    "fixed 4": ("4.00", ".454", "2.82", ".357", ".780", "0.0"),
    "svip": ("1.36", ".715", "1.97", ".511", ".197", "0.9"),
    "adaedl 0.3": ("4.03", ".441", "2.78", ".362", ".817", "3.7"),
    "adaedl 0.7": ("1.27", ".724", "1.92", ".524", ".183", "0.8"),
}

# Our own counts on the shipped trace: rounds, drafted, accepted.
COUNTS = {
    "fixed 1": (461, 461, 324),
    "fixed 2": (353, 706, 432),
    "fixed 4": (279, 1116, 507),
    "svip": (399, 541, 387),
    "adaedl 0.3": (283, 1141, 503),
    "adaedl 0.7": (409, 519, 376),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_replays_to_the_published_row(rule, shipped):
    result = replay(shipped, Drafting(RULES[rule](), k_max=12))
    measured = (
        result.mean_length,
        result.acceptance_rate,
        result.acceptance_length,
        result.verification_rate,
        result.discard_rate,
        result.sd_length,
    )
    for value, printed in zip(measured, GOLDEN[rule], strict=True):
        digits = len(printed.partition(".")[2])
        assert f"{value:.{digits}f}".lstrip("0") == printed.lstrip("0")


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_replays_to_the_same_counts_as_ever(rule, shipped):
    result = replay(shipped, Drafting(RULES[rule](), k_max=12))
    assert (result.rounds, result.drafted, result.accepted) == COUNTS[rule]
    assert result.rejected == result.drafted - result.accepted


def _replay_by_chains(trace, drafting):
    """Replay with look-ahead chains, which know positions only; return (anchor, L, n) a round."""
    stream = TargetStream(trace, trace.rows, "requests")
    rounds, pos, end = [], 0, 0
    while pos < stream.length:
        if pos == end:
            drafting.begin_request()
            end = stream.segment_end(pos)
        drafting.begin_batch()
        chain = DraftChain(stream, pos)
        drafts = []
        while not chain.at_end:
            draft = chain.next()
            drafts.append(draft)
            if drafting.observe(draft) is not Outcome.CONTINUE:
                break
        truth = [stream.target(pos + place) for place in range(len(drafts))]
        right = next(
            (n for n, (a, b) in enumerate(zip(drafts, truth, strict=True)) if a.token != b),
            len(drafts),
        )
        drafting.feedback(Judged(tuple(drafts), right))
        rounds.append((pos, len(drafts), right))
        pos = min(pos + right + 1, end)
    return rounds


@pytest.mark.parametrize("rule", RULES)
def test_row_replay_and_chain_replay_agree_but_for_drafts_cut_at_a_request_end(rule, shipped):
    by_rows = replay(shipped, Drafting(RULES[rule](), k_max=12))
    rounds = _replay_by_chains(shipped, Drafting(RULES[rule](), k_max=12))
    assert [right for _, _, right in rounds] == list(by_rows.accepted_per_round)
    stream = TargetStream(shipped, shipped.rows, "requests")
    for (pos, length, _), uncut in zip(rounds, by_rows.drafted_per_round, strict=True):
        assert length == min(uncut, stream.segment_end(pos) - pos)


def test_rows_that_share_a_prefix_differ_by_one_unit_of_half_precision_at_most(shipped):
    # Step i of row r and step 0 of row r + i saw the same prefix, in different batches.
    different = compared = 0
    for request in shipped.requests:
        for row in range(request.first_row, request.first_row + request.length):
            last = min(int(shipped.run[row]) + 1, shipped.k_max)
            for step in range(1, last):
                if row + step >= request.first_row + request.length:
                    continue
                for name in ("h_nats", "p_tok", "p_top1", "p_top2"):
                    one = shipped.columns()[name][row, step]
                    other = shipped.columns()[name][row + step, 0]
                    assert abs(one - other) <= np.spacing(max(one, other))
                    different += name == "h_nats" and one != other
                assert shipped.tok[row, step] == shipped.tok[row + step, 0]
                compared += 1
    assert (different, compared) == (17, 2190)


def test_a_hand_worked_replay_gives_the_counts_of_its_definitions(micro_trace):
    # Request 0: row 0 drafts 10 91, 1 right; row 2 drafts 12 94, 1 right (and one token beyond
    # the end). Request 1: row 3 drafts 20 81, 1 right.
    result = replay(micro_trace, Drafting(Fixed(2), k_max=3))
    assert result.drafted_per_round == (2, 2, 2)
    assert result.accepted_per_round == (1, 1, 1)
    assert (result.rounds, result.drafted, result.accepted, result.rejected) == (3, 6, 3, 3)
    assert result.acceptance_rate == 0.5
    assert result.acceptance_length == 2
    assert result.verification_rate == 3 / 5
    assert result.discard_rate == 3 / 5


def test_mean_and_deviation_of_the_length_are_over_rounds(micro_trace):
    # limit 0.6 nat: rows 0, 2 and 3 stop after 3 (the cap), 1 and 1 tokens
    result = replay(micro_trace, Drafting(Svip(), k_max=3))
    assert result.drafted_per_round == (3, 1, 1)
    assert result.mean_length == 5 / 3
    assert result.sd_length == pytest.approx(math.sqrt(8 / 9))


def test_a_dropped_token_is_not_drafted(micro_trace):
    # limit 0.05 nat: every second token trips, and no first token may
    keep = replay(micro_trace, Drafting(Svip(c=1.8), k_max=3))
    assert keep.drafted_per_round == (2, 1, 1)
    drop = replay(micro_trace, Drafting(Svip(c=1.8), k_max=3, keep_tripping_token=False))
    assert drop.drafted_per_round == (1, 1, 1)


def test_a_rule_is_told_of_each_request_and_each_verdict(micro_trace):
    class Spy(Fixed):
        def begin_request(self):
            heard.append("request")

        def feedback(self, judged):
            heard.append((judged.drafted, judged.accepted))

    heard = []
    replay(micro_trace, Drafting(Spy(3), k_max=3))
    assert heard == ["request", (3, 1), (3, 1), "request", (3, 1)]


def test_a_cap_beyond_the_rows_of_the_trace_is_refused(shipped):
    with pytest.raises(UserError, match=r"must not exceed the trace's k_max = 12, but it is 16"):
        replay(shipped, Drafting(Fixed(4)))
