# SPDX-License-Identifier: Apache-2.0
"""Bytes of a product cut into blocks: worked by hand, and against every block there is."""

import itertools

import pytest

from ahasd import UserError
from ahasd.system.devices.npu.tiling import Traffic, best_block, blocked, traffic

MIB = 2**20


def test_what_fits_in_half_the_scratchpad_reads_its_weights_once():
    assert traffic(32, 4096, 11008, 8 * MIB) == Traffic(read_bytes=4096 * 11008, write_bytes=0)
    # 4 MiB hold exactly 512 rows of 4096 + 4096.
    assert traffic(512, 4096, 4096, 8 * MIB).write_bytes == 0
    assert traffic(513, 4096, 4096, 8 * MIB).write_bytes == 513 * 4096
    # Two bytes an element: half as many rows.
    assert traffic(256, 4096, 4096, 8 * MIB, 2).write_bytes == 0
    assert traffic(257, 4096, 4096, 8 * MIB, 2).write_bytes == 2 * 257 * 4096


def test_a_blocked_product_worked_by_hand():
    # 1 MiB: 384 x 512 results of 4 bytes and two slices of 128 deep of both sides just fit.
    assert best_block(1024, 1024, 1024, MIB) in ((384, 512), (512, 384))
    moved = blocked(1024, 1024, 1024, MIB)
    assert moved.read_bytes == MIB * (3 + 2)
    assert moved.write_bytes == MIB
    assert moved.total_bytes == 6 * MIB


@pytest.mark.parametrize(
    ("m", "k", "n", "scratchpad", "element_bytes"),
    [(700, 300, 900, MIB // 2, 1), (256, 4096, 4096, MIB, 2), (100, 64, 5000, MIB // 8, 1)],
)
def test_no_other_block_that_fits_moves_fewer_bytes(m, k, n, scratchpad, element_bytes):
    def fits(block_m, block_n):
        slices = 2 * min(k, 128) * element_bytes * (block_m + block_n)
        return 4 * block_m * block_n + slices <= scratchpad

    def steps(size):
        return [*range(128, size, 128), size]

    fewest = min(
        m * k * -(-n // block_n) + k * n * -(-m // block_m)
        for block_m, block_n in itertools.product(steps(m), steps(n))
        if fits(block_m, block_n)
    )
    assert fits(*best_block(m, k, n, scratchpad, element_bytes))
    assert blocked(m, k, n, scratchpad, element_bytes).read_bytes == fewest * element_bytes


def test_traffic_adds_and_scales():
    moved = Traffic(read_bytes=3, write_bytes=4)
    assert moved + moved == moved * 2 == Traffic(read_bytes=6, write_bytes=8)


@pytest.mark.parametrize("name", ["m", "k", "n", "element_bytes"])
def test_a_size_below_one_is_refused(name):
    sizes = {"m": 300, "k": 300, "n": 300, "element_bytes": 1, name: 0}
    with pytest.raises(ValueError, match=f"{name} = 0 must be at least 1"):
        blocked(scratchpad_bytes=MIB, **sizes)


def test_a_scratchpad_that_is_too_small_says_how_much_it_takes():
    # 128 x 128 results of 4 bytes, two slices of 128 x 128 of both sides.
    least = 4 * 128 * 128 + 2 * 2 * 128 * 128
    with pytest.raises(UserError, match=f"give it at least {least} bytes"):
        blocked(512, 512, 512, least - 1)
    assert best_block(512, 512, 512, least) == (128, 128)
