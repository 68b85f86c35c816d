# SPDX-License-Identifier: Apache-2.0
"""What sums up a row against exact rationals and the mathematics, with bounds in last places."""

from fractions import Fraction
from functools import reduce
from random import Random

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahasd.rtl.aau.encodings import Op
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.sums import Sums, joined, no_sums, rebase, term
from ahasd.rtl.aau.sums_pins import BlockSumGolden

PARAMS = AauParams(lanes=8)
FRACTION = 27  # bits behind the point of the sums, of the default numerics
POINT = 10  # bits behind that of a scaled number
PRODUCT = 34  # bits of a product, which is 1 with bit 32
EXPONENT = 10


def signed(value, width):
    value &= (1 << width) - 1
    return value - (value >> (width - 1) << width)


def total(numbers, reference, *, powers=False):
    """Return what comes out of the golden model for (sign, mantissa, exponent) in the lanes."""
    golden = BlockSumGolden(PARAMS)
    product = power = 0
    for lane, (sign, mantissa, exponent) in enumerate(numbers):
        if powers:
            power |= (mantissa | -exponent << 16) << 24 * lane
        else:
            packed = mantissa | (exponent & 0x3FF) << PRODUCT | sign << (PRODUCT + EXPONENT)
            product |= packed << (PRODUCT + EXPONENT + 3) * lane
    pins = {"enable": 1, "active": (1 << len(numbers)) - 1, "product": product, "power": power}
    seen: dict[str, int] = {}
    for _ in range(3):
        seen = golden.step({**pins, "of_power": int(powers), "level": reference & 0x7FFFF})
    return signed(seen["total"], FRACTION + 3 + 3)


def exact(numbers, reference, place):
    """Return the sum in units of the last place."""
    return sum(
        (-1) ** sign * Fraction(mantissa, 1 << place) * Fraction(2) ** (exponent - reference)
        for sign, mantissa, exponent in numbers
    ) * (1 << FRACTION)


