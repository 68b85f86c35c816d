# SPDX-License-Identifier: Apache-2.0
"""Text of Liberty libraries of areas and functions, whose delays are placeholders.

They are there because the mapper wants some: nothing may be said about time with such a library.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

STATE, INVERSE = "IQ", "IQN"
"""Names of what a flip-flop or latch holds."""
GATE = "gate"
"""A kind of state: a latch that gates a clock."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell.

    Parameters
    ----------
    name
        In the library.
    area
        As it will be written.
    inputs
        Names of its pins.
    outputs
        Function by pin, in Liberty's notation; '' if it has none that could be told.
    state
        Attributes of what it holds, `kind` among them, `ff`, `latch` or `GATE`; empty if it holds
        nothing. A gate's are the pins `enable` and `clocked_on`, its function is not told.
    """

    name: str
    area: str
    inputs: tuple[str, ...]
    outputs: Mapping[str, str]
    state: Mapping[str, str] = field(default_factory=dict)

    @property
    def clock(self) -> str:
        """The pin of its clock or gate, '' if it holds nothing."""
        return self.state.get("clocked_on", self.state.get("enable", "")).removeprefix("!")


def text(name: str, comment: str, cells: Iterable[Cell]) -> str:
    """Return a library as text."""
    head = f'library ({name}) {{\n  comment : "{comment}";\n{_HEAD}'
    return head + "".join(map(_cell, cells)) + "}\n"


_HEAD = """  delay_model : table_lookup;
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


def _cell(cell: Cell) -> str:
    """Return the group of a cell."""
    lines = [f"  cell ({cell.name}) {{", f"    area : {cell.area};"]
    roles = {}
    if cell.state.get("kind") == GATE:
        lines.append('    clock_gating_integrated_cell : "latch_posedge";')
        roles = {cell.state["enable"]: "enable", cell.clock: "clock"}
        roles |= dict.fromkeys(cell.outputs, "out")
    elif cell.state:
        lines.append(f"    {cell.state['kind']} ({STATE}, {INVERSE}) {{")
        lines += [f'      {key} : "{value}";' for key, value in cell.state.items() if key != "kind"]
        lines.append("    }")
    for pin in cell.inputs:
        extra = " clock : true;" if pin == cell.clock else ""
        extra += f" clock_gate_{roles[pin]}_pin : true;" if pin in roles else ""
        lines.append(f"    pin ({pin}) {{ direction : input; capacitance : 1;{extra} }}")
    for pin, function in cell.outputs.items():
        lines += [f"    pin ({pin}) {{", "      direction : output;"]
        lines += [f"      clock_gate_{roles[pin]}_pin : true;"] if pin in roles else []
        if function:
            lines.append(f'      function : "{function}";')
            # A state's arcs from its clock alone: no path of logic goes through it.
            for source in (cell.clock,) if cell.clock else cell.inputs:
                lines.append(f"      timing () {{ related_pin : {source};")
                for arc in ("cell_rise", "cell_fall", "rise_transition", "fall_transition"):
                    lines.append(f"        {arc} {_TABLE}")
                lines.append("      }")
        lines.append("    }")
    return "\n".join([*lines, "  }", ""])
