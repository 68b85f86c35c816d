# SPDX-License-Identifier: Apache-2.0
"""Every mechanism of the schemes on traces of a few tokens, with timelines worked out by hand."""

import pytest

from ahasd.system.devices.work import Events
from ahasd.system.drafting.base import Drafting, DraftToken, Judged
from ahasd.system.drafting.fixed import Fixed


def right(count: int, k_max: int = 4, first: int = 100):
    """Targets first, first + 1, ..., and rollouts that are right as far as they go."""
    targets = list(range(first, first + count))
    return targets, [[first + t + i for i in range(k_max)] for t in range(count)]


def wrong_at(position: int, count: int, k_max: int = 4):
    """The same, but the token drafted at one position is wrong, and those after it too."""
    targets, rollouts = right(count, k_max)
    for t in range(count):
        for i in range(k_max):
            if t <= position <= t + i:
                rollouts[t][i] = 900 + position + i
    return targets, rollouts


@pytest.fixture
def all_right(build_trace):
    return build_trace([right(6)])


def test_decoding_alone_takes_one_pass_of_one_row_a_token(play, all_right):
    seen = play(all_right, 6, decode=True)
    assert seen.times == [(100 * n, n) for n in range(1, 7)]
    assert seen.rows == [1] * 6
    assert seen.npu == {"verifying": 600, "prefilling": 0, "starved": 0}


def test_synchronous_rounds_emit_a_batch_and_its_bonus_token(play, all_right):
    # Draft 0, 1 to 20; verify to 120, bonus 2; draft 3, 4 to 140; verify to 240, bonus 5.
    seen = play(all_right, 6, ahead=False)
    assert seen.times == [(120, 3), (240, 6)]
    assert seen.rows == [3, 3]
    assert (seen.ledger.drafted, seen.ledger.accepted, seen.ledger.bonuses) == (4, 4, 2)
    assert seen.pim["drafting"] == 40
    assert seen.pim["waiting"] == 200
    assert seen.npu == {"verifying": 200, "prefilling": 0, "starved": 40}


def test_decoding_alone_reads_the_prompt_of_every_request(play, build_trace):
    trace = build_trace([right(3), right(3, first=200)])
    seen = play(trace, 6, decode=True, prefill_ps=30, playback="requests")
    # A prompt to 30, three passes to 330, a prompt to 360, three passes.
    assert [time for time, _ in seen.times] == [130, 230, 330, 460, 560, 660]
    assert seen.npu == {"verifying": 600, "prefilling": 60, "starved": 0}
    assert seen.prefilled == [(128, False)] * 2
    assert seen.first_ps == 130
    stream = play(trace, 6, decode=True, prefill_ps=30)
    assert (stream.prefilled, stream.time_ps) == ([(128, False)], 630)


def test_both_models_read_the_prompt_before_anything_is_drafted(play, build_trace):
    # A prompt to 30, [0 1] to 50, judged at 150; a prompt to 180, [2 3] to 200, judged at 300.
    trace = build_trace([right(2), right(2, first=200)])
    seen = play(trace, 4, prefill_ps=30, playback="requests")
    assert seen.times == [(150, 2), (300, 4)]
    assert seen.prefilled == [(128, True)] * 2
    assert seen.npu == {"verifying": 200, "prefilling": 60, "starved": 40}
    assert (seen.pim["prefilling"], seen.pim["drafting"], seen.pim["seam"]) == (60, 40, 200)
    assert (seen.ledger.prefills, seen.ledger.prefill_ps) == ({128: 2}, 60)
    assert seen.first_ps == 150
    stream = play(trace, 4, prefill_ps=30)
    assert stream.times == [(150, 2), (270, 4)]
    assert stream.prefilled == [(128, True)]


