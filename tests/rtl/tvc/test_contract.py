# SPDX-License-Identifier: Apache-2.0
"""What a caller may rely on; runs unchanged on the golden model, the RTL and the Amaranth source.

Expected values are worked out by hand. A measurement of 0 cycles in PDCT makes drafting free, so
that the slack at the start of a task is the task's predicted duration.
"""

import pytest

from ahasd.rtl.tvc.params import (
    Command,
    Decision,
    NpuEvent,
    NpuKind,
    Reason,
    Record,
    Request,
    Table,
)

FREE = [(0, 1)]  # one measurement of no cycles


# Cold start.


def test_after_reset_no_task_runs(tvc):
    seen = tvc.edge()
    assert seen["idle_pim"]
    assert not seen["bad_record"]
    assert tvc.request() == Decision(0, Reason.NO_TASK, 0, 0)


def test_with_empty_tables_there_is_no_estimate(tvc):
    tvc.start(100)
    assert tvc.request() == Decision(0, Reason.NO_ESTIMATE, 0, 0)
    tvc.fill(pdct=[(10, 1)])
    assert tvc.request() == Decision(0, Reason.NO_ESTIMATE, 0, 0)


def test_without_a_draft_time_only_the_task_is_estimated(tvc):
    tvc.fill(nvct=[(5000, 100)])
    tvc.start(200)
    assert tvc.request() == Decision(0, Reason.NO_ESTIMATE, 10_000, 0)


def test_with_pvct_empty_one_token_at_the_price_of_a_drafted_one_is_tried(tvc):
    tvc.fill(pdct=[(300, 3)])
    assert tvc.ask(199) == Decision(0, Reason.NO_SLACK, 199, 99)
    assert tvc.ask(200) == Decision(1, Reason.INSERT, 200, 100)
    assert tvc.ask(1_000_000) == Decision(1, Reason.INSERT, 1_000_000, 999_900)
    assert tvc.ask(100 + 399, overhead=3).reason is Reason.NO_SLACK
    assert tvc.ask(100 + 400, overhead=3) == Decision(1, Reason.INSERT, 500, 400)
    tvc.fill(pvct=[(150, 1)])
    assert tvc.ask(100 + 450).length == 3, "measured, the table counts"


def test_with_pvct_empty_a_given_estimate_counts(tvc):
    tvc.pins["cold_preverify_cycles"] = 70
    tvc.fill(pdct=FREE)
    assert tvc.ask(69).reason is Reason.NO_SLACK
    assert tvc.ask(70).length == 1
    assert tvc.ask(349, overhead=1) == Decision(3, Reason.INSERT, 349, 349)
    assert tvc.ask(350, overhead=1).length == 4
    tvc.fill(pvct=[(10, 1)])
    assert tvc.ask(69).length == 6, "measured, it counts no more"


# Estimates by ratio.


def test_a_task_is_the_mean_ratio_times_its_kv_length(tvc):
    tvc.fill(nvct=[(1000, 100), (3000, 200)], pdct=FREE)  # 10 and 15 cycles a token
    tvc.start(160)
    assert tvc.request().npu_cycles == 2000


def test_the_mean_of_three_is_a_true_mean_rounded_down(tvc):
    tvc.fill(nvct=[(10, 1), (20, 1), (25, 1)], pdct=FREE)
    tvc.start(10)
    assert tvc.request().npu_cycles == 183


def test_the_fifth_measurement_replaces_the_first(tvc):
    tvc.fill(nvct=[(800, 1), (10, 1), (20, 1), (30, 1), (40, 1)], pdct=FREE)
    tvc.start(4)
    assert tvc.request().npu_cycles == 100
    tvc.fill(nvct=[(50, 1)])
    assert tvc.request().npu_cycles == 140


def test_a_ratio_keeps_eight_fraction_bits_and_rounds_down(tvc):
    tvc.fill(nvct=[(100, 3)], pdct=FREE)  # 33 + 85/256
    tvc.start(3)
    assert tvc.request().npu_cycles == 99
    tvc.start(300)
    assert tvc.request().npu_cycles == 9999


