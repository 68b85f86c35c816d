# SPDX-License-Identifier: Apache-2.0
"""Parts of units that stand alone, and what can be had by name: those and the units."""

from ahasd.rtl.aau.numerics import CHEAP, DEFAULT
from ahasd.rtl.configs import UNITS, Unit

_NUMERICS = {"paper": DEFAULT, "small": CHEAP, "test": CHEAP}
_SIZES = UNITS["aau"].configurations


def _function(name: str, does: str) -> Unit:
    """Return a primitive that takes numbers and gives numbers, one a cycle."""
    title = name.capitalize()
    return Unit(
        name=name,
        does=does,
        hardware=f"ahasd.rtl.aau.primitives.{name}.unit:{title}Unit",
        golden=f"ahasd.rtl.aau.primitives.pins:{title}Golden",
        domains=("pim",),
        configurations=_NUMERICS,
        folder="aau",
    )


PARTS = {
    part.name: part
    for part in (
        _function("exp2", "powers of two with exponents of 0 and below"),
        _function("log2", "logarithms of mantissas to base 2"),
        _function("recip", "reciprocals of mantissas"),
        _function("rsqrt", "reciprocal square roots"),
        _function("sigmoid", "sigmoids to base 2"),
        Unit(
            name="maxtree",
            does="the largest element of a beat, and those behind it one by one",
            hardware="ahasd.rtl.aau.max_unit:MaxUnit",
            golden="ahasd.rtl.aau.largest:MaxGolden",
            domains=("pim",),
            configurations=_SIZES,
            folder="aau",
        ),
        Unit(
            name="topk",
            does="the largest elements of a row, as a list in order",
            hardware="ahasd.rtl.aau.top_unit:TopUnit",
            golden="ahasd.rtl.aau.largest:TopGolden",
            domains=("pim",),
            configurations=_SIZES,
            folder="aau",
        ),
        Unit(
            name="blocksum",
            does="sums of the lanes' numbers in fixed point, at a common exponent",
            hardware="ahasd.rtl.aau.block_sum_unit:BlockSumUnit",
            golden="ahasd.rtl.aau.sums_pins:BlockSumGolden",
            domains=("pim",),
            configurations=_SIZES,
            folder="aau",
        ),
        Unit(
            name="rowstate",
            does="the sums of a row, into which those of beats and parts are merged",
            hardware="ahasd.rtl.aau.row_state_unit:RowStateUnit",
            golden="ahasd.rtl.aau.sums_pins:RowStateGolden",
            domains=("pim",),
            configurations=_SIZES,
            folder="aau",
        ),
    )
}
"""Parts of the AAU."""

CATALOGUE = UNITS | PARTS
