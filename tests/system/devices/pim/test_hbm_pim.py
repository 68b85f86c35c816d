# SPDX-License-Identifier: Apache-2.0
"""HBM-PIM's kernels: a tile by hand, the fit of the published simulator's cycles, both engines."""

from dataclasses import replace

import pytest

from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.reference import ReferenceEngine
from ahasd.system.devices.dram.timing import load_timing
from ahasd.system.devices.pim.hbm_pim import elementwise, gemv

MEMORY = replace(load_timing("hbm2"), channels=1)
# Outputs that fill the registers of all blocks of a channel once.
ROUND = 8 * 8


def unrefreshed():
    engine = FastEngine(MEMORY)
    engine.set_refresh_due(0, 0, 10**9)
    return engine


def tile_cycles(kernel, few, many):
    """Return the cycles that the further tiles take."""
    return kernel(many).cycles - kernel(few).cycles


def test_a_pair_of_gemv_tiles_takes_the_cycles_of_its_commands():
    # 64 reads: 32, a row change (tRTP 5 + tRP 14 + tRCD 14), 32. Eight writes of inputs before,
    # tCCD_L 4 apart. Even: 16 (RTW) + 28 + 19 (WTR_L) + 124 + 33 + 124, rows opened meanwhile. Odd,
    # on the bank of the registers: 29 (5 + 14 + tRCDWR 10) + 28 + 54 (8 + 2 + 16, 14, 14) + 281.
    def kernel(tiles):
        return gemv(unrefreshed(), ROUND, 128 * tiles, channels=1)

    assert tile_cycles(kernel, 4, 6) == 344 + 392
    assert tile_cycles(kernel, 10, 16) == 3 * (344 + 392)


@pytest.mark.parametrize(("operands", "cycles"), [(2, 165), (1, 104)])
def test_an_elementwise_tile_takes_the_cycles_of_its_commands(operands, cycles):
    # Each bank: WTR_L 19, 28 for eight reads, 33 to the other operand's row and 28; 29 to the
    # result's row, 28 for eight writes. After both banks a write of its own, 4 later.
    def kernel(tiles):
        elements = 16 * 8 * 16 * tiles
        return elementwise(unrefreshed(), elements, operands=operands, channels=1)

    assert tile_cycles(kernel, 2, 3) == 2 * cycles + 4


@pytest.mark.parametrize("channels", [1, 16, 64])
@pytest.mark.parametrize(("rounds", "tiles", "batch"), [(1, 16, 1), (2, 32, 1), (3, 64, 2)])
def test_gemv_comes_close_to_the_fit_of_the_published_simulator(channels, rounds, tiles, batch):
    # PIMSimulator's cycles are rounds x vectors x (403 x tiles + 100) + 300 within 2 %.
    run = gemv(
        FastEngine(MEMORY), ROUND * channels * rounds, 128 * tiles, batch=batch, channels=channels
    )
    assert run.cycles == pytest.approx(rounds * batch * (403 * tiles + 100) + 300, rel=0.04)


def test_what_fills_no_tile_or_round_costs_a_whole_one():
    whole = gemv(unrefreshed(), 2 * ROUND, 128 * 3, channels=1)
    assert gemv(unrefreshed(), ROUND + 1, 128 * 2 + 1, channels=1) == whole
    assert elementwise(unrefreshed(), 1, operands=1, channels=1) == elementwise(
        unrefreshed(), 16 * 8 * 16, operands=1, channels=1
    )


def test_both_engines_take_the_same_cycles():
    for kernel in (
        lambda engine: gemv(engine, 2 * ROUND, 128 * 5, batch=2, channels=1),
        lambda engine: elementwise(engine, 16 * 8 * 16 * 13, operands=2, channels=1),
    ):
        slow, fast = kernel(ReferenceEngine(MEMORY)), kernel(FastEngine(MEMORY))
        assert slow == fast
        assert fast.refreshes == fast.cycles // MEMORY.t_refi


def test_a_run_ends_with_its_last_data():
    # RL 20 and a burst of 2 after the last read.
    engine = unrefreshed()
    assert gemv(engine, ROUND, 128, channels=1).cycles == engine.now(0) + 22


def test_refresh_costs_its_share():
    run = gemv(FastEngine(MEMORY), 8 * ROUND, 4096, channels=1)
    free = gemv(unrefreshed(), 8 * ROUND, 4096, channels=1)
    # REFab 350, banks closed before and opened after.
    assert run.refreshes == pytest.approx(run.cycles / 3900, abs=1)
    assert 350 < (run.cycles - free.cycles) / run.refreshes < 400


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda e: gemv(e, 0, 128), "outputs = 0 must be at least 1"),
        (lambda e: gemv(e, 64, 128, batch=0), "batch = 0 must be at least 1"),
        (lambda e: gemv(e, 64, 128, channels=0), "channels = 0 must be at least 1"),
        (lambda e: gemv(e, 64 * 200, 128 * 32, channels=1), "rows of a bank are needed"),
        (lambda e: elementwise(e, 0, operands=1), "elements = 0 must be at least 1"),
        (lambda e: elementwise(e, 1, operands=3), "operands = 3 must be 1 or 2"),
        (lambda e: elementwise(e, 2**25, operands=2, channels=1), "rows of a bank are needed"),
    ],
)
def test_what_the_memory_has_not_is_refused(call, told):
    with pytest.raises(ValueError, match=told):
        call(FastEngine(MEMORY))


def test_a_memory_without_rows_for_the_registers_is_refused():
    with pytest.raises(ValueError, match="hbm2 has 4096 rows, HBM-PIM's registers lie in row"):
        gemv(FastEngine(replace(MEMORY, rows=4096)), 64, 128)
