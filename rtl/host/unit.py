# SPDX-License-Identifier: Apache-2.0
"""The host interface in Amaranth."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from ahasd.rtl.host import layouts
from ahasd.rtl.host.npu_side import NpuSide
from ahasd.rtl.host.params import HostParams
from ahasd.rtl.host.pim_side import COMMANDS, PimSide

CROSSING_ENTRIES = 2
"""Depth of the FIFOs between the domains: one request is under way, and two entries are the least
that an asynchronous FIFO has."""


class HostUnit(wiring.Component):
    """Serve the registers of both domains on an AXI4-Lite port of 32 bits.

    A write waits for its address and its data, which come in any order. One write and one read can
    be under way; when both wait, they are served by turns. A request to the PIM's block crosses
    to that domain, is served there, and its response crosses back; a command is answered once its
    unit has taken it. Every request is answered, as long as both clocks run and commands are
    taken.

    Timing: a response of the NPU's block is offered two cycles after the request's last transfer,
    one access every two cycles. Outputs but for the idle ones depend on flip-flops only.

    Reset: both domains together, for 8 cycles of the slower clock, so that the synchronisers
    settle. A request under way is forgotten.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    aw, w, b, ar, r : streams, npu
        The channels of AXI4-Lite, without protection bits. The lowest two bits of an address are
        ignored.
    irq : out, npu
        A flag of IRQ_STATUS is up and enabled. Level.
    npu_events : in, npu
        Steps of this domain's counters, and `draft_ready`: a batch came on offer, or is on offer.
    npu_status : in, npu
        What NPU_STATUS shows.
    control : out, pim
        The fields that the host writes, for the units.
    edc_command, tvc_command, gtsu_command : streams of the units' Command, out, pim
        Commands, in the order of the bits of COMMAND.
    tvc_record : stream of {table, cycles, length}, out, pim
        Measurement for the TVC.
    pim_events : in, pim
        Steps of this domain's counters.
    pim_status : in, pim
        What STATUS, CREDITS, MASK and ERRORS show.
    idle_pim, idle_npu : out
        With no input valid, no event and synchronisers settled, an edge of that domain changes no
        state.
    """

    latency = 2
    interval = 2

    aw: stream.Interface
    w: stream.Interface
    b: stream.Interface
    ar: stream.Interface
    r: stream.Interface
    irq: Signal
    npu_events: data.View
    npu_status: data.View
    control: data.View
    edc_command: stream.Interface
    tvc_command: stream.Interface
    gtsu_command: stream.Interface
    tvc_record: stream.Interface
    pim_events: data.View
    pim_status: data.View
    idle_pim: Signal
    idle_npu: Signal

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
                "irq": Out(1),
                "npu_events": In(layouts.structure("npu_events")),
                "npu_status": In(layouts.structure("npu_status")),
                "control": Out(layouts.structure("control")),
                **{name: Out(stream.Signature(shape)) for name, shape in COMMANDS.items()},
                "tvc_record": Out(stream.Signature(layouts.RECORD)),
                "pim_events": In(layouts.structure("pim_events")),
                "pim_status": In(layouts.structure("pim_status")),
                "idle_pim": Out(1),
                "idle_npu": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        m.submodules.pim_side = pim = PimSide(self.params)
        m.submodules.npu_side = npu = NpuSide(self.params)
        # Kept for the proofs (properties.py); no ports.
        self.pim_side, self.npu_side = pim, npu
        m.submodules.requests = requests = AsyncFIFO(
            width=layouts.ACCESS.size, depth=CROSSING_ENTRIES, w_domain="npu", r_domain="pim"
        )
        m.submodules.answers = answers = AsyncFIFO(
            width=layouts.READ.size, depth=CROSSING_ENTRIES, w_domain="pim", r_domain="npu"
        )
        for fifo, source, sink in (
            (requests, npu.requests, pim.requests),
            (answers, pim.answers, npu.answers),
        ):
            m.d.comb += [
                fifo.w_data.eq(source.payload),
                fifo.w_en.eq(source.valid),
                source.ready.eq(fifo.w_rdy),
                sink.payload.eq(fifo.r_data),
                sink.valid.eq(fifo.r_rdy),
                fifo.r_en.eq(sink.ready & fifo.r_rdy),
            ]
        m.submodules.error_cdc = FFSynchronizer(pim.error, npu.error, o_domain="npu")

        for name in ("aw", "w", "ar"):
            connect(m, flipped(getattr(self, name)), getattr(npu, name))
        for name in ("b", "r"):
            connect(m, getattr(npu, name), flipped(getattr(self, name)))
        for name in (*COMMANDS, "tvc_record"):
            connect(m, getattr(pim, name), flipped(getattr(self, name)))
        m.d.comb += [
            self.irq.eq(npu.irq),
            npu.events.eq(self.npu_events),
            npu.status.eq(self.npu_status),
            self.idle_npu.eq(npu.idle),
            self.control.eq(pim.control),
            pim.events.eq(self.pim_events),
            pim.status.eq(self.pim_status),
            self.idle_pim.eq(pim.idle),
        ]
        return m
