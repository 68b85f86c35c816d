# SPDX-License-Identifier: Apache-2.0
"""Operands as wide as what they meet.

Amaranth writes operands without leading zeros, or copies of a sign, that a narrower one implies,
and Verilog front ends warn of operands of unequal width. Writing those bits out changes nothing but
the warning.
"""

import re

_CELL = re.compile(
    r"(  cell \$(?P<kind>eq|ne|lt|le|gt|ge|add|sub|and|or|xor|neg) .*?\n  end\n)", re.DOTALL
)
_CONSTANT = re.compile(r"\d+'(?P<bits>[01]+)")


def pad_operands(rtlil: str) -> str:
    """Return RTLIL in which no operand is narrower than its partner, or a sum less its carry."""
    return _CELL.sub(_padded, rtlil)


def _padded(match: re.Match[str]) -> str:
    cell = match[0]
    names = "A" if match["kind"] == "neg" else "AB"
    signed = "\\A_SIGNED 1" in cell
    width = {name: int(_field(cell, rf"parameter \\{name}_WIDTH (\d+)")) for name in names}
    wanted = max(width.values())
    if match["kind"] in ("add", "sub", "neg"):
        result = int(_field(cell, r"parameter \\Y_WIDTH (\d+)"))
        # The carry of a sum without signs is a bit of its own.
        wanted = max(wanted, result if signed else result - 1)
    for name in names:
        missing = wanted - width[name]
        if missing > 0:
            operand = _field(cell, rf"connect \\{name} (.*)\n")
            cell = cell.replace(
                f"connect \\{name} {operand}\n",
                f"connect \\{name} {_widened(operand, missing, signed)}\n",
            ).replace(f"\\{name}_WIDTH {width[name]}\n", f"\\{name}_WIDTH {wanted}\n")
    return cell


def _widened(operand: str, missing: int, signed: bool) -> str:
    """Return an operand with more bits above it."""
    parts = operand.strip("{ }")
    constant = _CONSTANT.fullmatch(parts)
    if constant or not parts:  # a zero is written as no bits at all
        bits = constant["bits"] if constant else ""
        above = bits[0] if signed and bits else "0"
        return f"{len(bits) + missing}'{above * missing}{bits}"
    above = f"{missing}'{'0' * missing}"
    if signed:
        above = " ".join([_highest(parts)] * missing)
    return f"{{ {above} {parts} }}"


def _highest(parts: str) -> str:
    """Return the highest bit of what is no constant."""
    leading = _CONSTANT.match(parts)
    if leading:
        return f"1'{leading['bits'][0]}"
    found = re.match(r"(\S+) \[(\d+)", parts)  # Amaranth writes every part with its place
    assert found is not None, parts
    return f"{found[1]} [{found[2]}]"


def _field(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    assert found is not None
    return found[1]
