# SPDX-License-Identifier: Apache-2.0
"""What a caller may rely on; runs unchanged on the golden model, the RTL and the Amaranth source.

Expected values are worked out by hand from the published update rule. With all buckets 0 the PHT
index is LLR alone: the n-th outstanding batch of a fresh sequence meets entry n.
"""

import pytest

from ahasd.rtl.edc.params import Cause, Command, Decision

GO = Decision(True, Cause.PREDICTED)
STOP = Decision(False, Cause.PREDICTED)


def test_after_reset_the_table_is_cleared_entry_by_entry_while_every_input_stalls(make_edc):
    edc = make_edc(cleared=False)
    for _ in range(512):
        seen = edc.edge(draft__valid=1, verdict__valid=1, command__valid=1)
        assert not seen["idle_pim"]
        assert not any(seen[f"{name}__ready"] for name in ("draft", "verdict", "command"))
    assert edc.edge()["idle_pim"]


def test_a_decision_comes_one_cycle_after_its_draft_and_one_a_cycle(edc):
    answers = []
    for _ in range(4):
        seen = edc.edge(draft__valid=1)
        assert seen["draft__ready"]
        answers.append(seen["decision__valid"])
    answers.append(edc.edge()["decision__valid"])
    assert answers == [0, 1, 1, 1, 1]
    assert edc.outstanding == 4


def test_a_cleared_table_says_go(edc):
    assert [edc.draft(bucket) for bucket in (0, 3, 7)] == [GO, GO, GO]


def test_one_rejection_makes_a_cleared_entry_say_stop_and_one_acceptance_go_again(edc):
    edc.draft(0)
    edc.verdict(False)
    assert edc.draft(0) == STOP
    edc.verdict(True)
    assert edc.draft(0) == GO


def test_counters_saturate_at_both_ends(edc):
    for _ in range(6):
        edc.draft(0)
        edc.verdict(True)
    edc.draft(0)
    edc.verdict(False)
    assert edc.draft(0) == GO, "from 3 one rejection leads to 2, which still says go"
    edc.verdict(False)
    for _ in range(5):
        edc.draft(0)
        edc.verdict(False)
    edc.draft(0)
    edc.verdict(True)
    assert edc.draft(0) == STOP, "from 0 one acceptance leads to 1, which still says stop"


def test_the_index_that_predicted_is_trained_by_its_own_verdict(edc):
    # Entries 1, 2, 3 predict; accepted, accepted, rejected: only entry 3 turns to stop. An index
    # computed anew at the verdict, when LLR has changed, would train others.
    for _ in range(3):
        edc.draft(0)
    edc.verdict(True)
    edc.verdict(True)
    edc.verdict(False)
    edc.start_sequence()
    assert [edc.draft(0) for _ in range(4)] == [GO, GO, STOP, GO]


def test_a_flush_trains_nothing_and_clears_llr(edc):
    for _ in range(4):
        edc.draft(0)
    edc.verdict(False)
    assert edc.outstanding == 0
    edc.start_sequence()
    assert [edc.draft(0) for _ in range(4)] == [STOP, GO, GO, GO]


def test_a_verdict_after_a_flush_belongs_to_the_first_batch_of_the_new_epoch(edc):
    edc.draft(0)
    edc.draft(0)
    edc.verdict(False)  # entry 1
    edc.draft(0)
    edc.draft(0)
    edc.verdict(True)  # entry 1 again
    edc.verdict(False)  # entry 2
    edc.start_sequence()
    assert [edc.draft(0) for _ in range(2)] == [GO, STOP]


def test_the_draft_input_stalls_at_seven_outstanding_batches_until_a_verdict(edc):
    for _ in range(7):
        edc.draft(0)
    for _ in range(5):
        seen = edc.edge(draft__valid=1)
        assert not seen["draft__ready"]
        assert seen["outstanding"] == 7
    edc.verdict(True)
    assert edc.outstanding == 6
    edc.draft(0)
    assert edc.outstanding == 7


def test_llr_is_part_of_the_index_after_it_was_incremented(edc):
    edc.reject_until_stop(0, 0)
    assert edc.draft(0) == GO
    assert edc.draft(0) == STOP


