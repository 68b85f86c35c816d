# SPDX-License-Identifier: Apache-2.0
"""Rows through the golden model, against float64, against themselves, and at their extremes."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahasd.rtl.aau import oracle
from ahasd.rtl.aau.encodings import Command, Op, constant_code, constant_value
from ahasd.rtl.aau.ending import finish
from ahasd.rtl.aau.golden import AauGolden
from ahasd.rtl.aau.numerics import VARIANTS
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import ints
from ahasd.rtl.aau.reals import real_width
from ahasd.rtl.aau.rows import Beat

FP16, BF16 = Format.FP16, Format.BF16
LOG2_E = constant_code(math.log2(math.e))
ONE = constant_code(1.0)
NAN, INFINITY, MASK = 0x7E00, 0x7C00, 0xFC00
GOLDEN = AauGolden(AauParams())


def row(x, b=None, c=None, form=FP16):
    none = np.zeros(len(x), dtype=np.int64)
    return Beat(ints(x), none if b is None else ints(b), none if c is None else ints(c))


def statistics(x, golden=GOLDEN, **fields):
    """Give codes in FP16 and return what is told of them."""
    command = Command(op=Op.STATISTICS, length=len(x), k0=LOG2_E, **fields)
    summary = golden.run(command, row(x)).summary
    assert summary is not None
    return summary


def entropy(x, golden=GOLDEN):
    return constant_value(statistics(x, golden).entropy)


def probabilities(x, golden=GOLDEN):
    """Return the softmax before it is rounded to a format."""
    command = Command(op=Op.SOFTMAX, length=len(x), k0=LOG2_E)
    given = row(x)
    state = golden.run(command, given).state
    constants, _ = finish(command, state, golden.params)
    found = golden.calculated(command, given, constants)
    width = real_width(golden.params.numerics)
    return found.mantissa * np.exp2((found.exponent - (width - 1)).astype(float))


def normal_row(count, spread, seed=0):
    return oracle.codes(np.random.default_rng(seed).normal(0, spread, count), FP16)


@pytest.mark.parametrize("spread", [0.1, 1, 4])
@pytest.mark.parametrize("count", [2, 100, 4096])
def test_probabilities_are_within_their_bounds(count, spread):
    x = normal_row(count, spread)
    exact = oracle.softmax(oracle.floats(x, FP16))
    found = probabilities(x)
    some = exact > oracle.SOFTMAX_FROM
    assert np.abs(found / exact - 1)[some].max() <= oracle.SOFTMAX_RELATIVE
    assert abs(found.sum() - 1) <= oracle.SUM_OF_PROBABILITIES


@pytest.mark.parametrize("form", [FP16, BF16])
def test_probabilities_are_stored_to_half_a_unit_of_their_format(form):
    x = normal_row(50, 1)
    command = Command(op=Op.SOFTMAX, length=50, k0=LOG2_E, result_format=form)
    found = oracle.floats(GOLDEN.run(command, row(x)).results, form)
    # Half a unit of the last place, of a number that was calculated before.
    assert oracle.ulps(found, probabilities(x), form).max() <= 0.5


@pytest.mark.parametrize("variant", VARIANTS)
def test_entropy_of_a_vocabulary_is_within_its_bound(variant):
    golden = AauGolden(AauParams(numerics=VARIANTS[variant]))
    for spread in (0.5, 2, 5):
        x = normal_row(32_000, spread)
        assert abs(entropy(x, golden) - oracle.entropy(oracle.floats(x, FP16))) <= 0.01


def test_a_flat_tail_of_a_large_vocabulary_is_not_lost():
    # 256,000 elements 12 nat below the first: each has 6e-6 of its power, all together 1.6 times.
    x = oracle.codes(np.full(256_000, -12.0), FP16)
    x[0] = 0
    exact = oracle.entropy(oracle.floats(x, FP16))
    assert abs(entropy(x) - exact) <= oracle.ENTROPY_NATS
    late = np.roll(x, 255_999)
    assert abs(entropy(late) - exact) <= oracle.ENTROPY_NATS
    assert statistics(late).index == 255_999


def test_statistics_of_a_row():
    x = normal_row(3000, 3)
    values = oracle.floats(x, FP16)
    told = statistics(x, first_index=500)
    assert constant_value(told.value) == pytest.approx(oracle.log_sum_exp(values), abs=1e-3)
    assert constant_value(told.probability) == pytest.approx(oracle.softmax(values).max(), rel=1e-3)
    assert told.index == 500 + values.argmax()
    assert (told.empty, told.nan) == (0, 0)


@pytest.mark.parametrize("count", [1, 2, 16, 17, 32_000])
def test_a_uniform_row_has_the_logarithm_of_its_length(count):
    x = oracle.codes(np.full(count, 3.25), FP16)
    assert entropy(x) == pytest.approx(math.log(count), abs=1e-3)
    assert probabilities(x) == pytest.approx(1 / count, rel=1e-3)
    assert statistics(x).index == 0, "the first of equals"


def test_a_row_with_one_element_far_above_the_others_has_no_entropy():
    x = oracle.codes(np.where(np.arange(100) == 41, 60.0, -20.0), FP16)
    assert 0 <= entropy(x) < 1e-3
    assert probabilities(x)[41] == pytest.approx(1, abs=1e-3)
    assert constant_value(statistics(x).probability) == pytest.approx(1, abs=1e-3)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-30, 30), min_size=1, max_size=60), st.floats(-20, 20), st.randoms())
def test_entropy_has_its_limits_and_knows_neither_order_nor_offset(values, offset, random):
    x = oracle.codes(np.array(values), FP16)
    found = entropy(x)
    assert -1e-9 <= found <= math.log(len(x)) + 1e-3
    assert abs(found - oracle.entropy(oracle.floats(x, FP16))) <= oracle.ENTROPY_NATS

    shuffled = x.copy()
    random.shuffle(shuffled)
    assert abs(entropy(shuffled) - found) <= 1e-6

    moved = oracle.codes(oracle.floats(x, FP16) + offset, FP16)
    exact = oracle.entropy(oracle.floats(moved, FP16))
    assert abs(entropy(moved) - exact) <= oracle.ENTROPY_NATS


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-80, 80), min_size=1, max_size=60), st.integers(-32, 32))
def test_probabilities_rise_with_their_elements_and_know_no_offset(eighths, offset):
    # Eighths up to 14 are exact in FP16, so that only the offset is between the rows.
    x = np.sort(np.array(eighths)) / 8
    found = probabilities(oracle.codes(x, FP16))
    assert (np.diff(found) >= 0).all()
    moved = probabilities(oracle.codes(x + offset / 8, FP16))
    some = oracle.softmax(x) > oracle.SOFTMAX_FROM
    assert np.abs(moved / found - 1)[some].max() <= 2 * oracle.SOFTMAX_RELATIVE


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-30, 30), min_size=2, max_size=80),
    st.lists(st.integers(0, 80), max_size=3),
    st.sampled_from([Op.STATISTICS, Op.SOFTMAX, Op.LAYERNORM, Op.SUM]),
)
def test_parts_that_are_merged_are_the_whole_but_for_a_unit_a_shift(values, cuts, op):
    x = oracle.codes(np.array(values), FP16)
    command = Command(op=op, length=len(x), k0=LOG2_E)
    whole = GOLDEN.run(replace(command, exports=1), row(x)).state
    bounds = sorted({0, len(x), *(cut for cut in cuts if cut < len(x))})
    parts = tuple(
        GOLDEN.run(
            replace(command, exports=1, length=end - begin, first_index=begin), row(x[begin:end])
        ).state
        for begin, end in pairwise(bounds)
    )
    merged = GOLDEN.run(replace(command, reduces=0, exports=1), row(x), parts).state
    # Whenever the reference rises, a sum loses less than a unit; so do the shifted powers.
    slack = len(x) + len(parts) + 8
    assert abs(merged.a - whole.a) <= slack
    assert abs(merged.b - whole.b) <= 80 * slack
    same = ("reference", "count", "key", "index", "seen", "nan", "positive", "negative")
    assert all(getattr(merged, name) == getattr(whole, name) for name in same)


def test_order_and_number_of_lanes_change_sums_by_units_of_the_last_place_only():
    x = normal_row(999, 4)
    command = Command(op=Op.STATISTICS, length=len(x), k0=LOG2_E, exports=1)
    states = [AauGolden(AauParams(lanes=lanes)).run(command, row(x)).state for lanes in (1, 8, 32)]
    states.append(GOLDEN.run(command, row(x[::-1])).state)
    first = states[0]
    for each in states[1:]:
        assert each.reference == first.reference
        assert abs(each.a - first.a) <= len(x)
        assert abs(each.b - first.b) <= 16 * len(x)


@pytest.mark.parametrize("op", [Op.SOFTMAX, Op.STATISTICS, Op.MAX])
def test_a_row_that_is_masked_altogether_gives_zeros_and_a_flag(op):
    command = Command(op=op, length=40, k0=LOG2_E)
    outcome = GOLDEN.run(command, row([MASK] * 40))
    assert outcome.summary is not None
    assert outcome.summary.empty
    assert not outcome.summary.nan
    assert not outcome.results.any()


def test_masked_elements_have_no_part():
    x = normal_row(64, 2)
    masked = x.copy()
    masked[[3, 17, 40]] = MASK
    values = oracle.floats(masked, FP16)
    found = probabilities(masked)
    assert not found[[3, 17, 40]].any()
    exact = oracle.softmax(values)
    assert np.abs(found - exact).max() <= oracle.SOFTMAX_RELATIVE
    assert abs(entropy(masked) - oracle.entropy(values)) <= oracle.ENTROPY_NATS


@pytest.mark.parametrize("bad", [NAN, INFINITY])
@pytest.mark.parametrize("place", [0, 20, 39])
def test_what_is_no_number_or_infinite_makes_all_of_a_softmax_no_number(bad, place):
    x = normal_row(40, 1)
    x[place] = bad
    outcome = GOLDEN.run(Command(op=Op.SOFTMAX, length=40, k0=LOG2_E), row(x))
    assert (outcome.results == NAN).all()
    assert outcome.summary is not None
    assert outcome.summary.nan
    assert statistics(x).nan


def gains(count, seed=5):
    return oracle.codes(np.random.default_rng(seed).normal(1, 0.2, count), FP16)


def norm(op, x, gain, bias, form=FP16, eps=1e-5, golden=GOLDEN):
    command = Command(
        op=op,
        length=len(x),
        operand_format=FP16,
        result_format=form,
        k0=constant_code(-1 / len(x)),
        k1=constant_code(eps),
        k2=ONE,
    )
    return oracle.floats(golden.run(command, row(x, gain, bias)).results, form)


@pytest.mark.parametrize("form", [FP16, BF16])
@pytest.mark.parametrize("count", [2, 100, 4096])
def test_norms_are_within_a_unit_of_the_last_place(count, form):
    x, gain = normal_row(count, 3), gains(count)
    found = norm(Op.RMSNORM, x, gain, None, form)
    exact = oracle.rmsnorm(oracle.floats(x, FP16), oracle.floats(gain, FP16), 1e-5)
    assert oracle.ulps(found, exact, form).max() <= oracle.NORM_ULPS

    # Where a bias cancels the rest, units of the larger of the two count.
    bias = oracle.codes(np.random.default_rng(6).normal(0, 0.2, count), FP16)
    values = oracle.floats(x, FP16), oracle.floats(gain, FP16), oracle.floats(bias, FP16)
    found = norm(Op.LAYERNORM, x, gain, bias, form)
    exact = oracle.layernorm(*values, 1e-5)
    largest = np.maximum(np.abs(exact), np.abs(exact - values[2]))
    errors = oracle.ulps(largest + np.abs(found - exact), largest, form)
    assert errors.max() <= oracle.NORM_ULPS


def test_a_mean_of_64_deviations_costs_less_than_the_rounding_of_the_input():
    values = np.random.default_rng(1).normal(192, 3, 4096)
    x = oracle.codes(values, FP16)
    gain, bias = oracle.codes(np.ones(4096), FP16), oracle.codes(np.zeros(4096), FP16)
    exact = oracle.layernorm(oracle.floats(x, FP16), np.ones(4096), np.zeros(4096), 1e-5)
    found = norm(Op.LAYERNORM, x, gain, bias)
    # x has 11 bits: half a unit of 192 is 1/16, which is 0.02 deviations.
    assert np.abs(found - exact).max() < 0.02 / 8
    # The variance itself: sums of squares in single precision would lose 1.8 %.
    command = Command(op=Op.LAYERNORM, length=4096, k0=constant_code(-1 / 4096), k2=ONE)
    constants, _ = finish(command, GOLDEN.run(command, row(x, gain, bias)).state, GOLDEN.params)
    width = real_width(GOLDEN.params.numerics)
    factor = int(constants.factor.mantissa) * 2.0 ** (int(constants.factor.exponent) - width + 1)
    deviation = oracle.floats(x, FP16).std()
    assert factor * deviation == pytest.approx(1, rel=5e-5)


def test_a_row_of_equal_elements_is_zeros_behind_a_layernorm():
    x = oracle.codes(np.full(300, 7.3), FP16)
    gain, bias = gains(300), oracle.codes(np.full(300, 0.5), FP16)
    assert norm(Op.LAYERNORM, x, gain, bias) == pytest.approx(0.5)
    assert norm(Op.LAYERNORM, x, gain, bias, eps=0.0) == pytest.approx(0.5)


@pytest.mark.parametrize("bad", [NAN, INFINITY, MASK])
def test_norms_of_what_is_no_number_or_infinite_are_no_number(bad):
    x = normal_row(40, 1)
    x[7] = bad
    for op in (Op.LAYERNORM, Op.RMSNORM):
        assert np.isnan(norm(op, x, gains(40), gains(40))).all()


def unary(op, x, form=FP16, k2=0, k0=LOG2_E, result_format=FP16, b=None, c=None):
    command = Command(
        op=op,
        length=len(x),
        x_format=form,
        operand_format=form,
        result_format=result_format,
        k0=k0,
        k1=ONE,
        k2=k2,
    )
    outcome = GOLDEN.run(command, row(x, b, c))
    constants, _ = finish(command, outcome.state, GOLDEN.params)
    real = GOLDEN.calculated(command, row(x, b, c), constants)
    width = real_width(GOLDEN.params.numerics)
    value = real.mantissa * np.exp2((real.exponent - (width - 1)).astype(float))
    return np.where(real.sign == 1, -value, value), outcome.results


def finite(form):
    every = np.arange(1 << 16)
    exponent = every >> form.fraction_width & ((1 << form.exponent_width) - 1)
    return every[(exponent != 0) & (exponent != (1 << form.exponent_width) - 1)]


@pytest.mark.parametrize("form", [FP16, BF16])
def test_silu_of_every_number_is_within_its_bound(form):
    x = finite(form)
    values = oracle.floats(x, form)
    found, _ = unary(Op.SILU, x, form)
    near = np.abs(values) <= 8
    assert np.abs(found - oracle.silu(values))[near].max() <= oracle.SILU_ABSOLUTE
    # Farther away the sigmoid is 0 or 1, but for what a unit of its last place is.
    far = ~near & (np.abs(values) < 2.0**100)
    assert (np.abs(found - oracle.silu(values))[far] <= 1e-4 * np.abs(values[far])).all()


def test_gelu_of_every_number_is_within_a_bound():
    x = finite(FP16)
    values = oracle.floats(x, FP16)
    k = 2 * math.sqrt(2 / math.pi) * math.log2(math.e)
    found, _ = unary(Op.GELU, x, k0=constant_code(k * 0.044715), k2=constant_code(k))
    near = np.abs(values) <= 8
    with np.errstate(over="ignore"):
        exact = oracle.gelu(values)
    assert np.abs(found - exact)[near].max() <= 5e-4


def test_gated_silu_is_the_product():
    x, b = normal_row(500, 2), normal_row(500, 1, seed=9)
    found, _ = unary(Op.SWIGLU, x, b=b)
    exact = oracle.silu(oracle.floats(x, FP16)) * oracle.floats(b, FP16)
    assert (
        np.abs(found - exact).max() <= oracle.SILU_ABSOLUTE * np.abs(oracle.floats(b, FP16)).max()
    )


@pytest.mark.parametrize("form", [FP16, BF16])
def test_sums_of_two_numbers_are_rounded_once(form):
    rng = np.random.default_rng(3)
    x, c = rng.choice(finite(form), 5000), rng.choice(finite(form), 5000)
    near = np.where(rng.random(5000) < 0.5, x ^ 0x8000 ^ rng.integers(0, 64, 5000), c)
    c = np.where(np.isin(near, finite(form)), near, c)
    _, found = unary(Op.ADD, x, form, k0=ONE, result_format=form, c=c)
    with np.errstate(over="ignore"):
        exact = oracle.codes(oracle.floats(x, form) + oracle.floats(c, form), form)
    biased = exact >> form.fraction_width & ((1 << form.exponent_width) - 1)
    exact = np.where(biased == 0, exact & 0x8000, exact)  # subnormal sums are zeros of their sign
    unlike = found != exact
    # A float64 sum of numbers far apart may be rounded twice, which no such case here is.
    assert not unlike.any()


def test_relu_of_every_number():
    x = finite(FP16)
    _, found = unary(Op.RELU, x, k0=ONE)
    assert (found == np.where(x >> 15 == 1, 0, x)).all()
    _, special = unary(Op.RELU, np.array([NAN, INFINITY, MASK, 0x8000]), k0=ONE)
    assert special.tolist() == [NAN, INFINITY, 0, 0]


def test_rope_rotates_a_pair():
    angles = np.linspace(0, 3, 50)
    a, b = normal_row(50, 1, seed=1), normal_row(50, 1, seed=2)
    cos, sin = oracle.codes(np.cos(angles), FP16), oracle.codes(np.sin(angles), FP16)
    command = Command(op=Op.ROPE, length=50)
    given = Beat(a | b << 16, cos, sin ^ 0x8000)
    found = oracle.floats(GOLDEN.run(command, given).results, FP16)
    u, v, p, q = (oracle.floats(each, FP16) for each in (a, b, cos, sin))
    assert np.abs(found - (u * p - v * q)).max() <= 2.0**-10
    # Where nothing cancels, rounded once of a sum that has seven bits more.
    large = np.abs(u * p - v * q) > 0.5
    assert oracle.ulps(found, u * p - v * q, FP16)[large].max() <= 0.52


def test_zeros_that_are_rotated_have_no_sign():
    # The first product stands with 0 added to it, and -0 + 0 is 0; so is 0 + -0.
    pairs = np.array([0x8000_8000, 0x0000_8000, 0x8000_0000])
    ones = np.full(3, 0x3C00)
    command = Command(op=Op.ROPE, length=3)
    assert GOLDEN.run(command, Beat(pairs, ones, ones)).results.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("form", "scale"), [(Format.INT8, 0.05), (Format.INT32, 2.0**-27)])
def test_integers_come_in_with_a_scale(form, scale):
    rng = np.random.default_rng(2)
    values = rng.integers(-(1 << (form.width - 1)), 1 << (form.width - 1), 200)
    x = values & ((1 << form.width) - 1)
    k0 = constant_code(scale * math.log2(math.e))
    command = Command(op=Op.STATISTICS, length=200, x_format=form, k0=k0)
    told = GOLDEN.run(command, row(x)).summary
    assert told is not None
    assert constant_value(told.entropy) == pytest.approx(oracle.entropy(values * scale), abs=5e-3)
    assert told.index == values.argmax()
    assert told.key == values.max()


def test_results_go_out_as_integers_with_a_scale():
    x = np.array([0x3C00, 0x3800, 0xBC00, 0x7BFF, 0xFBFF, 0x7E00])  # 1, 0.5, -1, +-65504, NaN
    _, found = unary(Op.ADD, x, k0=constant_code(5.0), result_format=Format.INT8)
    # 2.5 is half way and goes to the even neighbour.
    assert found.tolist() == [5, 2, 0xFB, 127, 0x80, 0]
    # Probabilities in units of 1/128.
    even = oracle.codes(np.zeros(4), FP16)
    command = Command(op=Op.SOFTMAX, length=4, k0=LOG2_E, shift=7, result_format=Format.INT8)
    assert GOLDEN.run(command, row(even)).results.tolist() == [32] * 4


def test_the_sum_and_the_largest_of_a_row():
    x = normal_row(1000, 3)
    values = oracle.floats(x, FP16)
    told = GOLDEN.run(Command(op=Op.SUM, length=1000, k0=constant_code(0.5)), row(x)).summary
    assert told is not None
    assert constant_value(told.value) == pytest.approx(values.sum() / 2, rel=1e-6)
    told = GOLDEN.run(Command(op=Op.MAX, length=1000), row(x)).summary
    assert told is not None
    assert told.index == values.argmax()
    assert told.key == x[values.argmax()]


@pytest.mark.parametrize(
    ("form", "codes", "key", "index"),
    [
        (FP16, [0xC000, 0xBC00, 0xBC01], -0x3C01, 1),  # -2, -1, a little less
        (FP16, [0xBC00, 0x8000, 0x0000, 0x83FF], 0, 1),  # all zeros are equal
        (FP16, [0xFBFF], -0x7C00, 0),  # the lowest
        (Format.BF16, [0xFF7F, 0x8080], -0x81, 1),
        (Format.INT8, [0x80, 0xFF], -1, 1),
        (Format.INT32, [0x80000000, 0xFFFFFFFE], -2, 1),
    ],
)
def test_the_largest_of_what_is_below_zero(form, codes, key, index):
    command = Command(op=Op.MAX, length=len(codes), x_format=form)
    told = GOLDEN.run(command, row(np.array(codes))).summary
    assert told is not None
    assert (told.key, told.index) == (key, index)


@pytest.mark.parametrize(
    ("specials", "value"),
    [([INFINITY], math.inf), ([MASK], -math.inf), ([INFINITY, MASK], None), ([NAN], None)],
)
def test_a_sum_with_infinities(specials, value):
    told = GOLDEN.run(
        Command(op=Op.SUM, length=10 + len(specials), k0=ONE),
        row(normal_row(10, 1).tolist() + specials),
    ).summary
    assert told is not None
    assert told.nan == (value is None)
    if value is not None:
        assert constant_value(told.value) == value


def test_subnormal_numbers_are_zeros():
    x = np.array([0x0001, 0x03FF, 0x8200])
    _, found = unary(Op.ADD, x, k0=ONE)
    assert not (found & 0x7FFF).any()
    told = GOLDEN.run(Command(op=Op.MAX, length=3), row(x)).summary
    assert told is not None
    assert (told.key, told.index) == (0, 0)
