# SPDX-License-Identifier: Apache-2.0
"""Streams of one clock domain behind addresses, in Amaranth."""

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.board.params import channel
from ahasd.rtl.bridge import layouts
from ahasd.rtl.bridge.params import BridgeParams, Status


class Channels(wiring.Component):
    """Push payloads to streams and pop from others, at once or not at all.

    What was pushed stays on offer until it is taken; meanwhile that stream is full. A result is
    offered one cycle after its access.

    Parameters
    ----------
    params
        Sizes of the bridge.
    domain
        Clock domain.
    pushed, popped
        Shapes of payloads by the names of the streams.

    Members
    -------
    access : stream of {pop, channel, data}, in
        What to do.
    result : stream of {status, data}, out
        What became of it.
    idle : out
        With no input valid, an edge changes no state.
    """

    access: stream.Interface
    result: stream.Interface
    idle: Signal

    def __init__(
        self,
        params: BridgeParams,
        domain: str,
        *,
        pushed: Mapping[str, Any],
        popped: Mapping[str, Any],
    ) -> None:
        self._domain = domain
        self._pushed, self._popped = tuple(pushed), tuple(popped)
        super().__init__(
            {
                "access": In(stream.Signature(layouts.access(params))),
                "result": Out(stream.Signature(layouts.answer(params))),
                "idle": Out(1),
                **{name: Out(stream.Signature(shape)) for name, shape in pushed.items()},
                **{f"{name}_in": In(stream.Signature(shape)) for name, shape in popped.items()},
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        access, result = self.access, self.result
        asked = access.payload
        m = Module()
        sync = m.d[self._domain]
        taken = Signal()
        answer = Signal.like(result.payload)
        offers = [getattr(self, name) for name in self._pushed]
        m.d.comb += [
            access.ready.eq(~result.valid),
            taken.eq(access.valid & access.ready),
            answer.status.eq(Status.ABSENT),
            self.idle.eq(~Cat(result.valid, *(offer.valid for offer in offers)).any()),
        ]
        for name, offer in zip(self._pushed, offers, strict=True):
            with m.If(offer.ready):
                sync += offer.valid.eq(0)
            with m.If(~asked.pop & (asked.channel == channel(name))):
                m.d.comb += answer.status.eq(Mux(offer.valid, Status.FULL, Status.OKAY))
                with m.If(taken & ~offer.valid):
                    sync += [offer.valid.eq(1), offer.payload.eq(asked.data)]
        for name in self._popped:
            offer = getattr(self, f"{name}_in")
            with m.If(asked.pop & (asked.channel == channel(name))):
                m.d.comb += [
                    answer.status.eq(Mux(offer.valid, Status.OKAY, Status.EMPTY)),
                    answer.data.eq(offer.payload),
                    offer.ready.eq(taken),
                ]
        with m.If(result.ready):
            sync += result.valid.eq(0)
        with m.If(taken):
            sync += [result.valid.eq(1), result.payload.eq(answer)]
        return m
