# SPDX-License-Identifier: Apache-2.0
"""What a caller may rely on; runs unchanged on the golden model, the RTL and the Amaranth source.

Expected values are worked out by hand from the published behaviour. Every edge of every test also
passes the monitor of the invariants. Unless told otherwise the switch takes 4 cycles, the drain
budget is 10, the ranks are drained, every rank requests to compute, and offers are taken at once.
"""

import pytest

from ahasd.rtl.gtsu.params import Command, Issue, Kind, State, Task

DRAFT, PREVERIFY = Kind.DRAFT, Kind.PREVERIFY
ERRORS = ("timeout", "bad_masks", "orphan_done")


def errors(seen):
    return {name for name in ERRORS if seen[name]}


def test_after_reset_nothing_is_up_and_nothing_is_granted(gtsu):
    for _ in range(3):
        seen = gtsu.edge()
        assert State(seen["state"]) is State.IDLE
        assert seen["idle_pim"]
        assert not any(seen[name] for name in ("mask", "compute_grant", "running", "pending"))
        assert not errors(seen)


def test_the_first_task_waits_for_its_mask_and_runs_once_it_is_taken(gtsu):
    gtsu.draft(5)
    states = []
    while not gtsu.edge()["issue__valid"]:
        states.append(State(gtsu.seen["state"]))
        assert not gtsu.seen["mask"]
    assert states == [State.IDLE, State.DRAINING] + 4 * [State.SWITCHING]
    assert gtsu.seen["issue__payload"] == Issue(DRAFT, False, 5).pack()
    assert gtsu.seen["mask"] == gtsu.dlm
    assert not gtsu.seen["running"]
    seen = gtsu.edge()
    assert seen["running"]
    assert seen["compute_grant"] == gtsu.dlm