def test_npu_cycles_are_scaled_once_and_rounded_half_up(tvc):
    tvc.pins["npu_ratio"] = 26214
    tvc.fill(nvct=[(1000, 1)], pdct=FREE)
    tvc.start(1)
    assert tvc.request().npu_cycles == 800
    tvc.pins["npu_ratio"] = 16384
    tvc.fill(nvct=[(3, 1)] * 4)
    assert tvc.request().npu_cycles == 2


def test_pim_cycles_are_not_scaled(tvc):
    tvc.pins["npu_ratio"] = 1
    tvc.fill(pdct=[(100, 1)], pvct=[(100, 1)])
    tvc.pins["npu_ratio"] = 32768
    assert tvc.ask(500) == Decision(4, Reason.INSERT, 500, 400)


# The slack.


def test_all_costs_are_subtracted_from_the_predicted_time(tvc):
    tvc.pins |= {"switch_cycles": 44, "slowdown_cycles": 1000}
    tvc.fill(nvct=[(200_000, 100)], pdct=[(500, 1), (700, 1)], pvct=[(1000, 1)])
    tvc.start(100)
    decision = tvc.request(elapsed=150_000)
    assert decision.npu_cycles == 200_000
    assert decision.slack == 200_000 - 150_000 - 600 - 2 * 44 - 1000
    assert decision.length == 8


def test_a_slack_below_zero_is_given_as_zero(tvc):
    tvc.fill(nvct=[(1000, 1)], pdct=FREE, pvct=FREE)
    tvc.start(1)
    assert tvc.request(elapsed=1000) == Decision(8, Reason.INSERT, 1000, 0), "tokens are free"
    assert tvc.request(elapsed=1001) == Decision(0, Reason.NO_SLACK, 1000, 0)


def test_less_than_one_token_of_slack_never_inserts_and_exactly_enough_does(tvc):
    tvc.fill(pdct=FREE, pvct=[(1_000_000, 1), (2_000_000, 2)])
    assert tvc.ask(700) == Decision(0, Reason.NO_SLACK, 700, 700)
    assert tvc.ask(999_999) == Decision(0, Reason.NO_SLACK, 999_999, 999_999)
    assert tvc.ask(1_000_000) == Decision(1, Reason.INSERT, 1_000_000, 1_000_000)
    assert tvc.ask(1_999_999).length == 1
    assert tvc.ask(2_000_000).length == 2


def test_the_overhead_is_paid_first(tvc):
    tvc.fill(pdct=FREE, pvct=[(100, 1)])
    assert tvc.ask(599, overhead=5) == Decision(0, Reason.NO_SLACK, 599, 599)
    assert tvc.ask(600, overhead=5) == Decision(1, Reason.INSERT, 600, 600)
    assert tvc.ask(6399, available=63, overhead=63).reason is Reason.NO_SLACK
    assert tvc.ask(6400, available=63, overhead=63).length == 1


def test_the_length_is_capped_by_what_is_available_and_by_the_register(tvc):
    tvc.fill(pdct=FREE, pvct=[(1, 1)])
    assert tvc.ask(1000, available=63).length == 8
    assert tvc.ask(1000, available=5).length == 5
    tvc.pins["max_length"] = 63
    assert tvc.ask(1000, available=63).length == 63
    assert tvc.ask(1000, available=0) == Decision(0, Reason.NOTHING_AVAILABLE, 1000, 1000)
    tvc.pins["max_length"] = 0
    assert tvc.ask(1000) == Decision(0, Reason.NOTHING_AVAILABLE, 1000, 1000)
    assert tvc.ask(0).reason is Reason.NO_SLACK, "that comes first"


