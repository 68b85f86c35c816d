# SPDX-License-Identifier: Apache-2.0
"""Cycles of the AAU against the formulas worked by hand."""

import pytest

from ahasd.rtl.aau.encodings import Command, Op, State, constant_code, constant_value
from ahasd.rtl.aau.numerics import VARIANTS, Numerics
from ahasd.rtl.aau.params import AauParams, Operation

# The schedule has, counted from the edge that takes a beat: an addition's result after 6 cycles;
# of a softmax the sums after 9 and the results after 8, with a program of 46 in between. A
# command and its summary (or its state) are a cycle each. 1000 elements on 16 lanes are 63 beats.
SUMS, PROGRAM, RESULTS = 62 + 9 + 1, 46, 62 + 8 + 1


def test_cycles_of_a_vector_that_does_not_fill_its_last_beat():
    assert AauParams().cycles(Operation.ADD, 1000) == 2 + 62 + 6 + 1
    assert AauParams().cycles(Operation.SOFTMAX, 1000) == 2 + SUMS + PROGRAM + RESULTS


def test_a_vector_that_is_shared_is_merged_before_its_second_pass():
    shared = 2 + SUMS + 2 + 4 * 2 + PROGRAM + RESULTS
    assert AauParams().cycles(Operation.SOFTMAX, 1000, 4) == shared
    # What has no state is done in parts as such.
    add = AauParams().cycles(Operation.ADD, 1000)
    assert AauParams().cycles(Operation.ADD, 1000, 4) == add


def test_every_operation_has_a_time():
    assert all(AauParams().cycles(operation, 1) > 0 for operation in Operation)


def test_fewer_lanes_take_more_beats_and_the_same_latency():
    fewer = AauParams(lanes=4).cycles(Operation.SOFTMAX, 1024)
    assert fewer - AauParams().cycles(Operation.SOFTMAX, 1024) == 2 * (256 - 64)
    assert AauParams(lanes=1).cycles(Operation.ADD, 7) == 2 + 6 + 6 + 1


def test_reports_say_where_the_cycles_are_from():
    assert AauParams().timing == "cycles of its RTL"


@pytest.mark.parametrize("lanes", [0, 3, 64, -16])
def test_lanes_that_are_no_power_of_two_in_range_are_refused(lanes):
    with pytest.raises(ValueError, match=f"power of two in 1..32, not {lanes}"):
        AauParams(lanes=lanes)


@pytest.mark.parametrize("length", [0, -1])
def test_an_empty_vector_is_refused(length):
    with pytest.raises(ValueError, match=f"length must be at least 1, not {length}"):
        AauParams().cycles(Operation.ADD, length)


def test_no_part_of_a_vector_is_refused():
    with pytest.raises(ValueError, match="parts must be at least 1, not 0"):
        AauParams().cycles(Operation.ADD, 8, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length_width": 21}, "length_width must be in 1..20, not 21"),
        ({"index_width": 17}, "index_width must be in 18..32, not 17"),
        ({"imports_width": 0}, "imports_width must be in 1..8, not 0"),
        ({"numerics": Numerics(guard_width=10)}, r"guard_width must .* 11..17, not 10"),
        ({"numerics": Numerics(guard_width=18)}, r"guard_width must .* 11..17, not 18"),
        # 2^-32 times 32 is not less than 2^-28, 2^-64 times 64 is: six bits before the point.
        (
            {"numerics": Numerics(fraction_width=12, guard_width=13)},
            r"fraction_width must leave room .* of 18 bits, in .* 17",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        AauParams(**changes)


@pytest.mark.parametrize("numerics", VARIANTS.values(), ids=VARIANTS)
def test_a_state_takes_at_most_32_bytes(numerics):
    # Rows of up to 2^18 elements, so that a vocabulary of 256,000 fits.
    params = AauParams(numerics=numerics)
    assert sum(abs(width) for width in State.widths(params).values()) <= 256
    assert params.length_max >= 256_000


def test_payloads_come_back_from_the_wires_as_they_were():
    params = AauParams()
    command = Command(op=Op.GELU, length=99, shift=-5, first_index=7, k2=0xDEADBEEF, applies=0)
    assert Command.unpack(command.pack(params), params) == command
    assert command.pack(params) & 0xF == Op.GELU
    assert command.pack(params) >> 4 & params.length_max == 99
    state = State(
        reference=-3, a=-4, b=5, count=6, key=-7, index=8, seen=1, nan=0, positive=1, negative=0
    )
    assert State.unpack(state.pack(params), params) == state


def test_constants_are_in_ieee_single_precision():
    assert constant_code(1.0) == 0x3F800000
    assert constant_code(-0.5) == 0xBF000000
    assert constant_value(0x3FB504F3) == pytest.approx(2**0.5, rel=1e-7)
