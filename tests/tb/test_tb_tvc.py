# SPDX-License-Identifier: Apache-2.0
"""The cocotb bench of the TVC, on the emitted Verilog."""

import re

import pytest

from ahasd.gen.emit import write
from ahasd.sim.bench import BenchFailure, available

pytestmark = pytest.mark.full

SCENARIOS = {
    "no stalls": {"gap": 0.0, "stall": 0.0},
    "random gaps": {"gap": 0.6, "stall": 0.0},
    "random back-pressure": {"gap": 0.2, "stall": 0.9},
}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("verilator-paper", marks=pytest.mark.slow),
        "verilator-test",
        pytest.param("icarus-paper", marks=pytest.mark.slow),
        "icarus-test",
    ],
)
def bench(request, make_bench):
    simulator, configuration = request.param.split("-")
    return make_bench("tvc", configuration, simulator)


@pytest.mark.bench
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_emitted_verilog_equals_golden_on_every_edge(bench, scenario):
    bench.run(seed=1, **SCENARIOS[scenario])


@pytest.mark.bench
def test_the_bench_fails_on_verilog_with_a_fault(make_bench, tmp_path):
    simulator = "icarus" if available("icarus") else "verilator"
    source, _ = write("tvc", "test", tmp_path)
    fault, count = re.subn(
        r"assign idle_pim = (.+);", r"assign idle_pim = (\1) & ~bad_record;", source.read_text()
    )
    assert count == 1
    bench = make_bench("tvc", "test", simulator, verilog=fault)
    with pytest.raises(BenchFailure, match="golden"):
        bench.run(seed=1)
