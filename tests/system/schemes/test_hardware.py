# SPDX-License-Identifier: Apache-2.0
"""The link through the golden top: what goes over its pins, and what either side learns."""

from types import SimpleNamespace
from typing import Any

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.tvc.params import Table
from ahasd.sim.ahasd import AhasdTop
from ahasd.sim.clocked import Clock
from ahasd.sim.driver import encode
from ahasd.sim.kernel import Kernel
from ahasd.sim.ports import advance
from ahasd.sim.registry import make_engine
from ahasd.system.config import load_config
from ahasd.system.devices.work import Events, Phase, Task
from ahasd.system.drafting.base import DraftToken
from ahasd.system.schemes.batch import Batch, Verdict
from ahasd.system.schemes.hardware import HardwareLink
from ahasd.system.schemes.registers import registers
from ahasd.system.simulate import prepare, simulate

PARAMS = UNITS["ahasd"].configurations["small"]
PIM, NPU = Clock(1250), Clock(1000)
MASKS = [("pim.GTSU_DLM_MASK", {"value": 0b01}), ("pim.GTSU_TLM_MASK", {"value": 0b10})]
ROOMY = [
    # 100 000 cycles a pass of 50 keys, 100 a draft token, 200 a pre-verified one.
    *MASKS,
    ("pim.TVC_NPU_RATIO", {"value": 0x8000}),
    ("pim.TVC_PRELOAD_CYCLES", {"value": 100_000}),
    ("pim.TVC_PRELOAD", {"table": 0, "length": 50}),
    ("pim.TVC_PRELOAD_CYCLES", {"value": 100}),
    ("pim.TVC_PRELOAD", {"table": 1, "length": 1}),
    ("pim.TVC_PRELOAD_CYCLES", {"value": 200}),
    ("pim.TVC_PRELOAD", {"table": 2, "length": 1}),
    ("pim.CONTROL", {}),
]


class Watched:
    """An engine, and the payloads that moved into it."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.moved: dict[str, list[int]] = {
            name: [] for name in ("draft", "request", "measure", "done", "aw", "w", "feedback_in")
        }

    @property
    def changed(self):
        return self.engine.changed

    def step(self, pins, clocks, time_ps):
        seen = self.engine.step(pins, clocks, time_ps)
        for name, payloads in self.moved.items():
            edge = clocks >> (name in ("aw", "w", "feedback_in")) & 1
            if edge and pins[f"{name}__valid"] and seen[f"{name}__ready"]:
                payloads.append(pins[f"{name}__payload"])
        return seen

    def run(self, pins, grid):
        return self.engine.run(pins, grid)

    def advance(self, pins, grid, watch):
        return advance(self, pins, grid, watch)


class Side:
    """Either side of a link: keeps what it is told, and when; the NPU takes what it is told to."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.told: list[tuple[Any, ...]] = []
        self.times: list[int] = []
        self.takes = True

    def accepts(self, batch: Batch) -> bool:
        return self.takes

    def __getattr__(self, name: str) -> Any:
        def tell(*values: Any) -> None:
            self.told.append((name, *values))
            self.times.append(self._kernel.now_ps)

        return tell

    def named(self, name: str) -> list[list[Any]]:
        return [values for told, *values in self.told if told == name]


@pytest.fixture
def build():
    """Build a link of two recorded sides, and start it."""

    def make(writes: Any = (("pim.CONTROL", {}),)) -> SimpleNamespace:
        kernel = Kernel()
        engine = Watched(make_engine("ahasd", PARAMS, "golden"))
        top = AhasdTop(engine, PARAMS, kernel, PIM, NPU, skip=True)
        link = HardwareLink(top, kernel, PIM, NPU, writes)
        pim: Any = Side(kernel)
        npu: Any = Side(kernel)
        link.connect(pim, npu)
        ready: list[int] = []
        link.boot(lambda: ready.append(len(engine.moved["aw"])))
        kernel.run()
        return SimpleNamespace(
            kernel=kernel, engine=engine, top=top, link=link, pim=pim, npu=npu, ready=ready
        )

    return make


