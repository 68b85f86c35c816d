# SPDX-License-Identifier: Apache-2.0
"""What the top does between its units, on the golden model and on the compiled RTL alike."""

import pytest

from ahasd.rtl.ahasd.params import State
from ahasd.rtl.configs import UNITS
from ahasd.rtl.edc.params import Cause, Decision
from ahasd.rtl.gtsu.params import Issue
from ahasd.rtl.gtsu.params import Kind as TaskKind
from ahasd.rtl.host.registers import REGISTERS
from ahasd.rtl.queues.golden import Report, Word
from ahasd.rtl.queues.params import Event, Kind
from ahasd.rtl.tvc.params import Reason, Record, Table
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.registry import make_engine

GO = Decision(True, Cause.PREDICTED)
STOP = Decision(False, Cause.PREDICTED)
COUNTERS = [register.name for register in REGISTERS if register.kind.value == "counter"]


def counters(top):
    """Read the counters that are not 0."""
    values = {name.partition(".")[2]: top.count(name) for name in COUNTERS}
    return {name: value for name, value in values.items() if value}


def batches(words):
    """Return the batch numbers of the headers among words."""
    return [word.batch for word in words if word.kind is Kind.HEADER]


# Batches


def test_a_batch_is_granted_once_and_reaches_the_npu_whole(top):
    sent = top.push(2, 3, batch=1)
    top.run()
    assert top.decisions() == [GO]
    assert top.words() == sent
    assert counters(top) == {
        "BATCHES_OFFERED": 1,
        "DECISIONS_GO": 1,
        "BATCHES_PUSHED": 1,
        "TOKENS_PUSHED": 2,
        "BATCHES_DELIVERED": 1,
        "TOKENS_DELIVERED": 2,
    }


def test_nothing_happens_before_the_last_word_of_a_batch(top):
    header, first, last = (Word(Kind.HEADER, 0, length=2), *[Word(Kind.TOKEN, 0, 1)] * 2)
    top.word(header)
    top.word(first)
    top.run(200)
    assert not top.moved["decision"]
    assert not top.moved["batch_out"]
    top.word(last)
    top.run()
    assert top.words() == [header, first, last]


def test_a_batch_that_is_told_to_stop_is_pushed_all_the_same(top):
    epoch = 0
    while GO in top.decisions()[-1:] or not top.decisions():  # rejections train the EDC
        top.push(1, epoch=epoch)
        top.until("decision")
        assert epoch < 3
        if top.decisions()[-1] == STOP:
            break
        top.until("batch_out", 2)
        top.verdict()
        top.until("feedback")
        top.run()
        epoch += 1
    top.until("batch_out", 2)
    assert top.words()[-1].epoch == epoch
    assert top.count("pim.DECISIONS_STOP") == 1
    # With no batch ahead of it, the stop holds until its own verdict.
    top.verdict(full=True)
    top.until("decision")
    assert top.decisions()[-1] == Decision(True, Cause.EMPTY)
    assert top.count("pim.RELEASES") == 1


def test_a_decision_that_is_not_taken_keeps_its_batch_out_of_the_queue(top):
    top.ready["decision"] = False
    sent = top.push(1)
    top.run(200)
    assert top.seen["decision__valid"]
    assert not top.moved["batch_out"]
    top.ready["decision"] = True
    top.run()
    assert top.words() == sent


@pytest.mark.parametrize("edc", [0, 1])
def test_no_feedback_comes_between_an_offer_and_its_decision(top, edc):
    top.registers.write("pim.CONTROL", edc_enable=edc)
    top.ready["decision"] = False
    top.push(1)
    top.run()
    top.verdict(full=True)
    top.run(200)
    assert not top.seen["feedback__valid"]
    top.ready["decision"] = True
    top.run()
    assert len(top.moved["feedback"]) == 1


def test_feedback_that_is_on_offer_holds_up_the_next_batch(top):
    top.ready["feedback"] = False
    top.report(Report(Event.START, kv_length=1))
    top.run()
    top.push(1)
    top.run(200)
    assert top.seen["feedback__valid"]
    assert not top.moved["decision"]
    top.ready["feedback"] = True
    top.run()
    assert len(top.moved["feedback"]) == len(top.moved["decision"]) == 1