def test_the_time_of_a_task_is_right_across_a_wrap_of_now(tvc):
    tvc.fill(nvct=[(1000, 1)], pdct=FREE, pvct=[(1, 1)])
    tvc.now = (1 << tvc.params.time_width) - 10
    tvc.start(1)
    decision = tvc.request(elapsed=300)
    assert tvc.now < 2000
    assert decision.slack == 700


def test_a_task_older_than_cycles_can_tell_has_no_slack(tvc):
    longest = tvc.params.cycles_max
    tvc.fill(nvct=[(longest, 1)], pdct=FREE, pvct=[(1, 1)])
    tvc.start(1)
    assert tvc.request(elapsed=longest - 1).slack == 1
    assert tvc.request(elapsed=longest) == Decision(0, Reason.NO_SLACK, longest, 0)
    assert tvc.request(elapsed=longest + 2) == Decision(0, Reason.NO_SLACK, longest, 0)


# Saturation.


def test_everything_saturates_at_its_width(tvc):
    longest = tvc.params.cycles_max
    tvc.fill(nvct=[(longest, 1)] * 4, pdct=FREE, pvct=[(1, 65535)])
    tvc.start(65535)
    assert tvc.request(elapsed=0) == Decision(8, Reason.INSERT, longest, longest)


def test_scaled_npu_cycles_saturate(tvc):
    longest = tvc.params.cycles_max
    tvc.pins["npu_ratio"] = 65535
    tvc.fill(nvct=[(longest, 1)], pdct=FREE)
    tvc.start(1)
    assert tvc.request().npu_cycles == longest


def test_the_largest_costs_leave_no_slack(tvc):
    longest = tvc.params.cycles_max
    tvc.pins |= {"switch_cycles": longest, "slowdown_cycles": longest}
    tvc.fill(pdct=[(longest, 1)], pvct=FREE)
    assert tvc.ask(longest) == Decision(0, Reason.NO_SLACK, longest, 0)


@pytest.mark.parametrize("affine", [0, 1])
def test_tokens_that_take_no_time_fit_in_any_number(tvc, affine):
    tvc.pins |= {"affine_preverify": affine, "max_length": 63}
    tvc.fill(pdct=FREE, pvct=[(0, 1), (0, 2)])
    assert tvc.ask(0, available=63, overhead=63) == Decision(63, Reason.INSERT, 0, 0)


# The affine model.


def test_an_affine_task_lies_on_the_line_through_its_measurements(tvc):
    tvc.pins["affine_npu"] = 1
    # 1000 + 7 KV; the errors of the four cancel.
    tvc.fill(nvct=[(1701, 100), (2399, 200), (3099, 300), (3801, 400)], pdct=FREE)
    for kv_length in (0, 50, 250, 1000):
        tvc.start(kv_length)
        assert tvc.request().npu_cycles == 1000 + 7 * kv_length


@pytest.mark.parametrize(
    "measurements",
    [[(1000, 100)], [(900, 100), (1100, 100)], [(900, 100), (1100, 100), (1000, 100)]],
)
def test_equal_lengths_fall_back_to_the_ratio(tvc, measurements):
    tvc.pins |= {"affine_npu": 1, "affine_preverify": 1}
    tvc.fill(nvct=measurements, pdct=FREE, pvct=measurements)
    tvc.start(50)
    assert tvc.request(elapsed=0).npu_cycles == 500
    assert tvc.ask(49).length == 4


def test_a_line_that_falls_is_taken_as_the_mean(tvc):
    tvc.pins |= {"affine_npu": 1, "affine_preverify": 1}
    tvc.fill(nvct=[(400, 100), (200, 300)], pdct=FREE, pvct=[(500, 1), (100, 2)])
    for kv_length in (1, 200, 10_000):
        tvc.start(kv_length)
        assert tvc.request(elapsed=0) == Decision(8, Reason.INSERT, 300, 300)
        assert tvc.request(elapsed=1) == Decision(0, Reason.NO_SLACK, 300, 299)