def batch(number, *tokens, epoch=0, branch=0):
    drafts = [DraftToken(token, 1.0, 0.5, 0.5, 0.25) for token in tokens]
    return Batch(number, epoch, branch, 0, drafts)


def offer(made, *batches):
    for each in batches:
        made.link.offer(each)
        made.kernel.run()


def tell(made, *arguments, pass_ps=None, context=0):
    made.link.tell(Verdict(*arguments), pass_ps=pass_ps, context=context)
    made.kernel.run()


REPORT = (1, 6, 5, 1, 1, 1, 1, 18, 32, 16)
"""Bits of event, batch, accepted, full, void, last, whether a token is next, that token, NPU cycles
and KV length."""


def fields(payload, *widths):
    """Take a payload apart, lowest field first."""
    found = []
    for width in widths:
        found.append(payload & (1 << width) - 1)
        payload >>= width
    assert payload == 0
    return found


def test_registers_are_written_in_order_and_the_last_response_starts_the_run(build):
    made = build(
        [("pim.TVC_MAX_LENGTH", {"value": 5}), *MASKS, ("pim.CONTROL", {"edc_explore": 3})]
    )
    assert made.ready == [4]
    assert made.engine.moved["aw"] == [
        encode(name)[0]
        for name in ("pim.TVC_MAX_LENGTH", "pim.GTSU_DLM_MASK", "pim.GTSU_TLM_MASK", "pim.CONTROL")
    ]
    assert [word & 0xFFFF_FFFF for word in made.engine.moved["w"]] == [5, 1, 2, 0b0_1111]


def test_a_batch_is_granted_and_comes_whole_and_the_npu_learns_that_no_more_is_there(build):
    made = build()
    first = batch(0, 70, 71, 72)
    offer(made, first)
    assert made.pim.told == [("on_decision", True, "predicted"), ("proceed",)]
    assert made.npu.told == [("on_batch", first), ("on_quiet",)]
    # The next cycle's word was waited for.
    assert made.npu.times[1] - made.npu.times[0] == NPU.period_ps


def test_branch_and_epoch_of_a_batch_are_on_the_wires_by_their_low_bits(build):
    made = build()
    made.link.offer(batch(65, 70, 71, epoch=16, branch=18))
    made.kernel.run()
    header, *tokens = made.engine.moved["draft"]
    # Kind, epoch, batch, branch and length, in the room of a token; the entropy of 1 nat, Q4.12.
    assert fields(header, 2, 4, 6, 4, 8, 16) == [0, 0, 1, 2, 2, 4096]
    assert [fields(token, 2, 4, 18) for token in tokens] == [[1, 0, 70], [1, 0, 71]]


def test_batches_that_come_one_behind_the_other_are_taken_into_one_pass(build):
    made = build()
    taken, first, second = (batch(number, 70 + number) for number in range(3))
    offer(made, taken)
    made.link.start_pass([taken], 10)
    made.npu.told.clear()
    offer(made, first, second)
    assert made.npu.told == []
    made.link.open()
    made.kernel.run()
    assert made.npu.told == [("on_batch", first), ("on_batch", second), ("on_quiet",)]


def test_a_batch_that_does_not_fit_waits_behind_its_header(build):
    made = build()
    first, second = batch(0, 70), batch(1, 71, 72)
    offer(made, first)
    made.npu.takes = False
    made.npu.told.clear()
    offer(made, second)
    assert made.npu.told == [("on_quiet",)]
    made.link.start_pass([first], 10)
    made.kernel.run()
    tell(made, first, "full", 1, None, pass_ps=5000, context=10)
    made.npu.takes = True
    assert made.npu.told == [("on_quiet",)]
    made.link.open()
    made.kernel.run()
    assert made.npu.told[1:] == [("on_batch", second), ("on_quiet",)]
    # Held no longer: opened again, it does not come again, and does not hold up what comes.
    made.link.start_pass([second], 10)
    made.link.open()
    made.link.cut(second, 1, 1)
    made.kernel.run()
    assert made.npu.told[3:] == [("on_cut", second, 1, 1), ("on_quiet",)]