def test_a_batch_of_an_older_epoch_is_dropped_before_the_edc(top):
    top.push(1, batch=0)
    top.until("batch_out", 2)
    top.verdict()
    top.until("feedback")
    top.push(1, epoch=0, batch=1)
    kept = top.push(1, epoch=1, batch=2)
    top.run()
    assert len(top.moved["decision"]) == 2
    assert top.words()[-2:] == kept
    assert batches(top.words()) == [0, 2]
    assert top.count("pim.BATCHES_DROPPED") == 1
    assert top.registers.read("pim.STATUS")["outstanding"] == 1


def test_a_batch_whose_epoch_ends_while_it_waits_for_room_is_dropped(top):
    top.ready["batch_out"] = False
    limit = min(top.params.queues.draft_batches, top.params.edc.max_outstanding)
    for i in range(limit + 1):
        top.push(1, batch=i)
    top.run(200)
    assert len(top.moved["decision"]) == limit
    assert not top.seen["room"]
    top.verdict()
    top.until("feedback")
    top.ready["batch_out"] = True
    top.run(100)
    assert top.count("pim.BATCHES_OFFERED") == limit
    assert top.count("pim.BATCHES_DROPPED") == 1
    assert limit not in batches(top.words())
    assert top.registers.read("pim.STATUS")["outstanding"] == 0


def test_a_batch_whose_epoch_ends_between_its_grant_and_the_queue_is_dropped(top):
    top.ready["batch_out"] = False
    for _ in range(top.params.queues.draft_words):  # fill the queue's memory, without a credit
        top.cut()
    top.push(1, 2)
    top.until("decision")
    top.verdict()
    top.until("feedback")
    top.ready["batch_out"] = True
    top.run(3 * top.params.queues.draft_words)
    assert batches(top.words()) == []
    names = ("BATCHES_OFFERED", "BATCHES_PUSHED", "BATCHES_DROPPED", "TOKENS_PUSHED")
    assert [top.count(f"pim.{name}") for name in names] == [1, 0, 1, 0]
    assert top.registers.read("pim.STATUS")["outstanding"] == 0
    assert top.errors() == set()


def test_room_falls_when_batches_in_the_queue_use_up_the_credits(top):
    top.registers.write("pim.CONTROL", edc_enable=0)
    top.ready["batch_out"] = False
    for i in range(top.params.queues.draft_batches):
        assert top.seen["room"]
        top.push(1, batch=i)
        top.until("decision")
        top.run(8)
    assert not top.seen["room"]
    assert top.registers.read("pim.CREDITS")["credits"] == 0
    assert top.registers.read("pim.CREDITS")["waiting_tokens"] == len(top.moved["decision"])
    top.ready["batch_out"] = True
    top.run()
    assert top.seen["room"]


def test_room_falls_when_the_edc_follows_no_more_batches(top):
    for _ in range(top.params.edc.max_outstanding):
        assert top.seen["room"]
        top.push(1)
        top.run()
    assert not top.seen["room"]
    assert top.registers.read("pim.CREDITS")["credits"] == top.params.queues.draft_batches
    top.verdict(full=True)
    top.run()
    assert top.seen["room"]


def test_without_the_edc_every_batch_is_granted_and_no_verdict_is_passed_on(top):
    top.registers.write("pim.CONTROL", edc_enable=0)
    many = top.params.edc.max_outstanding + 1
    for i in range(many):
        top.push(1, batch=i % 4)
        top.until("batch_out", 2)
        top.run(20)
    top.verdict(full=True)
    top.run()
    assert top.decisions() == [GO] * many
    assert top.registers.read("pim.STATUS")["outstanding"] == 0
    assert top.errors() == set()


