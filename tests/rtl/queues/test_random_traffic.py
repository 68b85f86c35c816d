# SPDX-License-Identifier: Apache-2.0
"""Golden, Amaranth source and RTL agree; and nothing is lost, doubled, reordered or stale."""

from random import Random

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.sim.registry import make_engine

CONFIGURATIONS = UNITS["queues"].configurations
RATIOS = [0.5, 0.8, 1.0, 1.37, 2.0]


@pytest.mark.parametrize("backend", ["rtl", pytest.param("pysim", marks=pytest.mark.full)])
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_random_pins_and_clocks_give_equal_pins_on_every_edge(backend, configuration, random_pins):
    params = CONFIGURATIONS[configuration]
    engine = make_engine("queues", params, backend)
    golden = make_engine("queues", params, "golden")
    rng = Random(3)
    seen = {"epoch_pim": 0}
    epochs = set()
    for edge in range({"rtl": 8_000, "pysim": 800}[backend]):
        pins = random_pins(params, rng, seen["epoch_pim"])
        mask = rng.choice((1, 2, 3))
        seen = engine.step(pins, mask, edge)
        expected = golden.step(pins, mask, edge)
        assert seen == expected, f"edge {edge}, clocks {mask}, {pins}"
        epochs.add(seen["epoch_pim"])
        if engine.changed is not None and golden.changed:
            assert engine.changed, f"edge {edge}: golden changed and the RTL did not"
    assert len(epochs) >= 4


@pytest.mark.parametrize("backend", ["golden", "rtl"])
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("configuration", ["small", "test"])
def test_nothing_is_lost_doubled_reordered_or_stale(
    backend, ratio, configuration, scoreboard, clocks
):
    params = CONFIGURATIONS[configuration]
    engine = make_engine("queues", params, backend)
    board = scoreboard(engine, params, clocks(npu_period=int(1250 * ratio), phase=137), seed=5)
    for _ in range(2):
        board.run(4000)
    assert board.counts["flushes"] > 10
    assert board.counts["dropped"] > 5
    assert board.counts["stale"] > 3


@pytest.mark.parametrize("phase", range(0, 1250, 125))
def test_any_phase_between_the_clocks_will_do(phase, scoreboard, clocks):
    params = CONFIGURATIONS["test"]
    board = scoreboard(
        make_engine("queues", params, "rtl"), params, clocks(npu_period=1250, phase=phase), seed=6
    )
    board.run(1500)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", RATIOS)
def test_a_million_transactions_in_the_compiled_rtl(ratio, scoreboard, clocks):
    params = CONFIGURATIONS["small"]
    engine = make_engine("queues", params, "rtl")
    board = scoreboard(engine, params, clocks(npu_period=int(1250 * ratio), phase=137), seed=9)
    while board.transactions < 1_000_000 / len(RATIOS):
        board.run(20_000)
    print(f"NPU period / PIM period {ratio}: {board.transactions} transactions, {board.counts}")
    assert board.counts["flushes"] > 300
    assert board.counts["stale"] > 50
    assert board.counts["dropped"] > 100


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_idle_without_input_becomes_a_fixed_point_of_both_clocks(
    configuration, scoreboard, clocks, random_pins
):
    params = CONFIGURATIONS[configuration]
    engine = make_engine("queues", params, "rtl")
    board = scoreboard(engine, params, clocks(), seed=8)
    board.run(2000)
    quiet = random_pins(params, Random(0), 0)
    quiet = {name: 0 if name.endswith("valid") else value for name, value in quiet.items()}
    for mask in (1, 2, 3, 1, 2, 3):
        seen = engine.step(quiet, mask, 0)
        assert seen["idle_pim"]
        assert seen["idle_npu"]
        assert not engine.changed
