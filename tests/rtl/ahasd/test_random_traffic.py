# SPDX-License-Identifier: Apache-2.0
"""Golden, Amaranth source, RTL and mixtures of them agree, whatever the pins and the clocks do."""

from random import Random

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.sim.registry import make_engine

CONFIGURATIONS = UNITS["ahasd"].configurations
RATIOS = [0.5, 0.8, 1.0, 1.37, 2.0]
PARTS = UNITS["ahasd"].parts


def disturb(compared, pins, edges):
    """Set pins without discipline; return the epochs that were seen."""
    seen = {}
    epochs = set()
    for _ in range(edges):
        given, mask = pins.next(seen)
        seen = compared.step(given, mask, 0)
        epochs.add(seen["epoch_npu"])
        pins.epoch = seen["epoch_npu"]
    return epochs


@pytest.mark.parametrize("seed", [1, 2])
def test_random_pins_give_equal_pins_on_every_edge(seed, both, random_pins):
    params = CONFIGURATIONS["test"]
    assert len(disturb(both("test"), random_pins(params, seed), 5_000)) == 4


@pytest.mark.full
def test_the_amaranth_source_agrees_too(both, random_pins):
    params = CONFIGURATIONS["test"]
    disturb(both("test", make_engine("ahasd", params, "pysim")), random_pins(params, 3), 800)


@pytest.mark.slow
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("seed", [4, 5])
def test_random_pins_for_long(configuration, seed, both, random_pins):
    params = CONFIGURATIONS[configuration]
    assert len(disturb(both(configuration), random_pins(params, seed), 100_000)) >= 4


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_another_backend_changes_nothing(part, both, make_world):
    params = CONFIGURATIONS["test"]
    mixed = make_engine("ahasd", params, "golden", parts={part: "pysim"})
    world = make_world(both("test", mixed), "test")
    world.begin()
    world.run(300)
    assert world.counts["delivered HEADER"] > 3


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("configuration", ["small", "test"])
def test_a_compiled_part_changes_nothing(part, configuration, both, make_world):
    params = CONFIGURATIONS[configuration]
    mixed = make_engine("ahasd", params, "golden", parts={part: "rtl"})
    world = make_world(both(configuration, mixed), configuration)
    world.begin()
    world.run(20_000)
    assert world.counts["delivered HEADER"] > 100


@pytest.mark.parametrize("ratio", RATIOS)
def test_nothing_is_lost_doubled_reordered_or_stale(ratio, both, make_world):
    world = make_world(both("test"), "test", 5, npu_period=int(1250 * ratio), phase=137)
    world.begin()
    for _ in range(2):
        world.run(1500)
        assert world.top.errors() == set()
        outstanding = world.top.registers.read("pim.STATUS")["outstanding"]
        assert outstanding == len(world.open)
    for name in ("dropped", "rejected", "delivered CUT"):
        assert world.counts[name] > 0, name


@pytest.mark.parametrize("phase", range(0, 1250, 250))
def test_any_phase_between_the_clocks_will_do(phase, both, make_world):
    world = make_world(both("test"), "test", 6, npu_period=1250, phase=phase)
    world.begin()
    world.run(800)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("configuration", ["small", "test"])
def test_long_traffic_in_the_compiled_rtl(configuration, ratio, both, make_world):
    phase = Random(ratio).randrange(1250)
    world = make_world(
        both(configuration), configuration, 9, npu_period=int(1250 * ratio), phase=phase
    )
    world.begin()
    for _ in range(10):
        world.run(20_000)
        assert world.top.errors() == set()
    print(f"{configuration}, NPU period / PIM period {ratio}: {world.top.edges} edges")
    print(dict(world.counts))
    for name in ("inserts", "stop", "release", "unsure"):
        assert world.counts[name] > 0, name


def test_idle_without_input_becomes_a_fixed_point_of_both_clocks(both, make_world):
    world = make_world(both("test"), "test", 8)
    world.begin()
    world.run(1000)
    top = world.top
    while not (top.seen["idle_pim"] and top.seen["idle_npu"]):
        top.edge()
    top.run(20)  # synchronisers settle; the cycle counter goes on
    for _ in range(12):
        top.edge()
        assert top.seen["idle_pim"]
        assert top.seen["idle_npu"]
        assert not top.engine.changed
