# SPDX-License-Identifier: Apache-2.0
"""The unit `board` on a board: clocks, resets, the cycle counter, pins."""

from typing import Any

from amaranth.hdl import (
    ClockDomain,
    ClockSignal,
    Elaboratable,
    Instance,
    Module,
    ResetSignal,
    Signal,
)
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer

from ahasd.rtl.board.params import BoardParams
from ahasd.rtl.board.unit import BoardUnit

RESET_CYCLES = 32
"""Cycles of the board's clock with both resets active; eight of the slower clock are needed."""

VCO_HZ = 600_000_000
"""Of the ECP5's PLL, which is to run at 400 to 800 MHz."""


class Top(Elaboratable):
    """What is built.

    The board's clock is the NPU's. The PIM's is another one of a PLL, with the ratio of the
    system's clocks, 0.8; or the same where the FPGA's PLL cannot make it. The design treats them
    as unrelated either way.

    Parameters
    ----------
    params
        Sizes.
    clock_hz, pim_hz
        Of the board's clock and of the PIM's.
    """

    def __init__(self, params: BoardParams, clock_hz: int, pim_hz: int) -> None:
        self._params = params
        self._clock_hz, self._pim_hz = clock_hz, pim_hz

    def elaborate(self, platform: Any) -> Module:
        """Build the module."""
        m = Module()
        m.domains.npu = ClockDomain("npu")
        m.domains.pim = ClockDomain("pim")
        m.submodules.board = board = BoardUnit(self._params)
        locked = Signal()
        m.d.comb += ClockSignal("npu").eq(ClockSignal("sync"))
        if self._pim_hz == self._clock_hz:
            m.d.comb += [ClockSignal("pim").eq(ClockSignal("sync")), locked.eq(1)]
        else:
            m.submodules.pll = ecp5_pll(self._clock_hz, self._pim_hz, locked)

        held = Signal(range(RESET_CYCLES), init=RESET_CYCLES - 1)
        resets = Signal(init=1)
        with m.If(~locked):
            m.d.sync += held.eq(RESET_CYCLES - 1)
        with m.Elif(held != 0):
            m.d.sync += held.eq(held - 1)
        m.d.sync += resets.eq(held != 0)
        m.d.comb += ResetSignal("npu").eq(resets)
        m.submodules.pim_reset = ResetSynchronizer(resets, domain="pim")

        m.d.pim += board.now.eq(board.now + 1)
        uart = platform.request("uart", 0, dir="-")
        m.submodules.rx = rx = io.Buffer("i", uart.rx)
        m.submodules.tx = tx = io.Buffer("o", uart.tx)
        m.submodules.led = led = io.Buffer("o", platform.request("led", 0, dir="-"))
        m.d.comb += [board.rx.eq(rx.i), tx.o.eq(board.tx), led.o.eq(board.irq)]
        return m


def ecp5_pll(clock_hz: int, pim_hz: int, locked: Signal) -> Instance:
    """Return a PLL that makes the PIM's clock, in phase with nothing."""
    return Instance(
        "EHXPLLL",
        p_CLKI_DIV=1,
        p_CLKFB_DIV=1,
        p_FEEDBK_PATH="CLKOP",
        p_CLKOP_ENABLE="ENABLED",
        p_CLKOP_DIV=VCO_HZ // clock_hz,
        p_CLKOP_CPHASE=VCO_HZ // clock_hz - 1,
        p_CLKOS_ENABLE="ENABLED",
        p_CLKOS_DIV=VCO_HZ // pim_hz,
        p_CLKOS_CPHASE=VCO_HZ // pim_hz - 1,
        a_FREQUENCY_PIN_CLKI=str(clock_hz / 1e6),
        a_FREQUENCY_PIN_CLKOP=str(clock_hz / 1e6),
        a_FREQUENCY_PIN_CLKOS=str(pim_hz / 1e6),
        a_ICP_CURRENT="12",
        a_LPF_RESISTOR="8",
        i_CLKI=ClockSignal("sync"),
        i_CLKFB=(feedback := Signal(name="pll_feedback")),
        i_RST=0,
        i_STDBY=0,
        i_PHASESEL0=0,
        i_PHASESEL1=0,
        i_PHASEDIR=0,
        i_PHASESTEP=0,
        i_PHASELOADREG=0,
        i_PLLWAKESYNC=0,
        i_ENCLKOP=0,
        i_ENCLKOS=0,
        o_CLKOP=feedback,
        o_CLKOS=ClockSignal("pim"),
        o_LOCK=locked,
    )
