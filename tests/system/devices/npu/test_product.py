# SPDX-License-Identifier: Apache-2.0
"""A product by itself, with times worked by hand: reads, work and writes of one core and of two."""

from fractions import Fraction

import pytest

from ahasd.system.devices.npu.array import SystolicArray
from ahasd.system.devices.npu.product import Block, Machine, product_cycles


def machine(rate=4, latency_cycles=0, **more) -> Machine:
    array = SystolicArray(rows=4, columns=4, weight_load_bytes_per_cycle=4, **more)
    return Machine(
        array=array,
        element_bytes=1,
        memory_bytes_per_cycle=Fraction(rate),
        latency_cycles=latency_cycles,
    )


SINGLE = Block(rows=4, depth=4, columns=4)


def test_one_tile_is_read_loaded_streamed_and_written():
    # 16 bytes of weights and 16 of inputs at 4 a cycle; load 4, stream 4, way out 6; 16 written.
    assert product_cycles(machine(), [[SINGLE]]) == 8 + 4 + 4 + 6 + 4


def test_latency_delays_what_is_read_and_not_what_is_written():
    assert product_cycles(machine(latency_cycles=10), [[SINGLE]]) == 26 + 10


def test_a_second_strip_is_read_while_the_first_is_at_work():
    # Strip 0 and the chunk are there at 8, strip 1 at 12. The array takes tile 0 at 8 + 4 and is
    # free at 16, tile 1 follows until 20. Results at 22 and 26, each written in 4.
    block = Block(rows=4, depth=4, columns=8)
    assert product_cycles(machine(), [[block]]) == 26 + 4


def test_an_array_that_ran_dry_loads_its_next_weights_first():
    # A byte a cycle: parts at 32 and 48. The first results are out at 46 and written from 48 to 64;
    # the second tile is loaded by 52, streamed by 56, out at 62, and written by 80.
    block = Block(rows=4, depth=4, columns=8)
    assert product_cycles(machine(rate=1), [[block]]) == 80


def test_a_later_strip_waits_for_its_weights_alone():
    # Two chunks: strip 0 at 4, chunks at 8 and 12, strip 1 at 16. Work 12 to 16, 16 to 20 (chunk
    # 1), 20 to 28; last out at 34, written by 38.
    block = Block(rows=8, depth=4, columns=8)
    assert product_cycles(machine(), [[block]]) == 38


def test_results_that_a_further_block_adds_to_are_not_written():
    halves = [Block(rows=4, depth=4, columns=4, is_last=last) for last in (False, True)]
    # One byte a cycle: read by 32 and 64; the second tile is out at 64 + 4 + 4 + 6 = 78. Complete
    # results of the first, if any, are written from 64 to 80, those of the second after them.
    assert product_cycles(machine(rate=1), [halves]) == 78 + 16
    assert product_cycles(machine(rate=1), [[SINGLE, SINGLE]]) == 80 + 16


def test_two_cores_share_the_memory_evenly():
    # Each is read at 2 bytes a cycle, by 16; both write at once, by 8 after 30.
    assert product_cycles(machine(), [[SINGLE], [SINGLE]]) == 16 + 14 + 8
    # A core without blocks takes no share.
    assert product_cycles(machine(), [[SINGLE], []]) == product_cycles(machine(), [[SINGLE]])


def test_a_third_block_is_read_when_the_first_is_done():
    # A way in of one byte a cycle: 16 cycles for a tile, the memory moves its 32 bytes in 2.
    def cycles(count: int) -> int:
        array = SystolicArray(rows=4, columns=4, weight_load_bytes_per_cycle=1)
        slow = Machine(array=array, element_bytes=1, memory_bytes_per_cycle=Fraction(16))
        return product_cycles(slow, [[SINGLE] * count])

    # Read by 2, loaded by 18, out at 18 + 4 + 6 = 28, written by 29; the next tile 16 later.
    assert [cycles(count) for count in (1, 2)] == [29, 45]
    # Block 2 is read from 29, behind the results of block 0: by 31, when the array is taken until
    # 50. Block 3 is read behind the results of block 1, at 45.
    assert [cycles(count) for count in (3, 4)] == [61, 77]
    # Were the array faster than the reads, it would run dry: block 2 waits for block 0.
    fast = Machine(
        array=SystolicArray(rows=4, columns=4, weight_load_bytes_per_cycle=4),
        element_bytes=1,
        memory_bytes_per_cycle=Fraction(4),
    )
    # Reads 0 to 8 and 8 to 16; out at 22 and 26 (the second tile is taken on at 16). Results of
    # block 0 go from 22 to 26, block 2 is read from 26 to 34, behind it results of block 1 to 38.
    # Block 2 is out at 34 + 4 + 4 + 6 and written 4 later.
    assert product_cycles(fast, [[SINGLE] * 3]) == 52


def test_an_output_stationary_core_has_no_weights_to_wait_for():
    # Read by 8; 4 steps, then 2 x 3 + 4 until the last result is out; 4 to write.
    assert product_cycles(machine(dataflow="os"), [[SINGLE]]) == 8 + 4 + 6 + 4 + 4


@pytest.mark.parametrize("rate", [0, -1])
def test_a_memory_without_a_rate_is_refused(rate):
    with pytest.raises(ValueError, match=f"memory_bytes_per_cycle = {rate} must be above 0"):
        product_cycles(machine(rate=rate), [[SINGLE]])


def test_a_product_without_blocks_is_refused():
    with pytest.raises(ValueError, match="no core has a block"):
        product_cycles(machine(), [[], []])
