# SPDX-License-Identifier: Apache-2.0
"""The driver of the top, on its golden model: what is asked for arrives, and what comes is told."""

from types import SimpleNamespace

import pytest

from ahasd.rtl.ahasd.params import Request
from ahasd.rtl.configs import UNITS
from ahasd.rtl.edc.params import Cause, Decision
from ahasd.rtl.gtsu.params import Issue
from ahasd.rtl.gtsu.params import Kind as TaskKind
from ahasd.rtl.queues.golden import Report, Word
from ahasd.rtl.queues.params import Event, Kind
from ahasd.rtl.tvc.params import Reason, Record, Table
from ahasd.sim.ahasd import AhasdTop
from ahasd.sim.clocked import Clock
from ahasd.sim.kernel import Kernel
from ahasd.sim.ports import advance
from ahasd.sim.registry import make_engine

PARAMS = UNITS["ahasd"].configurations["small"]
PIM, NPU = Clock(1250), Clock(1000)


class Watched:
    """An engine, and the payloads that moved into it."""

    def __init__(self, engine):
        self.engine = engine
        self.moved = {"draft": [], "done": []}

    @property
    def changed(self):
        return self.engine.changed

    def step(self, pins, clocks, time_ps):
        seen = self.engine.step(pins, clocks, time_ps)
        for name, payloads in self.moved.items():
            if clocks & 1 and pins[f"{name}__valid"] and seen[f"{name}__ready"]:
                payloads.append(pins[f"{name}__payload"])
        return seen

    def run(self, pins, grid):
        return self.engine.run(pins, grid)

    def advance(self, pins, grid, watch):
        return advance(self, pins, grid, watch)


def build(parts=None):
    """Return the driver around the golden top, and what it has told, in order."""
    kernel = Kernel()
    engine = Watched(make_engine("ahasd", PARAMS, "golden", parts=parts))
    top = AhasdTop(engine, PARAMS, kernel, PIM, NPU, skip=True)
    told = []

    def tell(name):
        return lambda *values: told.append((name, *values))

    top.listen_pim(
        **{name: tell(name) for name in ("decision", "feedback", "answer", "issue", "room")}
    )
    top.listen_npu(tell("word"))
    return SimpleNamespace(kernel=kernel, engine=engine, top=top, told=told)


@pytest.fixture
def made():
    return build()


def count(made, *names):
    """Read counters as a host does."""
    found = {}
    for name in names:
        made.top.read(name, lambda fields, name=name: found.update({name: fields["value"]}))
    made.kernel.run()
    return tuple(found[name] for name in names)


def batch(number, *tokens, epoch=0, branch=0, entropy_nats=0.0):
    return {
        "epoch": epoch,
        "branch": branch,
        "batch": number,
        "tokens": list(tokens),
        "entropy_nats": entropy_nats,
    }


def test_a_register_keeps_every_byte_and_responses_come_in_order(made):
    done = []
    made.top.write("pim.TVC_COLD_CYCLES", lambda: done.append("cold"), value=0xA5C3_1E7F)
    made.top.write("npu.IRQ_ENABLE", lambda: done.append("irq"), error=1)
    made.top.read("pim.TVC_COLD_CYCLES", done.append)
    made.top.read("pim.CONTROL", lambda fields: done.append(fields["edc_recheck"]))
    made.kernel.run()
    assert [each for each in done if isinstance(each, str)] == ["cold", "irq"]
    made.top.read("pim.TVC_COLD_CYCLES", done.append)
    made.kernel.run()
    assert done[-1] == {"value": 0xA5C3_1E7F}
    assert 1 in done


def test_a_batch_arrives_word_by_word_behind_its_header(made):
    made.top.push(**batch(5, 70, 71, 72, branch=3, entropy_nats=1.5))
    made.kernel.run()
    assert made.told == [
        ("decision", Decision(True, Cause.PREDICTED)),
        ("word", Word(Kind.HEADER, 0, batch=5, branch=3, length=3)),
        ("word", Word(Kind.TOKEN, 0, token=70)),
        ("word", Word(Kind.TOKEN, 0, token=71)),
        ("word", Word(Kind.TOKEN, 0, token=72)),
    ]
    # The entropy travels above the header: 2 bits of kind, 4 of epoch, 18 of a token; Q4.12 nat.
    assert made.engine.moved["draft"][0] >> 24 == 1.5 * 4096
    assert count(made, "pim.BATCHES_PUSHED", "pim.TOKENS_PUSHED") == (1, 3)


def test_a_cut_arrives_with_batch_branch_and_length(made):
    made.top.push(**batch(5, 70, 71, 72))
    made.top.cut(epoch=0, branch=9, batch=5, keep=2)
    made.kernel.run()
    assert made.told[-1] == ("word", Word(Kind.CUT, 0, batch=5, branch=9, length=2))
    assert count(made, "pim.CUTS_PUSHED") == (1,)


