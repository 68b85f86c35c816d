# SPDX-License-Identifier: Apache-2.0
"""The register map, from its SystemRDL description to everything that is made of it.

python -m ahasd.gen.registers            rewrite rtl/host/registers.py and docs/registers.md
python -m ahasd.gen.registers --check    exit 1 if one is out of date
"""

import sys
from importlib.resources import as_file, files
from pathlib import Path

from peakrdl_cheader.exporter import CHeaderExporter
from peakrdl_html import HTMLExporter
from peakrdl_ipxact import IPXACTExporter, Standard
from systemrdl.compiler import RDLCompiler
from systemrdl.node import AddrmapNode, FieldNode, RegfileNode, RegNode

from ahasd.rtl.host.map import Field, Kind, Register

SOURCE = files("ahasd.rtl.host") / "ahasd.rdl"
ROOT = Path(__file__).resolve().parents[1]


def compiled() -> AddrmapNode:
    """Return the elaborated map."""
    compiler = RDLCompiler()
    with as_file(SOURCE) as path:
        compiler.compile_file(str(path))
    return compiler.elaborate("ahasd").top


def table(top: AddrmapNode) -> tuple[Register, ...]:
    """Return the registers of a map in the order of addresses."""
    return tuple(
        Register(
            node.get_path(hier_separator=".").removeprefix("ahasd."),
            node.absolute_address,
            _kind(next(iter(node.fields()))),
            tuple(_field(field) for field in node.fields()),
        )
        for node in top.descendants(unroll=True)
        if isinstance(node, RegNode)
    )


def _kind(node: FieldNode) -> Kind:
    if node.get_property("counter"):
        return Kind.COUNTER
    if node.is_sw_readable and node.is_sw_writable:
        return Kind.FLAGS if node.is_hw_writable else Kind.CONTROL
    if node.is_sw_writable:
        return Kind.COMMAND
    return Kind.STATUS if node.is_hw_writable else Kind.CONSTANT


def _field(node: FieldNode) -> Field:
    reset = node.get_property("reset") or 0
    assert isinstance(reset, int)
    step_width = int(node.get_property("incrwidth") or 0)
    return Field(node.inst_name, node.low, node.width, reset, step_width)


def python(registers: tuple[Register, ...]) -> str:
    """Return a table as a Python module."""
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        '"""The register map; made of ahasd.rdl by `python -m ahasd.gen.registers`."""',
        "",
        "from ahasd.rtl.host.map import Field, Kind, Register",
        "",
        "REGISTERS = (",
    ]
    for register in registers:
        lines += [
            "    Register(",
            f'        "{register.name}",',
            f"        0x{register.address:04X},",
            f"        Kind.{register.kind.name},",
        ]
        fields = [_constructor(field) for field in register.fields]
        if len(fields) == 1:
            lines.append(f"        ({fields[0]},),")
        else:
            lines += ["        (", *(f"            {field}," for field in fields), "        ),"]
        lines.append("    ),")
    return "\n".join([*lines, ")", ""])


def _constructor(field: Field) -> str:
    values = [f'"{field.name}"', str(field.low), str(field.width)]
    values += [str(field.reset)] if field.reset else []
    values += [f"step_width={field.step_width}"] if field.step_width else []
    return f"Field({', '.join(values)})"


def markdown(top: AddrmapNode) -> str:
    """Return the map as a page: a table for each block, with a row for each register and field.

    PeakRDL-markdown works, but needs ten times the lines and leaves most cells empty.
    """
    lines = [
        "# Register map",
        "",
        f"{top.get_property('desc')} Made of [ahasd.rdl](../rtl/host/ahasd.rdl)",
        "by `python -m ahasd.gen.registers`.",
        "",
        "Access: `rw` read and write, `ro` read only, `wo` write only, `w1c` read, and write 1 to",
        "clear. [Host interface](units/host.md) says how accesses behave.",
    ]
    kinds = {register.name: register.kind for register in table(top)}
    for block in top.children():
        assert isinstance(block, RegfileNode)
        lines += [
            "",
            f"## {block.get_property('name')}: `{block.inst_name}`",
            "",
            str(block.get_property("desc")),
            "",
            "| address | register, bits | access | reset | meaning |",
            "| --- | --- | --- | --- | --- |",
        ]
        for register in block.registers():
            access = kinds[f"{block.inst_name}.{register.inst_name}"].access
            lines.append(
                f"| `0x{register.absolute_address:04X}` | **{register.inst_name}** | {access} | |"
                f" {register.get_property('desc')} |"
            )
            for field in register.fields():
                bits = str(field.low) if field.width == 1 else f"{field.high}:{field.low}"
                reset = field.get_property("reset")
                lines.append(
                    f"| | {bits} `{field.inst_name}` | | {'-' if reset is None else reset} |"
                    f" {field.get_property('desc')} |"
                )
    return "\n".join([*lines, ""])


def export(folder: Path) -> tuple[Path, ...]:
    """Write C header, IP-XACT and HTML pages into a folder that exists; return their paths."""
    top = compiled()
    header, ipxact, html = (folder / name for name in ("ahasd.h", "ahasd.xml", "registers"))
    CHeaderExporter().export(top, str(header))
    IPXACTExporter(vendor="ahasd", library="ahasd", standard=Standard.IEEE_1685_2014).export(
        top, str(ipxact)
    )
    HTMLExporter().export(top, str(html))
    return header, ipxact, html / "index.html"


def main() -> int:
    """Rewrite what is made of the map, or check it."""
    top = compiled()
    made = {
        ROOT / "rtl" / "host" / "registers.py": python(table(top)),
        ROOT / "docs" / "registers.md": markdown(top),
    }
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if "--check" in sys.argv:
            print(f"{path} is out of date: run `python -m ahasd.gen.registers`")
        else:
            path.write_text(made[path])
            print(f"{path} rewritten")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
