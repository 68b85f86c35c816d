# SPDX-License-Identifier: Apache-2.0
"""Bench of parts that stand alone: driven as users may, compared with golden at every edge."""

from typing import Any

import cocotb
from cocotb.triggers import Timer

from ahasd.rtl.parts import PARTS
from ahasd.tb.lib.bench import Bench
from ahasd.tb.lib.parts import stimulus

HALF_PS = 625


@cocotb.test(timeout_time=200, timeout_unit="ms")
async def every_output_equals_golden(dut: Any) -> None:
    """Every edge of the stimulus, with gaps in it."""
    bench = Bench()
    part = PARTS[bench.manifest["unit"]]
    params = part.configurations[bench.configuration]
    golden = part.load_golden()(params)
    ports = {port["name"]: port for port in bench.manifest["ports"]}
    widths = {name: port["width"] for name, port in ports.items() if port["direction"] == "in"}
    outputs = [name for name in ports if name not in widths]
    dut.pim_clk.value = dut.pim_rst.value = 0

    driven = stimulus(part.name, bench.rng("stimulus"), widths, params)
    pins, edges, compared = next(driven), 0, 0
    while True:
        for name, value in pins.items():
            getattr(dut, name).value = value
        await Timer(HALF_PS, unit="ps")
        expected = golden.step(pins)
        seen = {name: int(getattr(dut, name).value) for name in outputs if name in expected}
        assert seen == expected, f"seed {bench.seed}, edge {edges}, pins {pins}"
        compared += bool(expected)
        dut.pim_clk.value = 1
        await Timer(HALF_PS, unit="ps")
        dut.pim_clk.value = 0
        edges += 1
        try:
            pins = driven.send(seen)
        except StopIteration:
            break
    assert compared > edges - 100 > 1000, f"{compared} of {edges} edges were compared"
