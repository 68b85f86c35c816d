# SPDX-License-Identifier: Apache-2.0
"""The cocotb bench of the host interface, on the emitted Verilog behind pins with AXI's names."""

import json

import pytest

from ahasd.gen.emit import write
from ahasd.sim.bench import BenchFailure

pytestmark = pytest.mark.full

SCENARIOS = {
    "no stalls": {"gap": 0.0, "stall": 0.0},
    "random gaps": {"gap": 0.6, "stall": 0.0},
    "random back-pressure": {"gap": 0.2, "stall": 0.6},
}

# Channel: whether the master drives it, and its fields with their bits in the payload.
CHANNELS = {
    "aw": (True, {"addr": "13:0"}),
    "w": (True, {"data": "31:0", "strb": "35:32"}),
    "b": (False, {"resp": "1:0"}),
    "ar": (True, {"addr": "13:0"}),
    "r": (False, {"data": "31:0", "resp": "33:32"}),
}


def with_axi_pins(verilog: str, manifest: dict) -> str:
    """Wrap the unit's module in one of its name whose bus has pins that a bus master knows."""
    module = manifest["module"]
    ports, wires, pins = [], [], []
    for clock in manifest["clocks"]:
        ports += [f"input {clock['clock']}", f"input {clock['reset']}"]
        pins += [clock["clock"], clock["reset"]]
    for port in manifest["ports"]:
        name, span = port["name"], f"[{port['width'] - 1}:0]"
        pins.append(name)
        if name.partition("__")[0] in CHANNELS:
            wires.append(f"wire {span} {name};")
        else:
            ports.append(f"{port['direction']}put {span} {name}")
    for name, (driven, fields) in CHANNELS.items():
        forth, back = ("input", "output") if driven else ("output", "input")
        bus = f"s_axil_{name}"
        ports += [f"{forth} {bus}valid", f"{back} {bus}ready"]
        joined = [(f"{bus}ready", f"{name}__ready"), (f"{name}__valid", f"{bus}valid")]
        for field, bits in fields.items():
            high, _, low = bits.partition(":")
            ports.append(f"{forth} [{int(high) - int(low)}:0] {bus}{field}")
            joined.append((f"{name}__payload[{bits}]", f"{bus}{field}"))
        for target, source in joined:
            ends = (target, source) if driven else (source, target)
            wires.append("assign {} = {};".format(*ends))
    inner = f"{module}_inner"
    wrapped = verilog.replace(f"module {module}(", f"module {inner}(")
    return "\n".join(
        [
            wrapped,
            f"module {module}({', '.join(ports)});",
            *wires,
            f"{inner} inner({', '.join(f'.{pin}({pin})' for pin in pins)});",
            "endmodule",
            "",
        ]
    )


@pytest.fixture(scope="module")
def emitted(tmp_path_factory):
    verilog, manifest = write("host", "test", tmp_path_factory.mktemp("emitted"))
    return verilog.read_text(), json.loads(manifest.read_text())


@pytest.fixture(scope="module", params=["verilator", "icarus"])
def bench(request, make_bench, emitted):
    return make_bench("host", "test", request.param, verilog=with_axi_pins(*emitted))


@pytest.mark.bench
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("seed", [1, *(pytest.param(i, marks=pytest.mark.slow) for i in (2, 3))])
def test_the_emitted_verilog_equals_golden_on_every_edge_of_two_clocks(bench, scenario, seed):
    bench.run(seed=seed, **SCENARIOS[scenario])


@pytest.mark.bench
@pytest.mark.slow
def test_the_bench_fails_on_a_unit_with_a_fault(make_bench, emitted):
    verilog, manifest = emitted
    before, after = "assign irq = ", "assign irq = ~"
    assert verilog.count(before) >= 1
    broken = with_axi_pins(verilog.replace(before, after, 1), manifest)
    bench = make_bench("host", "test", "verilator", verilog=broken)
    with pytest.raises(BenchFailure):
        bench.run(seed=1)
