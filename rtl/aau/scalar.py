# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of the machine that ends a row: numbers with long mantissas.

Every result is the exact one rounded to odd, but for functions from tables; exponents and zero are
as in a lane. `scalar_programs.py` has what is calculated with them.
"""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.exp2 import golden as exp2
from ahasd.rtl.aau.primitives.log2 import golden as logarithm
from ahasd.rtl.aau.primitives.rsqrt import golden as rsqrt
from ahasd.rtl.aau.primitives.tables import LinearTable
from ahasd.rtl.aau.reals import LOWEST

MANTISSA_WIDTH = 32
"""Twice the bits of a loaded mantissa, so that `n b - a^2` loses less than those did."""


class Number(NamedTuple):
    """`mantissa * 2**(exponent - (MANTISSA_WIDTH - 1))`, with a sign; 0 has the lowest exponent."""

    sign: int
    mantissa: int
    exponent: int


ZERO = Number(0, 0, LOWEST)
HALF = Number(0, 1 << (MANTISSA_WIDTH - 1), -1)
THREE_HALVES = Number(0, 3 << (MANTISSA_WIDTH - 2), 0)
LN2 = Number(0, 0xB17217F8, -1)


def anchor(numerics: Numerics) -> Number:
    """Return what a number is added to for its bits to stand where those of a scaled number do.

    With numbers of `-2**integer_width` to below that, sums stay in one octave. Half a unit of the
    last place of scaled numbers is part of it, so that cutting off rounds.
    """
    exponent = numerics.integer_width + 1
    unit = MANTISSA_WIDTH - 1 - exponent - numerics.fraction_width
    return Number(0, 3 << (MANTISSA_WIDTH - 2) | 1 << (unit - 1), exponent)


def normalised(sign: int, value: int, exponent: int) -> Number:
    """Return `value * 2**exponent`, with a sign, rounded to odd."""
    if value == 0:
        return ZERO
    surplus = value.bit_length() - MANTISSA_WIDTH
    if surplus > 0:
        mantissa = value >> surplus | (value & ((1 << surplus) - 1) != 0)
    else:
        mantissa = value << -surplus
    return Number(sign, mantissa, exponent + surplus + MANTISSA_WIDTH - 1)


def multiply(a: Number, b: Number) -> Number:
    """Return a product."""
    exponent = a.exponent + b.exponent - 2 * (MANTISSA_WIDTH - 1)
    return normalised(a.sign ^ b.sign, a.mantissa * b.mantissa, exponent)


def negated(a: Number) -> Number:
    """Return -a."""
    return a._replace(sign=a.sign ^ 1)


def add(a: Number, b: Number, *, floor: bool = False) -> Number:
    """Return a sum; on request 0 if it is below."""
    low = min(a.exponent, b.exponent)
    total = sum((-1) ** each.sign * each.mantissa << (each.exponent - low) for each in (a, b))
    if floor and total < 0:
        return ZERO
    return normalised(int(total < 0), abs(total), low - (MANTISSA_WIDTH - 1))


class Tables(NamedTuple):
    """Functions of mantissas, and of the fractions of exponents."""

    log2: LinearTable
    rsqrt: LinearTable
    exp2: LinearTable


@cache
def tables(numerics: Numerics) -> Tables:
    """Return the primitives' tables, with places in a segment that leave values exact."""
    found = (logarithm.table(numerics), rsqrt.table(numerics), exp2.table(numerics))
    room = [MANTISSA_WIDTH - max(each.first).bit_length() for each in found]
    return Tables(
        *(
            replace(each, rest_width=min(each.rest_width, most))
            for each, most in zip(found, room, strict=True)
        )
    )


def _behind(a: Number, width: int) -> int:
    """Return the highest bits of a mantissa behind the first one, which is set."""
    return a.mantissa >> (MANTISSA_WIDTH - 1 - width) & ((1 << width) - 1)


def _read(table: LinearTable, operand: int) -> int:
    return int(table.exact(operand))


def log2(a: Number, numerics: Numerics) -> Number:
    """Return a logarithm to base 2; that of 0 is 0."""
    if a.mantissa == 0:
        return ZERO
    table = tables(numerics).log2
    behind = numerics.mantissa_width + table.rest_width
    fraction = _read(table, _behind(a, table.index_width + table.rest_width))
    value = (a.exponent << behind) + fraction
    return normalised(int(value < 0), abs(value), -behind)


def reciprocal_root(a: Number, numerics: Numerics) -> Number:
    """Return 1/sqrt(a) as the table has it; that of 0 is 0."""
    if a.mantissa == 0:
        return ZERO
    table = tables(numerics).rsqrt
    per_octave = table.index_width - 1 + table.rest_width
    odd = a.exponent & 1
    value = _read(table, odd << per_octave | _behind(a, per_octave))
    behind = rsqrt.guess_width(numerics) - 1 + table.rest_width
    return normalised(0, value, -((a.exponent - odd) >> 1) - behind)


def anchored(a: Number, numerics: Numerics) -> int:
    """Return a number that was added to the anchor as a scaled number with one bit more.

    What left the octave of the anchor saturates.
    """
    width = numerics.scaled_width + 1
    half = 1 << (width - 1)
    if a.exponent != numerics.integer_width + 1 or a.sign:
        return half - 1 if a.exponent > numerics.integer_width and not a.sign else -half
    return _behind(a, width) - half


def power(a: Number, numerics: Numerics) -> Number:
    """Return `2**-x` of an x from 0 to below `2**integer_width` that was added to the anchor."""
    if a.mantissa == 0:
        return ZERO
    table = tables(numerics).exp2
    place_width = table.index_width + table.rest_width
    depth = _behind(a, 1 + numerics.integer_width + place_width)
    value = _read(table, depth & ((1 << place_width) - 1))
    shift = depth >> place_width & ((1 << numerics.integer_width) - 1)
    behind = numerics.mantissa_width - 1 + table.rest_width
    return normalised(0, value, -shift - behind)


def single(a: Number) -> int:
    """Return the code in IEEE single precision, cut off towards 0, saturating; no subnormals."""
    if a.exponent < -126:
        return 0
    if a.exponent > 127:
        return a.sign << 31 | 0x7F7FFFFF
    fraction = a.mantissa >> (MANTISSA_WIDTH - 24) & 0x7FFFFF
    return a.sign << 31 | (a.exponent + 127) << 23 | fraction
