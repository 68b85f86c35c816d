# SPDX-License-Identifier: Apache-2.0
"""Hand-made faults in the TVC's hardware, each of which the comparison with golden must catch."""

import pytest

from ahasd.sim.golden import GoldenEngine
from ahasd.sim.pysim import PysimEngine

pytestmark = pytest.mark.full

# Fault: (text, replacement, seed of a traffic that soon meets it).
MUTANTS = {
    "a part of a token counts as one": (
        "preset(arithmetic.quotient[: params.dividend_width])",
        "preset(arithmetic.quotient[: params.dividend_width] + 1)",
        22,
    ),
    "no token at all is inserted as such": (
        "with m.Elif(short | negative | ~spare.any()):",
        "with m.Elif(short | negative):",
        22,
    ),
    "a negative slack is taken for none": (
        "short.eq(negative), table.eq(Table.PVCT)",
        "short.eq(0), table.eq(Table.PVCT)",
        8,
    ),
    "a predicted task wraps": (
        "npu_cycles.eq(saturate(arithmetic.quotient, params.cycles_width))",
        "npu_cycles.eq(arithmetic.quotient)",
        19,
    ),
    "scaled cycles wrap": (
        "saturate(arithmetic.accumulator[shift:-1], params.cycles_width)",
        "arithmetic.accumulator[shift:-1]",
        18,
    ),
    "tokens wrap": (
        "smaller(saturate(spare[:-1], params.tokens_width), asked.limit)",
        "smaller(spare[: params.tokens_width], asked.limit)",
        2,
    ),
    "the age of a task wraps": (
        "saturate(elapsed, params.cycles_width)",
        "elapsed[: params.cycles_width]",
        1,
    ),
    "an end is recorded in another table": (
        "measure.payload.table.eq(Table.NVCT)",
        "measure.payload.table.eq(Table.PDCT)",
        0,
    ),
    "ratios are read from another table": (
        "ratios_read.addr.eq(Cat(index, table))",
        "ratios_read.addr.eq(Cat(index, preverify))",
        5,
    ),
    "the NPU ratio is applied to nothing": (
        "scaled.eq(ended | (self.record.payload.table == Const(Table.NVCT, 2)))",
        "scaled.eq(0)",
        6,
    ),
    "the NPU ratio is applied to ends alone": (
        "scaled.eq(ended | (self.record.payload.table == Const(Table.NVCT, 2)))",
        "scaled.eq(ended)",
        13,
    ),
    "scaling rounds down": (
        "preset(Const(params.npu_ratio_one >> 1, params.npu_ratio_width))",
        "preset(Const(0, 1))",
        6,
    ),
    "the same entry is always replaced": (
        "m.d.pim += oldest[table].eq(oldest[table] + 1)",
        "pass",
        5,
    ),
    "a question without a task is answered early": (
        """params.cycles_width))
                    m.next = "OPEN"
""",
        """params.cycles_width))
                    m.next = "OPEN"
                    with m.If(~asked.running):
                        m.next = "ANSWER"
""",
        2,
    ),
    "the sign of a factor is ignored": (
        "last.eq(left == Const(1, len(left)))",
        "last.eq(0)",
        5,
    ),
    "a line may fall": (
        "                        & (~negative).replicate(len(covariance))\n",
        "",
        15,
    ),
    "a line may start below zero": (
        "m.d.comb += fits.eq(asked.affine_npu & ~negative)",
        "m.d.comb += fits.eq(asked.affine_npu)",
        13,
    ),
    "equal lengths make a line": (
        "m.d.pim += affine.eq(fits & spread.any())",
        "m.d.pim += affine.eq(fits)",
        5,
    ),
    "one switch is subtracted": (
        "subtract(Cat(Const(0, 1), asked.switch_cycles))",
        "subtract(asked.switch_cycles)",
        0,
    ),
    "the registers are read when they are needed": (
        "asked.slowdown_cycles)",
        "self.question.payload.slowdown_cycles)",
        11,
    ),
    "an empty PVCT does not limit the length": (
        "answer.length.eq(1)  # to fill PVCT",
        "answer.length.eq(asked.limit)",
        5,
    ),
    "a measurement on its way survives a clear": ("with m.If(~dropped):", "with m.If(1):", 22),
    "an end that waits survives a clear": (
        "with m.If(clear):\n            m.d.pim += ended.eq(0)",
        "with m.If(0):\n            m.d.pim += ended.eq(0)",
        14,
    ),
    "a length of 0 is recorded": (
        "legal.eq(self.record.payload.length.any() & ~self",
        "legal.eq(~self",
        0,
    ),
    "a held decision is overwritten": (
        "waiting & ~self.measure.valid & (~self.answer.valid | self.answer.ready)",
        "waiting & ~self.measure.valid",
        8,
    ),
    "an end that waits stalls a start": (
        "self.npu.ready.eq(alone & ~(ended & ends))",
        "self.npu.ready.eq(alone & ~ended)",
        0,
    ),
    "a request does not wait for news of the NPU": (
        "request_turn.eq(record_turn & ~self.npu.valid & ~self.record.valid)",
        "request_turn.eq(record_turn & ~self.record.valid)",
        0,
    ),
    "idle is raised while a decision waits": (
        "self.idle.eq(waiting & ~self.answer.valid)",
        "self.idle.eq(waiting)",
        1,
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_hardware_is_caught(name, traffic, tvc_mutant):
    before, after, seed = MUTANTS[name]
    unit = tvc_mutant(before, after)
    params = unit.configurations["test"]
    engine, golden = PysimEngine(unit, params), GoldenEngine(unit, params)
    stimulus = traffic(params, seed)
    seen: dict[str, int] = {}
    for edge in range(2000):
        pins = stimulus.pins(seen)
        seen = engine.step(pins, 1, edge)
        if seen != golden.step(pins, 1, edge):
            return
    pytest.fail("the mutant was not caught")