def test_words_wait_until_they_are_taken(made):
    made.top.take(False)
    made.top.push(**batch(0, 70))
    made.kernel.run()
    assert [name for name, *_ in made.told] == ["decision"]
    made.top.take(True)
    made.kernel.run()
    assert [name for name, *_ in made.told] == ["decision", "word", "word"]


def test_a_register_that_is_written_reaches_its_unit(made):
    # Without EDC every batch goes, and the EDC counts none; its seven places do not matter.
    made.top.write("pim.CONTROL", edc_enable=0)
    made.top.take(False)
    made.kernel.run()
    for number in range(8):
        assert made.top.has_room
        made.top.push(**batch(number, 70))
        made.kernel.run()
    assert made.told == [("decision", Decision(True, Cause.PREDICTED))] * 8
    # Eight credits are spent, and that was no news of room. The first batch that goes gives one
    # back: the only change.
    assert not made.top.has_room
    made.top.take(True)
    made.kernel.run()
    assert made.top.has_room
    assert [name for name, *_ in made.told].count("room") == 1


def test_the_edc_lets_seven_batches_out_and_the_first_verdict_makes_room(made):
    for number in range(7):
        assert made.top.has_room
        made.top.push(**batch(number, 70))
        made.kernel.run()
    assert not made.top.has_room
    report = Report(
        Event.VERDICT,
        batch=0,
        accepted=1,
        full=True,
        last=True,
        next_valid=True,
        next_token=77,
        npu_cycles=500,
        kv_length=40,
    )
    made.told.clear()
    made.top.report(report)
    made.kernel.run()
    assert made.top.has_room
    assert made.told[:2] == [("feedback", report), ("room",)]
    assert count(made, "pim.VERDICTS_ACCEPTED", "pim.FEEDBACK_DELIVERED") == (1, 1)


def test_a_rejection_is_counted_on_both_sides(made):
    made.top.push(**batch(0, 70))
    made.kernel.run()
    report = Report(Event.VERDICT, batch=0, next_valid=True, next_token=77)
    made.top.report(report)
    made.kernel.run()
    assert ("feedback", report) in made.told
    assert count(made, "npu.REJECTIONS", "pim.VERDICTS_REJECTED") == (1, 1)


def set_masks(top):
    top.write("pim.GTSU_DLM_MASK", value=0b01)
    top.write("pim.GTSU_TLM_MASK", value=0b10)


def test_a_task_is_issued_after_the_one_before_it_has_ended(made):
    set_masks(made.top)
    made.kernel.run()
    made.top.task(3)
    made.top.task(4)
    made.kernel.run()
    assert made.told == [("issue", Issue(TaskKind.DRAFT, False, 3))]
    made.top.done(3)
    made.kernel.run()
    assert made.told[1:] == [("issue", Issue(TaskKind.DRAFT, False, 4))]
    assert made.engine.moved["done"] == [3]


def ask_in_a_pass(made):
    """Measure, begin a pass that leaves time for pre-verification, and ask for it as task 6."""
    top = made.top
    set_masks(top)
    top.write("pim.TVC_NPU_RATIO", value=0x8000)
    top.write("pim.TVC_PRELOAD_CYCLES", value=2000)
    top.write("pim.TVC_PRELOAD", table=Table.NVCT, length=50)
    made.kernel.run()
    top.measure(Record(Table.PDCT, 100, 1))
    top.measure(Record(Table.PVCT, 700, 2))
    made.kernel.run()
    top.report(Report(Event.START, batch=0, kv_length=50))
    made.kernel.run()
    request = Request(epoch=0, branch=2, position=9, task=6, overhead_tokens=1, available_tokens=7)
    top.ask(request)
    made.kernel.run()


def test_an_answer_is_what_the_measurements_allow_and_its_task_follows(made):
    ask_in_a_pass(made)
    answer, issue = made.told[-2:]
    # 2000 PIM cycles, less one draft token of 100, two switches of 44 and the age of the task;
    # 350 cycles a token: 5 fit, of which one is the overhead.
    name, decision = answer
    assert (name, decision.length, decision.reason) == ("answer", 4, Reason.INSERT)
    assert decision.npu_cycles == 2000
    assert 5 * 350 < decision.slack < 2000 - 100 - 2 * 44
    assert issue == ("issue", Issue(TaskKind.PREVERIFY, False, 6))
    assert count(made, "pim.PREVERIFY_REQUESTS") == (1,)


def test_drafting_is_not_suspended_as_its_layers_are_not_told(made):
    made.top.write("pim.CONTROL", gtsu_preempt=1)
    set_masks(made.top)
    made.kernel.run()
    made.top.task(3)
    made.kernel.run()
    ask_in_a_pass(made)
    assert made.told[-1][0] == "answer"
    issues = [issue for name, issue in filter(lambda told: told[0] == "issue", made.told)]
    assert issues == [Issue(TaskKind.DRAFT, False, 3)]
    made.top.done(3)
    made.kernel.run()
    assert made.told[-1] == ("issue", Issue(TaskKind.PREVERIFY, False, 6))