def test_a_rejection_emits_the_correction_and_drafting_restarts_behind_it(play, build_trace):
    # Token 1 is wrong: 0 accepted, 1 corrected at 120; 2, 3 drafted to 140, bonus 4 at 240;
    # 5 drafted to 250 alone, as the request ends there.
    seen = play(build_trace([wrong_at(1, 6)]), 6, ahead=False)
    assert seen.times == [(120, 2), (240, 5), (350, 6)]
    assert (seen.ledger.accepted, seen.ledger.rejected) == (1 + 2 + 1, 1)
    assert (seen.ledger.corrections, seen.ledger.bonuses) == (1, 1)
    assert (seen.ledger.judged_full, seen.ledger.judged_rejected) == (2, 1)


def test_asynchronous_drafting_goes_on_while_the_npu_verifies(play, all_right):
    # Batches [0 1] at 20, [2 3] at 40, [4 5] at 60. Pass 1 to 120, bonus 2. Pass 2 takes both
    # others; token 2 equals the bonus and is not verified again: rows 1 + 3.
    seen = play(all_right, 6)
    assert seen.times == [(120, 3), (220, 6)]
    assert seen.rows == [3, 4]
    assert (seen.ledger.bonuses, seen.ledger.confirmed_bonuses) == (1, 1)
    assert (seen.ledger.drafted, seen.ledger.accepted) == (6, 6)
    assert seen.pim["seam"] == 220 - 60


def test_a_rejection_flushes_what_was_drafted_behind_it(play, build_trace):
    # [0 1] is wrong at 1, found at 120. Flushed: batches [2 3] and [4 5], drafted off path.
    seen = play(build_trace([wrong_at(1, 6)]), 6)
    assert seen.times[0] == (120, 2)
    assert seen.ledger.flushed == 4
    # Restart behind the correction: [2 3] at 140, [4 5] at 160; verified to 240 (bonus 4), 340.
    assert seen.times[1:] == [(240, 5), (340, 6)]
    assert seen.ledger.rejected == 1


def test_a_half_drafted_batch_is_flushed_and_its_step_is_abandoned(play, build_trace):
    # k = 3, steps of 40: [0 1 2] at 120; rejection of 1 at 220, in the middle of step 5 (token 5).
    seen = play(build_trace([wrong_at(1, 9)]), 9, k=3, draft_ps=40)
    assert seen.times[0] == (220, 2)
    assert seen.ledger.flushed == 2
    # Half of that step's 40 multiply-accumulates are done.
    assert seen.ledger.abandoned == {"flushed": Events(pim_macs=20)}
    # [2 3 4] from 220 to 340, bonus 5 at 440; [5 6 7] at 460, bonus 8 at 560, when [8] is queued.
    assert seen.times[1:] == [(440, 6), (560, 9)]
    assert seen.in_flight == 1


def test_a_bonus_that_the_queued_batch_denies_rejects_that_batch(play, build_trace):
    # [0 1] right, [2 3] starts with a wrong token: pass 1 emits 0, 1 and the bonus 2 at 120; the
    # NPU takes [2 3], sees that 2 is another token, rejects it and flushes [4 5] without a pass.
    seen = play(build_trace([wrong_at(2, 8)]), 8)
    assert seen.times[0] == (120, 3)
    assert seen.rows[:2] == [3, 3]
    assert (seen.ledger.judged_rejected, seen.ledger.rejected, seen.ledger.corrections) == (1, 2, 0)
    assert seen.ledger.flushed >= 2
    # [3 4] drafted from 120 to 140.
    assert seen.times[1] == (240, 6)


def test_a_bonus_that_a_half_drafted_batch_denies_is_seen_by_the_pim_alone(play, build_trace):
    # Steps of 40, k = 2: [0 1] at 80, verified at 180. At 160 [2 3] is finished and pushed; so
    # take k = 4 there: [0 1 2 3] at 160, verified at 260 with bonus 4; 4 (wrong) was drafted at
    # 200, 5 at 240. The pim throws both away, with the step of 6; no batch is judged.
    seen = play(build_trace([wrong_at(4, 12)]), 12, k=4, draft_ps=40)
    assert seen.times[0] == (260, 5)
    assert (seen.ledger.judged_rejected, seen.ledger.corrections) == (0, 0)
    assert seen.ledger.flushed == 2
    assert seen.times[1] == (260 + 160 + 100, 10)


