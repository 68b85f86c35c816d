# SPDX-License-Identifier: Apache-2.0
"""The cocotb bench of the queue controllers, on the emitted Verilog."""

import pytest

pytestmark = pytest.mark.full

SCENARIOS = {
    "no stalls": {"gap": 0.0, "stall": 0.0},
    "random gaps": {"gap": 0.6, "stall": 0.0},
    "random back-pressure": {"gap": 0.2, "stall": 0.6},
}


@pytest.fixture(scope="module", params=["verilator-small", "icarus-test"])
def bench(request, make_bench):
    simulator, configuration = request.param.split("-")
    return make_bench("queues", configuration, simulator)


@pytest.mark.bench
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("seed", [3, 6])
def test_the_emitted_verilog_equals_golden_on_every_edge_of_two_clocks(bench, scenario, seed):
    bench.run(seed=seed, **SCENARIOS[scenario])
