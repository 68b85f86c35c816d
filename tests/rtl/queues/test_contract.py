# SPDX-License-Identifier: Apache-2.0
"""What a caller may rely on; runs unchanged on the golden model and on the compiled RTL."""

import pytest

from ahasd.rtl.queues.golden import NPU, PIM, Report, Word
from ahasd.rtl.queues.params import Event, Kind

HEADER, TOKEN, CUT = Kind.HEADER, Kind.TOKEN, Kind.CUT


def batch(epoch, number, *tokens):
    return [
        Word(HEADER, epoch, batch=number, length=len(tokens)),
        *(Word(TOKEN, epoch, token=token) for token in tokens),
    ]


def test_words_arrive_in_order_and_unchanged(queues):
    queues.push(Word(HEADER, 0, batch=3, branch=2, length=2))
    queues.push(Word(TOKEN, 0, token=(1 << 18) - 1))
    queues.push(Word(TOKEN, 0, token=5))
    queues.push(Word(CUT, 0, batch=3, branch=2, length=1))
    assert queues.pop_all() == [
        Word(HEADER, 0, batch=3, branch=2, length=2),
        Word(TOKEN, 0, token=(1 << 18) - 1),
        Word(TOKEN, 0, token=5),
        Word(CUT, 0, batch=3, branch=2, length=1),
    ]


def test_feedback_arrives_in_order_and_unchanged_with_the_epoch(queues):
    reports = [
        Report(Event.START, npu_cycles=0, kv_length=65535),
        Report(Event.VERDICT, 9, 16, full=True, npu_cycles=(1 << 32) - 1, kv_length=128),
        Report(Event.VERDICT, 1, 3, void=True, last=True, next_valid=True, next_token=77),
    ]
    for report in reports:
        queues.report(report)
    assert [queues.feedback() for _ in reports] == [(report, 0) for report in reports]


@pytest.mark.parametrize("npu_period", [625, 1000, 1250, 2500])
def test_a_word_crosses_within_the_documented_cycles(make_queues, npu_period):
    queues = make_queues(npu_period=npu_period, phase=11)
    payload = Word(CUT, 0).pack(queues.params)
    mask, seen = 0, {}
    while not mask & PIM:
        mask, seen = queues.edge(batch_in__valid=1, batch_in__payload=payload)
    assert seen["batch_in__ready"]
    edges = 0
    while True:
        mask, seen = queues.edge()
        if mask & NPU:
            edges += 1
            if seen["batch_out__valid"]:
                break
    # Two stages of the synchroniser, and the edge that sees the result.
    assert edges in (3, 4)


def test_a_header_stalls_without_a_credit_until_the_npu_has_taken_a_batch(queues):
    depth = queues.params.draft_batches
    for number in range(depth):
        queues.push_batch(0, number, 1, 2)
    assert queues.wait()["credits"] == 0
    header = Word(HEADER, 0, batch=9, length=1).pack(queues.params)
    assert queues.stalls("batch_in", header)
    queues.push(Word(CUT, 0, batch=1))  # a cut needs no credit
    queues.pop()
    queues.pop()
    assert queues.wait()["credits"] == 0, "its last token is still there"
    queues.pop()
    assert queues.wait()["credits"] == 1
    queues.offer("batch_in", header)


def test_waiting_tokens_counts_what_the_npu_has_not_taken(queues):
    queues.push_batch(0, 0, 1, 2, 3)
    queues.push_batch(0, 1, 4)
    assert queues.wait()["waiting_tokens"] == 4
    for _ in range(3):
        queues.pop()
    assert queues.wait()["waiting_tokens"] == 2


def test_a_rejection_ends_the_epoch_on_both_sides_and_is_acknowledged(queues):
    queues.report(Report(Event.VERDICT, 0))
    seen = queues.wait()
    assert (seen["epoch_npu"], seen["epoch_pim"], seen["flushing"]) == (1, 0, 1)
    assert queues.feedback() == (Report(Event.VERDICT, 0), 0)
    seen = queues.wait()
    assert (seen["epoch_npu"], seen["epoch_pim"], seen["flushing"]) == (1, 1, 0)


@pytest.mark.parametrize(
    "report",
    [
        Report(Event.START),
        Report(Event.VERDICT, 0, 1, full=True),
        Report(Event.VERDICT, 0, void=True),
    ],
)
def test_no_other_report_ends_the_epoch(queues, report):
    queues.report(report)
    assert queues.feedback() == (report, 0)
    seen = queues.wait()
    assert (seen["epoch_npu"], seen["epoch_pim"], seen["flushing"]) == (0, 0, 0)


def test_batches_and_cuts_of_an_ended_epoch_are_dropped_by_the_npu_side(queues):
    queues.push_batch(0, 1, 5)
    queues.push_batch(0, 2, 6, 7)
    queues.push(Word(CUT, 0, batch=2, length=1))
    while queues.pop().token != 5:
        pass
    queues.wait()
    # The header of batch 2 is shown already: as a stream must, it comes, and so does its batch.
    queues.reject()
    queues.push_batch(0, 3, 8)
    assert queues.feedback() is not None
    queues.push_batch(1, 4, 9)
    assert queues.pop_all() == [*batch(0, 2, 6, 7), *batch(1, 4, 9)]
    seen = queues.wait()
    assert seen["credits"] == queues.params.draft_batches
    assert seen["waiting_tokens"] == 0