def test_a_line_that_starts_below_zero_falls_back_to_the_ratio(tvc):
    tvc.pins |= {"affine_npu": 1, "affine_preverify": 1}
    measurements = [(10, 4), (100, 5)]  # -350 + 90 n; 2.5 and 20 a token
    tvc.fill(nvct=measurements, pdct=FREE, pvct=measurements)
    tvc.start(20)
    assert tvc.request(elapsed=0).npu_cycles == 225
    assert tvc.ask(0).reason is Reason.NO_SLACK
    assert tvc.ask(11).reason is Reason.NO_SLACK
    assert tvc.ask(12).length == 1


def test_an_affine_pre_verification_pays_its_intercept_once(tvc):
    tvc.pins["affine_preverify"] = 1
    tvc.fill(pdct=FREE, pvct=[(120, 1), (200, 5)])  # 100 + 20 n
    assert tvc.ask(99).reason is Reason.NO_SLACK
    assert tvc.ask(119) == Decision(0, Reason.NO_SLACK, 119, 119)
    assert tvc.ask(120).length == 1
    assert tvc.ask(199).length == 4
    assert tvc.ask(219, overhead=2).length == 3
    assert tvc.ask(220, overhead=2).length == 4


def test_each_table_has_its_own_switch_of_models(tvc):
    tvc.fill(nvct=[(120, 1), (200, 5)], pdct=FREE, pvct=[(120, 1), (200, 5)])
    tvc.start(7)
    found = {}
    for switches in ((0, 0), (0, 1), (1, 0), (1, 1)):
        tvc.pins |= dict(zip(("affine_npu", "affine_preverify"), switches, strict=True))
        decision = tvc.request(elapsed=0)
        found[switches] = decision.npu_cycles, decision.length
    # By ratio 80 a token for both; by the line 100 + 20 n.
    assert found == {(0, 0): (560, 7), (0, 1): (560, 8), (1, 0): (240, 3), (1, 1): (240, 7)}


def test_an_affine_prediction_saturates(tvc):
    tvc.pins["affine_npu"] = 1
    longest = tvc.params.cycles_max
    tvc.fill(nvct=[(longest - 1000, 1), (longest, 3)], pdct=FREE)
    for kv_length, cycles in ((1, longest - 1000), (2, longest - 500), (3, longest)):
        tvc.start(kv_length)
        assert tvc.request().npu_cycles == cycles
    for kv_length in (4, 65535):
        tvc.start(kv_length)
        assert tvc.request().npu_cycles == longest


# The running task.


def test_a_second_start_takes_the_place_of_the_first(tvc):
    tvc.fill(nvct=[(1000, 1)], pdct=FREE, pvct=[(1, 1)])
    tvc.start(1)
    tvc.now += 900
    tvc.start(2)
    assert tvc.request(elapsed=100) == Decision(8, Reason.INSERT, 2000, 1900)


def test_an_end_is_recorded_with_the_kv_length_it_carries_and_ends_the_task(tvc):
    tvc.pins["npu_ratio"] = 26214
    tvc.fill(pdct=FREE, pvct=[(1, 1)])
    tvc.start(7)
    tvc.end(100, 5000)
    assert tvc.request() == Decision(0, Reason.NO_TASK, 0, 0)
    tvc.start(50)
    assert tvc.request().npu_cycles == 2000


def test_an_end_without_a_start_is_a_measurement_too(tvc):
    tvc.fill(pdct=FREE)
    tvc.end(10, 500)
    assert tvc.request().reason is Reason.NO_TASK
    tvc.start(1)
    assert tvc.request().npu_cycles == 50