PRODUCTS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, (1 << PRODUCT) - 1), st.integers(-100, 0)),
    min_size=1,
    max_size=8,
)
POWERS = st.lists(
    st.tuples(st.just(0), st.integers(0, (1 << 16) - 1), st.integers(-255, 0)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(PRODUCTS, st.integers(-300, 300), st.randoms(use_true_random=False))
def test_a_beat_loses_less_than_a_last_place_a_lane_towards_0(numbers, reference, random):
    numbers = [(sign, mantissa, exponent + reference) for sign, mantissa, exponent in numbers]
    found, true = total(numbers, reference), exact(numbers, reference, PRODUCT - 2)
    assert abs(found - true) < len(numbers)
    assert total([(1 - sign, *rest) for sign, *rest in numbers], reference) == -found
    plain = [(0, *rest) for _, *rest in numbers]
    assert 0 <= exact(plain, reference, PRODUCT - 2) - total(plain, reference) < len(numbers)
    shuffled = random.sample(numbers, len(numbers))
    assert total(shuffled, reference) == found


@settings(max_examples=100, deadline=None)
@given(POWERS)
def test_a_beat_of_powers_is_never_above_their_sum(powers):
    true = exact(powers, 0, 15)
    assert 0 <= true - total(powers, 0, powers=True) < len(powers)


@pytest.mark.parametrize("down", [-6, -5, 0, 1, 26, 27, 28, 62, 63, 64, 300])
@pytest.mark.parametrize("mantissa", [0, 1, 1 << 26, (1 << 27) - 1])
def test_a_term_is_the_floor_of_its_magnitude(mantissa, down):
    true = Fraction(mantissa, 1 << 32) * Fraction(2) ** -down * (1 << FRACTION)
    assert term(mantissa, 32, down, PARAMS) == true.__floor__()


# Scaled numbers of parts of a row.
PARTS = st.lists(
    st.lists(st.integers(-(60 << POINT), 60 << POINT), min_size=1, max_size=6),
    min_size=1,
    max_size=7,
)


def true_powers(scaled, level):
    """Return the sums of 2^(s - m) and of 2^(s - m) (m - s), in units of the last place."""
    with mpmath.workprec(400):
        depths = [mpmath.mpf((level << POINT) - each) / (1 << POINT) for each in scaled]
        weights = [mpmath.mpf(2) ** (FRACTION - depth) for depth in depths]
        moved = (weight * depth for weight, depth in zip(weights, depths, strict=True))
        return sum(weights, mpmath.mpf(0)), sum(moved, mpmath.mpf(0))


def part_of_powers(scaled):
    reference = max(scaled)
    return Sums(reference, *(int(each) for each in true_powers(scaled, -(-reference >> POINT))))


def merged(parts, op):
    return reduce(lambda first, second: joined(first, second, op, PARAMS), parts, no_sums(PARAMS))


@settings(max_examples=150, deadline=None)
@given(PARTS, st.randoms(use_true_random=False))
def test_merged_powers_are_those_of_the_whole_row_within_their_last_places(parts, random):
    made = [part_of_powers(part) for part in parts]
    whole = [each for part in parts for each in part]
    found = merged(made, Op.STATISTICS)
    assert found.reference == max(whole)
    true_a, true_b = true_powers(whole, -(-max(whole) >> POINT))
    # A part begins with less than a unit cut off, and a merge cuts less than another one. What a
    # lost moves by d / 2^d, at most a half, into b.
    cuts = 2 * len(parts)
    assert 0 <= true_a - found.a < cuts
    assert 0 <= true_b - found.b < 2 * cuts
    # Of softmax, the first sums are the same.
    assert merged(made, Op.SOFTMAX)[:2] == found[:2]

    other = merged(random.sample(made, len(made)), Op.STATISTICS)
    assert other.reference == found.reference
    assert abs(other.a - found.a) <= len(parts)
    assert abs(other.b - found.b) <= 2 * len(parts)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-60, 60), st.integers(-2047, 2047)), min_size=1, max_size=9),
    st.randoms(use_true_random=False),
)
def test_merged_moments_are_those_of_the_whole_row_within_their_last_places(numbers, random):
    # Numbers of 11 bits, so that the squares of a single one are exact.
    made = [
        Sums(exponent, value << (FRACTION - 10), value * value << (FRACTION - 20))
        for exponent, value in numbers
    ]
    found = merged(made, Op.LAYERNORM)
    reference = max(exponent for exponent, _ in numbers)
    assert found.reference == reference
    true = [Fraction(value, 1 << 10) * Fraction(2) ** (e - reference) for e, value in numbers]
    assert abs(sum(true) * (1 << FRACTION) - found.a) < len(numbers)
    lost = sum(each * each for each in true) * (1 << FRACTION) - found.b
    assert 0 <= lost < len(numbers)
    other = merged(random.sample(made, len(made)), Op.LAYERNORM)
    assert abs(other.a - found.a) <= len(numbers)
    assert abs(other.b - found.b) <= len(numbers)


def test_a_state_of_no_element_changes_no_other():
    rng = Random(0)
    for op in (Op.STATISTICS, Op.SOFTMAX, Op.LAYERNORM):
        for _ in range(50):
            some = Sums(
                rng.randrange(-(1 << 17), 1 << 17), rng.getrandbits(40), rng.getrandbits(40)
            )
            for pair in ((some, no_sums(PARAMS)), (no_sums(PARAMS), some)):
                assert joined(*pair, op, PARAMS) == some


def test_sums_of_16_bits_are_rebased_as_by_hand():
    # 2^(s - m) = 1/4 and 1/2: a = 3/4, b = 1/4 * 2 + 1/2 * 1 = 1. Of a level 3 higher they are
    # 1/32 and 1/16, at depths 5 and 4: a = 3/32, b = 5/32 + 4/16 = 13/32.
    unit = 1 << 16
    assert rebase(3 * unit // 4, unit, 3, Op.STATISTICS) == (3 * unit // 32, 13 * unit // 32)
    # 1/2 and -1/4 of 2^e: a = 1/4, b = 5/16. Of 2^(e + 2): a = 1/16, b = 5/256.
    assert rebase(unit // 4, 5 * unit // 16, 2, Op.LAYERNORM) == (unit // 16, 5 * unit // 256)
    assert rebase(-1, 1, 5000, Op.LAYERNORM) == (-1, 0)
