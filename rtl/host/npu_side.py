# SPDX-License-Identifier: Apache-2.0
"""The NPU half of the host interface: the AXI4-Lite port, and the registers of that domain."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.host import layouts
from ahasd.rtl.host.bank import Bank
from ahasd.rtl.host.map import BLOCK_WIDTH
from ahasd.rtl.host.params import BLOCKS, HostParams, Response


class NpuSide(wiring.Component):
    """Take requests into a slot each, serve one at a time, writes and reads by turns.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    requests : stream of ACCESS, out
        To the other domain.
    answers : stream of READ, in
        From there.
    error : in
        The other domain has an error; its rise sets a flag.
    """

    aw: stream.Interface
    w: stream.Interface
    b: stream.Interface
    ar: stream.Interface
    r: stream.Interface
    requests: stream.Interface
    answers: stream.Interface
    events: data.View
    status: data.View
    error: Signal
    irq: Signal
    idle: Signal

    def __init__(self, params: HostParams) -> None:
        self.params = params
        address = layouts.address(params)
        super().__init__(
            {
                "aw": In(stream.Signature(address)),
                "w": In(stream.Signature(layouts.WRITE)),
                "b": Out(stream.Signature(layouts.WRITTEN)),
                "ar": In(stream.Signature(address)),
                "r": Out(stream.Signature(layouts.READ)),
                "requests": Out(stream.Signature(layouts.ACCESS)),
                "answers": In(stream.Signature(layouts.READ)),
                "events": In(layouts.structure("npu_events")),
                "status": In(layouts.structure("npu_status")),
                "error": In(1),
                "irq": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        m.submodules.bank = bank = Bank(self.params, "npu")
        aw_full, aw = self._slot(m, "aw", self.aw)
        w_full, w = self._slot(m, "w", self.w)
        ar_full, ar = self._slot(m, "ar", self.ar)

        busy = Signal()  # the other domain has a request
        writing = Signal()  # that is a write
        free = Signal()
        write = Signal()
        read = Signal()
        remote = Signal()
        local = Signal()
        address = Signal(self.params.address_width)
        m.d.comb += [
            free.eq(~busy & self.requests.ready),
            # Its response blocks the next write for a cycle, so a read has its turn.
            write.eq(free & aw_full & w_full & ~self.b.valid),
            read.eq(free & ar_full & ~self.r.valid & ~write),
            address.eq(Mux(write, aw.addr, ar.addr)),
            remote.eq(address[BLOCK_WIDTH:] == BLOCKS["pim"]),
            local.eq(address[BLOCK_WIDTH:] == BLOCKS["npu"]),
        ]
        access = self.requests.payload
        m.d.comb += [
            access.write.eq(write),
            access.word.eq(address[2:BLOCK_WIDTH]),
            access.data.eq(w.data),
            access.strb.eq(w.strb),
            self.requests.valid.eq((write | read) & remote),
            self.answers.ready.eq(busy),
            bank.access.eq(access),
            bank.enable.eq((write | read) & local),
            bank.events.eq(self.events),
            bank.status.eq(self.status),
        ]
        with m.If(write):
            m.d.npu += [aw_full.eq(0), w_full.eq(0), writing.eq(1)]
        with m.If(read):
            m.d.npu += [ar_full.eq(0), writing.eq(0)]

        with m.If(self.b.ready):
            m.d.npu += self.b.valid.eq(0)
        with m.If(self.r.ready):
            m.d.npu += self.r.valid.eq(0)
        answer = Signal(layouts.READ)
        m.d.comb += [answer.data.eq(0), answer.resp.eq(Response.DECERR)]
        with m.If(busy):
            m.d.comb += answer.eq(self.answers.payload)
        with m.Elif(local):
            m.d.comb += answer.eq(bank.answer)
        arrives = Signal()
        m.d.comb += arrives.eq(busy & self.answers.valid)
        with m.If((write & ~remote) | (arrives & writing)):
            m.d.npu += [self.b.valid.eq(1), self.b.payload.resp.eq(answer.resp)]
        with m.If((read & ~remote) | (arrives & ~writing)):
            m.d.npu += [self.r.valid.eq(1), self.r.payload.eq(answer)]
        with m.If(self.requests.valid):
            m.d.npu += busy.eq(1)
        with m.Elif(arrives):
            m.d.npu += busy.eq(0)

        error_before = Signal()
        m.d.npu += error_before.eq(self.error)
        m.d.comb += [
            bank.set.draft_ready.eq(self.events.draft_ready),
            bank.set.feedback_taken.eq(self.events.feedback_accepted),
            bank.set.error.eq(self.error & ~error_before),
            self.irq.eq((bank.flags.as_value() & bank.control.as_value()).any()),
            self.idle.eq(
                ~busy
                & ~ar_full
                & ~(aw_full & w_full)
                & ~self.b.valid
                & ~self.r.valid
                & (self.error == error_before)
            ),
        ]
        return m

    def _slot(self, m: Module, name: str, source: stream.Interface) -> tuple[Signal, Any]:
        """Take a payload into a register whenever it is free."""
        full = Signal(name=f"{name}_full")
        payload = Signal.like(source.payload, name=f"{name}_slot")
        m.d.comb += source.ready.eq(~full)
        with m.If(source.valid & ~full):
            m.d.npu += [full.eq(1), payload.eq(source.payload)]
        return full, payload