def test_nothing_is_to_be_had_while_no_task_runs(made):
    made.top.ask(
        Request(epoch=0, branch=0, position=0, task=1, overhead_tokens=0, available_tokens=7)
    )
    made.kernel.run()
    ((name, decision),) = made.told
    assert (name, decision.length, decision.reason) == ("answer", 0, Reason.NO_TASK)


def test_the_account_has_every_cycle_of_both_clocks(made):
    made.top.push(**batch(0, 70))
    made.kernel.at(2_000_000, lambda: None)
    made.kernel.run()
    # The EDC clears its table first, which takes 512 cycles of the PIM.
    for domain, clock in (("pim", PIM), ("npu", NPU)):
        cycles = made.top.finish()[domain]
        assert cycles.stepped + cycles.skipped == 2_000_000 // clock.period_ps
        assert cycles.skipped > cycles.stepped > 0


def test_units_behind_an_engine_of_their_own_that_cannot_tell_rest_never_too_soon():
    seen = []
    for parts in (None, {"edc": "golden", "tvc": "golden", "gtsu": "golden"}):
        made = build(parts)
        set_masks(made.top)
        made.top.push(**batch(0, 70, entropy_nats=2.0))
        made.top.task(1)
        made.top.measure(Record(Table.PDCT, 100, 1))
        made.kernel.at(2_000_000, lambda: None)
        made.kernel.run()
        seen.append((made.told, made.top.finish()))
    assert seen[0] == seen[1]
    assert len(seen[0][0]) == 4


class Echo:
    """Answers every access: a read with its own address, or with a response."""

    changed = False

    def __init__(self, response: int = 0) -> None:
        self.response = response
        self.reads = []
        self.writes = 0

    def step(self, pins, clocks, time_ps):
        npu = clocks >> 1 & 1
        seen = dict.fromkeys(
            (f"{name}__{pin}" for name in STREAMS for pin in ("ready", "valid", "payload")), 0
        )
        seen |= {"room": 1, "idle_pim": 1, "idle_npu": int(not self.reads and not self.writes)}
        seen |= {"aw__ready": 1, "w__ready": 1, "ar__ready": 1}
        if self.reads:
            seen |= {"r__valid": 1, "r__payload": self.reads[0] | self.response << 32}
        if self.writes:
            seen |= {"b__valid": 1, "b__payload": self.response}
        if npu:
            self.reads = self.reads[1:]
            self.writes -= self.writes > 0
            if pins["ar__valid"]:
                self.reads = [*self.reads, pins["ar__payload"]]
            self.writes += pins["w__valid"]
        return seen

    def run(self, pins, grid):
        raise AssertionError

    def advance(self, pins, grid, watch):
        return advance(self, pins, grid, watch)


STREAMS = (
    *("draft", "request", "task", "done", "measure", "feedback_in", "aw", "w", "ar"),
    *("decision", "feedback", "answer", "preverify", "issue", "batch_out", "b", "r"),
)


def echoing(response=0):
    kernel = Kernel()
    return kernel, AhasdTop(Echo(response), PARAMS, kernel, PIM, NPU, skip=True)


def test_a_counter_is_put_together_from_its_two_words():
    kernel, top = echoing()
    values = []
    names = ("pim.SWITCHES", "pim.TVC_MAX_LENGTH", "pim.SWITCHES", "pim.SWITCHES")
    for i, name in enumerate(names):
        top.read(name, lambda fields, i=i: values.append((i, fields["value"])))
    top.read("npu.REJECTIONS", lambda fields: values.append((4, fields["value"] >> 32)))
    kernel.run()
    # The low word is at 0x1188, the high one at 0x118C; 0x104C is a register of six bits.
    switches = 0x118C << 32 | 0x1188
    assert values[:4] == [(0, switches), (1, 0x104C & 63), (2, switches), (3, switches)]
    number, rejections_high = values[4]
    assert (number, rejections_high % 8) == (4, 4)


@pytest.mark.parametrize(
    ("access", "message"),
    [
        (lambda top: top.write("pim.CONTROL"), "refused a write with response 2"),
        (lambda top: top.read("pim.CONTROL", print), "refused a read with response 2"),
    ],
)
def test_a_refused_access_stops_the_run(access, message):
    kernel, top = echoing(response=2)
    access(top)
    with pytest.raises(AssertionError, match=message):
        kernel.run()


def test_the_top_itself_refuses_what_is_not_there(made, monkeypatch):
    monkeypatch.setattr("ahasd.sim.ahasd.encode", lambda name, **fields: (0x1FFC, 0))
    made.top.write("pim.CONTROL")
    with pytest.raises(AssertionError, match="refused a write"):
        made.kernel.run()