@pytest.mark.parametrize(
    ("words", "after"),
    [
        ([Word(Kind.TOKEN, 0, 1)], 1),
        ([Word(Kind.ACK, 0)], 1),
        ([Word(Kind.HEADER, 0, length=0)], 1),
        ([Word(Kind.HEADER, 0, length=99)], 1),
        ([Word(Kind.HEADER, 0, length=2), Word(Kind.CUT, 0)], 1),
        ([Word(Kind.HEADER, 0, length=2), Word(Kind.TOKEN, 0), Word(Kind.HEADER, 0, length=1)], 1),
    ],
    ids=["token first", "acknowledge", "empty", "too long", "cut within", "header within"],
)
def test_a_word_out_of_place_is_dropped_with_its_batch_and_the_next_is_unharmed(top, words, after):
    too_long = top.params.queues.batch_tokens + 1
    for word in words:
        top.word(word._replace(length=too_long) if word.length == 99 else word)
    top.run()
    assert not top.moved["decision"]
    assert not top.moved["batch_out"]
    assert top.errors() == {"queues_bad_word"}
    sent = top.push(1, 2, batch=after)
    top.run()
    assert top.words() == sent
    assert top.decisions() == [GO]


def test_a_cut_goes_behind_the_batches_before_it(top):
    sent = [*top.push(1, 2, batch=1), top.cut(batch=1, length=1), *top.push(3, batch=2)]
    top.run(100)
    assert top.words() == sent
    assert top.count("pim.CUTS_PUSHED") == top.count("npu.CUTS_DELIVERED") == 1
    assert len(top.moved["decision"]) == 2


def test_a_stale_cut_is_dropped(top):
    top.push(1)
    top.verdict()
    top.until("feedback")
    top.run()
    before = len(top.words())
    top.cut(epoch=0)
    top.run()
    assert len(top.words()) == before
    assert top.count("pim.CUTS_PUSHED") == 0
    assert top.errors() == set()


# Feedback


@pytest.mark.parametrize(
    ("fate", "left", "name"),
    [
        ({"full": True}, 1, "ACCEPTED"),
        ({"void": True}, 1, "VOID"),
        ({"full": True, "void": True}, 1, "VOID"),
        ({}, 0, "REJECTED"),
    ],
    ids=["accepted", "void", "full but void", "rejected"],
)
def test_a_verdict_reaches_the_edc(top, fate, left, name):
    for i in range(2):
        top.push(1, batch=i)
    top.run()
    assert top.registers.read("pim.STATUS")["outstanding"] == 2
    top.verdict(**fate)
    top.run()
    assert top.registers.read("pim.STATUS")["outstanding"] == left
    assert top.registers.read("pim.STATUS")["epoch"] == int(name == "REJECTED")
    assert top.registers.read("npu.NPU_STATUS") == {"epoch": int(name == "REJECTED"), "flushing": 0}
    for each in ("ACCEPTED", "REJECTED", "VOID"):
        assert top.count(f"pim.VERDICTS_{each}") == int(each == name)
    assert top.count("npu.REJECTIONS") == int(name == "REJECTED")
    assert top.count("npu.FEEDBACK_ACCEPTED") == top.count("pim.FEEDBACK_DELIVERED") == 1


def test_a_verdict_without_a_batch_is_an_error(top):
    top.verdict(full=True)
    top.run()
    assert top.errors() == {"edc_orphan"}


def estimate(top):
    """Teach the TVC: 160 PIM cycles a pass, 4 a drafted and 10 a pre-verified token."""
    top.registers.write("pim.TVC_SWITCH_CYCLES", value=1)
    top.preload(Table.NVCT, 200, 4)  # NPU cycles, of which a PIM cycle is 1.25
    top.preload(Table.PDCT, 8, 2)
    top.preload(Table.PVCT, 20, 2)


def start(top):
    top.report(Report(Event.START, kv_length=4))
    top.until("feedback")


