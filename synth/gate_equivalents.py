# SPDX-License-Identifier: Apache-2.0
"""A Liberty library of our own whose unit of area is the gate equivalent: a NAND2 is 1.

Areas follow the usual layout of a row of standard cells: so many gate columns, and one column that
separates a cell from the next, over the three of a NAND2. That gives the figures of textbooks
(inverter 0.67, XOR2 2.0, flip-flop 5.5), and real libraries lie around them.
"""

from ahasd.synth import liberty
from ahasd.synth.liberty import GATE, STATE, Cell

NAND2_COLUMNS = 3.0


def _area(columns: float) -> str:
    """Return the gate equivalents of so many columns, that between cells included."""
    return f"{columns / NAND2_COLUMNS:.2f}"


def _gate(name: str, columns: float, inputs: str, function: str) -> Cell:
    return Cell(name=name, area=_area(columns), inputs=tuple(inputs), outputs={"Y": function})


def _state(name: str, columns: float, kind: str, **control: str) -> Cell:
    pins = {pin for text in control.values() for pin in text if pin.isalpha()}
    return Cell(
        name=name,
        area=_area(columns),
        inputs=tuple(sorted(pins)),
        outputs={"Y": "" if kind == GATE else STATE},
        state={"kind": kind, **control},
    )


CELLS = (
    _gate("INV", 2, "A", "!A"),
    _gate("BUF", 3, "A", "A"),
    _gate("NAND2", 3, "AB", "!(A&B)"),
    _gate("NAND3", 4, "ABC", "!(A&B&C)"),
    _gate("NAND4", 5, "ABCD", "!(A&B&C&D)"),
    _gate("NOR2", 3, "AB", "!(A|B)"),
    _gate("NOR3", 4, "ABC", "!(A|B|C)"),
    _gate("NOR4", 5, "ABCD", "!(A|B|C|D)"),
    _gate("AND2", 4, "AB", "A&B"),
    _gate("OR2", 4, "AB", "A|B"),
    _gate("AOI21", 4, "ABC", "!((A&B)|C)"),
    _gate("OAI21", 4, "ABC", "!((A|B)&C)"),
    _gate("AOI22", 5, "ABCD", "!((A&B)|(C&D))"),
    _gate("OAI22", 5, "ABCD", "!((A|B)&(C|D))"),
    _gate("XOR2", 6, "AB", "A^B"),
    _gate("XNOR2", 6, "AB", "!(A^B)"),
    _gate("MUX2", 7, "ABS", "(A&!S)|(B&S)"),
    _gate("TIE0", 1.5, "", "0"),
    _gate("TIE1", 1.5, "", "1"),
    _state("DFF", 16.5, "ff", clocked_on="C", next_state="D"),
    _state("DFFR", 19.5, "ff", clocked_on="C", next_state="D", clear="R"),
    _state("DFFS", 19.5, "ff", clocked_on="C", next_state="D", preset="R"),
    _state("LATCH", 10.5, "latch", enable="E", data_in="D"),
    _state("LATCHN", 10.5, "latch", enable="!E", data_in="D"),
    # A latch and an AND2 in one cell, with one column to the next cell instead of two.
    _state("GATE", 13.5, GATE, clocked_on="C", enable="E"),
)
"""A flip-flop with enable is not among them: it is behind a GATE, or has a MUX2 of its own."""


def text() -> str:
    """Return the library as text."""
    return liberty.text(
        "gate_equivalents", "areas in gate equivalents; delays are placeholders", CELLS
    )
