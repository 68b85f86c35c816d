# SPDX-License-Identifier: Apache-2.0
"""The design on an FPGA board: its line, its clocks, its reset."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Fragment, Module, Signal
from amaranth.lib import io, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.bridge.golden import checksum
from ahasd.rtl.configs import UNITS, Unit
from ahasd.sim.bridge.client import Client
from ahasd.sim.bridge.simulated import SimulatedLine
from ahasd.sim.pysim import PysimEngine
from ahasd.sim.registry import make_engine
from ahasd.synth.fpga.boards import BAUD, BOARDS, GAP_S
from ahasd.synth.fpga.top import Top, ecp5_pll


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_the_rate_of_the_line_is_within_what_a_uart_bears(board):
    bridge = board.params(board.configuration, {}).bridge
    # A byte is sampled up to 9.5 bits from its start bit: half a bit is 5 % at most, either side.
    assert abs(board.clock_hz / bridge.divisor / BAUD - 1) < 0.02
    assert bridge.gap_cycles == board.clock_hz * GAP_S


@pytest.mark.full
@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_a_board_answers_at_the_rate_of_its_line_with_its_clocks(board):
    params = board.params(board.configuration, {})
    periods_ps = (round(1e12 / board.pim_hz), round(1e12 / board.clock_hz))
    line = SimulatedLine(make_engine("board", params, "golden"), params.bridge, periods_ps)
    began_ps = line.time_ps
    assert Client(line).read(0x0000) == int.from_bytes(b"AHSD", "big")
    # 16 bytes of 10 bits at 115,200 baud, and less than a byte's time for the answer to begin.
    assert 1.38e9 < line.time_ps - began_ps < 1.5e9


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_the_pll_makes_the_clock_of_the_pim_within_its_limits(board):
    if board.pim_hz == board.clock_hz:
        return
    assert board.pim_hz / board.clock_hz == 0.8, "as 800 MHz and 1 GHz"
    pll: Any = ecp5_pll(board.clock_hz, board.pim_hz, Signal())
    value = {name: number for name, number in pll.parameters.items() if isinstance(number, int)}
    # Lattice FPGA-DS-02012: phase detector 3.125 to 400 MHz, oscillator 400 to 800 MHz.
    compared_hz = board.clock_hz / value["CLKI_DIV"]
    primary_hz = compared_hz * value["CLKFB_DIV"]
    oscillator_hz = primary_hz * value["CLKOP_DIV"]
    assert 3.125e6 <= compared_hz <= 400e6
    assert 400e6 <= oscillator_hz <= 800e6
    assert oscillator_hz / value["CLKOS_DIV"] == board.pim_hz


class OnePin(wiring.Component):
    """The design of a board with one clock, behind pins that a simulator drives."""

    latency = interval = 0

    rx: Signal
    tx: Signal
    led: Signal

    def __init__(self, params) -> None:
        self.params = params
        self._rx, self._tx, self._led = (io.SimulationPort(way, 1) for way in ("i", "o", "o"))
        super().__init__({"rx": In(1), "tx": Out(1), "led": Out(1)})

    def request(self, name: str, number: int, dir: str) -> Any:
        return {"uart": SimpleNamespace(rx=self._rx, tx=self._tx), "led": self._led}[name]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.top = Fragment.get(Top(self.params, 12_000_000, 12_000_000), self)
        m.d.comb += [self._rx.i.eq(self.rx), self.tx.eq(self._tx.o), self.led.eq(self._led.o)]
        return m


def test_the_design_on_a_board_comes_out_of_its_own_reset_and_answers(monkeypatch):
    monkeypatch.setattr(Unit, "load_hardware", lambda self: OnePin)
    params = UNITS["board"].configurations["test"]
    unit = replace(UNITS["board"], domains=("sync",))
    engine = PysimEngine(unit, params)
    divisor, seen = params.bridge.divisor, []

    def run(line: int, cycles: int) -> None:
        for _ in range(cycles):
            seen.append(engine.step({"rx": line}, 1, len(seen))["tx"])

    run(1, 60)  # 32 cycles of reset, and some
    assert set(seen) == {1}
    body = bytes((3, 1, 0, 0))
    for byte in b"\x5a" + body + checksum(body):
        for bit in (0, *(byte >> i & 1 for i in range(8)), 1):
            run(bit, divisor)
    seen.clear()
    run(1, 10 * 10 * divisor)
    start = seen.index(0)
    heard = []
    for i in range(3, 7):
        at = start + i * (10 * divisor + 1)
        bits = [seen[at + divisor * j + divisor // 2] for j in range(10)]
        heard.append(sum(bit << j for j, bit in enumerate(bits[1:9])))
    assert bytes(heard) == b"DSHA", "npu.ID, lowest byte first"
