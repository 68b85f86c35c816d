# SPDX-License-Identifier: Apache-2.0
"""Real libraries, which are not ours to ship.

AHASD_LIBERTY_SKY130 and AHASD_LIBERTY_ASAP7 say where they are: a path, or several with the
system's path separator between them.
"""

import pytest

from ahasd.synth import sta
from ahasd.synth.area import area
from ahasd.synth.library import load
from ahasd.synth.timing import timing

pytestmark = pytest.mark.slow

LIBRARIES = (
    # Variable, node, area of the NAND2, how far its gates may be from ours: its own flip-flops
    # and the choice of cells make that much.
    pytest.param("AHASD_LIBERTY_SKY130", 130, 3.7536, 0.10, id="sky130"),
    pytest.param("AHASD_LIBERTY_ASAP7", 7, 0.05832, 0.25, id="asap7"),
)


@pytest.mark.parametrize(("variable", "nm", "nand2", "apart"), LIBRARIES)
def test_gates_are_about_the_same_in_a_real_library(users, variable, nm, nand2, apart):
    library = users(variable)
    assert (library.node_nm, library.nand2_area) == (nm, pytest.approx(nand2))
    assert len(library.states) > 10
    for unit in ("draftctl", "gtsu"):
        ours, theirs = area(unit, "paper", load()), area(unit, "paper", library)
        assert theirs["flops"] == ours["flops"]
        assert theirs["ge"] == pytest.approx(ours["ge"], rel=apart)


def test_paths_of_a_real_library_are_confirmed_by_opensta(users):
    row = timing("gtsu", "paper", users("AHASD_LIBERTY_SKY130"), memories="macros")
    for end in (row["path"]["start"], row["path"]["end"]):
        assert "$" not in end
    if not sta.installed():
        pytest.skip("apt-get install opensta")
    # With clock-to-output and setup, without the paths of ports.
    assert row["sta"]["delay_ps"] == pytest.approx(row["path"]["delay_ps"], rel=0.25)
