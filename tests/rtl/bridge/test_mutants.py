# SPDX-License-Identifier: Apache-2.0
"""Hand-made faults in the hardware, each of which the comparison with golden must catch."""

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.pysim import PysimEngine

pytestmark = pytest.mark.full

EDGES = 30_000

MUTANTS = {
    "a checksum is not looked at": ("unit", "~self._processor.match_detected", "self._op[-1] & 0"),
    "half a request is never given up": (
        "unit",
        "m.d.npu += state.eq(State.HUNT)\n        with m.Else",
        "m.d.npu += state.eq(state)\n        with m.Else",
    ),
    "the gap is a cycle short": ("unit", "params.gap_cycles - 1)", "params.gap_cycles - 2)"),
    "a byte does not end the silence": (
        "unit",
        "silence.eq(Mux(receiver.taken, 0, silence + 1))",
        "silence.eq(silence + 1)",
    ),
    "any byte begins a request": ("unit", "byte == REQUEST_START", "byte != 0"),
    "a body may be too long": ("unit", "(byte > params.body_max)", "(byte > params.body_max + 1)"),
    "the checksum is taken for data": (
        "unit",
        "with m.If(self._left > CHECKSUM_BYTES):",
        "with m.If(self._left > 0):",
    ),
    "old data stay where none came": ("unit", "self._data.eq(0),", "self._data.eq(self._data),"),
    "an operation takes any length": (
        "unit",
        "begins.eq(self._size == low if exact else self._size >= low)",
        "begins.eq(self._size >= low)",
    ),
    "an unknown operation is carried out": (
        "unit",
        "with m.Case(op):",
        "with m.Case(*([op, 5] if op == Op.READ else [op])):",
    ),
    "a write offers no data": (
        "unit",
        "self.w.valid.eq(self._op == Op.WRITE)",
        "self.w.valid.eq(0)",
    ),
    "a stalled offer is withdrawn": (
        "unit",
        "with m.If(offer.valid & offer.ready):",
        "with m.If(offer.valid):",
    ),
    "an error has data": (
        "unit",
        "with m.If(self._status == Status.OKAY):",
        "with m.If(self._status != Status.BAD_CHECKSUM):",
    ),
    "the tag is not returned": (
        "unit",
        "Cat(self._status, Const(0, 1), self._tag)",
        "Cat(self._status, Const(0, 5))",
    ),
    "the checksum's bytes are swapped": (
        "unit",
        "byte.eq(checksum.crc[8:])",
        "byte.eq(checksum.crc[:8])",
    ),
    "idle is raised while an answer goes out": (
        "unit",
        "& line & sender.byte.ready",
        "& line",
    ),
    "bits are sampled at their start": ("serial", "timer.eq(divisor // 2 - 1)", "timer.eq(0)"),
    "a glitch is a start bit": (
        "serial",
        "(place == 0) & self.line | (place == LINE_BITS - 1)",
        "place == LINE_BITS - 1",
    ),
    "a broken byte is a byte": (
        "serial",
        "(place == LINE_BITS - 1) & self.line)",
        "(place == LINE_BITS - 1))",
    ),
    "bits come highest first": (
        "serial",
        "Cat(self.byte[1:], self.line)",
        "Cat(self.line, self.byte[:-1])",
    ),
    "a bit is a cycle too long": (
        "serial",
        "left.eq(left - 1),\n                timer.eq(divisor - 1)",
        "left.eq(left - 1),\n                timer.eq(divisor)",
    ),
    "the stop bit is cut short": ("serial", "left.eq(LINE_BITS)", "left.eq(LINE_BITS - 1)"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_hardware_is_caught(name, traffic, mutant):
    file, before, after = MUTANTS[name]
    unit = mutant("bridge", before, after, file)
    params = UNITS["bridge"].configurations["test"]
    engine, golden = PysimEngine(unit, params), GoldenEngine(unit, params)
    stimulus = traffic(params, 1)
    for edge in range(EDGES):
        pins = stimulus.pins()
        if engine.step(pins, 1, edge) != golden.step(pins, 1, edge):
            return
    pytest.fail("the mutant was not caught")