def test_a_task_whose_mask_is_up_is_offered_two_cycles_after_its_transfer(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.done(1)
    gtsu.edges(3)
    gtsu.draft(2)
    assert not gtsu.edge()["issue__valid"]
    assert gtsu.edge()["issue__valid"]


def test_a_task_is_taken_every_cycle(gtsu):
    gtsu.draft(*range(8))  # each must be taken at its first edge
    seen = gtsu.edge()
    assert seen["pending"] == 7
    assert Issue.unpack(seen["issue__payload"]) == Issue(DRAFT, False, 0)


def test_the_next_task_of_the_same_kind_is_offered_one_cycle_after_the_done(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.draft(2)
    gtsu.pins["drained"] = 0  # nobody asks without a switch
    gtsu.done(1)
    seen = gtsu.edge()
    assert seen["issue__valid"]
    assert seen["mask"] == gtsu.dlm
    assert Issue.unpack(seen["issue__payload"]) == Issue(DRAFT, False, 2)


def test_a_task_of_the_other_kind_switches_after_the_done(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.draft(2)
    gtsu.pins["preempt"] = 0
    gtsu.preverify(3)
    gtsu.done(1)
    found = [(gtsu.state(), gtsu.seen["mask"]) for _ in range(6)]
    assert found == [
        (State.DRAINING, gtsu.dlm),
        *(4 * [(State.SWITCHING, 0)]),
        (State.PREVERIFY, gtsu.tlm),
    ]
    assert Issue.unpack(gtsu.seen["issue__payload"]) == Issue(PREVERIFY, False, 3)


def test_a_mask_stays_up_after_its_task_until_the_other_kind_is_needed(gtsu):
    gtsu.run(PREVERIFY, 1)
    gtsu.done(1)
    for _ in range(50):
        seen = gtsu.edge()
        assert State(seen["state"]) is State.PREVERIFY
        assert seen["mask"] == gtsu.tlm
        assert not seen["compute_grant"]
        assert seen["idle_pim"]


def test_an_offer_waits_unchanged_for_its_taker_and_grants_nothing(gtsu):
    gtsu.pins["issue__ready"] = 0
    gtsu.draft(1)
    gtsu.issued()
    gtsu.preverify(2)
    for _ in range(20):
        seen = gtsu.edge(layer_boundary=1)
        assert seen["issue__valid"]
        assert seen["issue__payload"] == Issue(DRAFT, False, 1).pack()
        assert not seen["compute_grant"]
        assert not seen["idle_pim"]
    assert not gtsu.edge(issue__ready=1)["running"]
    assert gtsu.edge()["running"]


def test_pre_verification_goes_first_and_each_kind_keeps_its_order(gtsu):
    gtsu.run(DRAFT, 0)
    gtsu.pins["preempt"] = 0
    gtsu.draft(1)
    gtsu.preverify(2)
    gtsu.draft(3)
    gtsu.preverify(4)
    gtsu.preverify(5)
    gtsu.done(0)
    order = []
    for _ in range(5):
        order.append(gtsu.issued())
        gtsu.edge()
        gtsu.done(order[-1].id)
    assert order == [
        Issue(PREVERIFY, False, 2),
        Issue(PREVERIFY, False, 4),
        Issue(PREVERIFY, False, 5),
        Issue(DRAFT, False, 1),
        Issue(DRAFT, False, 3),
    ]
    assert gtsu.monitor.events["mask raised"] == 3


def test_the_queue_takes_its_entries_and_then_stalls_whatever_the_kinds(make_gtsu):
    gtsu = make_gtsu()
    gtsu.run(PREVERIFY, 0)
    for number in range(8):
        gtsu.task(Kind(number % 2), number)
    for _ in range(5):
        seen = gtsu.edge(task__valid=1, task__payload=Task(DRAFT, 9).pack())
        assert not seen["task__ready"]
        assert seen["pending"] == 8
    gtsu.done(0)
    assert not gtsu.seen["task__ready"], "an entry is free when a task is offered"
    seen = gtsu.edge(task__valid=1, task__payload=Task(DRAFT, 9).pack())
    assert seen["issue__valid"]
    assert seen["task__ready"]
    assert gtsu.edge()["pending"] == 8


def test_a_layer_boundary_suspends_drafting_for_a_waiting_pre_verification(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.draft(2)
    gtsu.preverify(3)
    for _ in range(20):
        assert gtsu.edge()["running"], "the layer goes on to its end"
    seen = gtsu.edge(layer_boundary=1)
    assert seen["compute_grant"] == gtsu.dlm, "this cycle is still the task's"
    seen = gtsu.edge()
    assert State(seen["state"]) is State.DRAINING
    assert not seen["running"]
    assert seen["pending"] == 3
    order = []
    for _ in range(3):
        order.append(gtsu.issued())
        gtsu.edge()
        gtsu.done(order[-1].id)
    assert order == [
        Issue(PREVERIFY, False, 3),
        Issue(DRAFT, True, 1),
        Issue(DRAFT, False, 2),
    ]


def test_a_task_can_be_suspended_again_and_again(gtsu):
    gtsu.run(DRAFT, 1)
    for number in (2, 3, 4):
        gtsu.preverify(number)
        gtsu.edge(layer_boundary=1)
        assert gtsu.issued() == Issue(PREVERIFY, False, number)
        gtsu.edge()
        gtsu.done(number)
        assert gtsu.issued() == Issue(DRAFT, True, 1)
        assert gtsu.edge()["running"]


def test_a_suspended_task_fits_although_the_queue_is_full(gtsu):
    gtsu.run(DRAFT, 0)
    gtsu.preverify(1)
    gtsu.draft(*range(2, 9))
    assert not gtsu.edge(layer_boundary=1)["task__ready"]
    assert gtsu.edge()["pending"] == 9
    assert not gtsu.seen["task__ready"]
    assert gtsu.issued().id == 1
    assert gtsu.seen["task__ready"], "its place is not one of the entries"
    gtsu.edge()
    gtsu.done(1)
    order = []
    for _ in range(8):
        order.append(gtsu.issued())
        gtsu.edge()
        gtsu.done(order[-1].id)
    assert order == [Issue(DRAFT, True, 0), *(Issue(DRAFT, False, n) for n in range(2, 9))]


def test_without_preemption_drafting_runs_to_its_end(gtsu):
    gtsu.pins |= {"preempt": 0, "layer_boundary": 1}
    gtsu.run(DRAFT, 1)
    gtsu.preverify(2)
    for _ in range(30):
        seen = gtsu.edge()
        assert seen["running"]
        assert seen["idle_pim"], "only a done ends this"
    gtsu.done(1)
    assert gtsu.issued().id == 2


def test_pre_verification_is_never_suspended(gtsu):
    gtsu.pins["layer_boundary"] = 1
    gtsu.run(PREVERIFY, 1)
    gtsu.preverify(2)
    gtsu.draft(3)
    gtsu.edges(30)
    assert gtsu.seen["running"]


def test_drafting_is_not_suspended_for_drafting(gtsu):
    gtsu.pins["layer_boundary"] = 1
    gtsu.run(DRAFT, 1)
    gtsu.draft(2)
    gtsu.edges(30)
    assert gtsu.seen["running"]


def test_a_done_at_a_layer_boundary_ends_the_task_instead_of_suspending_it(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.preverify(2)
    gtsu.edge(done__valid=1, done__payload=1, layer_boundary=1)
    assert gtsu.edge()["pending"] == 1
    assert gtsu.issued().id == 2
    gtsu.edge()
    gtsu.done(2)
    gtsu.edges(20)
    assert not gtsu.seen["issue__valid"]
    assert not errors(gtsu.seen)


def test_the_last_moment_decides_which_kind_is_issued(gtsu):
    gtsu.draft(1)
    gtsu.until(state=State.SWITCHING)
    gtsu.preverify(2)
    assert gtsu.issued() == Issue(PREVERIFY, False, 2)
    assert gtsu.seen["mask"] == gtsu.tlm
    assert gtsu.monitor.events["mask raised"] == 1


def test_a_switch_is_given_up_when_the_mask_that_is_up_is_needed_again(gtsu):
    gtsu.run(PREVERIFY, 1)
    gtsu.done(1)
    gtsu.pins["drained"] = 0
    gtsu.draft(2)
    gtsu.until(state=State.DRAINING)
    gtsu.preverify(3)
    gtsu.edge()
    gtsu.pins["drained"] = 1
    gtsu.edge()
    seen = gtsu.edge()
    assert Issue.unpack(seen["issue__payload"]) == Issue(PREVERIFY, False, 3)
    assert seen["issue__valid"]
    assert seen["mask"] == gtsu.tlm


def test_with_every_rank_requesting_only_the_mask_of_a_running_task_is_granted(gtsu):
    assert gtsu.pins["compute_request"] == gtsu.all_ranks
    granted = {}
    gtsu.draft(1)
    for edge in range(60):
        pins = {"layer_boundary": int(edge == 20), "drained": int(edge not in (21, 22))}
        if edge == 15:
            pins |= {"task__valid": 1, "task__payload": Task(PREVERIFY, 2).pack()}
        if edge == 45:
            pins |= {"done__valid": 1, "done__payload": 2}
        seen = gtsu.edge(**pins)
        granted.setdefault(State(seen["state"]), set()).add(seen["compute_grant"])
    assert granted == {
        State.IDLE: {0},
        State.DRAINING: {0},
        State.SWITCHING: {0},
        State.DRAFT: {0, gtsu.dlm},
        State.PREVERIFY: {0, gtsu.tlm},
    }


def test_a_grant_follows_its_request_rank_by_rank(gtsu):
    gtsu.run(DRAFT, 1)
    for rank in range(16):
        seen = gtsu.edge(compute_request=1 << rank)
        assert seen["compute_grant"] == (1 << rank) & gtsu.dlm


def test_masks_are_read_when_they_are_raised_and_kept_until_they_are_dropped(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.pins |= {"dlm_mask": 0x000F, "tlm_mask": 0x0FF0}
    assert gtsu.edge()["mask"] == 0x00FF
    gtsu.done(1)
    gtsu.draft(2)
    gtsu.issued()
    assert gtsu.seen["mask"] == 0x00FF, "no switch, no new mask"
    gtsu.edge()
    gtsu.done(2)
    gtsu.preverify(3)
    gtsu.until(state=State.SWITCHING)
    gtsu.pins["tlm_mask"] = 0xFF00
    gtsu.issued()
    assert gtsu.seen["mask"] == 0xFF00


def test_overlapping_masks_that_are_not_raised_are_no_error(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.pins["tlm_mask"] = gtsu.all_ranks
    gtsu.done(1)
    gtsu.draft(2)
    assert gtsu.issued().id == 2
    assert not errors(gtsu.seen)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize(
    "masks", [(0x01FF, 0xFF00), (0xFFFF, 0xFFFF), (0x0080, 0x0080), (0, 0)], ids=str
)
def test_overlapping_or_empty_masks_are_an_error_and_nothing_is_issued(gtsu, kind, masks):
    gtsu.pins["dlm_mask"], gtsu.pins["tlm_mask"] = masks
    gtsu.task(kind, 1)
    gtsu.until(bad_masks=1)
    for _ in range(30):
        seen = gtsu.edge()
        assert errors(seen) == {"bad_masks"}
        assert State(seen["state"]) is State.IDLE
        assert not seen["mask"]
        assert seen["pending"] == 1
        assert seen["idle_pim"]
    gtsu.clear_errors()
    gtsu.until(bad_masks=1)  # tried again, and the masks are as bad as before
    gtsu.pins["dlm_mask"], gtsu.pins["tlm_mask"] = gtsu.dlm, gtsu.tlm
    gtsu.edges(20)
    assert gtsu.seen["bad_masks"]
    gtsu.clear_errors()
    assert gtsu.issued().id == 1
    assert not errors(gtsu.seen)


def test_an_empty_mask_of_the_other_kind_is_no_error(gtsu):
    gtsu.pins["tlm_mask"] = 0
    gtsu.run(DRAFT, 1)
    assert not errors(gtsu.seen)


def test_ranks_that_do_not_drain_time_out_and_both_masks_stay_off(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.preverify(2)
    gtsu.pins["drained"] = 0
    gtsu.edge(layer_boundary=1)
    assert gtsu.until(timeout=1) == 11, "ten cycles of the budget, and the one that finds it gone"
    for _ in range(900):
        seen = gtsu.edge()
        assert errors(seen) == {"timeout"}
        assert State(seen["state"]) is State.IDLE
        assert not seen["mask"]
        assert not seen["compute_grant"]
        assert not seen["issue__valid"]
        assert seen["pending"] == 2
        assert seen["idle_pim"]
    gtsu.pins["drained"] = 1
    gtsu.edges(20)
    assert gtsu.seen["timeout"], "it is cleared by a command only"
    gtsu.clear_errors()
    assert gtsu.issued() == Issue(PREVERIFY, False, 2)
    gtsu.edge()
    gtsu.done(2)
    assert gtsu.issued() == Issue(DRAFT, True, 1)


def test_a_halted_unit_still_queues_tasks_and_drops_them_at_a_flush(gtsu):
    gtsu.pins["drained"] = 0
    gtsu.draft(1)
    gtsu.until(timeout=1)
    gtsu.preverify(2)
    assert gtsu.edge()["pending"] == 2
    gtsu.flush()
    assert gtsu.edge()["pending"] == 0
    assert gtsu.seen["timeout"]
    gtsu.clear_errors()
    gtsu.edges(20)
    assert State(gtsu.seen["state"]) is State.IDLE


def test_commands_in_flight_that_appear_again_hold_the_switch_and_use_the_same_budget(gtsu):
    gtsu.draft(1)
    gtsu.pins["drained"] = 0
    gtsu.until(state=State.DRAINING)  # one cycle of the budget
    gtsu.edges(3)
    gtsu.pins["drained"] = 1
    gtsu.until(state=State.SWITCHING)  # one cycle of the switch
    gtsu.edge()
    gtsu.pins["drained"] = 0
    gtsu.edges(6)
    assert State(gtsu.seen["state"]) is State.SWITCHING
    gtsu.pins["drained"] = 1
    assert gtsu.until(issue__valid=1) == 2, "two cycles of the switch were left"
    assert not errors(gtsu.seen)


def test_a_budget_used_up_bit_by_bit_times_out(gtsu):
    gtsu.draft(1)
    gtsu.edge()
    gtsu.pins["drained"] = 0
    gtsu.edges(10)
    gtsu.edge(drained=1)
    seen = gtsu.edge()
    assert State(seen["state"]) is State.SWITCHING
    assert gtsu.edge()["timeout"]


def test_the_drain_budget_is_read_when_draining_begins(gtsu):
    gtsu.draft(1)
    gtsu.edge()
    gtsu.pins |= {"drained": 0, "drain_max_cycles": 0}
    assert gtsu.until(timeout=1) == 11


def test_the_switch_time_is_read_when_the_mask_is_dropped(gtsu):
    gtsu.draft(1)
    gtsu.edge()
    gtsu.edge()
    gtsu.pins["switch_cycles"] = 100
    assert gtsu.until(issue__valid=1) == 4


@pytest.mark.parametrize("number", range(2, 16))
def test_a_done_of_another_id_is_an_error_and_is_dropped(gtsu, number):
    gtsu.run(DRAFT, 1)
    gtsu.done(number)
    seen = gtsu.edge()
    assert errors(seen) == {"orphan_done"}
    assert seen["running"]
    gtsu.clear_errors()
    assert not errors(gtsu.edge())
    gtsu.done(1)
    assert not gtsu.edge()["running"]
    assert not errors(gtsu.seen)


def test_a_done_without_a_running_task_is_an_error(gtsu):
    gtsu.done(0)
    assert errors(gtsu.edge()) == {"orphan_done"}
    gtsu.clear_errors()
    gtsu.run(DRAFT, 0)
    gtsu.done(0)
    assert not errors(gtsu.edge())
    gtsu.done(0)
    assert errors(gtsu.edge()) == {"orphan_done"}, "a task ends once"


def test_a_done_of_a_task_that_nobody_has_taken_is_an_error(gtsu):
    gtsu.pins["issue__ready"] = 0
    gtsu.draft(1)
    gtsu.issued()
    gtsu.done(1)
    assert errors(gtsu.edge()) == {"orphan_done"}
    gtsu.pins["issue__ready"] = 1
    gtsu.edge()
    assert gtsu.edge()["running"]


def test_an_orphan_does_not_keep_tasks_from_being_issued(gtsu):
    gtsu.done(3)
    gtsu.run(DRAFT, 1)
    assert errors(gtsu.seen) == {"orphan_done"}


def test_a_task_that_ended_as_it_was_suspended_is_not_resumed(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.draft(3)
    gtsu.preverify(2)
    gtsu.edge(layer_boundary=1)
    gtsu.done(1)
    assert gtsu.edge()["pending"] == 2
    assert not errors(gtsu.seen)
    assert gtsu.issued().id == 2
    gtsu.edge()
    gtsu.done(2)
    assert gtsu.issued() == Issue(DRAFT, False, 3)


def test_a_done_belongs_to_the_running_task_before_a_suspended_one_of_the_same_id(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.preverify(1)
    gtsu.edge(layer_boundary=1)
    assert gtsu.issued() == Issue(PREVERIFY, False, 1)
    gtsu.edge()
    gtsu.done(1)
    assert gtsu.issued() == Issue(DRAFT, True, 1)


def test_a_suspended_task_whose_end_comes_when_it_would_be_resumed_is_not(gtsu):
    gtsu.pins["switch_cycles"] = 1
    gtsu.run(DRAFT, 1)
    gtsu.preverify(2)
    gtsu.edge(layer_boundary=1)
    assert gtsu.issued().id == 2
    gtsu.edge()
    gtsu.done(2)
    assert gtsu.state() is State.DRAINING
    gtsu.edge(done__valid=1, done__payload=1)  # the only cycle of the switch
    assert gtsu.state() is State.IDLE
    assert not errors(gtsu.seen)


@pytest.mark.parametrize("kind", Kind)
def test_a_flush_stops_the_running_task_and_waits_for_its_commands_only(gtsu, kind):
    gtsu.run(kind, 1)
    gtsu.draft(2)
    gtsu.preverify(3)
    mask = gtsu.seen["mask"]
    gtsu.pins["drained"] = 0
    gtsu.flush()
    for _ in range(4):
        seen = gtsu.edge()
        assert State(seen["state"]) is State.DRAINING
        assert not seen["running"]
        assert not seen["pending"]
        assert seen["mask"] == mask
    gtsu.pins["drained"] = 1
    gtsu.edge()
    for _ in range(10):
        seen = gtsu.edge()
        assert State(seen["state"]).name == kind.name
        assert seen["mask"] == mask
        assert not seen["running"]
        assert seen["idle_pim"]
    assert not errors(gtsu.seen)


def test_a_done_that_crosses_the_flush_is_no_error_until_the_next_issue(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.flush()
    gtsu.edges(5)
    gtsu.done(1)
    assert not errors(gtsu.edge())
    gtsu.done(1)
    assert errors(gtsu.edge()) == {"orphan_done"}, "forgiven once"
    gtsu.clear_errors()
    gtsu.run(DRAFT, 2)
    gtsu.flush()
    gtsu.run(DRAFT, 3)
    gtsu.done(2)
    assert errors(gtsu.edge()) == {"orphan_done"}
    assert gtsu.seen["running"]


def test_a_done_for_an_offer_is_an_error_although_a_flush_came_before(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.flush()
    gtsu.pins["issue__ready"] = 0
    gtsu.draft(1)
    gtsu.issued()
    gtsu.done(1)
    assert errors(gtsu.edge()) == {"orphan_done"}


def test_a_done_in_the_cycle_of_the_flush_comes_before_it(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.edge(
        done__valid=1, done__payload=1, command__valid=1, command__payload=Command.FLUSH, drained=0
    )
    assert gtsu.state() is State.DRAFT, "nothing was left to stop"
    gtsu.done(1)
    assert errors(gtsu.edge()) == {"orphan_done"}


def test_a_flush_at_a_layer_boundary_suspends_nothing(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.preverify(2)
    gtsu.edge(layer_boundary=1, command__valid=1, command__payload=Command.FLUSH)
    gtsu.edges(10)
    assert not gtsu.seen["pending"]
    assert State(gtsu.seen["state"]) is State.DRAFT


def test_a_flush_in_idle_keeps_a_queued_task_from_being_issued(gtsu):
    gtsu.draft(1)
    gtsu.flush()
    gtsu.edges(10)
    assert State(gtsu.seen["state"]) is State.IDLE
    assert not gtsu.seen["pending"]
    assert gtsu.seen["idle_pim"]


def test_a_flush_with_a_mask_up_and_nothing_running_drops_the_next_task(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.draft(2)
    gtsu.edge(done__valid=1, done__payload=1, command__valid=1, command__payload=Command.FLUSH)
    gtsu.edges(10)
    assert not gtsu.seen["issue__valid"]
    assert not gtsu.seen["pending"]
    gtsu.draft(3)
    gtsu.flush()
    gtsu.edges(10)
    assert not gtsu.seen["issue__valid"]


def test_a_flush_while_draining_leaves_the_old_mask_up(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.draft(2)
    gtsu.preverify(3)
    gtsu.edge(layer_boundary=1)
    gtsu.pins["drained"] = 0
    gtsu.edge()
    gtsu.flush()
    assert gtsu.state() is State.DRAINING
    gtsu.pins["drained"] = 1
    gtsu.edge()
    gtsu.edges(10)
    assert State(gtsu.seen["state"]) is State.DRAFT
    assert not gtsu.seen["pending"], "the suspended task was dropped with the others"
    assert not gtsu.seen["issue__valid"]
    gtsu.draft(4)
    assert gtsu.issued() == Issue(DRAFT, False, 4)


def test_a_flush_while_draining_without_a_mask_returns_to_idle(gtsu):
    gtsu.pins["drained"] = 0
    gtsu.draft(1)
    gtsu.until(state=State.DRAINING)
    gtsu.flush()
    gtsu.pins["drained"] = 1
    gtsu.edge()
    assert gtsu.state() is State.IDLE


@pytest.mark.parametrize("cycle", range(4))
def test_a_flush_while_switching_ends_it_without_a_mask(gtsu, cycle):
    gtsu.draft(1)
    gtsu.edges(2 + cycle)
    gtsu.flush()
    assert gtsu.seen["state"] == State.SWITCHING
    gtsu.edges(3 - cycle)
    assert gtsu.state() is State.IDLE
    gtsu.edges(10)
    assert State(gtsu.seen["state"]) is State.IDLE
    assert not gtsu.seen["mask"]
    gtsu.run(PREVERIFY, 2)


def test_a_task_that_comes_after_the_flush_of_a_switch_takes_it_over(gtsu):
    gtsu.draft(1)
    gtsu.until(state=State.SWITCHING)
    gtsu.flush()
    gtsu.preverify(2)
    assert gtsu.until(issue__valid=1) == 1
    assert gtsu.seen["mask"] == gtsu.tlm


def test_a_flushed_offer_stands_until_it_is_taken_and_never_runs(gtsu):
    gtsu.pins["issue__ready"] = 0
    gtsu.draft(1)
    gtsu.issued()
    gtsu.flush()
    gtsu.draft(2)
    for _ in range(5):
        seen = gtsu.edge()
        assert seen["issue__valid"]
        assert Issue.unpack(seen["issue__payload"]).id == 1
    gtsu.pins["issue__ready"] = 1
    gtsu.edge()
    seen = gtsu.edge()
    assert not seen["running"]
    assert not seen["compute_grant"]
    gtsu.edge(done__valid=1, done__payload=1)
    assert Issue.unpack(gtsu.seen["issue__payload"]) == Issue(DRAFT, False, 2)
    assert gtsu.edge()["running"]


def test_an_offer_that_is_taken_in_the_cycle_of_the_flush_never_runs(gtsu):
    gtsu.draft(1)
    gtsu.edges(6)
    gtsu.flush()
    assert gtsu.seen["issue__valid"]
    assert not gtsu.edge()["running"]
    gtsu.done(1)
    assert not errors(gtsu.edge()), "its taker may have finished it at once"


def test_a_command_stalls_the_task_of_its_cycle(gtsu):
    for command in Command:
        seen = gtsu.edge(
            command__valid=1,
            command__payload=command,
            task__valid=1,
            task__payload=Task(DRAFT, 1).pack(),
        )
        assert seen["command__ready"]
        assert seen["done__ready"]
        assert not seen["task__ready"]
    assert not gtsu.edge()["pending"]


def test_an_error_of_the_cycle_in_which_errors_are_cleared_stays(gtsu):
    gtsu.done(1)
    gtsu.edge(
        command__valid=1, command__payload=Command.CLEAR_ERRORS, done__valid=1, done__payload=1
    )
    assert errors(gtsu.edge()) == {"orphan_done"}
    gtsu.clear_errors()
    gtsu.pins |= {"drained": 0, "drain_max_cycles": 0}
    gtsu.draft(1)
    gtsu.edge()
    gtsu.clear_errors()
    assert errors(gtsu.edge()) == {"timeout"}


def test_clearing_no_errors_changes_nothing(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.preverify(2)
    gtsu.clear_errors()
    seen = gtsu.edge()
    assert seen["running"]
    assert seen["pending"] == 1


def test_idle_follows_the_layer_boundary_of_a_task_that_may_be_suspended(gtsu):
    gtsu.run(DRAFT, 1)
    gtsu.preverify(2)
    assert gtsu.edge()["idle_pim"]
    assert not gtsu.edge(layer_boundary=1)["idle_pim"]


def test_small_configurations_have_the_same_contract(make_gtsu):
    gtsu = make_gtsu("test")
    assert (gtsu.dlm, gtsu.tlm) == (1, 2)
    gtsu.run(DRAFT, 1)
    gtsu.preverify(2)
    gtsu.draft(3)
    assert not gtsu.edge(layer_boundary=1)["task__ready"]
    assert gtsu.edge()["pending"] == 3
    assert gtsu.issued() == Issue(PREVERIFY, False, 2)
    assert gtsu.edge()["compute_grant"] == 2
    gtsu.done(2)
    assert gtsu.issued() == Issue(DRAFT, True, 1)
