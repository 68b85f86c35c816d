# SPDX-License-Identifier: Apache-2.0
"""The cocotb bench of the queue controllers, on the emitted Verilog."""

import pytest

from ahasd.sim.bench import Bench, available

SCENARIOS = {
    "no stalls": {"gap": 0.0, "stall": 0.0},
    "random gaps": {"gap": 0.6, "stall": 0.0},
    "random back-pressure": {"gap": 0.2, "stall": 0.6},
}


@pytest.fixture(scope="module", params=[("verilator", "small"), ("icarus", "test")], ids="-".join)
def bench(request, tmp_path_factory):
    simulator, configuration = request.param
    if not available(simulator):
        pytest.skip(f"{simulator} is not installed")
    return Bench("queues", configuration, simulator, tmp_path_factory.mktemp(simulator))


@pytest.mark.bench
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_emitted_verilog_equals_golden_on_every_edge_of_two_clocks(bench, scenario, seed):
    bench.run(seed=seed, **SCENARIOS[scenario])
