# SPDX-License-Identifier: Apache-2.0
"""Errors of the AAU's operations on single elements, and the truth that they are held against."""

import mpmath
import numpy as np
import pytest

from ahasd.rtl.aau import oracle
from ahasd.rtl.aau.numerics import DEFAULT, VARIANTS
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.system.numerics.operation_tables import OPERATIONS, TABLES, assess

POINTS = np.array(
    [-60.0, -9.5, -7.0, -3.90625, -1.0, -(2.0**-14), 0.0, 2.0**-9, 0.75, 3.5, 11.0, 80.0]
)


def exact_silu(x):
    return x / (1 + mpmath.exp(-x))


def exact_gelu(x):
    return (
        x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)))
    )


@pytest.mark.parametrize(
    ("function", "exact"), [(oracle.silu, exact_silu), (oracle.gelu, exact_gelu)]
)
def test_the_truth_is_that_of_sixty_digits_far_below_zero_too(function, exact):
    with mpmath.workdps(60):
        expected = [float(exact(mpmath.mpf(float(x)))) for x in POINTS]
    normal = np.abs(expected) > 1e-300
    assert normal.sum() > 8
    found = function(POINTS)
    np.testing.assert_allclose(found[normal], np.array(expected)[normal], rtol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_relu_of_every_number_above_zero_is_the_number(variant):
    for source in (Format.FP16, Format.BF16):
        found = assess("relu", source, source, VARIANTS[variant])
        normal = ((1 << source.exponent_width) - 2) << source.fraction_width
        assert (found.count, found.max_ulp) == (normal, 0.0)


def test_silu_of_every_integer_keeps_its_bound():
    found = assess("silu", Format.INT8, Format.FP16, DEFAULT)
    assert found.count == 255
    # Operands are below 8 in magnitude; half a unit of FP16 there is added by rounding.
    assert found.max_absolute <= oracle.SILU_ABSOLUTE + 2.0**-9


def test_variants_are_better_the_more_bits_they_have():
    for name in ("silu", "gelu"):
        means = [
            assess(name, Format.FP16, Format.FP16, numerics).mean_ulp
            for numerics in VARIANTS.values()
        ]
        assert means == sorted(means, reverse=True)


def test_the_table_has_every_operation_variant_and_conversion():
    lines = TABLES["numerics-operations"]().splitlines()[2:]
    told = [tuple(cell.strip() for cell in line.strip("|").split("|"))[:2] for line in lines]
    assert told == [
        (f"`{name}`, {variant}", conversion)
        for name in OPERATIONS
        for variant in VARIANTS
        for conversion in ("FP16 to FP16", "BF16 to BF16", "INT8 to FP16")
    ]
