# SPDX-License-Identifier: Apache-2.0
"""GEMV times by hand, and beside the model that they are parts of."""

from collections import defaultdict

import pytest

from ahasd.system.devices.capacity import rank_map
from ahasd.system.devices.dram.timing import load_timing
from ahasd.system.devices.pim.step import PimModel
from ahasd.system.devices.report.products import model_products, product, square_products
from ahasd.system.model import load_model
from ahasd.system.platform import load_platform

pytestmark = pytest.mark.full

PLATFORM = load_platform("mobile-paper")
TIMING = load_timing("lpddr5-6400")


def test_a_small_product_takes_its_commands():
    made = product(PLATFORM, TIMING, "square", (256, 256), (0,), 1)
    # 256 x 256 in 16 banks of 32-byte columns: 128 MACs in two rows, 26 cycles apart (512 bytes at
    # 16 GB/s); tRCD 15, tRTP 8, tRPab 17 a row. 8 bursts of inputs first; results fit between.
    rows = 2 * (15 + 63 * 26 + 8 + 17)
    assert rows + 8 * 2 <= made.time_us * 1000 / 1.25 <= rows + 8 * 2 + 2 * 9 + 20
    assert made.share == pytest.approx(128 * 26 * 1.25 / 1000 / made.time_us)
    assert made.limit == "bandwidth"


def test_tokens_cost_nothing_until_the_unit_is_full():
    one, two, four, eight = (
        product(PLATFORM, TIMING, "square", (1024, 1024), (0,), tokens) for tokens in (1, 2, 4, 8)
    )
    # 51.2 GMAC/s are 3.2 tokens at 16 GB/s.
    assert two.time_us == pytest.approx(one.time_us, rel=0.01)
    # 32 and 64 cycles of 512 x tokens / 51.2 GMAC/s, against 26.
    assert four.time_us == pytest.approx(one.time_us * 32 / 26, rel=0.02)
    assert eight.time_us == pytest.approx(one.time_us * 64 / 26, rel=0.02)
    assert [each.limit for each in (one, two, four, eight)] == ["bandwidth"] * 2 + ["compute"] * 2


def test_where_the_file_prints_enough_the_banks_limit():
    made = product(load_platform("mobile-jedec"), TIMING, "square", (1024, 1024), (0,), 1)
    assert made.limit == "t_mac"


@pytest.mark.parametrize("tokens", [1, 4])
def test_the_products_of_a_model_add_up_to_its_pass(tokens):
    draft, target = load_model("opt-1.3b"), load_model("opt-6.7b")
    ranks = rank_map(PLATFORM, draft, target, 256).draft.members
    held = defaultdict(float)
    for each in model_products(PLATFORM, TIMING, draft, ranks):
        held[each.tokens] += each.time_us * (1 if "vocabulary" in each.matrix else draft.layers)
    model = PimModel(PLATFORM, TIMING, draft, ranks, tokens=tokens)
    whole_us = (model.weights.time_ps + model.exchange.time_ps) / 1e6
    assert held[tokens] == pytest.approx(whole_us, rel=0.01)


def test_inputs_go_to_every_rank_of_a_channel_in_turn():
    apart = product(PLATFORM, TIMING, "x", (64, 4096), (0, 1, 2, 3), 1)
    together = product(PLATFORM, TIMING, "x", (64, 4096), (0, 4, 8, 12), 1)
    # Three more times 128 bursts of two cycles.
    assert (together.time_us - apart.time_us) * 1000 == pytest.approx(3 * 128 * 2 * 1.25)


def test_squares_that_a_rank_does_not_hold_are_left_out():
    small = load_platform("mobile-paper", {"pim.rank_capacity_bytes": 2**20})
    assert max(each.outputs for each in square_products(small, TIMING)) == 1024
