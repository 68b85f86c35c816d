# SPDX-License-Identifier: Apache-2.0
"""Constants as wide as what they meet.

Amaranth writes constants as narrow as their value, and Verilog front ends warn of operands of
unequal width. Padding an unsigned constant with zeros changes nothing but the warning.
"""

import re

_CELL = re.compile(
    r"(  cell \$(?P<kind>eq|ne|lt|le|gt|ge|add|sub|and|or|xor) .*?\n  end\n)", re.DOTALL
)


def pad_constants(rtlil: str) -> str:
    """Return RTLIL in which no unsigned operator meets a constant narrower than its partner."""
    return _CELL.sub(_padded, rtlil)


def _padded(match: re.Match[str]) -> str:
    cell = match[0]
    if re.search(r"parameter \\[AB]_SIGNED 1", cell):
        return cell
    width = {port: int(_field(cell, rf"parameter \\{port}_WIDTH (\d+)")) for port in "ABY"}
    for port, other in (("A", "B"), ("B", "A")):
        constant = re.search(rf"connect \\{port} (?:\d+'(?P<bits>[01]+)|{{  }})\n", cell)
        wanted = width[other]
        if match["kind"] in ("add", "sub"):
            wanted = max(wanted, width["Y"] - 1)  # the carry is a bit of its own
        if constant is None or width[port] >= wanted:
            continue
        bits = (constant["bits"] or "").rjust(wanted, "0")  # a zero is written as no bits at all
        cell = cell.replace(constant[0], f"connect \\{port} {wanted}'{bits}\n").replace(
            f"\\{port}_WIDTH {width[port]}\n", f"\\{port}_WIDTH {wanted}\n"
        )
        width[port] = wanted
    return cell


def _field(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    assert found is not None
    return found[1]