def test_a_start_keeps_its_time_behind_an_end_while_a_recording_or_a_decision_is_computed(tvc):
    params = tvc.params
    tvc.fill(nvct=[(10_000, 10)] * 4, pdct=FREE, pvct=[(1, 1)])
    for busy, payload in (
        ("record", Record(Table.PDCT, 0, 1).pack(params)),
        ("request", Request(0, 8).pack(params)),
    ):
        tvc.until_idle()
        tvc.transfer(busy, payload)
        tvc.edge()
        end = NpuEvent(NpuKind.END, 10, 10_000).pack(params)
        assert tvc.transfer("npu", end) == 0
        before = tvc.now
        tvc.start(20)
        assert tvc.started == before, "not a cycle late"
        if busy == "request":
            assert tvc.answer().reason is Reason.NO_TASK
        assert tvc.request(elapsed=5000) == Decision(8, Reason.INSERT, 20_000, 15_000)
        tvc.end(10, 10_000)


def test_a_second_end_waits_until_the_first_is_being_recorded(tvc):
    tvc.fill(pdct=FREE)
    tvc.until_idle()
    tvc.transfer("record", Record(Table.PDCT, 0, 1).pack(tvc.params))
    tvc.end(10, 100)
    end = NpuEvent(NpuKind.END, 10, 300).pack(tvc.params)
    assert tvc.transfer("npu", end) == tvc.params.record_cycles - 1
    tvc.start(10)
    assert tvc.request().npu_cycles == 200


def test_what_comes_while_a_decision_is_computed_does_not_change_it(tvc):
    tvc.fill(nvct=[(10_000, 10)], pdct=[(10, 1)], pvct=[(100, 1)])
    tvc.start(10)
    expected = tvc.request(elapsed=1000)
    assert expected == Decision(8, Reason.INSERT, 10_000, 8990)
    tvc.now = tvc.started + 1000
    tvc.transfer("request", Request(0, 8).pack(tvc.params))
    tvc.pins |= {
        "npu_ratio": 1,
        "switch_cycles": 9000,
        "slowdown_cycles": 9000,
        "max_length": 1,
        "affine_npu": 1,
        "affine_preverify": 1,
        "cold_preverify_cycles": 1,
    }
    tvc.end(1, 1)
    tvc.start(1)
    tvc.command(Command.CLEAR)
    assert tvc.answer() == expected


# Commands.


def test_clear_empties_the_tables_and_forgets_the_task(tvc):
    tvc.fill(nvct=[(10, 1)], pdct=FREE, pvct=[(7, 1)])
    tvc.start(1)
    tvc.command(Command.CLEAR)
    assert tvc.request() == Decision(0, Reason.NO_TASK, 0, 0)
    tvc.start(1)
    assert tvc.request() == Decision(0, Reason.NO_ESTIMATE, 0, 0)
    tvc.fill(pdct=[(50, 1)])
    assert tvc.ask(90).length == 0, "PVCT is empty too"
    assert tvc.ask(100).length == 1


def test_clear_drops_what_is_on_its_way_into_a_table(make_tvc):
    tvc = make_tvc("test")
    record = Record(Table.NVCT, 10, 1).pack(tvc.params)
    for edges in range(tvc.params.record_cycles):
        tvc.until_idle()
        tvc.transfer("record", record)
        for _ in range(edges):
            tvc.edge()
        if edges % 5 == 3:
            tvc.end(1, 10)
        tvc.command(Command.CLEAR)
        tvc.start(1)
        assert tvc.request(0).reason is Reason.NO_ESTIMATE
    tvc.fill(nvct=[(10, 1)], pdct=FREE)
    assert tvc.request(0).npu_cycles == 10, "the next is recorded"


def test_a_start_right_after_clear_counts(tvc):
    tvc.transfer("record", Record(Table.NVCT, 10, 1).pack(tvc.params))
    tvc.command(Command.CLEAR)
    tvc.start(3)
    tvc.fill(nvct=[(10, 1)], pdct=FREE)
    assert tvc.request().npu_cycles == 30


def test_forgetting_the_task_keeps_the_tables(tvc):
    tvc.fill(nvct=[(1000, 1)], pdct=FREE)
    tvc.start(1)
    tvc.end(1, 3000)
    tvc.start(1)
    tvc.command(Command.FORGET_TASK)
    assert tvc.request() == Decision(0, Reason.NO_TASK, 0, 0)
    tvc.start(1)
    assert tvc.request().npu_cycles == 2000