def test_a_bonus_that_a_half_drafted_batch_confirms_stays_in_the_batch(play, build_trace):
    seen = play(build_trace([right(12)]), 12, k=4, draft_ps=40)
    # [0 1 2 3] at 160, verified at 260, bonus 4; [4 5 6 7] at 320, rows 1 + 3, at 420, bonus 8;
    # [8 9 10 11] at 480, at 580.
    assert seen.times == [(260, 5), (420, 9), (580, 12)]
    assert seen.ledger.confirmed_bonuses == 2
    assert seen.ledger.flushed == 0


@pytest.mark.parametrize(("trace_wrong_at", "flushed"), [(None, 0), (2, 1)])
def test_a_bonus_is_compared_with_the_token_whose_step_is_under_way(
    play, build_trace, trace_wrong_at, flushed
):
    # Steps of 90, k = 2: [0 1] at 180, verified at 280 with bonus 2; the step of token 2 began at
    # 180 and ends at 270: drafted. So steps of 110: [0 1] at 220, verified at 320; the step of
    # token 2 ends at 330, behind the bonus, and is compared then.
    made = right(5) if trace_wrong_at is None else wrong_at(trace_wrong_at, 5)
    seen = play(build_trace([made]), 5, draft_ps=110)
    assert seen.times[0] == (320, 3)
    assert seen.ledger.flushed == flushed
    assert seen.ledger.judged_rejected == 0
    # Confirmed: [2 3] at 440. Denied: 2 is dropped at 330, [3 4] at 550.
    assert seen.times[1] == ((540, 5) if flushed == 0 else (650, 5))


def test_a_batch_of_the_bonus_alone_is_accepted_without_a_pass(play, all_right):
    # k = 1: [0] at 10, verified at 110 with bonus 1; [1] .. [5] wait. [1] is accepted at once,
    # [2] .. [5] go into the second pass.
    seen = play(all_right, 6, k=1)
    assert seen.times == [(110, 2), (210, 6)]
    assert seen.rows == [2, 5]
    assert seen.ledger.passes == 2
    assert seen.ledger.judged_full == 6


def test_without_bonus_the_next_pass_judges_that_position(play, all_right):
    seen = play(all_right, 6, bonus="drop")
    assert seen.times == [(120, 2), (220, 6)]
    assert seen.rows == [3, 5]
    assert seen.ledger.bonuses == 0


def test_a_pass_takes_one_batch_where_told_to(play, all_right):
    seen = play(all_right, 6, take="one")
    assert seen.times == [(120, 3), (220, 5), (320, 6)]
    # [2 3] with 2 known: 1 + 1 rows, bonus 4; [4 5] with 4 known.
    assert seen.rows == [3, 2, 2]


def test_the_cap_of_a_pass_never_splits_a_batch(play, build_trace):
    # k = 3, cap 4: [0 1 2], then [3 4 5] alone although [6 7 8] is queued too.
    trace = build_trace([right(9)])
    seen = play(trace, 9, k=3, pass_tokens=4)
    assert seen.rows == [4, 3, 3]
    # A first batch larger than the cap goes alone; a cap met exactly takes both.
    assert play(trace, 9, k=3, pass_tokens=2).rows == [4, 3, 3]
    assert play(trace, 9, k=3, pass_tokens=6).rows == [4, 6]


def test_a_chain_ends_at_the_seam_and_the_next_request_waits_for_its_verdicts(play, build_trace):
    trace = build_trace([right(3), right(3, first=200)])
    seen = play(trace, 6)
    # [0 1] at 20, [2] at 30; pass 1 at 120 with bonus 2, which confirms [2] without a pass. Then
    # the second request: [3 4] at 140, [5] at 150.
    assert seen.times == [(120, 3), (240, 6)]
    assert seen.pim["seam"] == (120 - 30) + (240 - 150)


