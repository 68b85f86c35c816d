# SPDX-License-Identifier: Apache-2.0
"""A Liberty library of our own whose unit of area is the gate equivalent: a NAND2 is 1.

Areas follow the usual layout of a row of standard cells: so many gate columns, and one column that
separates a cell from the next, over the three of a NAND2. That gives the figures of textbooks
(inverter 0.67, XOR2 2.0, flip-flop 5.5), and real libraries lie around them. Delays are
placeholders, there because the mapper wants some: nothing may be said about time with this library.
"""

from dataclasses import dataclass

NAND2_COLUMNS = 3.0


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell.

    Parameters
    ----------
    name
        In the library.
    columns
        Gate columns, that between cells included.
    inputs
        Names of its pins.
    function
        Of the output `Y`, in Liberty's notation; of a flip-flop or latch, its data input.
    control
        Attributes of the state, for a flip-flop or latch: `ff` or `latch` first.
    """

    name: str
    columns: float
    inputs: tuple[str, ...]
    function: str
    control: tuple[tuple[str, str], ...] = ()

    @property
    def area_ge(self) -> float:
        """Area in gate equivalents."""
        return round(self.columns / NAND2_COLUMNS, 2)


def _gate(name: str, columns: float, inputs: str, function: str) -> Cell:
    return Cell(name=name, columns=columns, inputs=tuple(inputs), function=function)


def _state(name: str, columns: float, kind: str, **control: str) -> Cell:
    pins = {pin for text in control.values() for pin in text if pin.isalpha()}
    told = (("kind", kind), *control.items())
    return Cell(name=name, columns=columns, inputs=tuple(sorted(pins)), function="IQ", control=told)


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
)
"""A flip-flop with enable is not among them: it becomes a DFF and a MUX2."""

_HEAD = """library (gate_equivalents) {
  comment : "areas in gate equivalents; delays are placeholders";
  delay_model : table_lookup;
  time_unit : "1ps";
  voltage_unit : "1V";
  current_unit : "1mA";
  pulling_resistance_unit : "1kohm";
  leakage_power_unit : "1nW";
  capacitive_load_unit (1,ff);
  nom_process : 1;
  nom_temperature : 25;
  nom_voltage : 1;
  lu_table_template (placeholder) {
    variable_1 : input_net_transition;
    variable_2 : total_output_net_capacitance;
    index_1 ("1, 100");
    index_2 ("1, 100");
  }
"""
_TABLE = '(placeholder) { values ("10, 60", "20, 70"); }'


def liberty() -> str:
    """Return the library as text."""
    return _HEAD + "".join(map(_cell, CELLS)) + "}\n"


def _cell(cell: Cell) -> str:
    """Return the group of a cell."""
    lines = [f"  cell ({cell.name}) {{", f"    area : {cell.area_ge:.2f};"]
    control = dict(cell.control)
    clock = ""
    if control:
        kind = control.pop("kind")
        lines.append(f"    {kind} (IQ, IQN) {{")
        lines += [f'      {key} : "{value}";' for key, value in control.items()]
        lines.append("    }")
        clock = control.get("clocked_on", control.get("enable", "")).removeprefix("!")
    for pin in cell.inputs:
        extra = " clock : true;" if pin == clock else ""
        lines.append(f"    pin ({pin}) {{ direction : input; capacitance : 1;{extra} }}")
    lines += ["    pin (Y) {", "      direction : output;", f'      function : "{cell.function}";']
    # A state's arcs from its clock alone: no path of logic goes through it.
    for pin in (clock,) if clock else cell.inputs:
        lines.append(f"      timing () {{ related_pin : {pin};")
        for arc in ("cell_rise", "cell_fall", "rise_transition", "fall_transition"):
            lines.append(f"        {arc} {_TABLE}")
        lines.append("      }")
    return "\n".join([*lines, "    }", "  }", ""])