def test_a_request_becomes_a_pre_verification_and_a_task(top):
    top.set_masks()
    estimate(top)
    start(top)
    answer = top.ask(task=3, available=2)
    assert (answer.length, answer.reason) == (2, Reason.INSERT)
    assert answer.npu_cycles == 160
    # What is left of the pass, less a drafted token and two switches.
    assert 2 * 10 <= answer.slack < 160 - 4 - 2 * 1
    (payload,) = top.until("preverify")
    queues = top.params.queues
    fields = {"epoch": 0, "branch": 1, "position": 3, "length": 2, "task": 3}
    expected = offset = 0
    for value, width in zip(
        fields.values(),
        (
            queues.epoch_width,
            queues.branch_width,
            queues.kv_width,
            queues.length_width,
            queues.task_width,
        ),
        strict=True,
    ):
        expected |= value << offset
        offset += width
    assert payload == expected
    top.until("issue")
    assert top.issues() == [Issue(TaskKind.PREVERIFY, False, 3)]
    assert top.seen["running"] == 0
    top.edge()
    top.edge()
    assert top.seen["running"] == 1
    assert top.seen["mask"] == 0b10
    top.queues["done"].append(3)
    top.run()
    assert top.seen["running"] == 0
    assert counters(top) == {
        "FEEDBACK_DELIVERED": 1,
        "PREVERIFY_REQUESTS": 1,
        "PREVERIFY_INSERTS": 1,
        "PREVERIFY_TOKENS": 2,
        "TASKS_PREVERIFY": 1,
        "SWITCHES": 1,
        "FEEDBACK_ACCEPTED": 1,
    }


def test_a_request_that_is_refused_leads_to_nothing(top):
    top.set_masks()
    answer = top.ask()
    assert (answer.length, answer.reason) == (0, Reason.NO_TASK)
    top.run()
    assert not top.moved["preverify"]
    assert not top.moved["issue"]
    assert counters(top) == {"PREVERIFY_REQUESTS": 1}


def test_the_end_of_a_pass_is_measured_and_ends_it(top):
    top.preload(Table.PDCT, 8, 2)
    start(top)
    assert top.ask().reason is Reason.NO_ESTIMATE
    top.push(1)
    top.until("batch_out", 2)
    top.report(Report(Event.VERDICT, full=True, last=True, kv_length=4, npu_cycles=100))
    top.until("feedback")
    assert top.ask().reason is Reason.NO_TASK
    start(top)
    assert top.ask().npu_cycles == 80


def test_a_verdict_that_is_not_the_last_leaves_the_pass_running(top):
    top.preload(Table.PDCT, 8, 2)
    start(top)
    top.push(1)
    top.until("batch_out", 2)
    top.verdict(full=True)
    top.until("feedback")
    assert top.ask().reason is Reason.NO_ESTIMATE


def test_a_stale_pre_verification_is_dropped(top):
    top.set_masks()
    estimate(top)
    start(top)
    assert top.ask(epoch=1).length == 2
    top.run()
    assert not top.moved["preverify"]
    assert not top.moved["issue"]
    start(top)
    assert top.ask(epoch=0).length == 2
    top.until("issue")


def test_one_request_at_a_time(top):
    top.ready["answer"] = False
    for _ in range(2):
        top.queues["request"].append(0)
    top.run(4 * top.params.tvc.decision_cycles)
    assert len(top.queues["request"]) == 1
    assert top.seen["answer__valid"]
    top.ready["answer"] = True
    top.until("answer", 2)


def test_an_answer_waits_until_the_one_before_is_in_the_queue(top):
    top.set_masks()
    estimate(top)
    top.ready["preverify"] = False
    for _ in range(top.params.queues.preverify_entries + 1):
        start(top)
        assert top.ask().length == 2
    start(top)
    top.queues["request"].append(2 << sum_widths(top))
    top.run(3 * top.params.tvc.decision_cycles)
    assert not top.seen["answer__valid"]
    top.ready["preverify"] = True
    top.until("answer")


def sum_widths(top):
    """Return where a request's last field begins."""
    queues, tvc = top.params.queues, top.params.tvc
    widths = (queues.epoch_width, queues.branch_width, queues.kv_width, queues.task_width)
    return sum(widths) + tvc.tokens_width


# Tasks


def test_draft_tasks_are_issued_in_order_and_end(top):
    top.set_masks()
    top.queues["task"].extend([1, 2])
    for number in (1, 2):
        top.until("issue")
        assert top.issues()[-1] == Issue(TaskKind.DRAFT, False, number)
        top.run()
        assert top.seen["mask"] == 0b01
        top.levels["compute_request"] = 0b11
        top.edge()
        assert top.seen["compute_grant"] == 0b01
        top.queues["done"].append(number)
    top.run()
    assert top.seen["compute_grant"] == 0
    assert top.count("pim.TASKS_DRAFT") == 2
    assert top.count("pim.SWITCHES") == 1


