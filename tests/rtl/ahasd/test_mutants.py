# SPDX-License-Identifier: Apache-2.0
"""Hand-made faults in the top, each caught by a use of it, with golden beside it."""

import sys
from dataclasses import replace
from importlib.resources import files
from types import ModuleType

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.host.registers import REGISTERS
from ahasd.rtl.queues.golden import Report
from ahasd.rtl.queues.params import Event
from ahasd.rtl.tvc.params import Table
from ahasd.sim.pysim import PysimEngine

pytestmark = pytest.mark.full

# before, after, how it is used
MUTANTS = {
    "a stale batch goes to the EDC": (
        "with m.If(~self._delivered & ~fresh):",
        "with m.If(0):",
        "traffic",
    ),
    "a batch does not wait for room": (
        "~verdict.valid & self.room):",
        "~verdict.valid):",
        "traffic",
    ),
    "a batch does not wait for the verdict before it": (
        "with m.Elif(~self.feedback.valid & ~verdict.valid & self.room):",
        "with m.Elif(~self.feedback.valid & self.room):",
        "traffic",
    ),
    "feedback on offer is withdrawn for a batch": (
        "with m.Elif(~self.feedback.valid & ~verdict.valid",
        "with m.Elif(~self._delivered & ~verdict.valid",
        "traffic",
    ),
    "feedback comes between offer and decision": (
        "                & (self._state != State.AWAIT)\n",
        "",
        "offer",
    ),
    "feedback does not wait for the verdict before it": (
        "                & ~verdict.valid\n                & ~npu_event.valid",
        "                & ~npu_event.valid",
        "traffic",
    ),
    "verdicts go to an EDC that is off": (
        "with m.If(judged & self.host.control.edc_enable):",
        "with m.If(judged):",
        "without_edc",
    ),
    "a void verdict is a rejection": (
        "Mux(report.void, Verdict.VOID, report.full)",
        "Mux(report.void, Verdict.REJECTED, report.full)",
        "verdicts",
    ),
    "the start of a pass is its end": (
        "Mux(starts, NpuKind.START, NpuKind.END)",
        "Mux(starts, NpuKind.END, NpuKind.START)",
        "verdicts",
    ),
    "a word out of place is a word like others": (
        "m.d.pim += word.kind.eq(Kind.ACK)  # which the queues refuse",
        "pass",
        "disorder",
    ),
    "a batch keeps the tokens of the one before": (
        "m.d.comb += write.en.eq(1)",
        "m.d.comb += write.en.eq(left != 1)",
        "traffic",
    ),
    "an entry waits in no register": (
        "self.answer.valid.eq(tvc.decision.valid & ~entry.valid)",
        "self.answer.valid.eq(tvc.decision.valid)",
        "full_queue",
    ),
    "an answer of no tokens is inserted": (
        "inserts.eq(answered & length.any())",
        "inserts.eq(answered)",
        "refusal",
    ),
    "a request is asked twice": (
        "tvc.request.valid.eq(asking & ~asked)",
        "tvc.request.valid.eq(asking)",
        "refusal",
    ),
    "draft tasks go before pre-verifications": (
        "gtsu.task.payload.id.eq(Mux(task.valid, task.payload, self.task.payload))",
        "gtsu.task.payload.id.eq(Mux(self.task.valid, self.task.payload, task.payload))",
        "pre_verification",
    ),
    "a wide register wraps in a narrow unit": (
        "tvc.max_length.eq(saturate(control.tvc_max_length, params.tvc.tokens_width))",
        "tvc.max_length.eq(control.tvc_max_length)",
        "pre_verification",
    ),
    "a command is given again and again": (
        "m.d.pim += held.valid.eq(~held.ready)",
        "m.d.pim += held.valid.eq(1)",
        "commands",
    ),
    "idle with a task on its way": (
        "full = Cat(held, verdict.valid, npu_event.valid, asking, entry.valid, task.valid)",
        "full = Cat(held, verdict.valid, npu_event.valid, asking, entry.valid)",
        "pre_verification",
    ),
    "idle npu with an event to count": (
        "                & ~self.host.npu_events.as_value().any()\n",
        "",
        "traffic",
    ),
    "tokens of stale batches are counted": (
        "self._events.tokens_pushed.eq(passed)",
        "self._events.tokens_pushed.eq(1)",
        "full_memory",
    ),
    "a void verdict is counted as a rejection": (
        "fed & (report.event == Event.VERDICT) & ~report.full & ~report.void",
        "fed & (report.event == Event.VERDICT) & ~report.full",
        "verdicts",
    ),
}


