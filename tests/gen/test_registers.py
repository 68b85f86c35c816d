# SPDX-License-Identifier: Apache-2.0
"""What is made of the register map agrees with it and with the hardware's table."""

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from ahasd.cli.app import app
from ahasd.gen.registers import ROOT, compiled, export, markdown, python, table
from ahasd.rtl.host.map import Kind
from ahasd.rtl.host.registers import REGISTERS

IPXACT = "{http://www.accellera.org/XMLSchema/IPXACT/1685-2014}"


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("registers")
    export(folder)
    return folder


def test_the_table_and_the_page_are_up_to_date():
    top = compiled()
    assert table(top) == REGISTERS
    made = {"rtl/host/registers.py": python(REGISTERS), "docs/registers.md": markdown(top)}
    for path, text in made.items():
        assert (ROOT / path).read_text() == text, "run `python -m ahasd.gen.registers`"


def test_the_page_names_every_register_and_field():
    page = (ROOT / "docs" / "registers.md").read_text()
    for register in REGISTERS:
        row = rf"\| `0x{register.address:04X}` \| \*\*{register.name.partition('.')[2]}\*\* \|"
        assert re.search(f"{row} {register.access} \\|", page)
        for field in register.fields:
            assert f"`{field.name}`" in page


def test_the_header_compiles_and_has_addresses_masks_and_resets_of_the_table(exported, tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler is installed")
    lines = ['#include "ahasd.h"', "#include <stddef.h>"]
    for register in REGISTERS:
        block, _, name = register.name.partition(".")
        lines.append(f"static_assert(offsetof(ahasd_t, {block}.{name}) == {register.address});")
        if register.kind is Kind.COUNTER or name.startswith("EDC_BOUNDARY"):
            continue  # of a type that several share, and whose macros have its name
        for field in register.fields:
            prefix = f"AHASD__{block}__{name}__{field.name}".upper()
            lines.append(f"static_assert({prefix}_bm == {field.limit << field.low}ULL);")
            lines.append(f"static_assert({prefix}_bp == {field.low});")
            if field.reset:
                lines.append(f"static_assert({prefix}_reset == {field.reset});")
    source = tmp_path / "check.cc"
    source.write_text("\n".join([*lines, ""]))
    command = [compiler, "-std=c++17", "-Wall", "-Werror", "-fsyntax-only", f"-I{exported}", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_ipxact_read_back_is_the_table(exported):
    def number(node: ElementTree.Element, path: str) -> int:
        text = node.findtext("/".join(IPXACT + part for part in path.split("/"))) or "'h0"
        return int(text[2:], 16) if text.startswith("'h") else int(text)

    access = {"read-only": "ro", "write-only": "wo", "read-write": "rw"}
    found = {}
    for block in ElementTree.parse(exported / "ahasd.xml").iter(f"{IPXACT}registerFile"):
        base = number(block, "addressOffset")
        for register in block.iter(f"{IPXACT}register"):
            name = f"{block.findtext(f'{IPXACT}name')}.{register.findtext(f'{IPXACT}name')}"
            found[name] = base + number(register, "addressOffset")
            known = next(each for each in REGISTERS if each.name == name)
            fields = {
                each.findtext(f"{IPXACT}name"): each for each in register.iter(f"{IPXACT}field")
            }
            assert list(fields) == [field.name for field in known.fields]
            for field in known.fields:
                node = fields[field.name]
                assert number(node, "bitOffset") == field.low
                assert number(node, "bitWidth") == field.width
                assert number(node, "resets/reset/value") == field.reset
                told = access[node.findtext(f"{IPXACT}access") or ""]
                assert told == {"w1c": "rw"}.get(known.access, known.access)
    assert found == {register.name: register.address for register in REGISTERS}


def test_the_host_interface_is_written_with_all_that_describes_it(tmp_path, capsys):
    app(["gen", "host", "--out", str(tmp_path)], result_action="return_value")
    names = ("ahasd_host.v", "ahasd_host.json", "ahasd.rdl", "ahasd.h", "ahasd.xml")
    expected = [str(tmp_path / name) for name in (*names, "registers/index.html")]
    assert capsys.readouterr().out.split() == expected
    assert all(Path(path).stat().st_size > 0 for path in expected)
    assert (tmp_path / "ahasd.rdl").read_text() == (ROOT / "rtl" / "host" / "ahasd.rdl").read_text()


def test_without_the_exporters_the_user_is_told_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "systemrdl", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    app(["gen", "host", "--out", str(tmp_path)], result_action="return_value")
    assert "-m pip install -e '.[registers]'" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "ahasd.rdl",
        "ahasd_host.json",
        "ahasd_host.v",
    ]


def test_a_page_that_is_out_of_date_is_told_and_left(tmp_path, capsys, monkeypatch):
    from ahasd.gen import registers

    monkeypatch.setattr(registers, "ROOT", tmp_path)
    for folder in ("rtl/host", "docs"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr("sys.argv", ["registers", "--check"])
    assert registers.main() == 1
    assert capsys.readouterr().out.count("is out of date") == 2
    monkeypatch.setattr("sys.argv", ["registers"])
    assert registers.main() == 0
    monkeypatch.setattr("sys.argv", ["registers", "--check"])
    assert registers.main() == 0
