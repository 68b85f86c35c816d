# SPDX-License-Identifier: Apache-2.0
"""Pre-verification, cuts and branches on traces of a few tokens, worked out by hand."""

from ahasd.system.devices.work import Events
from ahasd.system.drafting.base import Drafting, Judged
from ahasd.system.drafting.fixed import Fixed
from ahasd.system.schemes.link import AlwaysGo


def right(count, k_max=4, first=100):
    """Targets first, first + 1, ..., and rollouts that are right as far as they go."""
    targets = list(range(first, first + count))
    return targets, [[first + t + i for i in range(k_max)] for t in range(count)]


def wrong_at(position, count, k_max=4):
    """The same, but the token drafted at one position is wrong, and those after it too."""
    targets, rollouts = right(count, k_max)
    for t in range(count):
        for i in range(k_max):
            if t <= position <= t + i:
                rollouts[t][i] = 900 + position + i
    return targets, rollouts


class StopsAt(AlwaysGo):
    """Stops after one batch, by its number from 1, and lets the others go."""

    number = 1

    def __init__(self, kernel) -> None:
        super().__init__(kernel)
        self._count = 0

    def draft(self, entropy_nats: float) -> None:
        self._count += 1
        self._kernel.after(0, self._decided, self._count != self.number, "predicted")


class StopsAtTwo(StopsAt):
    number = 2


class LetsGo(StopsAt):
    """Releases its stop at a verdict."""

    def verdict(self, full: bool) -> None:
        self._kernel.after(0, self._decided, True, "empty")


def test_a_cut_saves_the_npu_what_the_pim_saw_to_be_wrong(play, build_trace):
    # [0 1] at 20, taken; [2 3] at 40, 3 is wrong: stop. Of 2 in flight and 2 more, 4 rows to 60:
    # cut behind 2, hint 3; 4 and 5 drafted to 80, 6 to 90. Pass 1 to 120: 0, 1, bonus 2. The NPU
    # takes [2 3], of which 2 is out and 3 is cut: void, without a pass. [3 4 5] and [6]: 5 rows to
    # 220.
    seen = play(build_trace([wrong_at(3, 7)]), 7, control=StopsAtTwo, answers=[2])
    assert seen.asked[0] == (2, 2)
    assert seen.preverified == [4]
    assert seen.times == [(120, 3), (220, 7)]
    assert seen.rows == [3, 5]
    ledger = seen.ledger
    assert (ledger.judged_full, ledger.judged_void, ledger.judged_rejected) == (3, 1, 0)
    assert (ledger.accepted, ledger.accepted_hints, ledger.flushed) == (6, 1, 1)
    assert ledger.cut_tokens == 1
    assert (ledger.preverify.predicted, ledger.preverify.useful) == (1, 1)
    assert ledger.preverify.survived == 0
    assert ledger.preverify.harmful == 0
    assert seen.pim["preverifying"] == 20
    # The hint was not drafted, so the rule does not count it, nor does the measurement.
    assert seen.measured[:4] == [
        ("draft", 20, 2),
        ("draft", 20, 2),
        ("preverify", 20, 4),
        ("draft", 20, 2),
    ]


def test_a_hint_for_the_last_token_of_a_request_ends_the_chain(play, build_trace):
    # As above, but the request ends with 3: the hint is a batch of its own, verified from 120 to
    # 220, and only then is the next request's prompt read, to 250, and drafted, to 270.
    trace = build_trace([wrong_at(3, 4), right(2, first=200)])
    stops = {"control": StopsAtTwo, "answers": [2]}
    seen = play(trace, 6, **stops, playback="requests", prefill_ps=30)
    assert seen.times == [(30 + 120, 3), (30 + 220, 4), (30 + 370, 6)]
    assert seen.ledger.accepted_hints == 1
    # In one long sequence, too, no chain crosses the seam.
    seen = play(trace, 6, **stops)
    assert seen.times == [(120, 3), (220, 4), (340, 6)]
    assert seen.pim["seam"] == (220 - 60) + (340 - 240)


class Listens(Fixed):
    """Records what the rule is told."""

    def __init__(self, k: int) -> None:
        super().__init__(k)
        self.told: list[tuple[int, int]] = []

    def feedback(self, judged: Judged) -> None:
        self.told.append((judged.drafted, judged.accepted))


def test_the_rule_learns_nothing_of_a_void_batch_and_does_not_count_the_hint(play, build_trace):
    rule = Listens(2)
    trace = build_trace([wrong_at(3, 7)])
    play(trace, 7, control=StopsAtTwo, answers=[2], drafting=Drafting(rule))
    # [0 1]; not [2 3], which is void; the hint 3 and [4 5]; [6].
    assert rule.told == [(2, 2), (2, 2), (1, 1)]


def test_a_branch_that_starts_two_behind_what_is_out_is_dead(play, build_trace):
    # k = 1: [0] at 10, taken, [1] at 20: stop. 1 in flight and 1 more, 2 rows to 40: the PIM wants
    # another token at 0: branch [x 1] at 50. Pass 1 to 110: 0 and bonus 1. The branch starts two
    # before what is out: it is given up on either side, and no batch is rejected.
    seen = play(build_trace([right(5)]), 5, k=1, control=StopsAtTwo, answers=[1], wrong_hints=1.0)
    assert seen.times[0] == (110, 2)
    assert seen.ledger.preverify.predicted == 1
    assert (seen.ledger.judged_rejected, seen.ledger.accepted_hints) == (0, 0)


