# SPDX-License-Identifier: Apache-2.0
"""The top behind pins with the names of AXI, on the side of the NPU."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ahasd.rtl.ahasd.params import AhasdParams
from ahasd.rtl.ahasd.unit import AhasdUnit
from ahasd.rtl.host.map import WORD_BITS, WORD_BYTES
from ahasd.rtl.queues.params import Kind

BYTE_BITS = 8

NPU_STREAMS = ("batch_out", "feedback_in", "aw", "w", "b", "ar", "r")
"""Streams of the top that have other names here."""


class AhasdAxi(wiring.Component):
    """`AhasdUnit`, with these pins in place of its streams of the NPU's clock.

    The others keep their names. Payloads fill whole bytes; the bits above them are 0.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    s_axil_* : AXI4-Lite, 32 bits
        Registers. Protection bits have no pins: every access has the same rights.
    m_axis_draft_* : AXI4-Stream
        `batch_out`. `tlast` is high on the last token of a batch and on a cut.
    s_axis_feedback_* : AXI4-Stream
        `feedback_in`. Every transfer is a packet of its own.
    """

    m_axis_draft_tlast: Signal

    def __init__(self, params: AhasdParams) -> None:
        self.params = params
        self.unit = unit = AhasdUnit(params)
        address = params.host.address_width
        super().__init__(
            {
                **{
                    name: member
                    for name, member in unit.signature.members.items()
                    if name not in NPU_STREAMS
                },
                **_channel("s_axil_aw", In, addr=address),
                **_channel("s_axil_w", In, data=WORD_BITS, strb=WORD_BYTES),
                **_channel("s_axil_b", Out, resp=2),
                **_channel("s_axil_ar", In, addr=address),
                **_channel("s_axil_r", Out, data=WORD_BITS, resp=2),
                **_channel("m_axis_draft_t", Out, data=_padded(unit.batch_out), last=1),
                **_channel("s_axis_feedback_t", In, data=_padded(unit.feedback_in)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        m.submodules.unit = unit = self.unit
        for name, member in unit.signature.members.items():
            if name in NPU_STREAMS:
                continue
            inner, outer = getattr(unit, name), getattr(self, name)
            if member.is_signature:
                ends = (flipped(outer), inner) if member.flow == In else (inner, flipped(outer))
                connect(m, *ends)
            else:
                m.d.comb += inner.eq(outer) if member.flow == In else outer.eq(inner)
        for name in ("aw", "w", "b", "ar", "r"):
            channel: Any = getattr(unit, name)
            fields = {key: getattr(channel.payload, key) for key, _ in channel.payload.shape()}
            self._join(m, f"s_axil_{name}", channel, fields, driven=name in ("aw", "w", "ar"))
        self._join(m, "m_axis_draft_t", unit.batch_out, {"data": unit.batch_out.payload})
        feedback = {"data": unit.feedback_in.payload}
        self._join(m, "s_axis_feedback_t", unit.feedback_in, feedback, driven=True)
        self._mark_last(m)
        return m

    def _join(
        self, m: Module, prefix: str, inner: Any, fields: dict[str, Any], *, driven: bool = False
    ) -> None:
        """Connect a stream to the pins of a channel, which are driven from outside or not."""
        pins = {f"{prefix}{name}": value for name, value in fields.items()}
        pins[f"{prefix}valid"] = inner.valid
        ready = getattr(self, f"{prefix}ready")
        m.d.comb += ready.eq(inner.ready) if driven else inner.ready.eq(ready)
        for name, value in pins.items():
            pin = getattr(self, name)
            m.d.comb += value.eq(pin) if driven else pin.eq(value)

    def _mark_last(self, m: Module) -> None:
        """Follow the batch on `batch_out` to its last token."""
        words = self.unit.batch_out
        word = words.payload
        left = Signal(self.params.queues.length_width)
        is_token = word.kind == Kind.TOKEN
        with m.If(words.valid & words.ready):
            with m.If(word.kind == Kind.HEADER):
                m.d.npu += left.eq(word.body.info.length)
            with m.Elif(is_token):
                m.d.npu += left.eq(left - 1)
        m.d.comb += self.m_axis_draft_tlast.eq((word.kind == Kind.CUT) | (is_token & (left == 1)))


def _channel(prefix: str, flow: Any, **widths: int) -> dict[str, Any]:
    """Return the pins of a channel; its fields and `valid` flow this way, `ready` the other."""
    back = Out if flow == In else In
    pins = {f"{prefix}{name}": flow(width) for name, width in widths.items()}
    return pins | {f"{prefix}valid": flow(1), f"{prefix}ready": back(1)}


def _padded(interface: stream.Interface) -> int:
    """Return the bits of a payload, in whole bytes."""
    width = len(interface.payload.as_value())
    return -(-width // BYTE_BITS) * BYTE_BITS
