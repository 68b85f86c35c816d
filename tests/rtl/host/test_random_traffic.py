# SPDX-License-Identifier: Apache-2.0
"""Golden, Amaranth source and RTL agree; every request gets one response, whatever the clocks."""

from collections import deque
from copy import deepcopy
from random import Random

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.host.golden import NPU, HostGolden
from ahasd.sim.registry import make_engine

CONFIGURATIONS = UNITS["host"].configurations
RATIOS = [0.31, 0.8, 1.0, 1.37, 3.0]


@pytest.mark.parametrize("backend", ["rtl", pytest.param("pysim", marks=pytest.mark.full)])
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_random_pins_and_clocks_give_equal_pins_on_every_edge(backend, configuration, random_pins):
    params = CONFIGURATIONS[configuration]
    engine = make_engine("host", params, backend)
    golden = make_engine("host", params, "golden")
    stimulus = random_pins(params, seed=3)
    responses = set()
    for edge in range({"rtl": 8_000, "pysim": 800}[backend]):
        pins = stimulus.next()
        mask = stimulus.rng.choice((1, 2, 3))
        seen = engine.step(pins, mask, edge)
        expected = golden.step(pins, mask, edge)
        assert seen == expected, f"edge {edge}, clocks {mask}, {pins}"
        if seen["r__valid"]:
            responses.add(seen["r__payload"] >> 32)
        if seen["b__valid"]:
            responses.add(seen["b__payload"])
        if engine.changed is not None and golden.changed:
            assert engine.changed, f"edge {edge}: golden changed and the RTL did not"
    assert responses == {0, 2, 3}


class Bus:
    """Legal traffic on both channels at once, with stalls; judged on the pins alone.

    Writes go to one half of some registers, reads to the other, exchanged with every run, so that
    what a read gives is known although the two overtake each other.
    """

    STORED = (0x1060, 0x1064, 0x1044, 0x1048, 0x1050, 0x1054)

    def __init__(self, engine, clocks, seed):
        self.engine = engine
        self.clocks = clocks
        self.rng = Random(seed)
        self.addresses = self.STORED
        self.stored = dict.fromkeys(self.STORED)
        self.to_write = deque()
        self.writing = {}
        self.to_read = deque()
        self.offered = {"aw": None, "w": None, "ar": None}
        self.sent = {"aw": deque(), "w": deque(), "ar": deque()}
        self.held = {"b": None, "r": None}
        self.answered = {"b": 0, "r": 0}
        self.taken = 0
        self.commands = 0

    def run(self, count):
        """Write and read so many times; every one must be answered, with the right value."""
        rng = self.rng
        half = len(self.STORED) // 2
        addresses = self.addresses = self.addresses[half:] + self.addresses[:half]
        goal = {name: done + count for name, done in self.answered.items()}
        for _ in range(count):
            if rng.random() < 0.15:
                self.to_write.append((0x1004, 1 << rng.randrange(6)))
                self.commands += 1
            else:
                self.to_write.append((rng.choice(addresses[:half]), rng.getrandbits(32)))
            self.to_read.append(rng.choice(addresses[half:]))
        for _ in range(200 * count):
            if self.answered == goal:
                break
            self.edge()
        assert self.answered == goal, "a request was not answered"
        for _ in range(60):
            self.edge()
        assert self.answered == goal, "a response without a request"
        assert self.taken == self.commands

    def edge(self):
        rng = self.rng
        pins = {f"{name}__ready": int(rng.random() < 0.5) for name in ("b", "r")}
        taken = ("edc_command", "tvc_command", "gtsu_command", "tvc_record")
        pins |= {f"{name}__ready": int(rng.random() < 0.4) for name in taken}
        pins |= dict.fromkeys(("pim_events", "npu_events", "pim_status", "npu_status"), 0)
        self._offer()
        for name, payload in self.offered.items():
            pins[f"{name}__valid"] = int(payload is not None)
            pins[f"{name}__payload"] = payload or 0
        mask = self.clocks.mask()
        seen = self.engine.step(pins, mask, 0)
        if not mask & NPU:
            self._commands(pins, seen)
            return
        for name in self.offered:
            if self.offered[name] is not None and seen[f"{name}__ready"]:
                self.sent[name].append(self.offered[name])
                self.offered[name] = None
        for name in ("b", "r"):
            self._response(name, pins[f"{name}__ready"], seen)
        if mask & 1:
            self._commands(pins, seen)

    def _offer(self):
        rng = self.rng
        if self.to_write and not self.writing and self.offered["aw"] is self.offered["w"] is None:
            address, data = self.to_write.popleft()
            self.writing = {"aw": address, "w": data | 0xF << 32}
        for name in tuple(self.writing):
            if rng.random() < 0.4:
                self.offered[name] = self.writing.pop(name)
        if self.to_read and self.offered["ar"] is None and rng.random() < 0.4:
            self.offered["ar"] = self.to_read.popleft()

    def _response(self, name, ready, seen):
        valid, payload = seen[f"{name}__valid"], seen[f"{name}__payload"]
        if self.held[name] is not None:
            assert (valid, payload) == (1, self.held[name]), "a response was withdrawn or changed"
        self.held[name] = payload if valid and not ready else None
        if not (valid and ready):
            return
        self.answered[name] += 1
        if name == "b":
            address, data = self.sent["aw"].popleft(), self.sent["w"].popleft()
            assert payload == 0
            if address != 0x1004:
                self.stored[address] = data & 0xFFFF_FFFF
        else:
            expected = self.stored[self.sent["ar"].popleft()]
            assert expected is None or payload == expected

    def _commands(self, pins, seen):
        for name in ("edc_command", "tvc_command", "gtsu_command"):
            self.taken += seen[f"{name}__valid"] & pins[f"{name}__ready"]