def test_a_hint_for_a_position_that_came_out_is_compared(play, build_trace):
    # The same, but 85 long, from 20 to 105: at 110 the chain is x alone, and 0 is out, without a
    # bonus: the PIM sees that x is another token, so that it is never sent.
    seen = play(
        build_trace([right(5)]),
        5,
        k=1,
        control=StopsAtTwo,
        answers=[1],
        wrong_hints=1.0,
        preverify_ps=85,
        bonus="drop",
    )
    assert seen.ledger.preverify.predicted == 1
    assert seen.ledger.judged_rejected == 0


def test_without_a_pre_verification_the_same_run_takes_longer(play, build_trace):
    seen = play(build_trace([wrong_at(3, 7)]), 7, control=StopsAtTwo, answers=[])
    # Pass 2 finds 3 wrong at 220; [4 5] at 240, verified at 340 with bonus 6.
    assert seen.times == [(120, 3), (220, 4), (340, 7)]


def test_a_branch_that_a_rejection_confirms_goes_on_without_drafting_again(play, build_trace):
    # [0 1] at 20, taken, 1 is wrong; stop; 2 rows to 40: hint 1, then [1 2 3] at 60, [4 5] at 80.
    # At 120 the NPU rejects and puts the same 1: 2 and 3 are sent again, verified at 220 with
    # bonus 4; [4 5] has 5 left, at 320.
    seen = play(build_trace([wrong_at(1, 6)]), 6, control=StopsAt, answers=[2])
    assert seen.times == [(120, 2), (220, 5), (320, 6)]
    assert seen.rows == [3, 3, 2]
    ledger = seen.ledger
    assert (ledger.drafted, ledger.accepted, ledger.rejected) == (6, 5, 1)
    assert (ledger.flushed, ledger.accepted_hints, ledger.corrections) == (0, 0, 1)
    assert (ledger.preverify.survived, ledger.preverify.useful) == (1, 1)
    # Without the branch drafting would start again at 120.
    plain = play(build_trace([wrong_at(1, 6)]), 6, control=StopsAt, answers=[])
    assert plain.times[1] == (240, 5)


def test_a_wrong_hint_costs_time_and_never_a_token(play, build_trace):
    # All drafts are right, but the PIM takes another token at 0: branch [x 1 2] at 60 and more.
    # At 120 the NPU accepts [0 1] with bonus 2, and takes the branch to be dead. [3 4] from 120 to
    # 140, verified at 240 with bonus 5.
    seen = play(build_trace([right(6)]), 6, control=StopsAt, answers=[2], wrong_hints=1.0)
    assert seen.times == [(120, 3), (240, 6)]
    ledger = seen.ledger
    assert (ledger.judged_full, ledger.judged_rejected) == (2, 0)
    assert ledger.judged_void >= 1
    assert (ledger.preverify.predicted, ledger.preverify.useful) == (1, 0)
    assert ledger.accepted_hints == 0


def test_a_rejection_ends_a_pre_verification_at_the_next_layer(play, build_trace):
    # Four layers of 60: from 20 on; the rejection at 120 comes in the second, which ends at 140.
    trace = build_trace([wrong_at(1, 4)])
    seen = play(trace, 4, control=StopsAt, answers=[2], preverify_ps=240)
    assert seen.times == [(120, 2), (260, 4)]
    assert (seen.ledger.preverify.broken_off, seen.ledger.preverify.run) == (1, 0)
    assert seen.ledger.abandoned == {"preverification": Events(pim_macs=120)}
    assert ("preverify", 0, None) in seen.measured
    # The NPU starved from the rejection to the end of the layer.
    assert (seen.ledger.preverify.harmful, seen.ledger.preverify.harmful_ps) == (1, 20)


def test_a_pre_verification_finds_nothing_behind_its_last_token(play, build_trace):
    # 2 in flight and 1 more: 0, 1 and 2; 3 is wrong, and that remains for the NPU to see.
    seen = play(build_trace([wrong_at(3, 7)]), 7, control=StopsAtTwo, answers=[1])
    assert seen.preverified == [3]
    assert (seen.ledger.preverify.run, seen.ledger.preverify.predicted) == (1, 0)


def test_a_pre_verification_outlives_an_acceptance(play, build_trace):
    # From 20 to 170; at 120 [0 1] is accepted with bonus 2, and nothing else is drafted: at 170
    # nothing of it is left to examine. [3 4] at 190, verified at 290 with bonus 5.
    trace = build_trace([right(6)])
    seen = play(trace, 6, control=StopsAt, answers=[2], preverify_ps=150)
    assert seen.times == [(120, 3), (290, 6)]
    assert seen.ledger.preverify.harmful_ps == 50


def test_a_stop_without_pre_verification_drafts_on_or_waits(play, build_trace):
    trace = build_trace([right(6)])
    drafts_on = play(trace, 6, control=StopsAt, answers=[0], continues=True)
    assert drafts_on.times == [(120, 3), (220, 6)]
    assert drafts_on.pim["stopped"] == 0
    # The verdict at 120 lets go: [3 4] at 140, verified at 240 with bonus 5.
    waits = play(trace, 6, control=LetsGo, answers=[0], continues=False)
    assert waits.times == [(120, 3), (240, 6)]
    assert waits.pim["stopped"] == 100


def test_a_finding_in_what_was_not_sent_needs_no_cut(play, build_trace):
    # Depth 1: [0 1] taken, [2 3] queued at 40, [4 5] at 60 has no room: 2 in flight and 4 more, 6
    # rows to 80; 4 is wrong: it and 5 are replaced in place by hint 4, then 5 and 6 drafted.
    trace = build_trace([wrong_at(4, 8)])
    seen = play(trace, 8, queue_depth=1, answers=[8])
    assert seen.preverified[0] == 6
    ledger = seen.ledger
    assert ledger.cut_tokens == 0
    assert ledger.judged_void == 0
    assert ledger.judged_rejected == 0
    assert ledger.accepted_hints == 1
    assert ledger.flushed == 2
