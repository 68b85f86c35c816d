# SPDX-License-Identifier: Apache-2.0
"""The self-test of a board, on simulated boards that are good and bad."""

import pytest

from ahasd.rtl.bridge.params import BridgeParams
from ahasd.rtl.configs import UNITS
from ahasd.rtl.edc.golden import EdcGolden
from ahasd.rtl.gtsu.golden import GtsuGolden
from ahasd.rtl.host.golden import HostGolden
from ahasd.rtl.queues.golden import QueuesGolden
from ahasd.rtl.tvc.golden import TvcGolden
from ahasd.sim.bridge import selftest
from ahasd.sim.bridge.client import Client
from ahasd.sim.bridge.selftest import Result, self_test
from ahasd.sim.bridge.simulated import SimulatedLine
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.registry import make_engine

UNIT = UNITS["board"]
PARAMS = UNIT.configurations["test"]


def run(engine, params=PARAMS) -> dict[str, Result]:
    client = Client(SimulatedLine(engine, params.bridge))
    return {result.step: result for result in self_test(client, params.ahasd)}


class Faulty:
    """A unit of the golden top with a fault on one of its outputs."""

    changed = True

    def __init__(self, model, pin: str, fault) -> None:
        self._model, self._pin, self._fault = model, pin, fault

    def step(self, pins, clocks):
        outputs = self._model.step(pins, clocks)
        return outputs | {self._pin: self._fault(outputs[self._pin])}


FAULTS = {
    "host": (
        HostGolden(PARAMS.ahasd.host),
        "r__payload",
        lambda word: word & ~(1 << 22),
        "identity",
    ),
    "queues": (
        QueuesGolden(PARAMS.ahasd.queues),
        "batch_out__payload",
        lambda word: word ^ 16,
        "queues",
    ),
    "edc": (EdcGolden(PARAMS.ahasd.edc), "decision__payload", lambda decision: decision ^ 1, "edc"),
    "tvc": (TvcGolden(PARAMS.ahasd.tvc), "decision__payload", lambda answer: answer | 32, "tvc"),
    "gtsu": (GtsuGolden(PARAMS.ahasd.gtsu), "mask", lambda mask: mask << 1 & 3, "gtsu"),
}


@pytest.mark.parametrize(
    "part",
    [
        "gtsu",
        *(pytest.param(each, marks=pytest.mark.full) for each in ("host", "queues", "edc", "tvc")),
    ],
)
def test_a_fault_in_a_unit_fails_the_step_that_is_for_it(part):
    model, pin, fault, name = FAULTS[part]
    (step,) = (step for step in selftest.STEPS if step.__name__ == name)
    parts = {part: Faulty(model, pin, fault)}
    client = Client(SimulatedLine(GoldenEngine(UNIT, PARAMS, parts=parts), PARAMS.bridge))
    (result,) = self_test(client, PARAMS.ahasd, [step])
    assert result.step == name
    assert result.fault


def test_the_golden_board_answers_and_runs_tasks():
    client = Client(SimulatedLine(GoldenEngine(UNIT, PARAMS), PARAMS.bridge))
    steps = [selftest.link, selftest.identity, selftest.units.gtsu]
    found = list(self_test(client, PARAMS.ahasd, steps))
    assert [result.step for result in found] == ["link", "identity", "gtsu"]
    assert [result.fault for result in found] == [""] * 3


@pytest.mark.full
def test_the_compiled_board_passes_as_the_golden_one_does_edge_by_edge(tmp_path):
    engine = make_engine("board", PARAMS, "rtl", lockstep=tmp_path)
    found = run(engine)
    assert list(found) == [step.__name__ for step in selftest.STEPS]
    assert {name: result.fault for name, result in found.items()} == dict.fromkeys(found, "")
    for _ in range(20):  # at rest: idle, and no edge changes a flip-flop
        seen = engine.step({"rx": 1, "now": 0}, 3, 0)
        assert seen["idle_pim"] & seen["idle_npu"]
        assert not engine.changed


class Silent:
    """A line to nothing."""

    def send(self, data: bytes) -> None:
        pass

    def receive(self, count: int) -> bytes:
        return b""

    def rest(self) -> None:
        pass


def test_without_a_board_the_link_fails_and_nothing_else_is_tried():
    (result,) = self_test(Client(Silent()), PARAMS.ahasd)
    assert result.step == "link"
    assert "is the board configured" in result.fault


class Turning:
    """A line that a cable with a short makes: every byte that comes back has its lowest bit set."""

    def __init__(self, line: SimulatedLine) -> None:
        self._line = line

    def send(self, data: bytes) -> None:
        self._line.send(data)

    def receive(self, count: int) -> bytes:
        return bytes(byte | 1 for byte in self._line.receive(count))

    def rest(self) -> None:
        self._line.rest()


def test_a_line_that_damages_answers_is_no_board():
    line = SimulatedLine(GoldenEngine(UNIT, PARAMS), BridgeParams(divisor=4, gap_cycles=100))
    (result,) = self_test(Client(Turning(line)), PARAMS.ahasd)
    assert "no answer" in result.fault
