# SPDX-License-Identifier: Apache-2.0
"""Error reports, worked by hand and against NumPy; and the functions that they are made of."""

import mpmath
import numpy as np
import pytest

from ahasd.rtl.aau.numerics import ACCURATE, DEFAULT
from ahasd.rtl.aau.primitives import errors, oracle
from ahasd.rtl.aau.primitives.errors import report, ulp, value
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.unary import UNARY, assess

FP16, BF16, INT8 = Format.FP16, Format.BF16, Format.INT8


def test_values_are_those_of_numpy():
    codes = np.arange(1 << 16)
    wanted = codes.astype(np.uint16).view(np.float16).astype(float)
    wanted = np.where(abs(wanted) < 2.0**-14, np.copysign(0, wanted), wanted)
    found = value(codes, FP16)
    assert np.array_equal(found, wanted, equal_nan=True)
    assert np.array_equal(np.signbit(found[:0x7C00]), np.signbit(wanted[:0x7C00]))
    # BF16 is the upper half of single precision.
    with np.errstate(invalid="ignore"):  # signalling NaNs
        single = (codes.astype(np.uint32) << 16).view(np.float32).astype(float)
    single = np.where(abs(single) < 2.0**-126, np.copysign(0, single), single)
    assert np.array_equal(value(codes, BF16), single, equal_nan=True)


def test_the_unit_in_the_last_place_is_the_distance_to_the_next_number():
    exact = np.array([1.0, 1.7, 2.0, -3.0, 0.99])
    assert ulp(exact, FP16).tolist() == [2**-10, 2**-10, 2**-9, 2**-9, 2**-11]
    assert ulp(exact, BF16).tolist() == [2**-7, 2**-7, 2**-6, 2**-6, 2**-8]


def test_a_report_worked_by_hand():
    # Of FP16, numbers in [1, 2) are 2**-10 apart. Errors of 0, 1/4, 1/2, 1 and 3 of that; the last
    # two operands have no normal result.
    step = 2.0**-10
    exact = np.array([1.0, 1.0 + step / 4, 1.0 + step / 2, 1.5, 1.75, 2.0**-15, 1e6])
    results = np.array([1.0, 1.0, 1.0, 1.5 + step, 1.75 - 3 * step, 5.0, 5.0])
    found = report(np.arange(7.0), results, exact, FP16)
    assert found.count == 5
    assert found.max_ulp == 3
    assert found.mean_ulp == pytest.approx((0.25 + 0.5 + 1 + 3) / 5)
    assert found.worst == 4
    assert found.max_relative == pytest.approx(3 * step / 1.75)
    assert found.max_absolute == pytest.approx(3 * step)
    assert errors.EDGES == (0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
    assert found.histogram == (3, 0, 1, 0, 0, 1, 0)


def test_a_report_of_nothing_is_refused():
    with pytest.raises(
        ValueError, match="at least one exact value must be a normal number of BF16"
    ):
        report(np.ones(1), np.ones(1), np.zeros(1), BF16)


@pytest.mark.parametrize(
    ("name", "form", "limit"),
    [
        # Half a ULP of rounding, and the primitive's largest relative error: of FP16, whose ULP is
        # at least 2**-11 of a number, 2**11 of it; of BF16, 2**8.
        ("recip", FP16, 0.5 + 6e-5 * 2**11),
        ("recip", BF16, 0.5 + 6e-5 * 2**8),
        ("rsqrt", FP16, 0.5 + 1.2e-5 * 2**11),
        ("rsqrt", BF16, 0.5 + 1.2e-5 * 2**8),
        # That of a power includes the operand's rounding, but not the scale's, of half a bit of 16,
        # times operands of up to 9.7 (FP16) and 87 (BF16).
        ("exp", FP16, 0.5 + (4.9e-4 + 9.71 * 2**-17) * 2**11),
        ("exp", BF16, 0.5 + (4.9e-4 + 87.4 * 2**-17) * 2**8),
    ],
)
def test_the_default_variant_rounds_nearly_right(name, form, limit):
    assert assess(name, form, form, DEFAULT).max_ulp <= limit


@pytest.mark.parametrize("form", [FP16, BF16])
def test_sigmoids_and_logarithms_err_absolutely(form):
    # Beside the budget, half a ULP of results up to 1, and of logarithms of up to 128; the scale's
    # rounding, of 2**-17 of x, moves a sigmoid by less than a quarter of that.
    half = 0.5 * 2.0 ** (-1 - form.fraction_width)
    assert assess("sigmoid", form, form, DEFAULT).max_absolute <= 1.1e-4 + 2**-19 + half
    found = assess("log2", form, form, ACCURATE)
    assert found.max_absolute <= (half * 128 if form is BF16 else half * 16) + 2e-5


def test_operands_outside_a_function_are_left_out():
    # Reciprocals of FP16 are normal from 2**-14 to 2**14: 28 octaves of 1024 numbers and one more,
    # of both signs.
    assert assess("recip", FP16, FP16, DEFAULT).count == 2 * (28 * 1024 + 1)
    # Powers are normal from -14 ln 2, -9.7, to 0, and 1023 subnormal numbers above count as 0.
    codes = np.arange(1 << 16).astype(np.uint16).view(np.float16).astype(float)
    below = codes[(codes <= 0) & (codes >= -14 * np.log(2))]
    assert assess("exp", FP16, FP16, DEFAULT).count == len(below) + 1023
    # Of INT8, every code but 0 has a reciprocal, and 127 of them are above 0.
    assert assess("recip", INT8, FP16, DEFAULT).count == 255
    assert assess("rsqrt", INT8, FP16, DEFAULT).count == 127


def test_int8_operands_have_four_bits_behind_the_point():
    found = assess("exp", INT8, FP16, DEFAULT)
    assert found.count == 129  # -8 to 0
    assert -8 <= found.worst <= 0
    assert found.max_ulp < 1.5


@pytest.mark.slow
@pytest.mark.parametrize("form", [FP16, BF16])
@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("exp", mpmath.exp),
        ("sigmoid", lambda x: 1 / (1 + mpmath.exp(-x))),
        ("recip", lambda x: 1 / x),
        ("rsqrt", lambda x: 1 / mpmath.sqrt(x)),
        ("log2", lambda x: mpmath.log(x, 2)),
    ],
)
def test_the_truth_of_every_code_agrees_with_forty_digits(name, truth, form):
    _, mine, low, high = UNARY[name]
    operands = value(np.arange(1 << 16), form)
    operands = operands[np.isfinite(operands) & (operands >= low) & (operands <= high)]
    with np.errstate(all="ignore"):
        found = mine(operands)
    normal = errors.normal(found, form)
    with mpmath.workdps(40):
        exact = [float(truth(mpmath.mpf(float(x)))) for x in operands[normal]]
    assert found[normal] == pytest.approx(np.array(exact), rel=1e-13)


def test_every_function_has_its_truth():
    assert {name: entry[1] for name, entry in UNARY.items()} == {
        "exp": oracle.exp,
        "sigmoid": oracle.sigmoid,
        "recip": oracle.recip,
        "rsqrt": oracle.rsqrt,
        "log2": oracle.log2,
    }
