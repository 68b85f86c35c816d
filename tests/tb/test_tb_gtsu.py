# SPDX-License-Identifier: Apache-2.0
"""The cocotb bench of the GTSU, on the emitted Verilog."""

import pytest

from ahasd.sim.bench import Bench, BenchFailure, available

SCENARIOS = {
    "no stalls": {"gap": 0.0, "stall": 0.0},
    "random gaps": {"gap": 0.6, "stall": 0.0},
    "random back-pressure": {"gap": 0.2, "stall": 0.6},
}


@pytest.fixture(
    scope="module",
    params=[
        ("verilator", "paper"),
        ("verilator", "test"),
        ("icarus", "paper"),
        ("icarus", "small"),
    ],
    ids="-".join,
)
def bench(request, tmp_path_factory):
    simulator, configuration = request.param
    if not available(simulator):
        pytest.skip(f"{simulator} is not installed")
    return Bench("gtsu", configuration, simulator, tmp_path_factory.mktemp(simulator))


@pytest.mark.bench
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_emitted_verilog_equals_golden_on_every_edge(bench, scenario):
    bench.run(seed=1, **SCENARIOS[scenario])


@pytest.mark.bench
def test_the_bench_fails_on_verilog_with_a_fault(tmp_path):
    simulator = "icarus" if available("icarus") else "verilator"
    good = Bench("gtsu", "test", simulator, tmp_path / "good")
    text = (tmp_path / "good" / "ahasd_gtsu.v").read_text()
    fault = text.replace("assign halted = timeout | ", "assign halted = timeout & ")
    assert fault != text
    good.run(seed=2)
    with pytest.raises(BenchFailure, match="golden"):
        Bench("gtsu", "test", simulator, tmp_path / "bad", verilog=fault).run(seed=2)