def test_no_bonus_token_crosses_a_seam(play, build_trace):
    trace = build_trace([right(2), right(2, first=200)])
    seen = play(trace, 4)
    assert seen.times == [(120, 2), (240, 4)]
    assert seen.ledger.bonuses == 0


def test_a_trace_is_cycled_to_the_asked_length(play, build_trace):
    seen = play(build_trace([right(3)]), 7, ahead=False)
    # 3 + 3 + 1 tokens; the last request is cut at the run's end.
    assert [emitted for _, emitted in seen.times] == [3, 6, 7]


def test_a_full_queue_blocks_the_pim_until_the_npu_takes_batches(play, build_trace):
    # Depth 1: [0 1] is taken at once; [2 3] at 40 fills the queue; [4 5] at 60 waits until 120.
    seen = play(build_trace([right(8)]), 8, queue_depth=1)
    assert seen.pim["full"] >= 60
    assert seen.rows[0] == 3


def test_a_control_of_limited_depth_blocks_the_pim_at_that_many_batches(play, build_trace):
    seen = play(build_trace([right(8)]), 8, max_outstanding=1)
    # [2 3] at 40 waits for the verdict on [0 1] at 120, [4 5] at 140 for 220, [6 7] at 240 for 320.
    assert seen.pim["full"] == 3 * 80


def test_a_rejection_frees_the_places_of_all_batches(play, build_trace):
    # [4 5] at 60 waits for the rejection of [0 1] at 120; then both places are free.
    seen = play(build_trace([wrong_at(1, 6)]), 6, max_outstanding=2)
    assert seen.pim["full"] == 60


class HoldsBack(Fixed):
    """Wants to end before every third token it sees."""

    def trips(self, index: int, token: DraftToken) -> bool:
        return token.token % 3 == 2


def test_a_token_held_back_by_the_rule_opens_the_next_batch(play, build_trace):
    # Tokens 99, 100, ...: 101 = 2 mod 3 trips and is held back: [99 100], then [101 102 103].
    targets = list(range(99, 107))
    rollouts = [[t + i for i in range(4)] for t in targets]
    drafting = Drafting(HoldsBack(9), k_max=9, keep_tripping_token=False)
    seen = play(build_trace([(targets, rollouts)]), 8, drafting=drafting, bonus="drop")
    assert seen.rows == [3, 7]
    assert seen.ledger.drafted == 8, "no token is drafted twice"


def test_a_token_held_back_at_the_end_of_a_request_is_a_batch_of_its_own(play, build_trace):
    # 100 101 | 101 trips and is the request's last: [100], then [101].
    drafting = Drafting(HoldsBack(9), k_max=9, keep_tripping_token=False)
    seen = play(build_trace([right(2)]), 2, drafting=drafting, bonus="drop", ahead=False)
    assert seen.rows == [2, 2]
    assert (seen.ledger.drafted, seen.ledger.accepted) == (2, 2)


class Listens(Fixed):
    """Records what the rule is told."""

    def __init__(self, k: int) -> None:
        super().__init__(k)
        self.told: list[object] = []

    def begin_request(self) -> None:
        self.told.append("request")

    def feedback(self, judged: Judged) -> None:
        self.told.append((judged.drafted, judged.accepted))


def test_the_rule_learns_every_verdict_and_nothing_of_flushed_batches(play, build_trace):
    rule = Listens(2)
    play(build_trace([wrong_at(1, 6)]), 6, drafting=Drafting(rule))
    # [0 1] with 1 wrong, [2 3], [4 5]; the two batches flushed behind the first are not told.
    assert rule.told == ["request", (2, 1), (2, 2), (2, 2)]


@pytest.mark.parametrize(("ahead", "rounds"), [(False, [120, 120]), (True, [120, 200, 180])])
def test_the_rule_learns_the_time_from_a_batch_s_first_step_to_its_verdict(
    play, all_right, ahead, rounds
):
    class Times(Fixed):
        def feedback(self, judged: Judged) -> None:
            seen.append(judged.round_ps)

    # Ahead: drafts from 0, 20 and 40 on; the first pass ends at 120, and one for the rest at 220.
    seen: list[int | None] = []
    play(all_right, 6, ahead=ahead, drafting=Drafting(Times(2)))
    assert seen == rounds