def test_a_pre_verification_goes_before_draft_tasks_that_wait(top):
    top.set_masks()
    estimate(top)
    top.queues["task"].extend([1, 2])
    top.until("issue")
    start(top)
    top.ask(task=3)
    top.until("preverify")
    top.run(10)
    assert top.registers.read("pim.STATUS")["pending"] == 2
    top.queues["done"].append(1)
    top.until("issue")
    top.queues["done"].append(3)
    top.until("issue")
    assert [(issue.kind, issue.id) for issue in top.issues()] == [
        (TaskKind.DRAFT, 1),
        (TaskKind.PREVERIFY, 3),
        (TaskKind.DRAFT, 2),
    ]
    assert top.count("pim.SWITCHES") == 3


def test_a_pre_verification_preempts_at_a_layer_if_it_may(top):
    top.set_masks()
    top.registers.write("pim.CONTROL", gtsu_preempt=1)
    estimate(top)
    top.queues["task"].append(1)
    top.until("issue")
    start(top)
    top.ask(task=3)
    top.levels["layer_boundary"] = 1
    top.until("issue")
    assert top.issues()[-1] == Issue(TaskKind.PREVERIFY, False, 3)


# Registers


class Spy:
    """A part of a golden top that notes its pins."""

    changed = True

    def __init__(self, model):
        self._model = model
        self.pins = {}
        self.taken = []

    def step(self, pins, clocks):
        self.pins = dict(pins)
        outputs = self._model.step(pins, clocks)
        for name in ("record", "command"):
            if clocks & 1 and pins.get(f"{name}__valid") and outputs[f"{name}__ready"]:
                self.taken.append((name, pins[f"{name}__payload"]))
        return outputs


@pytest.fixture
def spied(request, clocks):
    """Return a golden top of the configuration `test` whose parts are watched."""
    params = UNITS["ahasd"].configurations["test"]
    spies = {
        name: Spy(UNITS[name].load_golden()(getattr(params, name)))
        for name in ("edc", "tvc", "gtsu")
    }
    top_type = request.getfixturevalue("top_type")
    return top_type(GoldenEngine(UNITS["ahasd"], params, parts=spies), params, clocks()), spies


LEVELS = [
    ("pim.CONTROL", {"edc_recheck": 0}, "edc", "recheck", 0),
    ("pim.CONTROL", {"edc_recheck": 1}, "edc", "recheck", 1),
    ("pim.CONTROL", {"edc_explore": 5}, "edc", "explore", 5),
    ("pim.EDC_BOUNDARY_0", {"value": 0x1234}, "edc", "boundaries", 0x34),
    ("pim.TVC_NPU_RATIO", {"value": 0x8001}, "tvc", "npu_ratio", 0x8001),
    ("pim.TVC_SWITCH_CYCLES", {"value": 200}, "tvc", "switch_cycles", 200),
    ("pim.TVC_SWITCH_CYCLES", {"value": 256}, "tvc", "switch_cycles", 255),
    ("pim.TVC_SLOWDOWN_CYCLES", {"value": 7}, "tvc", "slowdown_cycles", 7),
    ("pim.TVC_SLOWDOWN_CYCLES", {"value": 1 << 31}, "tvc", "slowdown_cycles", 255),
    ("pim.TVC_MAX_LENGTH", {"value": 2}, "tvc", "max_length", 2),
    ("pim.TVC_MAX_LENGTH", {"value": 4}, "tvc", "max_length", 3),
    ("pim.TVC_COLD_CYCLES", {"value": 9}, "tvc", "cold_preverify_cycles", 9),
    ("pim.TVC_COLD_CYCLES", {"value": 0x100}, "tvc", "cold_preverify_cycles", 255),
    ("pim.CONTROL", {"tvc_affine_npu": 1}, "tvc", "affine_npu", 1),
    ("pim.CONTROL", {"tvc_affine_preverify": 1}, "tvc", "affine_preverify", 1),
    ("pim.CONTROL", {"gtsu_preempt": 1}, "gtsu", "preempt", 1),
    ("pim.GTSU_DLM_MASK", {"value": 0xFFFF_FFFD}, "gtsu", "dlm_mask", 1),
    ("pim.GTSU_TLM_MASK", {"value": 0xFFFF_FFFE}, "gtsu", "tlm_mask", 2),
    ("pim.GTSU_SWITCH_CYCLES", {"value": 99}, "gtsu", "switch_cycles", 99),
    ("pim.GTSU_DRAIN_MAX", {"value": 777}, "gtsu", "drain_max_cycles", 777),
]


