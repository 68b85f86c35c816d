# SPDX-License-Identifier: Apache-2.0
"""Hand-made faults in the host interface, each found by random pins against golden."""

import sys
from dataclasses import replace
from importlib.resources import files
from types import ModuleType

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.pysim import PysimEngine

pytestmark = pytest.mark.full

PARTS = ("bank", "npu_side", "pim_side", "unit")

# file, before, after
MUTANTS = {
    "strobes are ignored by storage": (
        "bank",
        "value & ~mask[bits] | operand",
        "self.access.data[bits]",
    ),
    "strobes are ignored by commands": (
        "bank",
        "self.operand.eq(access.data & mask)",
        "self.operand.eq(access.data)",
    ),
    "a flag is cleared by a 0": ("bank", "value & ~(operand &", "value & (operand &"),
    "a clear wins over an event": (
        "bank",
        "value & ~(operand & writes.replicate(field.width)) | self.set[name]",
        "(value | self.set[name]) & ~(operand & writes.replicate(field.width))",
    ),
    "the high word is not kept": (
        "bank",
        "(counter[:WORD_BITS], high)",
        "(counter[:WORD_BITS], counter[WORD_BITS:])",
    ),
    "a refused write keeps the high word": (
        "bank",
        "with m.If(chosen & reads):",
        "with m.If(chosen):",
    ),
    "the carry between the parts of a counter is lost": (
        "bank",
        "counter[split:] + low[split]",
        "counter[split:]",
    ),
    "a read-only register takes a write": (
        "bank",
        '"ro": access.write',
        '"ro": 0',
    ),
    "no decode error": ("bank", "self.answer.resp.eq(Response.DECERR)", "self.answer.resp.eq(0)"),
    "addresses beyond the blocks fall into the first": (
        "npu_side",
        'local.eq(address[BLOCK_WIDTH:] == BLOCKS["npu"])',
        "local.eq(~remote)",
    ),
    "a write does not wait for its data": ("npu_side", "free & aw_full & w_full", "free & aw_full"),
    "a response that was not taken is overwritten": (
        "npu_side",
        "ar_full & ~self.r.valid & ~write",
        "ar_full & ~write",
    ),
    "a read goes beside a write": (
        "npu_side",
        "ar_full & ~self.r.valid & ~write",
        "ar_full & ~self.r.valid",
    ),
    "the response of the other domain goes to the wrong channel": (
        "npu_side",
        "(arrives & ~writing)",
        "(arrives & writing)",
    ),
    "the flag of errors follows the level": (
        "npu_side",
        "bank.set.error.eq(self.error & ~error_before)",
        "bank.set.error.eq(self.error)",
    ),
    "the interrupt ignores its enable": (
        "npu_side",
        "(bank.flags.as_value() & bank.control.as_value()).any()",
        "bank.flags.as_value().any()",
    ),
    "a command is answered before it is taken": (
        "pim_side",
        "answering & ~pending.any() & ~record_pending",
        "answering & ~record_pending",
    ),
    "commands of a unit are taken all at once": ("pim_side", "pair & (pair - 1)", "0"),
    "the second command goes first": (
        "pim_side",
        "offer.payload.eq(~pair[0])",
        "offer.payload.eq(pair[1])",
    ),
    "a record is given again and again": (
        "pim_side",
        "record_pending.eq(0)",
        "record_pending.eq(1)",
    ),
    "the synchroniser of errors has another stage": (
        "unit",
        'FFSynchronizer(pim.error, npu.error, o_domain="npu")',
        'FFSynchronizer(pim.error, npu.error, o_domain="npu", stages=3)',
    ),
    "idle while a response waits": ("npu_side", "                & ~self.r.valid\n", ""),
    "idle while an error crosses": ("pim_side", " & (found == self.error)", ""),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_hardware_is_caught(name, random_pins, monkeypatch):
    part, before, after = MUTANTS[name]
    for stem in PARTS:
        source = (files("ahasd.rtl.host") / f"{stem}.py").read_text()
        if stem == part:
            assert source.count(before) == 1, "the mutant no longer fits the source"
            source = source.replace(before, after)
        for other in PARTS:
            source = source.replace(f"ahasd.rtl.host.{other}", f"host_mutant_{other}")
        module = ModuleType(f"host_mutant_{stem}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(source, module.__name__, "exec"), module.__dict__)
    unit = replace(UNITS["host"], hardware="host_mutant_unit:HostUnit")
    params = unit.configurations["test"]
    for seed in range(4):
        mutant, golden = PysimEngine(unit, params), GoldenEngine(unit, params)
        stimulus = random_pins(params, seed)
        for _ in range(1500):
            pins = stimulus.next()
            clocks = stimulus.rng.choice((1, 2, 3, 3))
            if mutant.step(pins, clocks, 0) != golden.step(pins, clocks, 0):
                return
    pytest.fail("the mutant lives")