@pytest.mark.parametrize("backend", ["golden", "rtl"])
@pytest.mark.parametrize("ratio", RATIOS)
def test_every_request_gets_one_response_and_every_read_the_last_write(backend, ratio, clocks):
    engine = make_engine("host", CONFIGURATIONS["small"], backend)
    bus = Bus(engine, clocks(npu_period=int(1250 * ratio), phase=137), seed=5)
    for _ in range(6):
        bus.run(30)
    assert bus.taken > 10
    assert None not in bus.stored.values()


@pytest.mark.parametrize("phase", range(0, 1250, 125))
def test_any_phase_between_the_clocks_will_do(phase, clocks):
    engine = make_engine("host", CONFIGURATIONS["small"], "rtl")
    Bus(engine, clocks(npu_period=1250, phase=phase), seed=6).run(60)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", RATIOS)
def test_a_hundred_thousand_accesses_in_the_compiled_rtl(ratio, clocks):
    engine = make_engine("host", CONFIGURATIONS["paper"], "rtl")
    bus = Bus(engine, clocks(npu_period=int(1250 * ratio), phase=137), seed=9)
    for _ in range(100):
        bus.run(100)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_idle_without_input_becomes_a_fixed_point_of_both_clocks(
    configuration, clocks, random_pins
):
    params = CONFIGURATIONS[configuration]
    engine = make_engine("host", params, "rtl")
    stimulus = random_pins(params, seed=8)
    for _ in range(2000):
        engine.step(stimulus.next(), stimulus.rng.choice((1, 2, 3)), 0)
    quiet = stimulus.next()
    quiet |= {name: 0 for name in quiet if name.endswith(("_events", "__valid"))}
    drain = quiet | {name: 1 for name in quiet if name.endswith("__ready")}
    for _ in range(60):
        engine.step(drain, stimulus.rng.choice((1, 2, 3)), 0)
    for mask in (1, 2, 3, 1, 2, 3):
        seen = engine.step(quiet, mask, 0)
        assert seen["idle_pim"]
        assert seen["idle_npu"]
        assert not engine.changed


def test_outputs_but_for_idle_depend_on_state_only(random_pins):
    params = CONFIGURATIONS["small"]
    golden = HostGolden(params)
    stimulus = random_pins(params, seed=1)
    for _ in range(300):
        one, other = (deepcopy(golden).step(stimulus.next(), 3) for _ in range(2))
        del one["idle_pim"], other["idle_pim"]
        assert one == other
        golden.step(stimulus.next(), stimulus.rng.choice((1, 2, 3)))