@pytest.mark.parametrize(("register", "fields", "unit", "pin", "value"), LEVELS)
def test_a_control_register_reaches_its_unit(spied, register, fields, unit, pin, value):
    """The unit gets it, or the largest that fits; masks and boundaries lose their upper bits."""
    top, spies = spied
    top.registers.write(register, **fields)
    top.edge()
    assert spies[unit].pins[pin] == value


def test_every_control_register_is_looked_at():
    fields = {
        (register.name, field.name)
        for register in REGISTERS
        for field in register.fields
        if register.name.startswith("pim.") and register.kind.value == "control"
    }
    seen = {(register, name) for register, fields, *_ in LEVELS for name in fields}
    elsewhere = {("pim.CONTROL", "edc_enable"), ("pim.TVC_PRELOAD_CYCLES", "value")}
    elsewhere |= {(f"pim.EDC_BOUNDARY_{i}", "value") for i in range(1, 7)}
    assert fields == seen | elsewhere


def test_all_boundaries_stand_in_order(clocks, top_type):
    params = UNITS["ahasd"].configurations["small"]
    spy = Spy(UNITS["edc"].load_golden()(params.edc))
    engine = GoldenEngine(UNITS["ahasd"], params, parts={"edc": spy})
    top = top_type(engine, params, clocks())
    for i in range(7):
        top.registers.write(f"pim.EDC_BOUNDARY_{i}", value=0x100 + i)
    top.edge()
    assert spy.pins["boundaries"] == sum((0x100 + i) << 16 * i for i in range(7))


@pytest.mark.parametrize(
    ("cycles", "length", "recorded"),
    [(200, 5, (200, 5)), (256, 5, (255, 5)), (1 << 31, 16, (255, 15)), (0, 0xFFFF, (0, 15))],
)
def test_a_preload_fits_into_the_tables(spied, cycles, length, recorded):
    top, spies = spied
    top.preload(Table.PDCT, cycles, length)
    top.run()
    record = Record(Table.PDCT, *recorded).pack(top.params.tvc)
    assert ("record", record) in spies["tvc"].taken


def test_commands_reach_their_units(spied):
    top, spies = spied
    names = [
        ("edc", "edc_start_sequence", 0),
        ("edc", "edc_clear_pht", 1),
        ("tvc", "tvc_clear", 0),
        ("tvc", "tvc_forget_task", 1),
        ("gtsu", "gtsu_clear_errors", 0),
        ("gtsu", "gtsu_flush", 1),
    ]
    for unit, name, payload in names:
        before = {each: len(spy.taken) for each, spy in spies.items()}
        top.registers.write("pim.COMMAND", **{name: 1})
        top.run()
        for each, spy in spies.items():
            new = spy.taken[before[each] :]
            assert new == ([("command", payload)] if each == unit else [])


def test_a_preload_goes_before_a_measurement(top):
    for _ in range(2):
        top.queues["measure"].append(Record(Table.PDCT, 40, 1).pack(top.params.tvc))
    top.preload(Table.PDCT, 8, 2)
    top.preload(Table.NVCT, 200, 4)
    top.until("measure", len(top.queues["measure"]))
    top.run(2 * top.params.tvc.record_cycles)
    start(top)
    answer = top.ask()
    assert answer.npu_cycles == 160
    assert top.errors() == set()


def test_a_measurement_without_a_length_is_an_error(top):
    top.queues["measure"].append(Record(Table.PDCT, 40, 0).pack(top.params.tvc))
    top.run()
    assert top.errors() == {"tvc_bad_record"}


