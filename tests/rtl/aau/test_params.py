# SPDX-License-Identifier: Apache-2.0
"""Cycles of the AAU against the formulas worked by hand."""

import pytest

from ahasd.rtl.aau.params import AauParams, Operation


@pytest.mark.parametrize(
    ("operation", "cycles"),
    [
        # 1000 elements on 16 lanes are 63 beats, the last half full.
        (Operation.SOFTMAX, 2 * 63 + 20),
        (Operation.LAYERNORM, 2 * 63 + 24),
        (Operation.RMSNORM, 2 * 63 + 24),
        (Operation.SILU, 4 * 63 + 14),
        (Operation.GELU, 4 * 63 + 14),
        (Operation.RELU, 63 + 6),
        (Operation.ROPE, 63 + 6),
        (Operation.ADD, 63 + 6),
        (Operation.STATISTICS, 63 + 20),
    ],
)
def test_cycles_of_a_vector_that_does_not_fill_its_last_beat(operation, cycles):
    assert AauParams().cycles(operation, 1000) == cycles


def test_every_operation_has_a_time():
    assert all(AauParams().cycles(operation, 1) > 0 for operation in Operation)


def test_fewer_lanes_take_more_beats_and_the_same_latency():
    assert AauParams(lanes=4).cycles(Operation.SOFTMAX, 1024) == 2 * 256 + 20
    assert AauParams(lanes=1).cycles(Operation.ADD, 7) == 7 + 6


def test_until_there_is_hardware_the_cycles_are_said_to_be_a_formula():
    assert AauParams().timing == "formula"


@pytest.mark.parametrize("lanes", [0, 3, 128, -16])
def test_lanes_that_are_no_power_of_two_in_range_are_refused(lanes):
    with pytest.raises(ValueError, match=f"power of two in 1..64, not {lanes}"):
        AauParams(lanes=lanes)


@pytest.mark.parametrize("length", [0, -1])
def test_an_empty_vector_is_refused(length):
    with pytest.raises(ValueError, match=f"length must be at least 1, not {length}"):
        AauParams().cycles(Operation.ADD, length)
