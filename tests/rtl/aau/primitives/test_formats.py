# SPDX-License-Identifier: Apache-2.0
"""Formats, sums and products against exact fractions, and against NumPy's half precision."""

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahasd.rtl.aau.numerics import CHEAP, DEFAULT, VARIANTS
from ahasd.rtl.aau.primitives.add.golden import add
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.load.golden import Constant, load, scale
from ahasd.rtl.aau.primitives.multiply.golden import multiply
from ahasd.rtl.aau.primitives.store.golden import store

FLOATS = (Format.FP16, Format.BF16)
# Bits of exponent and fraction, largest exponent and code of NaN, from the formats' definitions.
SHAPE = {Format.FP16: (5, 10, 15, 0x7E00), Format.BF16: (8, 7, 127, 0x7FC0)}
FORMS = st.sampled_from(FLOATS)
CODES = st.integers(0, 0xFFFF)


def read(code, form):
    """Return sign and exact magnitude; infinity and NaN as floats."""
    exponent_width, behind, bias, _ = SHAPE[form]
    sign, exponent = code >> 15, code >> behind & ((1 << exponent_width) - 1)
    fraction = code & ((1 << behind) - 1)
    if exponent == (1 << exponent_width) - 1:
        return sign, nan if fraction else inf
    if exponent == 0:
        return sign, Fraction(0)
    return sign, Fraction((1 << behind) + fraction, 1 << behind) * Fraction(2) ** (exponent - bias)


def nearest(value):
    """Round half to even, which is what Python does with fractions."""
    return round(value)


def write(sign, magnitude, form):
    """Return the code of an exact magnitude."""
    exponent_width, behind, bias, quiet = SHAPE[form]
    infinity = ((1 << exponent_width) - 1) << behind
    if magnitude != magnitude:
        return quiet
    if magnitude == inf:
        return sign << 15 | infinity
    if magnitude == 0:
        return sign << 15
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    whole = nearest(magnitude / Fraction(2) ** (exponent - behind))
    if whole == 2 << behind:
        whole, exponent = whole >> 1, exponent + 1
    if exponent > bias:
        return sign << 15 | infinity
    if exponent < 1 - bias:
        return sign << 15
    return sign << 15 | (exponent + bias) << behind | whole - (1 << behind)


def exact_sum(a, b, form):
    (s, x), (t, y) = read(a, form), read(b, form)
    if x != x or y != y or (x == y == inf and s != t):
        return write(0, nan, form)
    if inf in (x, y):
        return write(s if x == inf else t, inf, form)
    total = (-x if s else x) + (-y if t else y)
    return write(s & t if total == 0 else int(total < 0), abs(total), form)


def exact_product(a, b, form):
    (s, x), (t, y) = read(a, form), read(b, form)
    if x != x or y != y or (inf in (x, y) and 0 in (x, y)):
        return write(0, nan, form)
    return write(s ^ t, inf if inf in (x, y) else x * y, form)


def pairs(rows, form):
    """Return random codes; of half the pairs, the exponents are near each other."""
    rng = np.random.default_rng(form)
    behind = SHAPE[form][1]
    a, b = rng.integers(0, 1 << 16, (2, rows))
    near = a + (rng.integers(-4, 5, rows) << behind) + rng.integers(-9, 10, rows)
    return a, np.where(rng.random(rows) < 0.5, near & 0x7FFF | b & 0x8000, b)


