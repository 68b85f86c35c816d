# SPDX-License-Identifier: Apache-2.0
"""Golden models against the mathematics: budgets, order, and the places where they are exact."""

import math

import mpmath
import numpy as np
import pytest

from ahasd.rtl.aau.numerics import ACCURATE, CHEAP, DEFAULT, VARIANTS, Numerics
from ahasd.rtl.aau.primitives import oracle
from ahasd.rtl.aau.primitives.budgets import BUDGETS
from ahasd.rtl.aau.primitives.exp2.golden import exp2, term
from ahasd.rtl.aau.primitives.log2.golden import logarithm
from ahasd.rtl.aau.primitives.normalise.golden import normalise
from ahasd.rtl.aau.primitives.recip.golden import recip
from ahasd.rtl.aau.primitives.rsqrt.golden import MENDED_WIDTH, guess_width, mended, rsqrt
from ahasd.rtl.aau.primitives.sigmoid.golden import sigmoid

EVERY = pytest.mark.parametrize("numerics", VARIANTS.values(), ids=VARIANTS)


def mantissas(numerics):
    one = 1 << (numerics.result_width - 1)
    return np.arange(one, 2 * one)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("exp2", 4.9e-4),  # half a unit in the last place of FP16
        ("recip", 6e-5),
        ("rsqrt", 1.2e-5),
        ("sigmoid", 1.1e-4),
        # A chord on a 64th of [1, 2] is at most 1 / (8 * 64**2 * ln 2) below the logarithm, and
        # results of 16 bits are rounded.
        ("log2", 1 / (8 * 64**2 * math.log(2)) + 2**-16),
    ],
)
def test_the_default_variant_keeps_its_budgets(name, limit):
    assert BUDGETS[name].measure(DEFAULT) <= limit


def test_budgets_as_they_are_told_are_those_of_this_test():
    assert {name: budget.limit for name, budget in BUDGETS.items()} == {
        "exp2": 4.9e-4,
        "recip": 6e-5,
        "rsqrt": 1.2e-5,
        "log2": None,
        "sigmoid": 1.1e-4,
    }


@pytest.mark.parametrize(
    ("numerics", "limit"),
    # Figures of an independent model with the same widths whose chords end on the function.
    [(CHEAP, 2.15e-3), (DEFAULT, 4.35e-4), (ACCURATE, 1.15e-4)],
)
def test_powers_err_no_more_than_published_for_these_widths(numerics, limit):
    assert BUDGETS["exp2"].measure(numerics) <= limit


def test_errors_include_the_rounding_of_operands():
    # Half a step of 2**-10 moves a power by ln 2 of that, and a sigmoid near 0 by a quarter of it.
    half = 2**-11 * math.log(2)
    assert BUDGETS["exp2"].measure(DEFAULT) > half
    operands, errors = BUDGETS["sigmoid"].errors(DEFAULT)
    assert errors[np.flatnonzero(operands == 0)] == pytest.approx(half / 4, rel=1e-3)


@pytest.mark.parametrize("name", BUDGETS)
def test_a_better_variant_errs_less(name):
    cheap, default, accurate = (BUDGETS[name].measure(numerics) for numerics in VARIANTS.values())
    assert accurate < default < cheap


@EVERY
def test_powers_never_rise_with_depth(numerics):
    depth = np.arange(40 << numerics.fraction_width)
    power = exp2(depth, numerics)
    value = power.mantissa * 2.0**-power.shift
    assert np.all(np.diff(value) <= 0)
    assert np.all(np.diff(term(power, numerics)) <= 0)


@EVERY
def test_whole_powers_are_exact(numerics):
    shift = np.arange(1 << numerics.integer_width)
    power = exp2(shift << numerics.fraction_width, numerics)
    assert np.array_equal(power.shift, shift)
    assert np.all(power.mantissa == 1 << (numerics.mantissa_width - 1))
    top = numerics.term_width - 1
    wanted = [1 << (top - each) if each <= top else 0 for each in shift.tolist()]
    assert term(power, numerics).tolist() == wanted


@EVERY
def test_reciprocals_fall_from_one_to_a_half_which_are_exact(numerics):
    found = recip(mantissas(numerics), numerics)
    one = 1 << (numerics.result_width - 1)
    assert found[0] == one
    assert found[-1] == one >> 1
    assert np.all(np.diff(found) <= 0)


