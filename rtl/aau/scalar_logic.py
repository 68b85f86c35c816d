# SPDX-License-Identifier: Apache-2.0
"""Combinational parts of the machine that ends a row; `scalar.py` is the model of them."""

from collections.abc import Callable
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Value, signed
from amaranth.lib import data

from ahasd.rtl.aau.ending import EXPONENT_LIMIT
from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH
from ahasd.rtl.aau.primitives.pipeline import let, widen
from ahasd.rtl.aau.primitives.rsqrt.golden import guess_width
from ahasd.rtl.aau.primitives.table_unit import lookup
from ahasd.rtl.aau.primitives.tables import LinearTable
from ahasd.rtl.aau.real_logic import lowest, real
from ahasd.rtl.aau.scalar import MANTISSA_WIDTH, tables
from ahasd.rtl.aau.scalar_programs import Code


def number_layout() -> data.StructLayout:
    """Return the shape of `scalar.Number`."""
    return data.StructLayout(
        {"mantissa": MANTISSA_WIDTH, "exponent": signed(EXPONENT_WIDTH), "sign": 1}
    )


class Function(NamedTuple):
    """How a function is read from its table.

    Attributes
    ----------
    table
        First values and rises.
    behind
        Bits behind the point of a result, as `LinearTable.exact` gives it.
    place
        Bits of the operand's number that say where in the table; rest first, then segment.
    scale
        Exponent of the result's table value less 1, as many bits as an exponent has.
    """

    table: LinearTable
    behind: int
    place: Callable[[data.View], Value]
    scale: Callable[[data.View], Value]


def functions(numerics: Numerics) -> dict[Code, Function]:
    """Return the functions that are read from tables."""
    width = MANTISSA_WIDTH - 1
    log2, rsqrt, exp2 = tables(numerics)
    log2_bits = log2.index_width + log2.rest_width
    per_octave = rsqrt.index_width - 1 + rsqrt.rest_width
    # Behind the anchor's two highest bits stand those of the depth.
    point = width - 1 - numerics.integer_width
    exp2_bits = exp2.index_width + exp2.rest_width
    return {
        Code.LOG2: Function(
            log2,
            numerics.mantissa_width + log2.rest_width,
            lambda a: a.mantissa[width - log2_bits : width],
            lambda a: Const(1, 1).replicate(EXPONENT_WIDTH),
        ),
        Code.RSQRT: Function(
            rsqrt,
            guess_width(numerics) - 1 + rsqrt.rest_width,
            lambda a: Cat(a.mantissa[width - per_octave : width], a.exponent[0]),
            # Minus half of the exponent.
            lambda a: Cat(~a.exponent.as_unsigned()[1:], ~a.exponent[-1]),
        ),
        Code.EXP2: Function(
            exp2,
            numerics.mantissa_width - 1 + exp2.rest_width,
            lambda a: a.mantissa[point - exp2_bits : point],
            # Minus the whole part of the depth.
            lambda a: Cat(
                ~a.mantissa[point : width - 1],
                Const(1, 1).replicate(EXPONENT_WIDTH - numerics.integer_width),
            ),
        ),
    }


def first_value(function: Function, place: Value, width: int) -> Value:
    """Return a segment's first value in so many bits, below zero where the function falls.

    Its highest bit is that of a mantissa's product with a digit, with a sign before it.
    """
    table = function.table
    down = width - 1 - MANTISSA_WIDTH + table.rest_width
    sign = -1 if table.falling else 1
    values = [sign * value << down & ((1 << width) - 1) for value in table.first]
    return lookup(values, width, place[table.rest_width :])


def rise(function: Function, place: Value) -> Value:
    """Return the magnitude of a segment's rise."""
    table = function.table
    return lookup(table.steps, table.step_width, place[table.rest_width :])


def single(number: data.View) -> Value:
    """Return a number in IEEE single precision, cut off towards 0, saturating; no subnormals."""
    small, large = number.exponent < -126, number.exponent > 127
    biased = (number.exponent + 127)[:8]
    fraction = number.mantissa[MANTISSA_WIDTH - 24 : -1]
    code = Cat(fraction, biased, number.sign)
    most = Cat(Const(0x7F7FFFFF, 31), number.sign)
    return Mux(small, Const(0, 32), Mux(large, most, code))


def short(m: Module, number: data.View, width: int, name: str) -> data.View:
    """Return a number as a lane's constant, rounded half up."""
    cut = MANTISSA_WIDTH - width
    some = number.mantissa[-1] & (number.exponent >= -EXPONENT_LIMIT)
    total = widen(number.mantissa[cut:], width + 1) + widen(number.mantissa[cut - 1], width + 1)
    total = let(m, total[: width + 1], f"{name}_rounded")
    carry = total[width]
    exponent = let(m, number.exponent + carry, f"{name}_exponent")
    within = Mux(exponent > EXPONENT_LIMIT, EXPONENT_LIMIT, exponent)
    return real(
        m,
        width,
        f"{name}_short",
        mantissa=Cat(total[: width - 1], total[width - 1] | carry) & some.replicate(width),
        exponent=Mux(some, within[:EXPONENT_WIDTH].as_signed(), lowest()),
        sign=number.sign & some,
    )


def anchored(number: data.View, numerics: Numerics) -> Value:
    """Return a number that was added to the anchor as a scaled number with one bit more."""
    width = numerics.scaled_width + 1
    exponent = numerics.integer_width + 1
    bits = number.mantissa[MANTISSA_WIDTH - 1 - width : MANTISSA_WIDTH - 1]
    below = number.sign | (number.exponent < exponent)
    within = ~number.sign & (number.exponent == exponent)
    saturated = Cat((~below).replicate(width - 1), below)
    return Mux(within, Cat(bits[:-1], ~bits[-1]), saturated).as_signed()
