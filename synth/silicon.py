# SPDX-License-Identifier: Apache-2.0
"""Gate equivalents as silicon: three conversions side by side, and what they are of a DRAM die."""

from collections.abc import Mapping, Sequence
from typing import Any

from ahasd.synth.nodes import (
    CLAIM_PERCENT,
    DIES,
    DIES_PER_RANK,
    DRAM_KGE_PER_MM2,
    LOGIC_KGE_PER_MM2,
    LOGIC_TO_DRAM,
    MACRO_IN_DRAM,
    MACRO_UM2_PER_BIT,
)

Range = tuple[float, float]

NOT_ON_DIE = ("board", "bridge")
"""Units of an FPGA, of which a DRAM die has none."""

CONVERSIONS = {
    "logic": "28 nm logic, placed",
    "dram": "density of a DRAM process",
    "x10": "28 nm logic times ten",
}
"""How area in a DRAM die may be counted; published work does not agree."""


def silicon_mm2(ge: float, macro_bits: int = 0) -> dict[str, Range]:
    """Return the area by conversion, low and high, mm2.

    Parameters
    ----------
    ge
        Cells, in gate equivalents.
    macro_bits
        Bits in SRAM macros, which are not among the cells.
    """
    logic = LOGIC_KGE_PER_MM2
    macros = MACRO_UM2_PER_BIT
    low = ge / 1000 / logic.high + macro_bits * macros.low / 1e6
    high = ge / 1000 / logic.low + macro_bits * macros.high / 1e6
    dense = ge / 1000 / DRAM_KGE_PER_MM2.high
    return {
        "logic": (low, high),
        "dram": (
            dense + macro_bits * macros.low * MACRO_IN_DRAM.low / 1e6,
            dense + macro_bits * macros.high * MACRO_IN_DRAM.high / 1e6,
        ),
        "x10": (low * LOGIC_TO_DRAM.low, high * LOGIC_TO_DRAM.high),
    }


def shares_percent(mm2: Mapping[str, Range]) -> list[dict[str, Any]]:
    """Return what areas are of every die, and of a rank of two such dies, percent.

    The unit is there once a rank, on one of its dies.
    """
    return [
        {
            "conversion": conversion,
            "die": die.name,
            "die_mm2": die.mm2,
            "of_die": [100 * value / die.mm2 for value in span],
            "of_rank": [100 * value / die.mm2 / DIES_PER_RANK for value in span],
        }
        for conversion, span in mm2.items()
        for die in DIES
    ]


def verdict(of_die: Sequence[float]) -> str:
    """Tell whether a share of a die is below what the paper claims: `holds`, `fails` or `open`."""
    low, high = of_die
    if high < CLAIM_PERCENT:
        return "holds"
    return "fails" if low >= CLAIM_PERCENT else "open"
