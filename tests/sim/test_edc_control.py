# SPDX-License-Identifier: Apache-2.0
"""The EDC as a drafting control: registers reach the pins, transactions reach the unit."""

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.sim.clocked import Clock
from ahasd.sim.edc import EdcControl
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.kernel import Kernel

PARAMS = UNITS["edc"].configurations["paper"]
CLEARED_PS = 600 * 1250


class Recording(GoldenEngine):
    def __init__(self):
        super().__init__(UNITS["edc"], PARAMS)
        self.pins = []

    def step(self, pins, clocks, time_ps):
        self.pins.append(dict(pins))
        return super().step(pins, clocks, time_ps)


def control(kernel, engine, **registers):
    chosen = {"boundaries": "sqrt4", "recheck": True, "explore": 0} | registers
    made = EdcControl(engine, PARAMS, kernel, Clock(1250), skip=True, **chosen)
    heard = []
    made.listen(lambda go, cause: heard.append((kernel.now_ps, go, cause)))
    return made, heard


@pytest.mark.parametrize(
    ("registers", "pins"),
    [
        ({"recheck": False, "explore": 5}, {"recheck": 0, "explore": 5}),
        ({"recheck": True, "explore": 0}, {"recheck": 1, "explore": 0}),
        (
            {"boundaries": "linear4"},
            {"boundaries": sum((i + 1) * 2048 << 16 * i for i in range(7))},
        ),
        (
            {"boundaries": "linear10"},
            {"boundaries": sum((i + 1) * 5120 << 16 * i for i in range(7))},
        ),
    ],
)
def test_registers_reach_the_pins(registers, pins):
    kernel, engine = Kernel(), Recording()
    control(kernel, engine, **registers)
    kernel.run()
    assert all(seen[name] == value for seen in engine.pins for name, value in pins.items())


def test_a_draft_is_answered_at_the_second_edge_after_it():
    kernel, engine = Kernel(), Recording()
    edc, heard = control(kernel, engine)
    kernel.at(CLEARED_PS, edc.draft, 1.0)
    kernel.run()
    assert heard == [(CLEARED_PS + 2 * 1250, True, "predicted")]
    taken = next(pins for pins in engine.pins if pins["draft__valid"])
    assert taken["draft__payload"] == 4096


def test_verdicts_and_sequences_reach_the_unit():
    kernel, engine = Kernel(), Recording()
    edc, heard = control(kernel, engine)
    steps = [
        lambda: edc.draft(0.0),
        lambda: edc.verdict(False),
        lambda: edc.draft(0.0),
        lambda: edc.verdict(True),
        lambda: edc.draft(0.0),
        lambda: edc.start_sequence(),
    ]
    for i, step in enumerate(steps):
        kernel.at(CLEARED_PS + i * 12_500, step)
    kernel.run()
    assert [(go, cause) for _, go, cause in heard] == [
        (True, "predicted"),
        (False, "predicted"),
        (True, "empty"),
        (True, "predicted"),
    ]
    assert engine.model.llr == 0
    cycles = edc.finish()
    assert cycles.stepped == len(engine.pins)
