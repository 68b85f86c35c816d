# SPDX-License-Identifier: Apache-2.0
"""Bytes on a line, 8N1: a start bit of 0, eight bits from the lowest on, a stop bit of 1."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.bridge.params import LINE_BITS, BridgeParams


class Receiver(wiring.Component):
    """Sample every bit of a byte in its middle.

    A start bit that is over by its middle is a glitch and a byte without a stop bit is broken; both
    are dropped.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    line : in
        In this clock domain.
    byte, taken : out
        The byte, in the one cycle in which `taken` is high.
    idle : out
        With the line high, an edge changes no state.
    """

    line: Signal
    byte: Signal
    taken: Signal
    idle: Signal

    def __init__(self, params: BridgeParams) -> None:
        self.params = params
        super().__init__({"line": In(1), "byte": Out(8), "taken": Out(1), "idle": Out(1)})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        divisor = self.params.divisor
        m = Module()
        active = Signal()
        timer = Signal(range(divisor))
        place = Signal(range(LINE_BITS))  # of the bit that comes
        middle = Signal()
        m.d.comb += [
            middle.eq(active & (timer == 0)),
            self.taken.eq(middle & (place == LINE_BITS - 1) & self.line),
            self.idle.eq(~active),
        ]
        with m.If(~active):
            with m.If(~self.line):
                m.d.npu += [active.eq(1), timer.eq(divisor // 2 - 1), place.eq(0)]
        with m.Elif(middle):
            m.d.npu += [timer.eq(divisor - 1), place.eq(place + 1)]
            with m.If((place == 0) & self.line | (place == LINE_BITS - 1)):
                m.d.npu += active.eq(0)
            with m.Elif(place != 0):
                m.d.npu += self.byte.eq(Cat(self.byte[1:], self.line))
        with m.Else():
            m.d.npu += timer.eq(timer - 1)
        return m


class Sender(wiring.Component):
    """Send bytes, with a cycle between a stop bit and the next start bit at least.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    byte : stream of 8 bits, in
        What to send.
    line : out
        A flip-flop.
    """

    byte: stream.Interface
    line: Signal

    def __init__(self, params: BridgeParams) -> None:
        self.params = params
        super().__init__({"byte": In(stream.Signature(8)), "line": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        divisor = self.params.divisor
        m = Module()
        waiting = Signal(LINE_BITS - 1, init=-1)  # bits behind the one on the line
        left = Signal(range(LINE_BITS + 1))
        timer = Signal(range(divisor))
        m.d.comb += self.byte.ready.eq(left == 0)
        with m.If(self.byte.ready):
            with m.If(self.byte.valid):
                m.d.npu += [
                    Cat(self.line, waiting).eq(Cat(Const(0, 1), self.byte.payload, Const(1, 1))),
                    left.eq(LINE_BITS),
                    timer.eq(divisor - 1),
                ]
        with m.Elif(timer == 0):
            m.d.npu += [
                Cat(self.line, waiting).eq(Cat(waiting, Const(1, 1))),
                left.eq(left - 1),
                timer.eq(divisor - 1),
            ]
        with m.Else():
            m.d.npu += timer.eq(timer - 1)
        return m
