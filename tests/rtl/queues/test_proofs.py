# SPDX-License-Identifier: Apache-2.0
"""Proofs of the queue controllers, and faults that they must refute."""

from functools import partial

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.lib.properties import Settling
from ahasd.rtl.queues.properties import (
    INPUTS,
    PROOFS,
    ROUNDS,
    Admission,
    Credits,
    Crossing,
    Delivery,
    Epochs,
    Flushes,
    Tasks,
)

pytestmark = pytest.mark.formal

UNIT = "queues"
STILL = f"idle without input for {ROUNDS} rounds, no state changes"
settles = partial(Settling, inputs=INPUTS, rounds=ROUNDS)

# Fault: (file, text, replacement, properties, those of them that it violates).
MUTANTS = {
    "words enter a full queue": (
        "unit",
        "source.ready.eq(fifo.w_rdy)",
        "source.ready.eq(1)",
        Crossing,
        [
            f"{queue} queue: {name}"
            for queue in ("draft", "feedback")
            for name in (
                "it holds no more than its depth",
                "there is room but for what had not left two edges of the writer ago",
            )
        ],
    ),
    "the last word stays in its queue": (
        "unit",
        "sink.valid.eq(fifo.r_rdy)",
        "sink.valid.eq(fifo.r_level > 1)",
        Crossing,
        [
            f"{queue} queue: what entered two edges of the reader ago is on offer, and no more"
            for queue in ("draft", "feedback")
        ],
    ),
    "words leave that nobody took": (
        "unit",
        "fifo.r_en.eq(sink.ready & fifo.r_rdy)",
        "fifo.r_en.eq(fifo.r_rdy)",
        Crossing,
        [
            f"{queue} queue: what enters leaves once, in its place, unchanged"
            for queue in ("draft", "feedback")
        ],
    ),
    "batches of another epoch enter": (
        "pim_side",
        "passes.eq(good & ~stale),\n            ]",
        "passes.eq(good),\n            ]",
        Admission,
        ["words of this epoch and in their place enter the draft queue, no others"],
    ),
    "a word changes as it enters": (
        "pim_side",
        "self.words.payload.eq(word),",
        "self.words.payload.eq(word.as_value() ^ 4),",
        Admission,
        ["a word enters the draft queue unchanged"],
    ),
    "the acknowledge breaks into a batch": (
        "pim_side",
        "acknowledges.eq(ack_pending & ~left.any())",
        "acknowledges.eq(ack_pending)",
        Admission,
        ["the draft queue gets batches, and cuts and acknowledges between them"],
    ),
    "a bad word is dropped in silence": (
        "pim_side",
        "m.d.pim += self.bad_word.eq(1)",
        "pass",
        Admission,
        ["bad_word tells that a word came that is no part of a batch"],
    ),
    "a header enters without a credit": (
        "pim_side",
        "may_enter.eq(~acknowledges & (~is_header | has_credit))",
        "may_enter.eq(~acknowledges)",
        Admission,
        ["a header enters only with a credit"],
    ),
    "the same, seen at the credits": (
        "pim_side",
        "may_enter.eq(~acknowledges & (~is_header | has_credit))",
        "may_enter.eq(~acknowledges)",
        Credits,
        [
            "credits never exceed the depth",
            "no more batches are queued than the depth",
            "credits and queued batches never exceed the depth",
        ],
    ),
    "credits are not counted": (
        "pim_side",
        "m.d.pim += pushed.eq(pushed + 1)",
        "pass",
        Admission,
        ["credits are the depth less the batches that entered and are not known to be freed"],
    ),
    "counters cross without their Gray code": (
        "unit",
        "m.d.npu += coded.eq(source ^ source[1:])",
        "m.d.npu += coded.eq(source)",
        Credits,
        ["credits and batches queued or on their way back as credits are the depth"],
    ),
    "tokens of dropped batches wait": (
        "pim_side",
        "                with m.If(passes):\n                    m.d.pim += pushed_tokens",
        "                with m.If(1):\n                    m.d.pim += pushed_tokens",
        Admission,
        ["waiting_tokens are the tokens that entered and are not known to have left"],
    ),
    "an acknowledge names the old epoch": (
        "pim_side",
        "self.words.payload.epoch.eq(self.epoch)",
        "self.words.payload.epoch.eq(self.epoch - 1)",
        Admission,
        ["an acknowledge answers the end of an epoch and names the next"],
    ),
    "the acknowledge is never sent": (
        "pim_side",
        "ack_pending.eq(1)",
        "ack_pending.eq(0)",
        Admission,
        ["an acknowledge that is due waits for the end of a batch alone"],
    ),
    "the acknowledge is sent for ever": (
        "pim_side",
        "m.d.pim += ack_pending.eq(0)",
        "pass",
        Epochs,
        ["acknowledge: there is one at a time"],
    ),
    "a void verdict ends the epoch": (
        "pim_side",
        "~entry.report.full & ~entry.report.void",
        "~entry.report.full",
        Admission,
        ["a rejection that is delivered ends the PIM's epoch"],
    ),
    "the same, seen from both sides": (
        "pim_side",
        "~entry.report.full & ~entry.report.void",
        "~entry.report.full",
        Epochs,
        ["the NPU is one epoch ahead of the PIM at most, and only while flushing"],
    ),
    "feedback waits for the acknowledge": (
        "pim_side",
        "self.feedback_out.valid.eq(self.entries.valid & current)",
        "self.feedback_out.valid.eq(self.entries.valid & current & ~ack_pending)",
        Admission,
        ["feedback is delivered if it is of this epoch, whatever the draft queue does"],
    ),
    "the npu side drops no tokens": (
        "npu_side",
        "dropping.eq(~fresh)",
        "dropping.eq(0)",
        Delivery,
        [
            "batches are delivered whole, with cuts between them, and no acknowledge",
            "a batch or cut is dropped if its epoch has ended before it is shown, and no other",
        ],
    ),
    "a shown header is withdrawn": (
        "npu_side",
        "fresh.eq(held | (word.epoch == self.epoch))",
        "fresh.eq(word.epoch == self.epoch)",
        Delivery,
        ["batch_out: an offer that is not taken stays, with its payload"],
    ),
    "a word that had to wait is delivered twice": (
        "npu_side",
        "self.words.ready.eq(self.batch_out.ready | ~delivers)",
        "self.words.ready.eq((self.batch_out.ready & ~held) | ~delivers)",
        Delivery,
        ["a word is delivered as it leaves, unchanged"],
    ),
    "dropping waits for the receiver": (
        "npu_side",
        "self.words.ready.eq(self.batch_out.ready | ~delivers)",
        "self.words.ready.eq(self.batch_out.ready)",
        Delivery,
        ["what is dropped holds nothing up"],
    ),
    "a batch frees its slot with every token": (
        "npu_side",
        "with m.If(~left[1:].any()):",
        "with m.If(1):",
        Delivery,
        ["a slot is freed as the last token of its batch leaves"],
    ),
    "dropped tokens are not counted": (
        "npu_side",
        "self.popped.eq(self.popped + 1)",
        "self.popped.eq(self.popped + ~dropping)",
        Delivery,
        ["tokens that leave are counted"],
    ),
    "a rejection ends the epoch before it is taken": (
        "npu_side",
        "with m.If(self.feedback_in.valid & self.feedback_in.ready & rejects)",
        "with m.If(self.feedback_in.valid & rejects)",
        Delivery,
        ["a rejection that is taken ends the NPU's epoch"],
    ),
    "a rejection does not begin a flush": (
        "npu_side",
        "self.flushing.eq(1)",
        "self.flushing.eq(0)",
        Delivery,
        [
            "flushing lasts from a rejection to its acknowledge",
            "no token of an older epoch is shown after its flush is acknowledged",
        ],
    ),
    "the same, seen at the pins": (
        "npu_side",
        "self.flushing.eq(1)",
        "self.flushing.eq(0)",
        Flushes,
        ["no header or cut of an older epoch is shown after its flush is acknowledged"],
    ),
    "a flush begins before the last is acknowledged": (
        "npu_side",
        "may_enter.eq(~(rejects & self.flushing))",
        "may_enter.eq(1)",
        Delivery,
        ["no rejection is taken while flushing"],
    ),
    "the same, seen from both sides of the feedback queue": (
        "npu_side",
        "may_enter.eq(~(rejects & self.flushing))",
        "may_enter.eq(1)",
        Epochs,
        ["rejection: there is one at a time", "no epoch ends while an acknowledge is due"],
    ),
    "a cut ends a flush": (
        "npu_side",
        "with m.Elif(is_ack):",
        "with m.Else():",
        Epochs,
        [
            "a rejection is on its way only while flushing",
            "an acknowledge is on its way only while flushing, and in the new epoch",
        ],
    ),
    "a rejection that stalls enters its queue": (
        "npu_side",
        "self.entries.valid.eq(self.feedback_in.valid & may_enter)",
        "self.entries.valid.eq(self.feedback_in.valid)",
        Delivery,
        ["feedback enters its queue as it is taken, unchanged, with the epoch"],
    ),
    "a rejection is of the epoch that it begins": (
        "npu_side",
        "self.entries.payload.epoch.eq(self.epoch)",
        "self.entries.payload.epoch.eq(self.epoch + rejects)",
        Flushes,
        ["no feedback is dropped: what leaves its queue is of the PIM's epoch"],
    ),
    "stale tasks come out": (
        "pim_side",
        "self.preverify_out.valid.eq(fifo.r_rdy & current)",
        "self.preverify_out.valid.eq(fifo.r_rdy)",
        Tasks,
        ["tasks of this epoch are offered at once, others are dropped"],
    ),
    "stale tasks wait for the receiver": (
        "pim_side",
        "fifo.r_en.eq(fifo.r_rdy & (self.preverify_out.ready | ~current))",
        "fifo.r_en.eq(fifo.r_rdy & self.preverify_out.ready)",
        Tasks,
        ["tasks are taken unless the queue is full"],
    ),
    "tasks leave that nobody took": (
        "pim_side",
        "fifo.r_en.eq(fifo.r_rdy & (self.preverify_out.ready | ~current))",
        "fifo.r_en.eq(fifo.r_rdy)",
        Tasks,
        ["what enters leaves the pre-verification queue once, in its place, unchanged"],
    ),
    "the pim side is idle with a task": (
        "pim_side",
        "& ~ack_pending & ~waiting)",
        "& ~ack_pending)",
        settles,
        [f"pim: {STILL}"],
    ),
    "the npu side is idle with a word": (
        "npu_side",
        "self.idle.eq(~self.words.valid)",
        "self.idle.eq(1)",
        settles,
        [f"npu: {STILL}"],
    ),
}


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_every_property_holds(proof, holds_as_recorded):
    holds_as_recorded(UNIT, proof)


# One fault of each class of properties is quick enough for every run of the tests.
QUICK = {properties: fault for fault, (*_, properties, _) in reversed(MUTANTS.items())}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=() if fault in QUICK.values() else pytest.mark.slow)
        for fault in MUTANTS
    ],
)
def test_a_fault_is_refuted(fault, mutant, refute):
    file, before, after, properties, names = MUTANTS[fault]
    refute(mutant(UNIT, before, after, file), properties, names)


def test_every_property_has_a_fault_that_violates_it(recorded):
    proved = {row["property"] for row in recorded(UNIT) if row["verdict"] != "reached"}
    assert proved == {name for *_, names in MUTANTS.values() for name in names}


def test_fewer_rounds_do_not_settle(refute):
    rounds = ROUNDS - 1
    names = [f"{each}: idle without input for {rounds} rounds, no state changes" for each in INPUTS]
    for result in refute(UNITS[UNIT], partial(Settling, inputs=INPUTS, rounds=rounds), names):
        assert all(flop.startswith("unit.") for flop in result.moved)
        assert any(".w_level" in flop for flop in result.moved)
