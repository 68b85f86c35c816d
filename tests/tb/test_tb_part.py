# SPDX-License-Identifier: Apache-2.0
"""The cocotb bench of every part that stands alone, on its emitted Verilog."""

import pytest

from ahasd.gen.emit import write
from ahasd.rtl.parts import PARTS
from ahasd.sim.bench import BenchFailure, available

pytestmark = [pytest.mark.full, pytest.mark.bench]

SIMULATOR = "icarus" if available("icarus") else "verilator"


@pytest.mark.parametrize("part", PARTS)
def test_the_emitted_verilog_equals_golden(part, make_bench):
    make_bench(part, "test", SIMULATOR).run(seed=1)


@pytest.mark.parametrize(
    ("part", "good", "fault"),
    [("exp2", " = enable;", " = 1'b1;"), ("topk", "assign wins = ", "assign wins = ~")],
)
def test_the_bench_fails_on_verilog_with_a_fault(part, good, fault, make_bench, tmp_path):
    source, _ = write(part, "test", tmp_path)
    text = source.read_text()
    assert good in text
    bench = make_bench(part, "test", SIMULATOR, verilog=text.replace(good, fault))
    with pytest.raises(BenchFailure, match="seed 1, edge"):
        bench.run(seed=1)