def test_the_recent_average_is_an_integer_mean_of_the_four_newest_buckets(edc):
    # Bucket 3 alone: 3 >> 2 = 0, as for all zero; bucket 4: 4 >> 2 = 1, another entry.
    edc.reject_until_stop(0)
    assert edc.draft(3) == STOP
    edc.start_sequence()
    assert edc.draft(4) == GO


def test_the_older_average_is_that_of_the_fifth_to_eighth_newest_bucket(make_edc):
    # Bucket 7, then zeros, each accepted: after four more it has left the recent half (7 >> 2 = 1)
    # for the older, and after four again it is forgotten. All at LLR 1.
    edc = make_edc()

    def pass_through(last: int) -> None:
        edc.start_sequence()
        edc.draft(7)
        edc.verdict(True)
        for _ in range(last):
            edc.draft(0)
            edc.verdict(True)

    pass_through(4)
    edc.draft(0)  # H5 = 7: older 1, recent 0
    edc.verdict(False)
    edc.clear_pht()
    pass_through(3)
    edc.draft(0)  # H4 = 7: older average 7 >> 2 = 1, recent 0
    edc.verdict(False)
    pass_through(3)
    assert edc.draft(0) == STOP
    edc.verdict(False)
    pass_through(2)
    assert edc.draft(0) == GO, "H3 = 7 is still in the recent half"
    edc.verdict(True)
    pass_through(7)
    assert edc.draft(0) == GO, "forgotten: the entry of an empty history, never rejected"


@pytest.mark.parametrize("bucket", range(1, 8))
def test_an_entropy_at_a_boundary_has_reached_it_and_one_below_has_not(edc, bucket):
    # Four drafts of one bucket make the recent average that bucket; train at LLR 4.
    at = edc.params.boundaries("sqrt4")[bucket - 1]

    def fourth(entropy: int) -> Decision:
        edc.start_sequence()
        for _ in range(3):
            edc._transfer("draft", edc.entropy(bucket))
        decision = edc._transfer("draft", entropy)
        assert decision is not None
        return decision

    fourth(at)
    for _ in range(3):
        edc.verdict(True)
    edc.verdict(False)
    assert fourth(at) == STOP
    assert fourth(at - 1) == GO, "4 x bucket - 1, divided by 4, is one bucket lower"


def test_a_rejection_restores_the_history_of_accepted_batches_only(edc):
    # Committed: 3. In flight when the rejection comes: 7, 7, 7. The next batch, of bucket 1, must
    # see the history {1, 3}, recent average 1, and not {1, 7, 7, 7}, 5.
    edc.draft(3)
    edc.verdict(True)
    for _ in range(3):
        edc.draft(7)
    edc.verdict(False)
    edc.draft(1)
    edc.verdict(False)
    edc.start_sequence()
    edc.draft(3)
    edc.verdict(True)
    assert edc.draft(1) == STOP


def test_an_acceptance_commits_the_bucket_of_its_own_batch(edc):
    # In flight: 3 then 0, 0. The first is accepted, the second rejected: committed is {3}, although
    # the newest bucket at the time of the acceptance was 0.
    edc.draft(3)
    edc.draft(0)
    edc.draft(0)
    edc.verdict(True)
    edc.verdict(False)
    edc.draft(1)  # {1, 3}: recent average 1, LLR 1
    edc.verdict(False)
    edc.start_sequence()
    assert edc.draft(4) == STOP, "4 >> 2 = 1, LLR 1: the same entry"


def test_a_new_sequence_keeps_the_table_and_clears_history_and_llr(edc):
    edc.draft(7)
    edc.verdict(False)
    edc.draft(7)
    edc.draft(7)
    edc.start_sequence()
    assert edc.outstanding == 0
    assert edc.draft(7) == STOP
    edc.start_sequence()
    assert edc.draft(0) == GO


def test_clearing_the_table_takes_its_entries_in_cycles_and_forgets_everything_learnt(edc):
    edc.draft(0)
    edc.verdict(False)
    seen = edc.edge(command__valid=1, command__payload=Command.CLEAR_PHT)
    assert seen["command__ready"]
    for _ in range(512):
        seen = edc.edge(draft__valid=1)
        assert not seen["draft__ready"]
        assert not seen["idle_pim"]
    assert edc.draft(0) == GO