# Measurements that are none.


@pytest.mark.parametrize("table", [*Table, 3])
def test_a_record_without_a_length_or_a_table_is_dropped_and_flagged(tvc, table):
    tvc.fill(nvct=[(10, 1)], pdct=[(20, 1)], pvct=[(30, 1)])
    tvc.until_idle()
    assert not tvc.edge()["bad_record"]
    tvc.record(table, (1000, 1 if table == 3 else 0))
    assert tvc.edge()["bad_record"]
    assert tvc.seen["idle_pim"], "it is not computed"
    tvc.start(100)
    assert tvc.request(elapsed=0) == Decision(8, Reason.INSERT, 1000, 980)
    tvc.command(Command.CLEAR)
    assert tvc.edge()["bad_record"], "sticky"


def test_an_end_without_a_length_ends_the_task_and_is_flagged(tvc):
    tvc.fill(nvct=[(10, 1)], pdct=FREE)
    tvc.start(1)
    tvc.end(0, 1000)
    assert tvc.edge()["bad_record"]
    assert tvc.request().reason is Reason.NO_TASK
    tvc.start(1)
    assert tvc.request().npu_cycles == 10


# Timing.

SCENES = {
    "no task": (),
    "no estimate": ("start",),
    "no slack": ("fill", "start", "late"),
    "one token": ("fill", "start", "probe"),
    "tokens": ("fill", "start"),
    "affine": ("fill", "start", "affine"),
    "nothing available": ("fill", "start", "none"),
    "extremes": ("extremes", "start", "affine"),
}


@pytest.mark.parametrize("scene", SCENES)
def test_a_decision_takes_the_documented_cycles_whatever_the_data(tvc, scene):
    told = SCENES[scene]
    longest = tvc.params.cycles_max
    if "fill" in told:
        tvc.fill(nvct=[(100_000, 10), (300_000, 50)], pdct=[(10, 1)])
        if "probe" not in told:
            tvc.fill(pvct=[(100, 1), (120, 3)])
    if "extremes" in told:
        wide = [(longest, 65535), (0, 1), (longest, 1), (longest, 65535)]
        tvc.fill(nvct=wide, pdct=[(longest, 1)], pvct=wide)
    if "start" in told:
        tvc.start(30)
    if "affine" in told:
        tvc.pins |= {"affine_npu": 1, "affine_preverify": 1}
    if "none" in told:
        tvc.pins["max_length"] = 0
    tvc.until_idle()
    if "late" in told:
        tvc.now += longest // 2
    assert tvc.transfer("request", Request(1, 8).pack(tvc.params)) == 0
    for _ in range(tvc.params.decision_cycles - 1):
        seen = tvc.edge(request__valid=1, record__valid=1)
        assert not seen["decision__valid"]
        assert seen["decision__payload"] == 0
        assert not seen["request__ready"]
        assert not seen["record__ready"]
        assert not seen["idle_pim"]
    assert tvc.edge()["decision__valid"]
    assert tvc.edge()["decision__payload"] == 0, "shown while it is valid"
    assert tvc.seen["idle_pim"]


def test_requests_are_taken_one_after_the_other_at_the_interval(tvc):
    taken = [edge for edge in range(3000) if tvc.edge(request__valid=1)["request__ready"]]
    assert taken == [i * tvc.params.decision_cycles for i in range(len(taken))]
    assert len(taken) > 2


@pytest.mark.parametrize("source", [*Table, "end"])
def test_a_recording_takes_the_documented_cycles_whatever_the_data(tvc, source):
    for cycles, length in ((0, 1), (tvc.params.cycles_max, 1), (12345, 65535)):
        tvc.until_idle()
        waited = tvc.params.record_cycles - 1
        if source == "end":
            tvc.end(length, cycles)
            waited += 1  # it is kept first
        else:
            tvc.record(source, (cycles, length))
        assert tvc.transfer("record", Record(Table.PDCT, 1, 1).pack(tvc.params)) == waited


