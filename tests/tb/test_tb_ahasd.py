# SPDX-License-Identifier: Apache-2.0
"""The cocotb bench of the top, on the Verilog behind pins with AXI's names."""

import pytest

from ahasd.gen.emit import to_verilog
from ahasd.rtl.ahasd.axi import AhasdAxi
from ahasd.rtl.configs import UNITS
from ahasd.sim.bench import BenchFailure

pytestmark = pytest.mark.full

SCENARIOS = {
    "no stalls": {"gap": 0.0, "stall": 0.0},
    "random gaps": {"gap": 0.6, "stall": 0.0},
    "random back-pressure": {"gap": 0.2, "stall": 0.6},
}


@pytest.fixture(scope="module")
def verilog():
    return to_verilog(AhasdAxi(UNITS["ahasd"].configurations["test"]), "ahasd_ahasd")


@pytest.fixture(scope="module", params=["verilator", "icarus"])
def bench(request, make_bench, verilog):
    return make_bench("ahasd", "test", request.param, verilog=verilog)


@pytest.mark.bench
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_emitted_verilog_equals_golden_on_every_edge_of_two_clocks(bench, scenario, seed):
    bench.run(seed=seed, **SCENARIOS[scenario])


@pytest.mark.slow
@pytest.mark.bench
def test_the_bench_fails_on_a_unit_with_a_fault(make_bench, verilog):
    before, after = "assign m_axis_draft_tlast = ", "assign m_axis_draft_tlast = ~"
    assert verilog.count(before) == 1
    bench = make_bench("ahasd", "test", "verilator", verilog=verilog.replace(before, after))
    with pytest.raises(BenchFailure):
        bench.run(seed=1)