def test_nothing_comes_and_nobody_is_told_of_quiet_during_a_pass(build):
    made = build()
    first, second = batch(0, 70), batch(1, 71, 72)
    offer(made, first)
    made.npu.told.clear()
    made.link.start_pass([first], 10)
    made.kernel.run()
    offer(made, second)
    assert made.npu.told == []
    assert made.pim.named("on_taken") == [[first]]


def test_a_cut_waits_for_the_end_of_the_pass_and_what_comes_behind_it_is_of_one_go(build):
    made = build()
    first, second, third = (batch(number, 70 + number, 80) for number in range(3))
    offer(made, first)
    made.link.start_pass([first], 10)
    made.npu.told.clear()
    offer(made, second)
    made.link.cut(first, 1, 1)
    made.kernel.run()
    offer(made, third)
    assert made.npu.told == []
    made.link.open()
    made.kernel.run()
    assert made.npu.told == [
        ("on_batch", second),
        ("on_cut", first, 1, 1),
        ("on_batch", third),
        ("on_quiet",),
    ]


def test_a_cut_that_comes_first_waits_for_the_end_of_the_pass_too(build):
    made = build()
    first = batch(0, 70)
    offer(made, first)
    made.link.start_pass([first], 10)
    made.npu.told.clear()
    made.link.cut(first, 0, 1)
    made.kernel.run()
    assert made.npu.told == []
    made.link.open()
    made.kernel.run()
    assert made.npu.told == [("on_cut", first, 0, 1), ("on_quiet",)]


def test_the_last_batch_of_a_pass_is_the_one_that_the_start_names(build):
    made = build()
    both = [batch(0, 70), batch(1, 71)]
    offer(made, *both)
    made.link.start_pass(both, 70_000)
    made.kernel.run()
    assert made.pim.named("on_taken") == [[both[1]]]
    # The KV length is the largest that fits.
    start = made.engine.moved["feedback_in"][-1]
    assert fields(start, *REPORT) == [0, 1, 0, 0, 0, 0, 0, 0, 0, 65_535]


def test_a_pass_that_begins_within_the_waited_cycle_is_no_time_for_quiet(build):
    made = build()
    first = batch(0, 70)
    made.npu.__dict__["on_batch"] = lambda each: made.link.start_pass([each], 10)
    offer(made, first)
    assert made.npu.named("on_quiet") == []


def test_numbers_of_batches_wrap_around(build):
    made = build()
    for number in range(61, 68):
        each = batch(number, 70 + number)
        offer(made, each)
        tell(made, each, "full", 1, None)
        assert made.npu.named("on_batch")[-1][0] is each
        assert made.pim.named("on_verdict")[-1][0].batch is each


def test_epochs_wrap_around_and_a_stale_batch_is_dropped(build):
    made = build()
    for epoch in range(18):
        first, second = (batch(2 * epoch + i, 70, epoch=epoch) for i in (0, 1))
        offer(made, first, second)
        tell(made, first, "rejected", 0, 99)
        # It makes room for the next epoch: both were granted and both have been taken.
        assert made.npu.named("on_batch")[-2:] == [[first], [second]]
        assert made.pim.named("on_verdict")[-1] == [Verdict(first, "rejected", 0, 99)]
    # The header of 37 is on offer when the epoch ends, and is not withdrawn; 38 goes.
    taken, shown, stale = (batch(36 + i, 70, epoch=18) for i in range(3))
    fresh = batch(39, 71, epoch=19)
    offer(made, taken)
    made.link.start_pass([taken], 10)
    offer(made, shown, stale)
    tell(made, taken, "rejected", 0, 99)
    offer(made, fresh)
    made.link.open()
    made.kernel.run()
    assert made.npu.named("on_batch")[-3:] == [[taken], [shown], [fresh]]


