# SPDX-License-Identifier: Apache-2.0
"""The gate-level bench: mapped units under the pins of a run, against what RTL gave in it."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ahasd.cli import main
from ahasd.gen.emit import to_rtlil
from ahasd.rtl.configs import UNITS
from ahasd.synth.flow import synthesise
from ahasd.synth.library import Library
from ahasd.synth.mapping import Request, design_sha256
from ahasd.synth.power.activity import Activity, params_of, read
from ahasd.synth.power.cells import Cells
from ahasd.synth.power.cells import read as read_cells
from ahasd.synth.power.gates import GateError, Gates
from ahasd.synth.power.netlist import NOWHERE, build
from ahasd.synth.power.power import SETTLE_EDGES, idle
from ahasd.synth.record import read as read_record
from ahasd.synth.timing import library_clocks_ps

pytestmark = pytest.mark.full

RESULTS = Path(__file__).resolve().parents[2] / "synth" / "results"
OTHERS = {"INVX1": "BUFX2", "NAND2X1": "NOR2X1", "NOR2X1": "NAND2X1"}
"""Cells with the same pins that do something else."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of the test configuration."""
    folder = tmp_path_factory.mktemp("runs")
    arguments = ["run", "test", "--baseline", "none", "--activity", "--name", "kept"]
    options = ["--set", "hardware.draftctl=true", "--set", "nonlinear.lanes=2"]
    options += ["--out", str(folder)]
    assert main([*arguments, *options]) == 0
    return folder / "kept"


def _mapped(activity: Activity, library: Library) -> tuple[dict[str, Any], Cells]:
    unit, module = UNITS[activity.unit], f"ahasd_{activity.unit}"
    design = to_rtlil(unit.load_hardware()(activity.params), module, unit.domains)
    clocks_ps = library_clocks_ps(unit.domains, library)
    request = Request(
        module=module, design=design, library=library, clocks_ps=clocks_ps, netlist=True
    )
    result = synthesise(request)
    return result["netlist"], read_cells(library, {*result["cells"], *OTHERS, *OTHERS.values()})


@pytest.mark.parametrize(
    "unit",
    [
        "draftctl",
        "edc",
        "gtsu",
        *(
            pytest.param(unit, marks=pytest.mark.slow)
            for unit in ("aau", "ahasd", "host", "queues", "tvc")
        ),
    ],
)
def test_gates_equal_rtl_from_any_state_rest_and_differ_once_a_cell_is_another(
    run: Path, osu018: Library, unit: str
):
    activity = read(run / "activity" / f"{unit}.npz")
    told, cells = _mapped(activity, osu018)
    domains = UNITS[unit].domains
    netlist = build(told, cells, domains)
    gates = Gates(netlist, activity)
    toggles = gates.run(activity.inputs, activity.clocks, activity.outputs)
    assert len(activity.clocks) > 250
    for seed in (1, 2):
        powered = Gates(netlist, activity, seed=seed)
        powered.run(activity.inputs, activity.clocks, activity.outputs)

    inputs, clocks = idle(activity)
    gates.run(inputs[:SETTLE_EDGES], clocks[:SETTLE_EDGES])
    resting = gates.run(inputs[SETTLE_EDGES:], clocks[SETTLE_EDGES:])
    assert resting[netlist.state_nets[netlist.state_nets > NOWHERE]].sum() == 0

    # A run reaches the pins from few cells only: other rules, tables and counters stay unseen.
    driven = [next(nets[pin] for pin in cell.outputs) for cell, nets in netlist.cells]
    names = [
        name
        for (name, (kind, _)), net in zip(told["cells"].items(), driven, strict=True)
        if kind in OTHERS and toggles[net] > 20
    ]
    found = 0
    for name in (names[i] for i in np.linspace(0, len(names) - 1, 12).astype(int)):
        kind, pins = told["cells"][name]
        broken = told | {"cells": told["cells"] | {name: [OTHERS[kind], pins]}}
        try:
            gates = Gates(build(broken, cells, domains), activity)
            gates.run(activity.inputs, activity.clocks, activity.outputs)
        except GateError:
            found += 1
    assert found >= 3


def test_what_is_recorded_is_of_this_hardware():
    paths = sorted(RESULTS.glob("power-*.json"))
    assert paths
    for row in (row for path in paths for row in read_record(path, "power")):
        if row["tools"]["amaranth"] != version("amaranth"):
            pytest.skip("recorded with another Amaranth")
        unit, module = UNITS[row["unit"]], f"ahasd_{row['unit']}"
        hardware = unit.load_hardware()(params_of(unit.name, row["parameters"]))
        found = design_sha256(to_rtlil(hardware, module, unit.domains))
        assert found == row["design_sha256"], f"record the power of {unit.name} again"
