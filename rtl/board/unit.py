# SPDX-License-Identifier: Apache-2.0
"""The top behind a serial line, in Amaranth."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out, connect

from ahasd.rtl.ahasd.unit import AhasdUnit
from ahasd.rtl.board.channels import Channels
from ahasd.rtl.board.params import POPPED, PUSHED, BoardParams, stream_widths
from ahasd.rtl.bridge import layouts
from ahasd.rtl.bridge.unit import BridgeUnit
from ahasd.rtl.host.map import BLOCK_WIDTH
from ahasd.rtl.host.params import BLOCKS

CROSSING_ENTRIES = 2
"""Depth of the FIFOs between the domains: one access is under way."""


class BoardUnit(wiring.Component):
    """The top of the control units with a host on a serial line, in place of NPU and sequencers.

    Registers are reached as the top's host interface has them, streams at the addresses of
    `params.channel`. Ranks have no commands in flight here, and ask for none: `drained` is high,
    `layer_boundary` and `compute_request` are low.

    Reset: both domains together, for 8 cycles of the slower clock.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    rx, tx : in, out
        The line, as of the bridge.
    now : unsigned(time_width), in, pim
        Cycle counter of the PIM clock.
    irq : out, npu
        As of the top.
    idle_pim, idle_npu : out
        With `rx` high and synchronisers settled, an edge changes no state.
    """

    latency = BridgeUnit.latency

    rx: Signal
    tx: Signal
    now: Signal
    irq: Signal
    idle_pim: Signal
    idle_npu: Signal

    def __init__(self, params: BoardParams) -> None:
        self.params = params
        self.interval = params.bridge.byte_cycles
        self.ahasd = ahasd = AhasdUnit(params.ahasd)
        self.bridge = BridgeUnit(params.bridge)
        for name, width in stream_widths(params.ahasd).items():
            assert len(Value.cast(getattr(ahasd, name).payload)) == width, name
        self.channels = {
            domain: Channels(
                params.bridge,
                domain,
                pushed={name: getattr(ahasd, name).payload.shape() for name in PUSHED[domain]},
                popped={name: getattr(ahasd, name).payload.shape() for name in POPPED[domain]},
            )
            for domain in BLOCKS
        }
        super().__init__(
            {
                "rx": In(1),
                "tx": Out(1),
                "now": In(params.ahasd.tvc.time_width),
                "irq": Out(1),
                "idle_pim": Out(1),
                "idle_npu": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        m.submodules.ahasd = ahasd = self.ahasd
        m.submodules.bridge = bridge = self.bridge
        m.submodules.npu_channels = npu = self.channels["npu"]
        m.submodules.pim_channels = pim = self.channels["pim"]
        m.submodules.requests = requests = AsyncFIFO(
            width=layouts.access(self.params.bridge).size,
            depth=CROSSING_ENTRIES,
            w_domain="npu",
            r_domain="pim",
        )
        m.submodules.answers = answers = AsyncFIFO(
            width=layouts.answer(self.params.bridge).size,
            depth=CROSSING_ENTRIES,
            w_domain="pim",
            r_domain="npu",
        )

        for name in ("aw", "w", "ar"):
            master, slave = getattr(bridge, name), getattr(ahasd, name)
            connect(m, master, slave)
        for name in ("b", "r"):
            connect(m, getattr(ahasd, name), getattr(bridge, name))
        for channels, domain in ((npu, "npu"), (pim, "pim")):
            for name in PUSHED[domain]:
                connect(m, getattr(channels, name), getattr(ahasd, name))
            for name in POPPED[domain]:
                connect(m, getattr(ahasd, name), getattr(channels, f"{name}_in"))

        remote = Signal()
        access, answer = bridge.access, bridge.answer
        m.d.comb += [
            remote.eq(access.payload.channel[BLOCK_WIDTH:] == BLOCKS["pim"]),
            access.ready.eq(Mux(remote, requests.w_rdy, npu.access.ready)),
            npu.access.payload.eq(access.payload),
            npu.access.valid.eq(access.valid & ~remote),
            requests.w_data.eq(access.payload),
            requests.w_en.eq(access.valid & remote),
            pim.access.payload.eq(requests.r_data),
            pim.access.valid.eq(requests.r_rdy),
            requests.r_en.eq(pim.access.ready & requests.r_rdy),
            answers.w_data.eq(pim.result.payload),
            answers.w_en.eq(pim.result.valid),
            pim.result.ready.eq(answers.w_rdy),
            answer.valid.eq(npu.result.valid | answers.r_rdy),
            answer.payload.eq(Mux(npu.result.valid, npu.result.payload, answers.r_data)),
            npu.result.ready.eq(answer.ready),
            answers.r_en.eq(answer.ready & answers.r_rdy),
        ]
        m.d.comb += [
            bridge.rx.eq(self.rx),
            self.tx.eq(bridge.tx),
            ahasd.now.eq(self.now),
            ahasd.drained.eq(1),
            self.irq.eq(ahasd.irq),
            self.idle_npu.eq(bridge.idle_npu & npu.idle & ahasd.idle_npu),
            self.idle_pim.eq(ahasd.idle_pim & pim.idle & ~requests.r_rdy),
        ]
        return m