@pytest.mark.parametrize(("last", "branch"), [(0, 1), (14, 17), (30, 33), (31, 46)])
def test_a_cut_announces_the_branch_behind_it_though_the_wires_have_its_low_bits(
    build, last, branch
):
    made = build()
    first = batch(0, 70, 71, 72, branch=last)
    offer(made, first)
    made.npu.told.clear()
    made.link.cut(first, 2, branch)
    made.kernel.run()
    assert made.npu.told == [("on_cut", first, 2, branch), ("on_quiet",)]


def test_a_cut_of_a_later_epoch_counts_in_that_epoch(build):
    made = build()
    first = batch(0, 70)
    offer(made, first)
    tell(made, first, "rejected", 0, 99)
    second = batch(1, 71, epoch=1)
    offer(made, second)
    made.link.cut(second, 0, 3)
    made.kernel.run()
    assert made.npu.named("on_cut") == [[second, 0, 3]]


@pytest.mark.parametrize(
    ("verdict", "flags"),
    [
        (("full", 2, 0), (1, 0, 1)),
        (("full", 2, None), (1, 0, 0)),
        (("void", 1, None), (0, 1, 0)),
        (("rejected", 1, 88), (0, 0, 1)),
    ],
)
@pytest.mark.parametrize("pass_ps", [None, 6001])
def test_a_verdict_arrives_as_it_was_given(build, verdict, flags, pass_ps):
    made = build()
    first = batch(0, 70, 71)
    offer(made, first)
    tell(made, first, *verdict, pass_ps=pass_ps, context=40)
    assert made.pim.named("on_verdict") == [[Verdict(first, *verdict)]]
    full, void, has_next = flags
    # 6001 ps are 7 cycles of the NPU, begun ones counted, and 5 of the PIM.
    (report,) = made.engine.moved["feedback_in"]
    last, npu_cycles = (0, 0) if pass_ps is None else (1, 7)
    assert fields(report, *REPORT) == [
        *(1, 0, verdict[1], full, void, last, has_next),
        *(verdict[2] or 0, npu_cycles, 40),
    ]
    told = made.link.measurements.records
    assert told == ([] if pass_ps is None else [(Table.NVCT, 5, 40)])


def test_a_measurement_counts_begun_cycles_and_stays_within_the_wires(build):
    made = build()
    link = made.link
    link.measure_draft(2501, 4)
    link.measure_draft(2**32 * 1250, 70_000)
    made.kernel.run()
    assert [fields(each, 2, 32, 16) for each in made.engine.moved["measure"]] == [
        [1, 3, 4],
        [1, 2**32 - 1, 65_535],
    ]
    assert link.measurements.records == [(Table.PDCT, 3, 4), (Table.PDCT, 2**32, 70_000)]
    first = batch(0, 70)
    offer(made, first)
    tell(made, first, "full", 1, None, pass_ps=2**33 * 1000, context=10)
    assert fields(made.engine.moved["feedback_in"][-1], *REPORT)[-2] == 2**32 - 1


def test_a_question_stays_within_the_wires(build):
    made = build()
    made.link.ask(branch=18, epoch=17, position=131_077, overhead=40, available=50)
    made.kernel.run()
    (request,) = made.engine.moved["request"]
    assert fields(request, 4, 4, 16, 4, 5, 5) == [1, 2, 5, 1, 31, 31]
    # No pass is under way: there is nothing to pre-verify in.
    assert made.pim.named("on_answer") == [[0]]


def test_the_numbers_of_tasks_wrap_around(build):
    made = build(ROOMY)
    for turn in range(1, 19):
        assert made.link.begin_draft() is False
        made.kernel.run()
        made.link.end_draft()
        made.kernel.run()
        assert len(made.pim.named("on_draft_issue")) == turn
    assert made.engine.moved["done"] == [turn % 16 for turn in range(1, 19)]


def ask(made, available):
    made.link.ask(branch=0, epoch=0, position=0, overhead=0, available=available)
    made.kernel.run()


