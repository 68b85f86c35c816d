# SPDX-License-Identifier: Apache-2.0
"""Cycles of one array: worked by hand, and against the array simulated cell by cell."""

import random

import pytest

from ahasd.system.devices.npu.array import SystolicArray
from ahasd.system.devices.npu.reference import (
    output_stationary,
    ring_cycles,
    weight_stationary,
)
from ahasd.system.platform import load_platform

SIMULATE = {"ws": weight_stationary, "os": output_stationary}


def array(rows=128, columns=128, weight_load_bytes_per_cycle=128, **more) -> SystolicArray:
    return SystolicArray(
        rows=rows,
        columns=columns,
        weight_load_bytes_per_cycle=weight_load_bytes_per_cycle,
        **more,
    )


@pytest.mark.parametrize(
    ("m", "k", "n", "cycles"),
    [
        # One tile: load, inputs, way out of 128 + 128 - 2.
        (1, 128, 128, 128 + 1 + 254),
        (300, 128, 128, 128 + 300 + 254),
        # Fewer rows of weights load faster; the way through the array is the same.
        (1, 40, 128, 40 + 1 + 254),
        (1, 128, 1, 128 + 1 + 254),
        # Three tiles of few inputs: loads follow one another.
        (5, 384, 128, 3 * 128 + 5 + 254),
        # Three tiles of many: inputs do.
        (300, 128, 384, 128 + 3 * 300 + 254),
        # The second tile of k has 22 rows, two columns of tiles.
        (100, 150, 256, 128 + 100 + 128 + 100 + 100 + 254),
    ],
)
def test_weight_stationary_cycles_worked_by_hand(m, k, n, cycles):
    assert array().cycles(m, k, n) == cycles


@pytest.mark.parametrize(
    ("m", "k", "n", "cycles"),
    [
        # One tile: k steps, the last operands to the far corner, 127 more upwards, skew out.
        (128, 500, 128, 500 + 254 + 128),
        (1, 500, 128, 500 + 128),
        # Weights pass once for each tile of rows and of columns.
        (256, 500, 256, 4 * 500 + 254 + 128),
        # Results of a whole tile take 255 cycles to leave: k = 100 has to wait for them.
        (256, 100, 128, 255 + 100 + 254 + 128),
    ],
)
def test_output_stationary_cycles_worked_by_hand(m, k, n, cycles):
    assert array(dataflow="os").cycles(m, k, n) == cycles


@pytest.mark.parametrize("dataflow", ["ws", "os"])
def test_a_narrow_way_in_slows_both_dataflows_alike(dataflow):
    # 32 bytes a cycle for rows of 128 weights: four cycles a row, or a step.
    narrow = array(weight_load_bytes_per_cycle=32, dataflow=dataflow)
    assert narrow.steady_cycles(1, 4096, 4096) == 4 * 4096 * 32
    assert array(dataflow=dataflow).steady_cycles(1, 4096, 4096) == 4096 * 32


def test_an_ideal_array_takes_as_long_as_its_inputs():
    assert array(ideal=True).cycles(7, 256, 256) == 4 * 7 + 254
    assert array(ideal=True, dataflow="os").cycles(1, 500, 128) == 500 + 128
    assert (
        array(ideal=True, weight_load_bytes_per_cycle=1, dataflow="os").cycles(1, 500, 128) == 628
    )


def test_two_byte_elements_take_two_cycles_of_a_byte_cell_and_load_twice():
    assert array().cycles(300, 128, 128, 2) == 256 + 600 + 254
    wide = array(cell_bytes=2, weight_load_bytes_per_cycle=256)
    assert wide.cycles(300, 128, 128, 2) == 128 + 300 + 254
    assert array(dataflow="os").cycles(1, 500, 128, 2) == 1000 + 128


@pytest.mark.parametrize("dataflow", ["ws", "os"])
def test_cycles_and_products_are_those_of_the_array_cell_by_cell(dataflow):
    rng = random.Random(f"cells {dataflow}")
    for _ in range(300):
        small = array(
            rows=rng.randint(1, 5),
            columns=rng.randint(1, 5),
            weight_load_bytes_per_cycle=rng.randint(1, 6),
            dataflow=dataflow,
        )
        m, k, n = (rng.randint(1, 11) for _ in range(3))
        inputs = [[rng.randint(-9, 9) for _ in range(k)] for _ in range(m)]
        weights = [[rng.randint(-9, 9) for _ in range(n)] for _ in range(k)]
        outcome = SIMULATE[dataflow](small, inputs, weights)
        product = [
            [sum(inputs[i][j] * weights[j][c] for j in range(k)) for c in range(n)]
            for i in range(m)
        ]
        assert outcome.result == product, (small, m, k, n)
        assert outcome.cycles == small.cycles(m, k, n), (small, m, k, n)


@pytest.mark.parametrize("dataflow", ["ws", "os"])
def test_products_in_a_queue_add_their_steady_cycles(dataflow):
    # n columns twice as wide are two products in a row, if whole tiles.
    one = array(dataflow=dataflow)
    for m, k in ((1, 128), (37, 1000), (200, 300)):
        added = one.cycles(m, k, 512) - one.cycles(m, k, 256)
        assert added == one.steady_cycles(m, k, 256)


def test_a_ring_of_tiles_takes_fill_the_slower_side_and_drain():
    for tiles in (1, 2, 5, 9):
        for read in (1, 3, 4, 7):
            for work in (1, 3, 4, 8):
                for slots in (2, 3, 5):
                    whole = read + (tiles - 1) * max(read, work) + work
                    assert ring_cycles(tiles, read, work, slots) == whole
                # A single slot overlaps nothing.
                assert ring_cycles(tiles, read, work, 1) == tiles * (read + work)


def test_an_array_of_the_platform_has_its_figures():
    npu = load_platform("mobile-paper", {"npu.dataflow": "os", "npu.ideal_array": "true"}).npu
    made = SystolicArray.of(npu)
    assert (made.rows, made.columns, made.weight_load_bytes_per_cycle) == (128, 128, 128)
    assert made.dataflow == "os"
    assert made.ideal
    assert made.cell_bytes == 1


@pytest.mark.parametrize("name", ["rows", "columns", "weight_load_bytes_per_cycle", "cell_bytes"])
def test_an_array_without_a_size_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} = 0 must be at least 1"):
        array(**{name: 0})


def test_an_unknown_dataflow_is_refused():
    with pytest.raises(ValueError, match="dataflow = 'rs' must be 'ws' or 'os'"):
        array(dataflow="rs")


@pytest.mark.parametrize("sizes", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_an_empty_product_is_refused(sizes):
    with pytest.raises(ValueError, match="= 0 must be at least 1"):
        array().cycles(*sizes)


def test_the_reference_has_no_ideal_array():
    with pytest.raises(ValueError, match="no weight load to simulate"):
        weight_stationary(array(ideal=True), [[1]], [[1]])