def test_the_rule_starts_anew_with_every_request_where_requests_are_separate(play, build_trace):
    trace = build_trace([right(2), right(2, first=200)])
    rule = Listens(2)
    play(trace, 4, drafting=Drafting(rule), playback="requests")
    assert rule.told == ["request", (2, 2), "request", (2, 2)]


class Stopper:
    """A control that stops after every batch and lets go at each verdict, as the EDC may."""

    def __init__(self, kernel) -> None:
        self.kernel = kernel
        self.log: list[object] = []

    def listen(self, decided) -> None:
        self.decided = decided

    def draft(self, entropy_nats: float) -> None:
        self.kernel.after(3, self.decided, False, "predicted")

    def verdict(self, full: bool) -> None:
        self.kernel.after(3, self.decided, True, "empty" if full else "rejected")

    def start_sequence(self) -> None:
        self.log.append("sequence")


def test_a_stop_holds_the_pim_until_the_release(play, all_right):
    # [0 1] offered at 20, granted at 23, verified at 123, released at 126; [3 4] offered at 146,
    # granted at 149, verified at 249 with bonus 5.
    seen = play(all_right, 6, control=Stopper)
    assert seen.times == [(123, 3), (249, 6)]
    assert seen.pim["stopped"] == (126 - 23) + (249 - 149)
    assert seen.pim["deciding"] == 6
    # The first batch was judged while predicted a stop; the last verdict comes with the end.
    assert seen.ledger.edc == {("stop", "full"): 2}


def test_every_request_starts_a_sequence_of_the_control_where_requests_are_separate(
    play, build_trace
):
    trace = build_trace([right(3), right(3, first=200)])
    controls: list[Stopper] = []

    def make(kernel):
        controls.append(Stopper(kernel))
        return controls[-1]

    play(trace, 6, control=make)
    play(trace, 6, control=make, playback="requests")
    assert [control.log for control in controls] == [[], ["sequence"]]


class Held(Stopper):
    """A control that stops after every batch and never lets go."""

    def draft(self, entropy_nats: float) -> None:
        self.kernel.after(0, self.decided, False, "predicted")

    def verdict(self, full: bool) -> None:
        """Only the sequencer itself ends the stop."""


class Explorer(Stopper):
    """A control that turns every stop into a go."""

    def draft(self, entropy_nats: float) -> None:
        self.kernel.after(3, self.decided, True, "explored")

    def verdict(self, full: bool) -> None:
        """No stop is ever held."""


def test_a_verdict_waits_while_the_control_decides(play, build_trace):
    # A decision takes 3: offers at 20, 43, 66, 89, 112, 135. [0 1] from 23 to 136 is rejected at
    # 1; the sequencer learns it with the decision at 138: [2 3] at 158, granted at 161, to 274.
    seen = play(build_trace([wrong_at(1, 20)]), 20, control=Explorer, pass_ps=113)
    assert seen.times[:2] == [(136, 2), (274, 5)]


def test_a_stop_ends_with_a_rejection(play, build_trace):
    # [0 1] at 20, stopped; rejected at 120, [2 3] at 140, stopped; at 240 with bonus 4.
    seen = play(build_trace([wrong_at(1, 5)]), 5, control=Held)
    assert seen.times == [(120, 2), (240, 5)]


def test_an_explored_go_is_a_predicted_stop_in_the_confusion_matrix(play, build_trace):
    seen = play(build_trace([wrong_at(1, 4)]), 4, control=Explorer)
    # [0 1] rejected, [2 3] flushed with it, then [2 3] accepted.
    assert seen.ledger.edc == {("stop", "rejected"): 1, ("stop", "flushed"): 1, ("stop", "full"): 1}
    assert seen.ledger.decisions == {"explored": 3}
