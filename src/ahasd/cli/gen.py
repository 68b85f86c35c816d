# SPDX-License-Identifier: Apache-2.0
"""`ahasd gen`: Verilog of a unit."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ahasd.cli.options import assignments


def gen(
    unit: str = "",
    /,
    *,
    config: Annotated[str, Parameter(name=("--config", "--configuration"))] = "paper",
    out: Path = Path("build/verilog"),
    module: str | None = None,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
) -> None:
    """Write a hardware unit as Verilog, with a JSON manifest of its ports, timing and sources.

    Without a unit, list the units, parts that stand alone, and their configurations. The same unit
    and parameters give the same bytes. With the host interface come its registers: SystemRDL, C
    header, IP-XACT and HTML; with the top comes the same behind AXI4-Lite and AXI4-Stream pins.

    For example:

    - `ahasd gen edc`
    - `ahasd gen edc --config small --out hw`
    - `ahasd gen edc --set llr_width=4 --module my_edc`

    Parameters
    ----------
    unit
        Unit of the catalogue, such as edc, or part of the AAU, such as exp2.
    config
        Configuration to start from: paper, small or test.
    out
        Folder for the files.
    module
        Name of the Verilog module; ahasd_UNIT by default.
    set_
        A parameter, as key=value; may be given several times. An unknown key lists those there are.
    """
    from ahasd import UserError
    from ahasd.rtl.configs import UNITS
    from ahasd.rtl.parts import PARTS

    if not unit:
        if set_ or module:
            raise UserError("--set and --module need a unit; `ahasd gen` lists them")
        for title, entries in (("", UNITS), ("parts of the AAU, which stand alone:", PARTS)):
            print(title, end="\n" * bool(title))
            for entry in entries.values():
                known = ", ".join(entry.configurations)
                print(f"{entry.name}: {entry.does}; configurations {known}")
        return
    from ahasd.gen.emit import write

    overrides = assignments(set_ or ())
    for path in write(unit, config, out, overrides=overrides, module=module):
        print(path)
    if unit == "ahasd":
        from ahasd.gen.axi import write_axi

        print(write_axi(config, out, overrides=overrides, module=module))
    if unit == "host":
        print(_describe_registers(out))


def _describe_registers(out: Path) -> str:
    """Write what describes the register map; return the paths, or what is missing."""
    from importlib.resources import files
    from importlib.util import find_spec

    from ahasd import install_hint

    description = out / "ahasd.rdl"
    description.write_text((files("ahasd.rtl.host") / "ahasd.rdl").read_text())
    if find_spec("systemrdl") is None:
        return f"{description}\nno C header, IP-XACT, HTML: {install_hint('registers')}"
    from ahasd.gen.registers import export

    return "\n".join(map(str, (description, *export(out))))