def test_the_task_of_a_question_that_was_overtaken_ends_at_once(build):
    made = build(ROOMY)
    first = batch(0, 70)
    offer(made, first)
    made.link.start_pass([first], 50)
    made.link.begin_draft()
    made.kernel.run()
    ask(made, 3)
    ask(made, 2)
    assert made.pim.named("on_answer") == [[3], [2]]
    assert made.pim.named("on_preverify_issue") == []
    made.link.end_draft()
    made.kernel.run()
    # Draft task 1 has ended and, by itself, the first question's task 2; task 3 runs.
    assert made.engine.moved["done"] == [1, 2]
    assert made.pim.named("on_preverify_issue") == [[]]
    made.link.end_preverify(2500, 2)
    made.link.begin_draft()
    made.kernel.run()
    assert made.engine.moved["done"] == [1, 2, 3]
    assert len(made.pim.named("on_draft_issue")) == 2
    assert made.link.measurements.records == [(Table.PVCT, 2, 2)]


def test_a_pre_verification_that_was_broken_off_is_not_measured(build):
    made = build(ROOMY)
    first = batch(0, 70)
    offer(made, first)
    made.link.start_pass([first], 50)
    made.kernel.run()
    ask(made, 3)
    made.link.end_preverify(0, None)
    made.kernel.run()
    assert made.engine.moved["done"] == [1]
    assert made.engine.moved["measure"] == []


def test_the_start_of_a_sequence_is_a_command_to_the_edc(build):
    made = build()
    made.link.start_sequence()
    made.kernel.run()
    assert made.engine.moved["aw"][-1] == 0x1004
    assert made.engine.moved["w"][-1] & 0xFFFF_FFFF == 1


def test_seven_batches_without_a_verdict_leave_no_room(build):
    made = build()
    batches = [batch(number, 70) for number in range(7)]
    for each in batches:
        assert made.link.has_room
        offer(made, each)
    assert not made.link.has_room
    tell(made, batches[0], "full", 1, None)
    assert made.link.has_room
    assert made.pim.told[-1] == ("on_room",)


def test_a_word_that_changed_on_its_way_stops_the_run(build):
    made = build()
    first = batch(0, 70, 71)
    made.link.offer(first)
    first.tokens[1] = first.tokens[0]
    with pytest.raises(AssertionError, match="a token of batch 0 changed"):
        made.kernel.run()
    made = build()
    made.link.offer(first)
    first.tokens.pop()
    with pytest.raises(AssertionError, match="the header of batch 0 changed on its way"):
        made.kernel.run()


def task(time_ps):
    return Task(phases=(Phase(name="all", memory_ps=time_ps),), events=Events())


class Devices:
    """Times that tell their arguments: thousands of picoseconds."""

    def verify(self, rows, context):
        return task(1000 * (rows * 1000 + context) + 1)

    def draft(self, context):
        return task(1000 * (50 + context))

    def preverify(self, rows, context):
        return task(1000 * (500 * rows + context) + 1)


RANKS: Any = SimpleNamespace(dlm_mask=0b0011, tlm_mask=0b1100)


def written(**overrides):
    devices: Any = Devices()
    return registers(load_config("test", overrides), devices, RANKS)


def value(found, name):
    """Return a field of the only write of a register; a flag of `pim.CONTROL` by `.name`."""
    register, _, field = name.partition(".")
    (fields,) = [fields for each, fields in found if each == f"pim.{register}"]
    return fields[field or "value"]


