# SPDX-License-Identifier: Apache-2.0
"""Numerics refuse what the arithmetic cannot do."""

import pytest

from ahasd.rtl.aau.numerics import DEFAULT, Numerics
from ahasd.rtl.aau.primitives.formats import Format, calculable, loadable, storable
from ahasd.rtl.aau.primitives.load.golden import Constant


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fraction_width": 3}, r"fraction_width must be in 4\.\.16, not 3"),
        ({"integer_width": 11}, r"integer_width must be in 4\.\.10, not 11"),
        ({"mantissa_width": 11}, r"mantissa_width must be in 12\.\.20, not 11"),
        ({"guard_width": -1}, r"guard_width must be in 0\.\.24, not -1"),
        ({"exp2_segments": 24}, r"exp2_segments must be a power of two in 2\.\.512, not 24"),
        # A segment has at least two places, so that there is something to round.
        ({"exp2_segments": 1024}, r"exp2_segments must be a power of two in 2\.\.512, not 1024"),
        ({"recip_segments": 1}, r"recip_segments must be a power of two in 2\.\.256, not 1"),
        ({"rsqrt_segments": 2}, r"rsqrt_segments must be a power of two in 4\.\.256, not 2"),
        ({"log2_segments": 512}, r"log2_segments must be a power of two in 2\.\.256, not 512"),
        (
            {"fraction_width": 16, "integer_width": 8, "mantissa_width": 12},
            "must have 2 bits less than a product of two mantissas, not 24 of 24",
        ),
    ],
)
def test_numerics_refuse(changes, message):
    with pytest.raises(ValueError, match=message):
        Numerics(**changes)


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_a_scale_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match=f"a scale must be finite and above 0, not {value}"):
        Constant.of(value, DEFAULT)


@pytest.mark.parametrize("value", [2.0**256, 2.0**-257])
def test_a_scale_beyond_the_exponents_is_refused(value):
    with pytest.raises(ValueError, match=r"a scale must be in 2\*\*-256\.\.2\*\*256, not"):
        Constant.of(value, DEFAULT)


def test_a_scale_is_the_nearest_mantissa():
    assert Constant.of(1.0, DEFAULT) == (1 << 15, 0)
    assert Constant.of(0.75, DEFAULT) == (3 << 14, -1)
    assert Constant.of(2.0**255, DEFAULT) == (1 << 15, 255)
    # The number just below 2 rounds up to it.
    assert Constant.of(2 - 2.0**-20, DEFAULT) == (1 << 15, 1)


@pytest.mark.parametrize(
    ("formats", "named"), [((), "none"), ((Format.FP16, Format.INT8), "FP16, INT8")]
)
def test_sums_and_products_of_integers_are_refused(formats, named):
    with pytest.raises(ValueError, match=f"formats to calculate in must be .*, not {named}$"):
        calculable(formats)


@pytest.mark.parametrize(
    ("formats", "named"), [((), "none"), ((Format.BF16, Format.INT32), "BF16, INT32")]
)
def test_accumulators_are_not_written(formats, named):
    with pytest.raises(ValueError, match=f"formats to write must be .*, not {named}$"):
        storable(formats, 16)


def test_a_mantissa_to_write_must_have_bits_to_round_from():
    with pytest.raises(ValueError, match="a mantissa to write must have at least 13 bits, not 12"):
        storable((Format.FP16,), 12)


def test_a_load_of_no_format_is_refused():
    with pytest.raises(ValueError, match="at least one format must be read, not none"):
        loadable(())