@pytest.mark.parametrize("form", FLOATS)
@pytest.mark.parametrize(("operation", "truth"), [(add, exact_sum), (multiply, exact_product)])
def test_sums_and_products_are_the_rounded_exact_ones(operation, truth, form):
    corners = [0, 1, 1 << SHAPE[form][1], SHAPE[form][3], SHAPE[form][3] | 1]
    corners += [write(0, inf, form) + step for step in (-1, 0, 1)]
    corners += [code | 0x8000 for code in corners]
    a, b = pairs(8000, form)
    both = [(x, y) for x in corners for y in corners]
    a, b = (
        np.append(part, part_) for part, part_ in zip((a, b), zip(*both, strict=True), strict=True)
    )
    wanted = [truth(x, y, form) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert operation(a, b, form).tolist() == wanted


@given(CODES, CODES, FORMS)
def test_any_sum_is_the_rounded_exact_one(a, b, form):
    assert add(a, b, form) == exact_sum(a, b, form)


@given(CODES, CODES, FORMS)
def test_any_product_is_the_rounded_exact_one(a, b, form):
    assert multiply(a, b, form) == exact_product(a, b, form)


@pytest.mark.parametrize(("operation", "ufunc"), [(add, np.add), (multiply, np.multiply)])
def test_numpy_gives_the_same_in_half_precision(operation, ufunc):
    a, b = pairs(300_000, Format.FP16)

    def halves(codes):
        flushed = np.where(codes >> 10 & 31 == 0, codes & 0x8000, codes)
        return flushed.astype(np.uint16).view(np.float16)

    with np.errstate(all="ignore"):
        wanted = ufunc(halves(a), halves(b))
    found = operation(a, b, Format.FP16)
    # NumPy rounds to subnormal numbers, and to the smallest normal one with their coarser step.
    normal = abs(wanted) > 2.0**-14
    assert np.array_equal(found[normal], wanted.view(np.uint16)[normal])
    assert np.all((found[np.isnan(wanted)] & 0x7FFF) == 0x7E00)
    small = abs(wanted) < 2.0**-14
    assert np.all(found[small] == wanted.view(np.uint16)[small] & 0x8000)


@pytest.mark.slow
@pytest.mark.parametrize("form", FLOATS)
@pytest.mark.parametrize(("operation", "truth"), [(add, exact_sum), (multiply, exact_product)])
def test_each_code_meets_four_others(operation, truth, form):
    rng = np.random.default_rng(0)
    for _ in range(4):
        a = rng.permutation(1 << 16)
        b = rng.integers(0, 1 << 16, 1 << 16)
        wanted = [truth(x, y, form) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        assert operation(a, b, form).tolist() == wanted


@pytest.mark.parametrize("form", FLOATS)
@pytest.mark.parametrize("numerics", VARIANTS.values(), ids=VARIANTS)
def test_every_code_is_loaded_exactly_and_stored_as_it_was(form, numerics):
    codes = np.arange(1 << 16)
    real = load(codes, form, numerics)
    width = numerics.mantissa_width
    for code in codes[:: 61 if form is Format.BF16 else 17].tolist():
        sign, magnitude = read(code, form)
        assert real.sign[code] == sign
        assert real.nan[code] == (magnitude != magnitude)
        assert real.infinite[code] == (magnitude == inf)
        if isinstance(magnitude, Fraction):
            scale_of_it = Fraction(2) ** (int(real.exponent[code]) - width + 1)
            assert int(real.mantissa[code]) * scale_of_it == magnitude
    width = max(width, 13)
    mantissa = real.mantissa << (width - numerics.mantissa_width)
    back = store(
        real.sign, mantissa, real.exponent, width, form, infinite=real.infinite, nan=real.nan
    )
    _, behind, _, quiet = SHAPE[form]
    wanted = np.where(codes & 0x7FFF < 1 << behind, codes & 0x8000, codes)
    wanted = np.where(real.nan == 1, quiet, wanted)
    assert np.array_equal(back, wanted)


@pytest.mark.parametrize("form", [Format.INT8, Format.INT32])
@pytest.mark.parametrize("numerics", [CHEAP, DEFAULT])
def test_integers_are_rounded_to_a_mantissa(form, numerics):
    rng = np.random.default_rng(0)
    limit = 1 << (form.width - 1)
    values = rng.integers(-limit, limit, 3000) >> rng.integers(0, form.width, 3000)
    values = np.append(
        values, [-limit, limit - 1, 0, 1, -1, (1 << 20) - 1 if limit > 1 << 20 else 3]
    )
    real = load(values & ((1 << form.width) - 1), form, numerics)
    width = numerics.mantissa_width
    for i, value in enumerate(values.tolist()):
        exponent = max(abs(value).bit_length() - width, 0)
        wanted = nearest(Fraction(abs(value), 1 << exponent)) << exponent
        found = int(real.mantissa[i]) * Fraction(2) ** (int(real.exponent[i]) - width + 1)
        assert (found if value else 0) == wanted
        assert real.mantissa[i] >> (width - 1) == (value != 0)
        assert real.sign[i] == (value < 0)
        assert real.infinite[i] == real.nan[i] == 0


def scaled_by_hand(value, factor, numerics):
    whole = nearest(abs(value) * factor * (1 << numerics.fraction_width))
    whole = min(whole, numerics.scaled_max)
    return -whole if value < 0 else whole


@pytest.mark.parametrize("form", FLOATS)
@pytest.mark.parametrize("constant", [1.0, 1 / np.log(2), 0.1275, 2.0**-9, 3e5])
def test_scaling_rounds_the_exact_product_once_and_saturates(form, constant):
    factor = Constant.of(constant, DEFAULT)
    exact = factor.mantissa * Fraction(2) ** (factor.exponent - DEFAULT.mantissa_width + 1)
    assert exact == pytest.approx(constant, rel=2**-16)
    infinity = write(0, inf, form)
    special = [0x8000, infinity, infinity | 0x8000, infinity | 1, SHAPE[form][3]]
    codes = np.append(np.arange(0, 1 << 16, 13), special)
    found = scale(load(codes, form, DEFAULT), factor, DEFAULT)
    for i, code in enumerate(codes.tolist()):
        sign, magnitude = read(code, form)
        flags = (found.masked[i], found.infinite[i], found.nan[i])
        if magnitude != magnitude:
            assert (found.value[i], *flags) == (0, 0, 0, 1)
        elif magnitude == inf:
            assert abs(found.value[i]) == DEFAULT.scaled_max
            assert flags == (sign, 1 - sign, 0)
        else:
            value = -magnitude if sign else magnitude
            assert found.value[i] == scaled_by_hand(value, exact, DEFAULT)
            assert flags == (0, 0, 0)


def test_scaling_breaks_ties_to_even():
    # Halves of a step of 2**-10: 0.5, 1.5, 2.5 of them, which INT8 gives times 2**-11.
    factor = Constant.of(2.0**-11, DEFAULT)
    found = scale(load([1, 3, 5, 0xFF, 0xFD], Format.INT8, DEFAULT), factor, DEFAULT)
    assert found.value.tolist() == [0, 2, 2, 0, -2]


WIDTH = 24


@given(
    st.integers(0, 1),
    st.integers(0, (1 << WIDTH) - 1),
    st.one_of(st.integers(-200, 200), st.integers(-20, 20)),
    FORMS,
)
def test_stores_round_half_to_even(sign, mantissa, exponent, form):
    exact = mantissa * Fraction(2) ** (exponent - WIDTH + 1)
    assert store(sign, mantissa, exponent, WIDTH, form) == write(sign, exact, form)


@given(st.integers(0, 1), st.integers(0, (1 << WIDTH) - 1), st.integers(-12, 20))
def test_stores_of_int8_round_half_to_even_and_saturate(sign, mantissa, exponent):
    exact = nearest(mantissa * Fraction(2) ** (exponent - WIDTH + 1))
    wanted = max(-exact, -128) & 0xFF if sign else min(exact, 127)
    assert store(sign, mantissa, exponent, WIDTH, Format.INT8) == wanted


def test_stores_of_what_is_no_number_or_infinite():
    def stored(form, sign, infinite, none):
        return int(store(sign, 123, 0, WIDTH, form, infinite=infinite, nan=none))

    assert [stored(Format.FP16, 1, 1, 0), stored(Format.FP16, 1, 0, 1)] == [0xFC00, 0x7E00]
    assert [stored(Format.BF16, 0, 1, 0), stored(Format.BF16, 0, 1, 1)] == [0x7F80, 0x7FC0]
    assert [stored(Format.INT8, s, 1, 0) for s in (0, 1)] == [127, 0x80]
    assert stored(Format.INT8, 1, 0, 1) == 0


def test_the_formats_are_what_their_definitions_say():
    for form, (exponent_width, behind, bias, quiet) in SHAPE.items():
        assert (form.exponent_width, form.fraction_width, form.bias) == (
            exponent_width,
            behind,
            bias,
        )
        assert form.nan == quiet
        assert form.infinity == write(0, inf, form)
    assert [form.width for form in Format] == [16, 16, 8, 32]