def read_counters(top):
    for register in REGISTERS:
        if register.kind.value == "counter":
            top.registers.read(register.name)


def without_edc(top):
    top.registers.write("pim.CONTROL", edc_enable=0)
    top.push(1)
    top.verdict(full=True)
    top.run()
    top.errors()


def offer(top):
    top.ready["decision"] = False
    top.push(1)
    top.run()
    top.verdict(full=True)
    top.run()


def verdicts(top):
    top.report(Report(Event.START, kv_length=1))
    for i in range(2):
        top.push(1, batch=i)
    top.run()
    top.verdict(void=True)
    top.run()
    top.registers.read("pim.STATUS")
    top.verdict(full=True, last=True)
    top.run()
    read_counters(top)
    top.ask()


def full_memory(top):
    """Hold a batch up after its grant, by cuts that the NPU does not take, and end its epoch."""
    top.ready["batch_out"] = False
    for _ in range(top.params.queues.draft_words):
        top.cut()
    top.push(1, 2)
    top.until("decision")
    top.verdict()
    top.until("feedback")
    top.ready["batch_out"] = True
    top.run()
    read_counters(top)


def commands(top):
    top.push(1)
    top.run()
    top.registers.write("pim.COMMAND", edc_start_sequence=1)
    top.push(1)
    top.run()
    top.registers.read("pim.STATUS")


def refusal(top):
    top.set_masks()
    top.ask()
    top.run()


def pre_verification(top):
    """Two of them, with the largest length that a register holds and the unit does not."""
    top.set_masks()
    top.registers.write("pim.TVC_MAX_LENGTH", value=4)
    top.registers.write("pim.TVC_SWITCH_CYCLES", value=1)
    top.preload(Table.NVCT, 255, 4)
    top.preload(Table.PDCT, 4, 2)
    top.preload(Table.PVCT, 4, 2)
    top.queues["task"].extend([1, 1, 2, 2])  # more than the GTSU holds
    for _ in range(2):
        top.report(Report(Event.START, kv_length=4))
        top.until("feedback")
        top.ask(task=3, available=3)
        top.run()
        top.queues["done"].append(1)
        top.run()


def full_queue(top):
    """One more than the queue and the register before it hold."""
    top.ready["preverify"] = False
    pre_verification(top)
    top.report(Report(Event.START, kv_length=4))
    top.until("feedback")
    top.ask(available=3)
    top.queues["request"].append(top.moved["request"][0])
    top.run(4 * top.params.tvc.decision_cycles)


@pytest.fixture
def uses(make_world, random_pins, top_type, clocks):
    """Ways to use a top, by name."""

    def traffic(compared):
        world = make_world(compared, "test", 2)
        world.begin()
        world.run(600)

    def disorder(compared):
        pins = random_pins(UNITS["ahasd"].configurations["test"], 2)
        seen = {}
        for _ in range(1500):
            given, mask = pins.next(seen)
            seen = compared.step(given, mask, 0)
            pins.epoch = seen["epoch_npu"]

    def on(scenario):
        params = UNITS["ahasd"].configurations["test"]
        return lambda compared: scenario(top_type(compared, params, clocks()))

    scenarios = (
        offer,
        without_edc,
        verdicts,
        full_memory,
        commands,
        refusal,
        pre_verification,
        full_queue,
    )
    return {"traffic": traffic, "disorder": disorder} | {
        scenario.__name__: on(scenario) for scenario in scenarios
    }


# One of each use is quick enough for every run of the tests.
QUICK = {use: name for name, (*_, use) in reversed(MUTANTS.items())}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK.values() else pytest.mark.slow)
        for name in MUTANTS
    ],
)
def test_a_mutant_of_the_hardware_is_caught(name, both, uses, monkeypatch):
    before, after, use = MUTANTS[name]
    source = (files("ahasd.rtl.ahasd") / "unit.py").read_text()
    assert source.count(before) == 1, "the mutant no longer fits the source"
    module = ModuleType("ahasd_mutant")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(source.replace(before, after), module.__name__, "exec"), module.__dict__)
    unit = replace(UNITS["ahasd"], hardware="ahasd_mutant:AhasdUnit")
    mutant = PysimEngine(unit, unit.configurations["test"])
    with pytest.raises(AssertionError):
        uses[use](both("test", mutant))


@pytest.mark.parametrize("use", sorted({use for *_, use in MUTANTS.values()}))
def test_the_hardware_itself_is_not(use, both, uses):
    uses[use](both("test"))
