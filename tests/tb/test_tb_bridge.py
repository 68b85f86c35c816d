# SPDX-License-Identifier: Apache-2.0
"""The cocotb bench of the bridge, on the emitted Verilog."""

import pytest

from ahasd.gen.emit import write
from ahasd.sim.bench import BenchFailure, available

pytestmark = pytest.mark.full

SCENARIOS = {
    "no stalls": {"gap": 0.0, "stall": 0.0},
    "random gaps": {"gap": 0.6, "stall": 0.0},
    "random back-pressure": {"gap": 0.2, "stall": 0.6},
}


@pytest.fixture(scope="module", params=["verilator-test", "icarus-test"])
def bench(request, make_bench):
    simulator, configuration = request.param.split("-")
    return make_bench("bridge", configuration, simulator)


@pytest.mark.bench
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_emitted_verilog_equals_golden_on_every_edge(bench, scenario):
    bench.run(seed=1, **SCENARIOS[scenario])


@pytest.mark.bench
def test_the_bench_fails_on_verilog_with_a_fault(make_bench, tmp_path):
    simulator = "icarus" if available("icarus") else "verilator"
    source, _ = write("bridge", "test", tmp_path)
    text = source.read_text()
    assert text.count("8'h5a") == 1
    bench = make_bench("bridge", "test", simulator, verilog=text.replace("8'h5a", "8'h5b"))
    with pytest.raises(BenchFailure):
        bench.run(seed=1)