def test_commands_do_what_they_say(top):
    top.set_masks()
    top.push(1)
    top.until("batch_out", 2)
    top.registers.write("pim.COMMAND", edc_start_sequence=1)
    top.run()
    assert top.registers.read("pim.STATUS")["outstanding"] == 0
    top.queues["done"].append(1)
    top.run()
    assert top.errors() == {"gtsu_orphan_done"}
    top.registers.write("pim.COMMAND", gtsu_clear_errors=1)
    top.run()
    assert top.errors() == set()
    top.queues["task"].extend([1, 2])
    top.until("issue")
    top.run()
    assert top.registers.read("pim.STATUS")["pending"] == 1
    assert top.registers.read("pim.MASK")["mask"] == 0b01
    top.registers.write("pim.COMMAND", gtsu_flush=1)
    top.run()
    assert top.registers.read("pim.STATUS")["pending"] == 0
    start(top)
    top.registers.write("pim.COMMAND", tvc_forget_task=1)
    assert top.ask().reason is Reason.NO_TASK


def test_the_pht_is_cleared_while_batches_wait(top):
    top.registers.write("pim.COMMAND", edc_clear_pht=1)
    begin = top.pim_edges
    top.push(1)
    top.until("decision")
    assert top.pim_edges - begin >= top.params.edc.pht_entries
    assert top.decisions() == [GO]


# Interrupts


def test_a_word_that_arrives_raises_an_interrupt(top):
    top.ready["batch_out"] = False
    top.registers.write("npu.IRQ_ENABLE", draft_ready=1)
    top.push(1)
    top.run()
    assert top.seen["irq"]
    assert top.registers.read("npu.IRQ_STATUS") == {
        "draft_ready": 1,
        "feedback_taken": 0,
        "error": 0,
    }
    top.registers.write("npu.IRQ_STATUS", draft_ready=1)
    top.run()
    assert not top.seen["irq"]  # it has been on offer all the time
    top.ready["batch_out"] = True
    top.run()
    top.push(1, batch=1)
    top.run()
    assert top.seen["irq"]


def test_feedback_that_is_taken_raises_an_interrupt(top):
    top.registers.write("npu.IRQ_ENABLE", feedback_taken=1)
    start(top)
    top.run()
    assert top.seen["irq"]
    top.registers.write("npu.IRQ_STATUS", feedback_taken=1)
    top.run()
    assert not top.seen["irq"]


def test_an_error_of_any_unit_raises_an_interrupt(top):
    top.registers.write("npu.IRQ_ENABLE", error=1)
    top.queues["done"].append(0)
    top.run()
    assert top.errors() == {"gtsu_orphan_done"}
    assert top.seen["irq"]


# Rest and timing


def test_idle_means_that_nothing_is_under_way(top):
    top.run()
    assert top.seen["idle_pim"]
    assert top.seen["idle_npu"]
    top.word(Word(Kind.HEADER, 0, length=2))
    top.word(Word(Kind.TOKEN, 0, 1))
    top.run()
    assert top.seen["idle_pim"]  # a batch that is half there waits for the sequencer
    top.word(Word(Kind.TOKEN, 0, 1))
    top.ready["batch_out"] = False
    top.run()
    assert top.seen["idle_pim"]
    assert top.seen["idle_npu"]  # a word that is on offer waits for the NPU
    top.ready["batch_out"] = True
    top.edge()
    top.ready["decision"] = False
    top.push(1)
    top.run()
    assert not top.seen["idle_pim"]


@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_from_the_last_word_to_the_npu_it_takes_the_latency(backend, clocks, top_type):
    params = UNITS["ahasd"].configurations["test"]
    engine = make_engine("ahasd", params, backend)
    top = top_type(engine, params, clocks(npu_period=1250))
    top.run(40)
    top.push(1)
    top.until("draft", 2)
    begin = top.edges
    top.until("batch_out")
    assert top.edges - begin == engine_latency(params)


def engine_latency(params):
    return UNITS["ahasd"].load_golden()(params).latency


def test_the_states_are_those_of_the_page():
    assert [state.name for state in State] == [
        "COLLECT",
        "READY",
        "OFFER",
        "AWAIT",
        "GRANT",
        "HEAD",
        "TOKENS",
    ]
