# SPDX-License-Identifier: Apache-2.0
"""Power of a unit in a run, idle and busy, with what it was derived from."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ahasd import UserError
from ahasd.gen.emit import to_rtlil
from ahasd.rtl.configs import UNITS
from ahasd.synth.flow import synthesise
from ahasd.synth.hierarchy import NONE, REPEATED
from ahasd.synth.library import Library
from ahasd.synth.mapping import Request
from ahasd.synth.memories import FLOPS
from ahasd.synth.nodes import LEAKAGE_NW_PER_GE, NODES
from ahasd.synth.passes import tools
from ahasd.synth.power.activity import Activity, Stretch
from ahasd.synth.power.cells import read
from ahasd.synth.power.clocks import UNGATED
from ahasd.synth.power.energy import Energies, drive_slew, energies
from ahasd.synth.power.gates import Gates
from ahasd.synth.power.netlist import build
from ahasd.synth.timing import library_clocks_ps

IDLE_EDGES = 1024
"""Edges of the first domain from which the power of a running clock without work is taken."""
SETTLE_EDGES = 64
"""Edges before those, in which the unit comes to rest."""

KINDS = ("clock", "internal", "switching")
"""What takes energy."""

_PJ_PER_PS_IN_MW = 1000.0


def power(activity: Activity, library: Library, *, cached: bool = True) -> dict[str, Any]:
    """Map a unit to cells, drive them with recorded pins, and return its row.

    Equal parts of a unit in which arithmetic prevails, such as lanes, are mapped once.

    Parameters
    ----------
    activity
        Pins of the unit in a run.
    library
        Cells with tables of power.
    cached
        Take the netlist from the cache.

    Raises
    ------
    UserError
        The library has no power, or one of its cells cannot be simulated.
    GateError
        The cells do not do what the RTL did.
    YosysError
        As `ahasd.synth.flow.synthesise`.
    """
    if not library.timed:
        raise UserError(
            f"library {library.name} has no power; take --library osu018"
            " (apt-get install qflow-tech-osu018) or files of your own, --liberty PATH"
        )
    unit, params = UNITS[activity.unit], activity.params
    module = f"ahasd_{unit.name}"
    request = Request(
        module=module,
        design=to_rtlil(unit.load_hardware()(params), module, unit.domains),
        library=library,
        clocks_ps=library_clocks_ps(unit.domains, library),
        boundaries=REPEATED if unit.wide else NONE,
        netlist=True,
    )
    result = synthesise(request, cached=cached)
    cells = read(library, [*result["cells"], library.buffer])
    netlist = build(result["netlist"], cells, unit.domains)
    taken = energies(
        netlist, cells, unit.domains, slew=drive_slew(library, cells), load_ff=library.load_ff
    )
    gates = Gates(netlist, activity)
    node = NODES.get(library.node_nm or 0)
    scale = node.energy_factors(cells.voltage) if node else (1.0, 1.0)
    worked = [_play(gates, activity, taken, each) for each in activity.stretches]
    inputs, clocks = idle(activity)
    gates.run(inputs[:SETTLE_EDGES], clocks[:SETTLE_EDGES])
    idle_toggles = gates.run(inputs[SETTLE_EDGES:], clocks[SETTLE_EDGES:])

    header = activity.header
    ge = result["area"] / library.nand2_area
    periods_ps = {domain: header["periods_ps"][domain] for domain in unit.domains}
    idle_ps = (len(clocks) - SETTLE_EDGES) * _step_ps(activity)
    idle_cycles = {domain: idle_ps / period for domain, period in periods_ps.items()}
    busy = {kind: sum(each.energy_pj[kind] for each in worked) for kind in KINDS}
    # All clocks had every edge that was simulated, whatever their periods.
    per_edge = np.array([idle_cycles[unit.domains[gate.domain]] for gate in netlist.clocks.gates])
    opened = gates.opened * per_edge / (len(clocks) - SETTLE_EDGES)
    resting = split(taken, idle_toggles, idle_cycles, opened)
    busy_mw = sum(each.stretch.share * each.mean_mw for each in worked)
    idle_mw = _mw(sum(resting.values()), idle_ps)
    duty = activity.busy_ps / header["run_ps"]
    answers = activity.answers()

    def scaled(figure: float) -> list[float]:
        return [round(figure * factor, 9) for factor in scale]

    return {
        "unit": unit.name,
        "configuration": header["configuration"],
        "overrides": {},
        "memories": FLOPS,
        "kept": result["kept"],
        "parameters": asdict(params),
        "instances": activity.instances,
        "ge": round(ge, 1),
        "gates": len(netlist.gate_nets),
        "flops": result["flops"],
        "clock_gates": len(netlist.clocks.gates),
        "gated_flops": int((netlist.gates_of != UNGATED).sum()),
        "library": {
            "name": library.name,
            "sha256": library.sha256,
            "node_nm": library.node_nm,
            "voltage": cells.voltage,
        },
        "activity": {
            "sha256": activity.sha256,
            "edges_equal": len(activity.clocks),
            "stepped": activity.stepped,
            "simulated": {
                domain: header["run_ps"] // period for domain, period in periods_ps.items()
            },
            "answers": answers,
            "run": {key: header[key] for key in ("config_sha256", "scheme", "seed", "tokens")}
            | {key: header[key] for key in ("trace", "dlm", "tlm", "draft_steps", "versions")},
        },
        "periods_ps": periods_ps,
        "duty": duty,
        "busy_pj": {kind: round(energy, 3) for kind, energy in busy.items()},
        "idle_pj": {kind: round(energy, 3) for kind, energy in resting.items()},
        "idle_ps": idle_ps,
        "library_leakage_uw": round(taken.leakage_nw / 1000, 6),
        "assumed_leakage_mw": [
            round(ge * each / 1e6, 9) for each in (LEAKAGE_NW_PER_GE.low, LEAKAGE_NW_PER_GE.high)
        ],
        "library_mw": {"busy": round(busy_mw, 6), "idle": round(idle_mw, 6)},
        "scaled_mw": {
            "busy": scaled(busy_mw),
            "idle": scaled(idle_mw),
            "mean": scaled(duty * busy_mw + (1 - duty) * idle_mw),
            "mean_stopped": scaled(duty * busy_mw),
        },
        "scaled_pj_per_answer": scaled((busy["internal"] + busy["switching"]) / answers)
        if answers
        else None,
        "commands": [
            {
                **each.stretch.command,
                "busy_pj": {kind: round(energy, 3) for kind, energy in each.energy_pj.items()},
                "scaled_mw": scaled(each.mean_mw),
                "scaled_pj_per_element": scaled(
                    sum(each.energy_pj.values()) / each.stretch.command["length"]
                ),
            }
            for each in worked
            if each.stretch.command
        ],
        "design_sha256": request.design_sha256,
        "source_sha256": unit.source_sha256(),
        "tools": tools(),
    }


@dataclass(frozen=True)
class Worked:
    """What a stretch of a record took.

    Attributes
    ----------
    stretch
        The edges.
    energy_pj
        By what takes it, in the library's own node.
    mean_mw
        Its mean power there.
    """

    stretch: Stretch
    energy_pj: dict[str, float]
    mean_mw: float


def _play(gates: Gates, activity: Activity, taken: Energies, stretch: Stretch) -> Worked:
    """Drive gates with a stretch of a record that follows what they had before."""
    first, end = stretch.first, stretch.end
    toggles = gates.run(
        activity.inputs[first:end], activity.clocks[first:end], activity.outputs[first:end], first
    )
    energy_pj = split(taken, toggles, activity.stepped_in(first, end), gates.opened)
    mean_mw = _mw(sum(energy_pj.values()), activity.recorded_ps(first, end))
    return Worked(stretch, energy_pj, mean_mw)


def split(
    taken: Energies, toggles: np.ndarray, cycles: dict[str, Any], opened: np.ndarray
) -> dict[str, float]:
    """Return the energy of changes, cycles and cycles of open clock gates by what takes it, pJ."""
    every = sum(taken.clock_pj[domain] * count for domain, count in cycles.items())
    return {
        "clock": every + float(opened @ taken.gated_pj),
        "internal": float(toggles @ taken.internal_pj),
        "switching": float(toggles @ taken.switching_pj),
    }


def idle(activity: Activity) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and clocks of a unit that nobody asks: last pins, nothing valid, time on."""
    header = activity.header
    row = activity.inputs[-1].copy()
    for name, _ in header["inputs"]:
        if name.endswith("__valid"):
            row[activity.column(header["inputs"], name)[0]] = 0
    edges = SETTLE_EDGES + IDLE_EDGES
    inputs = np.repeat(row[None], edges, axis=0)
    if any(name == "now" for name, _ in header["inputs"]):
        at, width = activity.column(header["inputs"], "now")
        size = -(-width // 8)
        began = int.from_bytes(row[at : at + size].tobytes(), "little")
        for i in range(edges):
            now = (began + i) % (1 << width)
            inputs[i, at : at + size] = np.frombuffer(now.to_bytes(size, "little"), np.uint8)
    return inputs, np.full(edges, (1 << len(header["domains"])) - 1, np.uint8)


def _step_ps(activity: Activity) -> int:
    """Return the time of an edge of the first domain, with which `now` counts."""
    return activity.header["periods_ps"][activity.header["domains"][0]]


def _mw(energy_pj: float, time_ps: int) -> float:
    return energy_pj / time_ps * _PJ_PER_PS_IN_MW if time_ps else 0.0