def test_clearing_the_table_keeps_the_outstanding_batches(edc):
    edc.draft(0)
    edc.draft(0)
    edc.clear_pht()
    edc.until_idle()
    assert edc.outstanding == 2
    edc.verdict(False)
    assert edc.draft(0) == STOP


def test_a_stop_is_released_when_nothing_is_outstanding(edc):
    edc.reject_until_stop(0)
    assert edc.draft(0) == STOP
    assert edc.verdict(True) == Decision(True, Cause.EMPTY)


def test_a_stop_is_released_by_a_rejection(edc):
    edc.reject_until_stop(0, 0)
    edc.draft(0)
    assert edc.draft(0) == STOP
    assert edc.verdict(False) == Decision(True, Cause.REJECTED)


def test_a_stop_is_released_by_the_recheck_when_the_present_entry_says_go(edc):
    edc.reject_until_stop(0, 0)
    edc.draft(0)
    assert edc.draft(0) == STOP  # entry 2
    assert edc.verdict(True) == Decision(True, Cause.RECHECKED)  # LLR 1: entry 1 says go


def test_a_recheck_that_says_stop_releases_nothing(edc):
    edc.reject_until_stop(0, 0, 0)  # entry 3 to 1, and entry 2 up to 3 on the way
    edc.reject_until_stop(0, 0)
    edc.reject_until_stop(0, 0)
    edc.draft(0)
    assert edc.draft(0) == STOP
    assert edc.draft(0) == STOP
    # LLR is 2 now: the recheck reads entry 2, not the trained entry 1.
    assert edc.verdict(True) is None
    assert edc.verdict(True) == Decision(True, Cause.RECHECKED)


def test_without_recheck_a_stop_waits_until_nothing_is_outstanding(edc):
    edc.pins["recheck"] = 0
    edc.reject_until_stop(0, 0)
    edc.draft(0)
    assert edc.draft(0) == STOP
    assert edc.verdict(True) is None
    assert edc.verdict(True) == Decision(True, Cause.EMPTY)


def test_the_second_read_of_a_recheck_is_not_trained(edc):
    edc.reject_until_stop(0, 0)
    edc.draft(0)
    edc.draft(0)
    edc.verdict(True)  # rechecked: entry 1 read once more
    edc.verdict(False)  # belongs to entry 2
    edc.start_sequence()
    assert [edc.draft(0) for _ in range(2)] == [GO, STOP]


def test_no_release_comes_where_no_stop_is_held(edc):
    edc.draft(0)
    edc.draft(0)
    assert edc.verdict(True) is None
    assert edc.verdict(False) is None


def test_a_released_stop_is_released_once(edc):
    edc.reject_until_stop(0, 0)
    edc.draft(0)
    edc.draft(0)
    assert edc.verdict(True) is not None
    assert edc.verdict(True) is None


def test_a_void_leaves_the_queue_untrained_and_leaves_the_history_alone(edc):
    edc.draft(0)
    edc.draft(0)
    assert edc.void() is None  # entry 1
    assert edc.outstanding == 1
    edc.verdict(False)  # entry 2
    edc.start_sequence()
    assert [edc.draft(0) for _ in range(2)] == [GO, STOP]


def test_a_void_commits_nothing(edc):
    edc.draft(7)
    edc.draft(0)
    edc.void()
    edc.verdict(False)  # the history falls back to the committed one, which is empty
    edc.draft(3)  # 3 >> 2 = 0 unless the 7 had been committed
    edc.verdict(False)
    edc.start_sequence()
    assert edc.draft(0) == STOP


def test_a_void_releases_a_stop_only_when_nothing_is_outstanding(edc):
    edc.reject_until_stop(0, 0)
    edc.draft(0)
    assert edc.draft(0) == STOP
    assert edc.void() is None, "no recheck, although entry 1 says go"
    assert edc.void() == Decision(True, Cause.EMPTY)


def test_a_draft_during_a_stop_decides_anew(edc):
    edc.reject_until_stop(0, 0)
    edc.draft(0)
    assert edc.draft(0) == STOP
    assert edc.draft(0) == GO
    assert edc.verdict(True) is None, "no stop is held any more"


