# SPDX-License-Identifier: Apache-2.0
"""Shapes of what passes between primitives; the golden models' tuples have the same fields."""

from amaranth.hdl import signed
from amaranth.lib import data

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH


def power_layout(numerics: Numerics) -> data.StructLayout:
    """Return the shape of `exp2.golden.Power`."""
    return data.StructLayout({"mantissa": numerics.mantissa_width, "shift": numerics.integer_width})


def real_layout(width: int) -> data.StructLayout:
    """Return the shape of a number with a mantissa of a width, as `load.golden.Real`."""
    return data.StructLayout(
        {"mantissa": width, "exponent": signed(EXPONENT_WIDTH), "sign": 1, "infinite": 1, "nan": 1}
    )


def constant_layout(numerics: Numerics) -> data.StructLayout:
    """Return the shape of `load.golden.Constant`."""
    return data.StructLayout({"mantissa": numerics.mantissa_width, "exponent": signed(9)})


def scaled_layout(numerics: Numerics) -> data.StructLayout:
    """Return the shape of `load.golden.Scaled`."""
    return data.StructLayout(
        {"value": signed(numerics.scaled_width), "masked": 1, "infinite": 1, "nan": 1}
    )