# Order and stalls.


def test_a_command_is_taken_alone(tvc):
    seen = tvc.edge(command__valid=1, record__valid=1, npu__valid=1, request__valid=1)
    assert seen["command__ready"]
    assert not any(seen[f"{name}__ready"] for name in ("record", "npu", "request"))
    assert tvc.edge()["idle_pim"]


def test_a_command_is_taken_at_once_whatever_is_computed(tvc):
    tvc.transfer("request", 0)
    for _ in range(tvc.params.decision_cycles - 1):
        assert tvc.edge(command__valid=1)["command__ready"]
    assert tvc.edge(decision__ready=0)["decision__valid"]
    assert tvc.edge(decision__ready=0, command__valid=1)["command__ready"]


def test_a_request_waits_for_records_and_for_news_of_the_npu(tvc):
    start = NpuEvent(NpuKind.START, 5).pack(tvc.params)
    record = Record(Table.PDCT, 100, 1).pack(tvc.params)
    seen = tvc.edge(
        request__valid=1,
        npu__valid=1,
        npu__payload=start,
        record__valid=1,
        record__payload=record,
    )
    assert not seen["request__ready"]
    assert seen["npu__ready"]
    assert seen["record__ready"]
    tvc.until_idle()
    assert not tvc.edge(request__valid=1, npu__valid=1, npu__payload=start)["request__ready"]
    assert tvc.request().reason is Reason.NO_ESTIMATE


def test_an_end_that_waits_is_recorded_before_a_record_that_waits(tvc):
    record = Record(Table.NVCT, 30, 1).pack(tvc.params)
    tvc.fill(pdct=FREE)
    tvc.end(1, 1000)
    assert not tvc.edge(record__valid=1)["record__ready"]
    tvc.transfer("record", record)
    tvc.fill(nvct=[(30, 1)] * 3)
    tvc.start(1)
    assert tvc.request().npu_cycles == 30, "the end was the oldest"


def test_a_held_decision_stays_as_it_is_and_stalls_requests_only(tvc):
    tvc.fill(nvct=[(10_000, 1)], pdct=FREE, pvct=[(100, 1)])
    tvc.start(1)
    tvc.until_idle()
    tvc.now = tvc.started + 500
    tvc.transfer("request", Request(0, 8).pack(tvc.params))
    tvc.pins["decision__ready"] = 0
    expected = Decision(8, Reason.INSERT, 10_000, 9500)
    assert tvc.answer() == expected
    tvc.end(1, 30_000)
    tvc.record(Table.PDCT, (10, 1))
    tvc.start(1)
    for _ in range(2 * tvc.params.record_cycles):
        seen = tvc.edge(request__valid=1)
        assert seen["decision__valid"]
        assert seen["decision__payload"] == expected.pack(tvc.params)
        assert not seen["request__ready"]
        assert not seen["idle_pim"]
    assert tvc.seen["record__ready"]
    tvc.pins["decision__ready"] = 1
    assert tvc.edge(request__valid=1)["request__ready"], "taken and asked again in one cycle"
    assert tvc.answer().npu_cycles == 20_000


@pytest.mark.parametrize("make_tvc", ["golden", "rtl", "pysim"], indirect=True)
def test_small_configurations_have_the_same_contract(make_tvc):
    tvc = make_tvc("test")
    params = tvc.params
    tvc.fill(nvct=[(10, 1), (255, 1), (20, 2)], pdct=[(4, 1)], pvct=[(30, 1), (50, 2)])
    tvc.start(1)
    assert tvc.request(7, elapsed=0) == Decision(4, Reason.INSERT, 132, 128)
    tvc.pins["affine_preverify"] = 1  # 10 + 20 n
    assert tvc.request(7, elapsed=0).length == 5
    tvc.start(7)
    assert tvc.request(7, elapsed=0) == Decision(7, Reason.INSERT, params.cycles_max, 251)