def test_a_new_sequence_drops_a_held_stop(edc):
    edc.reject_until_stop(0)
    assert edc.draft(0) == STOP
    edc.start_sequence()
    edc.draft(7)
    assert edc.verdict(True) is None


def test_a_verdict_takes_effect_before_a_draft_of_the_same_cycle(edc):
    # Rejection of entry 1 and a draft that meets entry 1: the table is read past the write.
    edc.draft(0)
    seen = edc.edge(verdict__valid=1, verdict__payload=0, draft__valid=1)
    assert seen["verdict__ready"]
    assert seen["draft__ready"]
    assert edc.edge()["decision__payload"] == STOP.pack()
    assert edc.outstanding == 1


def test_of_a_release_and_a_decision_in_one_cycle_the_decision_is_given(edc):
    edc.reject_until_stop(0, 0)
    edc.draft(0)
    assert edc.draft(0) == STOP
    edc.edge(verdict__valid=1, verdict__payload=1, draft__valid=1)
    assert edc.edge()["decision__payload"] == STOP.pack()
    assert edc.verdict(True) == Decision(True, Cause.RECHECKED), "the stop is held again"


def test_a_held_decision_stays_as_it_is_and_stalls_every_input(edc):
    edc.edge(draft__valid=1)
    for _ in range(5):
        seen = edc.edge(decision__ready=0, draft__valid=1, verdict__valid=1, command__valid=1)
        assert seen["decision__valid"]
        assert seen["decision__payload"] == GO.pack()
        assert not seen["idle_pim"]
        assert not any(seen[f"{name}__ready"] for name in ("draft", "verdict", "command"))
    assert edc.outstanding == 1


def test_a_command_is_taken_alone(edc):
    edc.draft(0)
    seen = edc.edge(command__valid=1, draft__valid=1, verdict__valid=1)
    assert seen["command__ready"]
    assert not seen["draft__ready"]
    assert not seen["verdict__ready"]
    assert edc.outstanding == 0


def test_a_verdict_without_a_batch_raises_the_error_and_changes_nothing_else(edc):
    edc.reject_until_stop(0)
    assert not edc.edge()["orphan"]
    assert edc.verdict(True) is None
    assert edc.edge()["orphan"]
    assert edc.draft(0) == STOP
    assert edc.outstanding == 1


@pytest.mark.parametrize("k", [1, 2])
def test_exploration_turns_every_second_power_stop_into_a_go(edc, k):
    edc.pins["explore"] = k
    for _ in range(4):  # down to 0, so that the entry stays at stop
        edc.draft(0)
        edc.verdict(False)
    edc.clear_pht()
    edc.until_idle()
    edc.start_sequence()
    edc.draft(0)
    edc.verdict(False)
    causes = []
    for _ in range(2 * 2**k):
        decision = edc.draft(0)
        causes.append(decision)
        edc.verdict(False)
    explored = Decision(True, Cause.EXPLORED)
    assert causes.count(explored) == 2
    gaps = [i for i, decision in enumerate(causes) if decision == explored]
    assert gaps[1] - gaps[0] == 2**k
    assert all(decision == STOP for i, decision in enumerate(causes) if i not in gaps)


def test_a_stream_rejected_throughout_is_suppressed_after_one_verdict_an_entry(edc):
    # Two batches in flight at a time, of one high entropy; the younger is flushed each time.
    rejections: dict[tuple[int, ...], int] = {}
    history: list[int] = []
    for _ in range(40):
        entry = (*history, 1)
        decision = edc.draft(6)
        if rejections.get(entry, 0) >= 2:
            assert not decision.go
        edc.draft(6)
        edc.verdict(False)
        rejections[entry] = rejections.get(entry, 0) + 1
    assert max(rejections.values()) >= 3


def test_small_configurations_have_the_same_contract(make_edc):
    edc = make_edc("test")
    assert edc.params.max_outstanding == 3
    for _ in range(3):
        edc.draft(0)
    assert not edc.edge(draft__valid=1)["draft__ready"]
    edc.verdict(True)
    edc.verdict(False)
    edc.start_sequence()
    assert [edc.draft(0) for _ in range(3)] == [GO, STOP, GO]
