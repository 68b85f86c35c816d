# SPDX-License-Identifier: Apache-2.0
"""Our NPU beside ONNXim: its tiles, bounds that no machine beats, and the rows themselves."""

from fractions import Fraction

import pytest

from ahasd.system.model import load_model
from ahasd.system.validation import npu
from ahasd.system.validation.rows import ALLOWED


def test_every_row_is_near_or_says_why():
    rows = npu.rows()
    assert len(rows) == 6
    assert {row.peer for row in rows} == {"ONNXim"}
    assert all(row.reason for row in rows if abs(row.error) > ALLOWED)
    # None is far off, with our memory; measured 2026-11-30: -6, -4, -19, -13, -12, -14 %.
    assert all(-0.2 < row.error < 0 for row in rows)


def test_its_memory_gives_less_than_its_command_bus_allows():
    one, four = npu.their_shares()
    # Of 18 commands 16 read; 421 of 4,680 cycles are a REFab.
    most = 16 / 18 * (1 - 421 / 4680)
    assert four == pytest.approx(most, abs=0.005)
    assert 0.6 < one < four


def test_at_its_memorys_rates_our_cycles_are_on_both_sides_of_its_own_or_near():
    shares = [Fraction(share) for share in npu.their_shares()]
    for (m, k, n), theirs in npu._PRODUCTS.items():
        if abs(npu.cycles(m, k, n) / theirs - 1) > ALLOWED:
            slow, fast = (npu.cycles(m, k, n, share) for share in shares)
            assert fast < theirs < slow
    shape = load_model("opt-125m")
    for sizes, theirs in npu._LAYERS.items():
        slow, fast = (npu.layer_cycles(shape, *sizes, share) for share in shares)
        assert fast < theirs < 1.05 * slow


def test_the_share_of_the_peak_is_that_of_the_dram_engine():
    # 350 of 3,900 cycles in REFab; rows change while others are read.
    assert float(npu.our_share()) == pytest.approx(1 - 350 / 3900, abs=0.01)


@pytest.mark.parametrize("sizes", [(1, 4096, 4096), (128, 4096, 4096), (2048, 2048, 2048)])
def test_no_product_is_faster_than_its_weights_or_its_operations(sizes):
    m, k, n = sizes
    peak = npu.cycles(m, k, n, Fraction(1))
    assert peak > 2 * k * n / 614.4
    assert peak > m * k * n / (4 * 128 * 128)
    # And not more than twice as slow as the slower of both, for products as large as these.
    assert peak < 2 * max(2 * k * n / 614.4, m * k * n / (4 * 128 * 128))


@pytest.mark.parametrize(
    ("sizes", "count", "first"),
    [
        # Half of 4 MB holds 32 results of 128 x 128 and 4 bytes: blocks of 5 x 5 at most.
        ((256, 256, 256), 1, (256, 256, 256)),
        ((1024, 1024, 1024), 4, (512, 1024, 512)),
        # 7 columns of blocks are 3 too many for 4 cores: 10, of whole arrays 11.
        ((1, 4096, 4096), 11, (1, 4096, 384)),
        ((1, 768, 768), 6, (1, 768, 128)),
        # As deep as a quarter of the scratchpad holds: 51 x 128.
        ((1, 8192, 512), 8, (1, 4096, 128)),
        # A side shorter than one array for each core: never less than an array.
        ((1, 256, 300), 3, (1, 256, 128)),
    ],
)
def test_blocks_are_those_of_gemminis_rule(sizes, count, first):
    groups = npu.blocks(*sizes)
    made = [block for group in groups for block in group]
    assert len(made) == count
    assert (made[0].rows, made[0].depth, made[0].columns) == first
    assert sum(block.rows * block.depth * block.columns for block in made) == (
        sizes[0] * sizes[1] * sizes[2]
    )
    assert [block.is_last for group in groups for block in group] == [
        block is group[-1] for group in groups for block in group
    ]


def test_a_layer_takes_longer_than_its_products_and_than_its_weights():
    shape = load_model("opt-125m")
    products = [(768, 2304), (768, 768), (768, 3072), (3072, 768)]
    for new, keys in ((1, 101), (100, 100)):
        layer = npu.layer_cycles(shape, new, keys)
        assert layer > sum(npu.cycles(new, k, n) for k, n in products)
        assert layer > shape.body_parameters / shape.layers * 2 / 614.4
