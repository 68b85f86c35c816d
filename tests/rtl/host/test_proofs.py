# SPDX-License-Identifier: Apache-2.0
"""Proofs of the host interface, and faults that they must refute."""

from functools import partial

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.host.properties import (
    INPUTS,
    PROOFS,
    ROUNDS,
    Answering,
    Crossing,
    Reading,
    Room,
    Serving,
)
from ahasd.rtl.lib.properties import Settling

pytestmark = pytest.mark.formal

UNIT = "host"
STILL = f"idle without input for {ROUNDS} rounds, no state changes"
LATE = "a request is answered within 3 cycles, beside those in which a unit does not take a command"
settles = partial(Settling, inputs=INPUTS, rounds=ROUNDS)

# Fault: (file, text, replacement, properties, those of them that it violates).
MUTANTS = {
    "a write waits for a read that is not taken": (
        "npu_side",
        "free & aw_full & w_full & ~self.b.valid",
        "free & aw_full & w_full & ~self.b.valid & ~self.r.valid",
        Serving,
        ["a write is served within 2 cycles, unless the other domain serves"],
    ),
    "a read waits for a write whose data do not come": (
        "npu_side",
        "ar_full & ~self.r.valid & ~write",
        "ar_full & ~self.r.valid & ~aw_full",
        Serving,
        ["a read is served within 2 cycles, unless the other domain serves"],
    ),
    "a write does not wait for its data": (
        "npu_side",
        "free & aw_full & w_full",
        "free & aw_full",
        Serving,
        [
            "b: no response without a write",
            "no write goes to the other domain before its address and data came",
        ],
    ),
    "reads are made up": (
        "npu_side",
        "free & ar_full & ~self.r.valid",
        "free & ~self.r.valid",
        Serving,
        ["r: no response without a read"],
    ),
    "a request falls on one that waits": (
        "npu_side",
        "source.ready.eq(~full)",
        "source.ready.eq(1)",
        Serving,
        ["no more than one request waits behind one whose response is not taken"],
    ),
    "a request goes while another is away": (
        "npu_side",
        "free.eq(~busy & self.requests.ready)",
        "free.eq(self.requests.ready)",
        Serving,
        ["no more than one request is in the other domain"],
    ),
    "answers to reads are left": (
        "npu_side",
        "self.answers.ready.eq(busy)",
        "self.answers.ready.eq(busy & writing)",
        Serving,
        ["an answer is taken at once"],
    ),
    "a read that waits goes before any write": (
        "npu_side",
        "write.eq(free & aw_full",
        "write.eq(free & ~ar_full & aw_full",
        Serving,
        ["no two reads are answered while a write waits"],
    ),
    "a response to a write is overwritten": (
        "npu_side",
        "aw_full & w_full & ~self.b.valid",
        "aw_full & w_full",
        Serving,
        ["b: an offer that is not taken stays, unchanged"],
    ),
    "a response to a read is overwritten": (
        "npu_side",
        "ar_full & ~self.r.valid & ~write",
        "ar_full & ~write",
        Serving,
        ["r: an offer that is not taken stays, unchanged"],
    ),
    "answers are made up": (
        "pim_side",
        "answering & ~pending.any() & ~record_pending",
        "~pending.any() & ~record_pending",
        Answering,
        ["no answer without a request"],
    ),
    "a request is taken before the last is answered": (
        "pim_side",
        "self.requests.ready.eq(~answering)",
        "self.requests.ready.eq(1)",
        Answering,
        ["requests are taken one at a time"],
    ),
    "a command is given for ever": (
        "pim_side",
        "pair & (pair - 1)",
        "pair",
        Answering,
        [
            LATE,
            "a command is given only if its bit was written, and once",
        ],
    ),
    "a measurement is given for ever": (
        "pim_side",
        "record_pending.eq(0)",
        "record_pending.eq(record_pending)",
        Answering,
        ["a measurement is given only if one was written, once"],
    ),
    "a command is answered before it is taken": (
        "pim_side",
        "answering & ~pending.any() & ~record_pending",
        "answering & ~record_pending",
        Answering,
        ["the answer to a command comes after it was given"],
    ),
    "a command changes as it is taken": (
        "pim_side",
        "offer.payload.eq(~pair[0])",
        "offer.payload.eq(~pair[0] & offer.ready)",
        Answering,
        [
            f"{unit}_command: an offer that is not taken stays, with its payload"
            for unit in ("edc", "tvc", "gtsu")
        ],
    ),
    "a measurement changes with the bus": (
        "pim_side",
        "self.tvc_record.payload.cycles.eq(bank.control[PRELOAD])",
        "self.tvc_record.payload.cycles.eq(bank.operand)",
        Answering,
        ["tvc_record: an offer that is not taken stays, with its payload"],
    ),
    "a carry is lost": (
        "bank",
        "counter[split:] + low[split]",
        "counter[split:]",
        Reading,
        ["a counter is the number of its events"],
    ),
    "the low word is shifted": (
        "bank",
        "(counter[:WORD_BITS], high)",
        "(counter[1 : WORD_BITS + 1], high)",
        Reading,
        ["the low word is that of the counter as it stood at the read"],
    ),
    "the high word is not kept": (
        "bank",
        "(counter[:WORD_BITS], high)",
        "(counter[:WORD_BITS], counter[WORD_BITS:])",
        Reading,
        ["the high word after it belongs to the same reading"],
    ),
    "the last entry stays in its crossing": (
        "unit",
        "sink.valid.eq(fifo.r_rdy)",
        "sink.valid.eq(fifo.r_level > 1)",
        Crossing,
        [
            f"{crossing}: what entered two edges of the reader ago is on offer, and no more"
            for crossing in ("requests", "answers")
        ],
    ),
    "an entry changes as it leaves": (
        "unit",
        "sink.payload.eq(fifo.r_data)",
        "sink.payload.eq(fifo.r_data ^ 1)",
        Crossing,
        [f"{crossing}: what enters leaves unchanged" for crossing in ("requests", "answers")],
    ),
    "entries never leave": (
        "unit",
        "fifo.r_en.eq(sink.ready & fifo.r_rdy)",
        "fifo.r_en.eq(0)",
        Room,
        ["there is room for a request", "there is room for an answer"],
    ),
    "the pim side is idle while an error appears": (
        "pim_side",
        " & (found == self.error)",
        "",
        settles,
        [f"pim: {STILL}"],
    ),
    "the npu side is idle with a response": (
        "npu_side",
        "                & ~self.r.valid\n",
        "",
        settles,
        [f"npu: {STILL}"],
    ),
}


FAST = {"reads are made up", "a command is answered before it is taken"}


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_every_property_holds(proof, holds_as_recorded):
    holds_as_recorded(UNIT, proof)


@pytest.mark.parametrize(
    "fault",
    [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in MUTANTS],
)
def test_a_fault_is_refuted(fault, mutant, refute):
    file, before, after, properties, names = MUTANTS[fault]
    refute(mutant(UNIT, before, after, file), properties, names)


def test_every_property_has_a_fault_that_violates_it(recorded):
    proved = {row["property"] for row in recorded(UNIT) if row["verdict"] != "reached"}
    assert proved == {name for *_, names in MUTANTS.values() for name in names}


@pytest.mark.slow
def test_fewer_rounds_do_not_settle(refute):
    rounds = ROUNDS - 1
    names = [f"pim: idle without input for {rounds} rounds, no state changes"]
    refute(UNITS[UNIT], partial(Settling, inputs=INPUTS, rounds=rounds), names)
