# SPDX-License-Identifier: Apache-2.0
"""The cocotb bench of the AAU, on the emitted Verilog."""

import re

import pytest

from ahasd.gen.emit import write
from ahasd.sim.bench import BenchFailure, available

pytestmark = pytest.mark.full

SCENARIOS = {
    "no stalls": {"gap": 0.0, "stall": 0.0},
    "random gaps": {"gap": 0.4, "stall": 0.0},
    "random back-pressure": {"gap": 0.1, "stall": 0.5},
}


@pytest.fixture(scope="module", params=["verilator-test", "icarus-test"])
def bench(request, make_bench):
    simulator, configuration = request.param.split("-")
    return make_bench("aau", configuration, simulator)


@pytest.mark.bench
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_emitted_verilog_equals_golden_on_every_edge(bench, scenario):
    bench.run(seed=1, **SCENARIOS[scenario])


@pytest.mark.bench
def test_the_bench_fails_on_verilog_with_a_fault(make_bench, tmp_path):
    simulator = "icarus" if available("icarus") else "verilator"
    source, _ = write("aau", "test", tmp_path)
    good = r"assign idle_pim = (.+);"
    fault, count = re.subn(good, r"assign idle_pim = 1'b1;", source.read_text())
    assert count == 1
    bench = make_bench("aau", "test", simulator, verilog=fault)
    with pytest.raises(BenchFailure, match="golden"):
        bench.run(seed=1, stall=0.5)
