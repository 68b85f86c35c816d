# SPDX-License-Identifier: Apache-2.0
"""Mapped control units are proved equal to their RTL; a planted fault is not."""

import pytest

from ahasd.gen.emit import to_rtlil
from ahasd.rtl.configs import UNITS
from ahasd.synth.equivalence import prove
from ahasd.synth.library import Library
from ahasd.synth.mapping import Request
from ahasd.synth.timing import library_clocks_ps

pytestmark = pytest.mark.formal


def _request(unit: str, configuration: str, library: Library) -> Request:
    found, module = UNITS[unit], f"ahasd_{unit}"
    hardware = found.load_hardware()(found.configurations[configuration])
    return Request(
        module=module,
        design=to_rtlil(hardware, module, found.domains),
        library=library,
        clocks_ps=library_clocks_ps(found.domains, library),
    )


@pytest.mark.parametrize(
    ("unit", "configuration", "registers"),
    [
        ("gtsu", "paper", 60),
        ("draftctl", "paper", 35),
        ("edc", "small", 200),
        ("queues", "test", 250),
    ],
)
def test_a_mapped_unit_is_proved_equal(
    osu018: Library, unit: str, configuration: str, registers: int
):
    found = prove(_request(unit, configuration, osu018))

    assert found.unproven == ()
    assert found.points >= registers


@pytest.mark.parametrize(
    ("unit", "kind", "other", "number"),
    [
        ("draftctl", "NAND2X1", "NOR2X1", 3),
        ("draftctl", "INVX1", "BUFX2", 20),
        ("draftctl", "OAI21X1", "AOI21X1", 0),
        ("gtsu", "NOR2X1", "NAND2X1", 40),
    ],
)
def test_a_single_other_cell_is_not_proved_and_what_it_feeds_is_named(
    osu018: Library, unit: str, kind: str, other: str, number: int
):
    plant = [f"rename -enumerate -pattern u% t:{kind}", f"chtype -set {other} c:u{number}"]
    found = prove(_request(unit, "paper", osu018), plant)

    assert found.unproven
    assert all(name[0].isalpha() for name in found.unproven)
