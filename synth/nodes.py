# SPDX-License-Identifier: Apache-2.0
"""Figures that turn gate equivalents and foreign silicon into area and time at 28 nm, and dies.

Every one has its source. What is known as a range stays one; `assumed` marks what no source that
could be read confirms.
"""

from dataclasses import dataclass

REFERENCE_NM = 28


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure or a range, with its source."""

    low: float
    high: float
    source: str
    assumed: bool = False


LOGIC_KGE_PER_MM2 = Figure(
    low=1430,
    high=2400,
    source="28 nm, placed: NAND2 of 0.49 um2 at 70 % utilisation to 0.316 um2 (9 tracks, from"
    " published pitches) at 75 %",
)
DRAM_KGE_PER_MM2 = Figure(
    low=281,
    high=281,
    source="execution unit of HBM-PIM, 200 kGates in 0.712 mm2 of a 20 nm DRAM process (ISCA'21)",
    assumed=True,
)
LOGIC_TO_DRAM = Figure(
    low=10,
    high=10,
    source="AttAcc: area of a logic process times ten; ASAP7 0.0092 mm2, published 0.094 mm2",
)
MACRO_UM2_PER_BIT = Figure(
    low=0.3,
    high=1.5,
    source="28 nm macros of 1 to 64 kbit, periphery included; the bit cell alone has 0.120 to"
    " 0.127 um2 (foundries' papers)",
    assumed=True,
)
MACRO_IN_DRAM = Figure(
    low=5,
    high=8,
    source="28 nm logic to the density of HBM-PIM's unit; no figure for SRAM in a DRAM process",
    assumed=True,
)


@dataclass(frozen=True, kw_only=True)
class Node:
    """A process node, and what scales it to the reference.

    Parameters
    ----------
    nm
        Its name.
    area
        Factor of area.
    delay
        Factor of delay, between those of the neighbours of 28 nm, 32 and 20 nm at 0.9 V.
    supply_v
        Voltage for which `delay` is.
    energy
        Factor of the energy of a change, to 28 nm at 0.9 V, between processes for speed and for
        low power; `energy_factors` takes the voltage in.
    energy_v
        Voltage for which `energy` is.
    """

    nm: int
    area: float
    delay: Figure
    supply_v: float
    energy: Figure
    energy_v: float

    def energy_factors(self, voltage: float) -> tuple[float, float]:
        """Return low and high factor of energy from a voltage: energy is as its square."""
        change = (self.energy_v / voltage) ** 2
        return self.energy.low * change, self.energy.high * change


_SCALING = "Stillmaker and Baas, Integration 58 (2017); area between 32 and 20 nm on a log scale"

_BY_SQUARE = (
    "Stillmaker and Baas, Integration 58 (2017), which ends at 1.3 V: low by its polynomial, high"
    " by the square of the voltage from 1.2 V"
)
_SAME = Figure(low=1.0, high=1.0, source="the reference")

NODES = {
    node.nm: node
    for node in (
        Node(
            nm=180,
            area=0.020,
            delay=Figure(low=0.106, high=0.120, source=_SCALING),
            supply_v=1.8,
            energy=Figure(low=0.0137, high=0.0144, source=_SCALING),
            energy_v=1.8,
        ),
        Node(
            nm=130,
            area=0.058,
            delay=Figure(low=0.25, high=0.28, source=_SCALING),
            supply_v=1.2,
            energy=Figure(low=0.0257, high=0.0326, source=_BY_SQUARE),
            energy_v=1.8,
        ),
        Node(
            nm=45,
            area=0.37,
            delay=Figure(low=0.67, high=0.76, source=_SCALING),
            supply_v=1.0,
            energy=Figure(low=0.373, high=0.420, source=_SCALING),
            energy_v=1.0,
        ),
        Node(nm=28, area=1.0, delay=_SAME, supply_v=0.9, energy=_SAME, energy_v=0.9),
        Node(
            nm=7,
            area=6.3,
            delay=Figure(low=2.6, high=2.9, source=_SCALING),
            supply_v=0.7,
            energy=Figure(low=7.57, high=8.94, source=_SCALING),
            energy_v=0.7,
        ),
    )
}

LEAKAGE_NW_PER_GE = Figure(
    low=0.25,
    high=2.5,
    source="28 nm, 25 to 85 degrees: half a milliwatt of 200 kGE at most",
    assumed=True,
)
"""Libraries of older nodes say nothing of it."""


@dataclass(frozen=True, kw_only=True)
class Die:
    """A DRAM die.

    Parameters
    ----------
    name
        What it is.
    mm2
        Its area.
    source
        Where that is from.
    """

    name: str
    mm2: float
    source: str


DIES = (
    Die(
        name="18 mm2",
        mm2=18.0,
        source="what the artifact's 0.45 mm2 for 2.51 % imply: a die of 5 to 6 Gb of LPDDR5",
    ),
    Die(name="12 Gb 1a", mm2=37.0, source="Samsung LPDDR5 12 Gb D1a, about; semiwiki 2049"),
    Die(name="12 Gb 1z", mm2=43.98, source="Samsung LPDDR5 12 Gb D1z; semiwiki 2049"),
    Die(name="50 mm2", mm2=50.0, source="what the paper's 1.34 mm2 for 2.68 % imply"),
    Die(name="16 Gb 1z", mm2=59.0, source="16 Gb at the density of the 12 Gb D1z"),
)
DIES_PER_RANK = 2
"""A rank is two dies, each on half of the channel (x8 mode)."""

CLAIM_PERCENT = 3.0
"""The paper's abstract: less than 3 % of the DRAM die."""
PAPER_MM2 = {"edc": 0.05, "tvc": 0.03, "queues": 0.01, "aau": 1.25, "total": 1.34}
"""The paper's table of areas."""