def test_every_setting_lands_in_its_register():
    found = written(
        **{
            "hardware.configuration": "small",
            "edc.boundaries": "linear10",
            "edc.recheck": False,
            "edc.explore": 3,
            "tvc.affine_npu": True,
            "tvc.max_length": 5,
            "tvc.slowdown_cycles": 11,
            "tvc.cold_preverify_cycles": 12,
            "gtsu.switch_cycles": 13,
            "gtsu.drain_max_cycles": 14,
            "gtsu.preempt": True,
        }
    )
    # Eight buckets of 10 nat, Q4.12; an NPU cycle is 0.8 of a PIM cycle, Q1.15.
    assert [value(found, f"EDC_BOUNDARY_{i}") for i in range(7)] == [
        5120 * (i + 1) for i in range(7)
    ]
    assert value(found, "TVC_NPU_RATIO") == round(0.8 * 2**15)
    for name, expected in {
        "TVC_SWITCH_CYCLES": 13,
        "TVC_SLOWDOWN_CYCLES": 11,
        "TVC_MAX_LENGTH": 5,
        "TVC_COLD_CYCLES": 12,
        "GTSU_DLM_MASK": 0b0011,
        "GTSU_TLM_MASK": 0b1100,
        "GTSU_SWITCH_CYCLES": 13,
        "GTSU_DRAIN_MAX": 14,
    }.items():
        assert value(found, name) == expected, name
    assert found[-1] == (
        "pim.CONTROL",
        {
            "edc_enable": 1,
            "edc_recheck": 0,
            "edc_explore": 3,
            "tvc_affine_npu": 1,
            "tvc_affine_preverify": 0,
            "gtsu_preempt": 1,
        },
    )
    assert "pim.TVC_PRELOAD" not in dict(found)
    affine = written(**{"tvc.affine_preverify": True})
    assert value(affine, "CONTROL.tvc_affine_preverify") == 1
    assert value(affine, "CONTROL.tvc_affine_npu") == 0


def test_without_pre_verification_no_rank_is_switched_and_without_edc_it_is_off():
    for scheme, edc in (("async", 0), ("async-edc", 1)):
        found = written(scheme=scheme, **{"tvc.preload": True})
        assert value(found, "GTSU_TLM_MASK") == 0
        assert value(found, "CONTROL.edc_enable") == edc
        assert "pim.TVC_PRELOAD" not in dict(found)
    everywhere = written(scheme="async", **{"platform.dlm_ranks": "all"})
    assert value(everywhere, "GTSU_DLM_MASK") == 0xFFFF


def test_the_profile_is_what_the_devices_take_cycles_first():
    found = written(**{"tvc.preload": True})
    start = [name for name, _ in found].index("pim.TVC_PRELOAD_CYCLES")
    profile = found[start:-1]
    assert [name for name, _ in profile] == ["pim.TVC_PRELOAD_CYCLES", "pim.TVC_PRELOAD"] * 12
    rows = [
        (fields["table"], before["value"], fields["length"])
        for (_, before), (_, fields) in zip(profile[::2], profile[1::2], strict=True)
    ]
    assert rows == [
        # Passes of 4 rows, NPU cycles of 1000 ps; a begun one counts.
        *((0, 4000 + kv + 1, kv) for kv in (64, 128, 256, 512)),
        # Steps of 114 ns and passes of 500 n + 64 ns and a bit, PIM cycles of 1250 ps.
        *((1, -(-114 * n * 4 // 5), n) for n in (1, 2, 4, 8)),
        *((2, (500 * n + 64) * 4 // 5 + 1, n) for n in (1, 2, 4, 8)),
    ]


@pytest.mark.parametrize("scheme", ["async-edc", "ahasd"])
def test_a_run_outlives_all_numbers_on_the_wires(build_trace, scheme):
    # Every second token is drafted wrong: more than 16 epochs, and more than 64 batches.
    targets = [t % 3 for t in range(48)]
    rollouts: list[list[int]] = []
    for t in reversed(range(48)):
        wrong = t % 2
        behind = [2, 2, 2] if wrong or not rollouts else rollouts[0][:3]
        rollouts.insert(0, [(targets[t] + wrong) % 3, *behind])
    config = load_config(
        "test",
        {
            "scheme": scheme,
            "backend.ahasd": "golden",
            "hardware.configuration": "small",
            "memory.fidelity": "analytic",
            "draft.rule": "fixed",
            "draft.k": 1,
            "workload.tokens": 48,
        },
    )
    _, ranks = prepare(config)
    outcome = simulate(config, build_trace([(targets, rollouts)]), ranks)
    assert outcome.ledger.judged_rejected > 16
    assert outcome.counters["pim.BATCHES_OFFERED"] > 64