def test_batches_of_an_ended_epoch_are_dropped_by_the_pim_side(queues):
    queues.reject()
    assert queues.feedback() is not None
    queues.push_batch(0, 1, 5, 6)
    queues.push(Word(CUT, 0, batch=1))
    assert queues.wait()["credits"] == queues.params.draft_batches
    queues.push_batch(1, 2, 7)
    assert queues.pop_all() == batch(1, 2, 7)


def test_a_batch_whose_epoch_ends_while_it_is_pushed_is_dropped_as_a_whole(queues):
    queues.push(Word(HEADER, 0, batch=1, length=2))
    queues.push(Word(TOKEN, 0, token=1))
    queues.reject()  # before the header can have crossed
    assert queues.feedback() is not None
    queues.push(Word(TOKEN, 0, token=2))
    queues.push_batch(1, 2, 3)
    assert queues.pop_all() == batch(1, 2, 3)
    assert not queues.wait()["flushing"]


def test_the_next_rejection_waits_for_the_acknowledge_of_the_last(queues):
    queues.reject()
    rejection = Report(Event.VERDICT, 1).pack(queues.params)
    assert queues.stalls("feedback_in", rejection)
    accepted = Report(Event.VERDICT, 1, full=True)
    queues.report(accepted)  # anything else passes
    assert queues.feedback() is not None
    queues.wait()
    queues.offer("feedback_in", rejection)
    seen = queues.wait()
    assert seen["epoch_npu"] == 2


def test_the_acknowledge_waits_for_the_end_of_a_batch_under_way(queues):
    queues.push(Word(HEADER, 0, batch=1, length=2))
    queues.reject()
    assert queues.feedback() is not None
    assert queues.wait()["flushing"]
    queues.push(Word(TOKEN, 0, token=1))
    queues.push(Word(TOKEN, 0, token=2))
    queues.pop_all()
    assert not queues.wait()["flushing"]


def test_the_acknowledge_stalls_words_of_the_new_epoch_for_its_one_cycle(queues):
    queues.reject()
    assert queues.feedback() is not None
    queues.push_batch(1, 5, 1)
    assert queues.pop_all() == batch(1, 5, 1)


def test_feedback_is_back_pressured_by_its_depth(queues):
    report = Report(Event.START).pack(queues.params)
    for _ in range(queues.params.feedback_entries):
        queues.offer("feedback_in", report)
    assert queues.stalls("feedback_in", report)
    assert queues.feedback() is not None
    queues.wait()
    queues.offer("feedback_in", report)


def test_pre_verifications_come_in_order_and_those_of_an_ended_epoch_are_dropped(queues):
    first, second = 0 | 1 << 4, 0 | 2 << 4
    queues.offer("preverify_in", first)
    queues.offer("preverify_in", second)
    assert queues.take("preverify_out") == first
    queues.reject()
    assert queues.feedback() is not None
    third = 1 | 3 << 4
    queues.offer("preverify_in", third)
    assert queues.take("preverify_out") == third
    assert queues.take("preverify_out") is None


def test_pre_verifications_are_back_pressured_by_their_depth(queues):
    for task in range(queues.params.preverify_entries):
        queues.offer("preverify_in", task << 4)
    assert queues.stalls("preverify_in", 0)


@pytest.mark.parametrize(
    "bad",
    [
        [Word(TOKEN, 0)],
        [Word(HEADER, 0, length=0)],
        [Word(HEADER, 0, length=17)],
        [Word(Kind.ACK, 0)],
    ],
)
def test_a_word_that_is_no_part_of_a_batch_is_dropped_and_flagged(queues, bad):
    assert not queues.wait()["bad_word"]
    for word in bad:
        queues.push(word)
    assert queues.wait()["bad_word"]
    queues.push_batch(0, 1, 5)
    assert queues.pop_all() == batch(0, 1, 5)


def test_a_header_or_cut_within_a_batch_is_dropped_and_flagged(queues):
    queues.push(Word(HEADER, 0, batch=1, length=1))
    queues.push(Word(HEADER, 0, batch=2, length=1))
    queues.push(Word(CUT, 0, batch=2))
    queues.push(Word(TOKEN, 0, token=5))
    assert queues.wait()["bad_word"]
    assert queues.pop_all() == batch(0, 1, 5)


def test_a_shown_word_stays_until_it_is_taken(queues):
    queues.push_batch(0, 1, 5)
    seen = queues.wait()
    shown = seen["batch_out__payload"]
    assert seen["batch_out__valid"]
    queues.reject()
    for _ in range(20):
        _, seen = queues.edge()
        assert seen["batch_out__valid"]
        assert seen["batch_out__payload"] == shown


def test_epochs_wrap(make_queues):
    queues = make_queues("test")
    for epoch in range(6):
        queues.push_batch(epoch % 4, 1, 2)
        assert queues.pop_all() == batch(epoch % 4, 1, 2)
        queues.reject()
        assert queues.feedback() is not None
        queues.wait()
    assert queues.wait()["epoch_pim"] == 2