@EVERY
def test_reciprocal_square_roots_fall_from_one_to_a_half(numerics):
    one = 1 << (guess_width(numerics) - 1)
    both = np.concatenate([rsqrt(mantissas(numerics), odd, numerics) for odd in (0, 1)])
    assert (both[0], both[-1]) == (one, one >> 1)
    assert np.all(np.diff(both) <= 0)


@EVERY
def test_a_newton_step_squares_the_error_of_a_root(numerics):
    mantissa, one = mantissas(numerics), 1 << (numerics.result_width - 1)
    for odd in (0, 1):
        exact = 1 / np.sqrt(mantissa / one * (1 + odd))
        guess = rsqrt(mantissa, odd, numerics) / 2 ** (guess_width(numerics) - 1) / exact - 1
        found = mended(mantissa, odd, numerics) / 2 ** (MENDED_WIDTH - 1) / exact - 1
        # y (3 - x y^2) / 2 of y = (1 + e) / sqrt(x) is (1 - 3 e^2 / 2 - e^3 / 2) / sqrt(x).
        wanted = -1.5 * guess**2 - guess**3 / 2 if numerics.rsqrt_newton else guess
        # Cut off by less than a unit of the last place, of half a root of 1 at least.
        assert np.abs(found - wanted).max() < 2.0 ** (2 - MENDED_WIDTH)


@EVERY
def test_logarithms_rise_from_zero_to_one(numerics):
    found = logarithm(mantissas(numerics), numerics)
    assert found[0] == 0
    assert found[-1] == 1 << numerics.mantissa_width
    assert np.all(np.diff(found) >= 0)


@EVERY
def test_sigmoids_rise_and_are_symmetric(numerics):
    scaled = np.arange(-numerics.scaled_max, numerics.scaled_max + 1)
    found = sigmoid(scaled, numerics)
    one = 1 << (numerics.result_width - 1)
    assert np.all(np.diff(found) >= 0)
    assert np.all(found + found[::-1] == one)
    assert (found[0], found[numerics.scaled_max], found[-1]) == (0, one >> 1, one)


def test_a_value_worked_by_hand():
    numerics = Numerics(exp2_segments=32)
    # 2**-(16/32) is the first value of a segment: 23170.475 of 15 bits, less what centres the
    # chords, (ln 2 / 32)**2 / 16 of it: 23169.796. The last one is 22673.315 likewise. A quarter of
    # the way is 23170 - 497 / 4 = 23045.75.
    power = exp2([3 << 10 | 16 << 5, 3 << 10 | 16 << 5 | 8, 3 << 10 | 17 << 5], numerics)
    assert power.mantissa.tolist() == [23170, 23046, 22673]
    assert power.shift.tolist() == [3, 3, 3]
    # 2**-3 of 2**12 times the mantissa.
    assert term(power, numerics).tolist() == [23170 << 9, 23046 << 9, 22673 << 9]


def test_normalising_cuts_what_does_not_fit():
    mantissa, exponent = normalise([0b1, 0b1011, 0b110111], 4)
    assert mantissa.tolist() == [0b1000, 0b1011, 0b1101]
    assert exponent.tolist() == [0, 3, 5]
    mantissa, exponent = normalise(0, 4)
    assert (int(mantissa), int(exponent)) == (0, -1)


def test_normalising_takes_integers_beyond_64_bits():
    mantissa, exponent = normalise([(1 << 70) - 1, 1 << 64, 3], 18)
    assert mantissa.tolist() == [(1 << 18) - 1, 1 << 17, 3 << 16]
    assert exponent.tolist() == [69, 64, 1]


@pytest.mark.parametrize(
    ("mine", "truth", "points"),
    [
        (oracle.exp2, lambda x: mpmath.mpf(2) ** x, np.linspace(-40, 0, 997)),
        (oracle.exp, mpmath.exp, np.linspace(-90, 0, 997)),
        (oracle.recip, lambda x: 1 / x, np.linspace(1, 2, 997)),
        (oracle.rsqrt, lambda x: 1 / mpmath.sqrt(x), np.linspace(1, 4, 997)),
        (oracle.log2, lambda x: mpmath.log(x, 2), np.linspace(1.001, 2, 997)),
        (oracle.sigmoid2, lambda x: 1 / (1 + mpmath.mpf(2) ** -x), np.linspace(-40, 40, 997)),
        (oracle.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x)), np.linspace(-30, 30, 997)),
    ],
)
def test_the_oracle_agrees_with_forty_digits(mine, truth, points):
    with mpmath.workdps(40):
        exact = np.array([float(truth(mpmath.mpf(float(x)))) for x in points])
    assert mine(points) == pytest.approx(exact, rel=1e-13)
