# SPDX-License-Identifier: Apache-2.0
"""The bridge in Amaranth."""

from amaranth.hdl import Cat, Const, DomainRenamer, Module, Mux, Signal, Value
from amaranth.lib import crc, stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from ahasd.rtl.bridge import layouts
from ahasd.rtl.bridge.params import (
    ANSWER_START,
    HEAD_BYTES,
    REQUEST_START,
    TAG_BITS,
    WORD_BYTES,
    BridgeParams,
    Op,
    State,
    Status,
    lengths,
)
from ahasd.rtl.bridge.serial import Receiver, Sender
from ahasd.rtl.host import layouts as host

CHECKSUM_BYTES = 2


class BridgeUnit(wiring.Component):
    """Serve requests on a serial line: registers behind AXI4-Lite, and streams.

    A request is answered before the next is looked at: what comes on the line meanwhile is lost.
    One that breaks off is given up `gap_cycles` after its last byte, and whatever comes while no
    request has begun is skipped up to a byte that may begin one.

    Timing: the start bit of an answer begins `latency` cycles after the middle of the last stop
    bit of a request that accesses nothing, and later by the cycles of the access of another. A
    byte takes `interval` cycles.

    Reset: clears everything. A request under way is forgotten.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    rx : in, from no clock domain
        Line from the host; 1 where none is connected.
    tx : out
        Line to the host.
    aw, w, b, ar, r : streams
        Master of AXI4-Lite. One access at a time; it must be answered.
    access : stream of {pop, channel, data}, out
        A payload for an input stream, or a question to an output stream. At once, or never, as the
        answer says.
    answer : stream of {status, data}, in
        One to every access.
    idle_npu : out
        With `rx` high, and the synchroniser behind it settled, an edge changes no state.
    """

    latency = 3

    rx: Signal
    tx: Signal
    aw: stream.Interface
    w: stream.Interface
    b: stream.Interface
    ar: stream.Interface
    r: stream.Interface
    access: stream.Interface
    answer: stream.Interface
    idle_npu: Signal

    def __init__(self, params: BridgeParams) -> None:
        self.params = params
        self.interval = params.byte_cycles
        super().__init__(
            {
                "rx": In(1),
                "tx": Out(1),
                "aw": Out(stream.Signature(layouts.ADDRESS)),
                "w": Out(stream.Signature(host.WRITE)),
                "b": In(stream.Signature(host.WRITTEN)),
                "ar": Out(stream.Signature(layouts.ADDRESS)),
                "r": In(stream.Signature(host.READ)),
                "access": Out(stream.Signature(layouts.access(params))),
                "answer": In(stream.Signature(layouts.answer(params))),
                "idle_npu": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        params = self.params
        m = Module()
        line = Signal()
        m.submodules.rx_sync = FFSynchronizer(
            self.rx, line, o_domain="npu", init=1, reset_less=False
        )
        m.submodules.receiver = receiver = Receiver(params)
        m.submodules.sender = sender = Sender(params)
        self._processor = checksum = crc.catalog.CRC16_IBM_3740(8).create()
        m.submodules.checksum = DomainRenamer("npu")(checksum)

        self._state = state = Signal(State)
        self._tag = Signal(TAG_BITS)
        self._op = Signal(8 - TAG_BITS)
        self._address = Signal(len(self.access.payload.channel))
        self._data = Signal(params.data_bits)
        self._size = Signal(range(params.body_max + 1))  # of the body that came
        self._left = Signal(range(params.body_max + CHECKSUM_BYTES + 1))  # bytes to come or to go
        self._status = Signal(Status)
        m.d.comb += [
            receiver.line.eq(line),
            self.tx.eq(sender.line),
            self.idle_npu.eq((state == State.HUNT) & receiver.idle & line & sender.byte.ready),
        ]
        self._receive(m, receiver)
        self._decide(m)
        self._connect(m)
        self._send(m, sender)
        return m

    def _receive(self, m: Module, receiver: Receiver) -> None:
        """Take a request in, up to its checksum."""
        params, state, checksum = self.params, self._state, self._processor
        byte = receiver.byte
        silence = Signal(range(params.gap_cycles))
        m.d.npu += silence.eq(Mux(receiver.taken, 0, silence + 1))
        with m.If((state == State.LENGTH) | (state == State.BODY)):
            m.d.comb += [checksum.data.eq(byte), checksum.valid.eq(receiver.taken)]
            with m.If(~receiver.taken & (silence == params.gap_cycles - 1)):
                m.d.npu += state.eq(State.HUNT)
        with m.Else():
            m.d.npu += silence.eq(0)
        with m.If(receiver.taken):
            with m.Switch(state):
                with m.Case(State.HUNT):
                    m.d.comb += checksum.start.eq(1)
                    with m.If(byte == REQUEST_START):
                        m.d.npu += state.eq(State.LENGTH)
                with m.Case(State.LENGTH):
                    m.d.npu += [
                        self._size.eq(byte),
                        self._left.eq(byte + CHECKSUM_BYTES),
                        self._data.eq(0),
                        state.eq(State.BODY),
                    ]
                    with m.If((byte < HEAD_BYTES) | (byte > params.body_max)):
                        m.d.npu += [
                            self._tag.eq(0),
                            self._status.eq(Status.BAD_LENGTH),
                            state.eq(State.START),
                        ]
                with m.Case(State.BODY):
                    m.d.npu += self._left.eq(self._left - 1)
                    self._keep(m, byte)
                    with m.If(self._left == 1):
                        m.d.npu += state.eq(State.DECIDE)

    def _keep(self, m: Module, byte: Signal) -> None:
        """Put a byte of the body where it belongs."""
        place = Signal(range(self.params.body_max + CHECKSUM_BYTES))
        m.d.comb += place.eq(self._size + CHECKSUM_BYTES - self._left)
        parts = [Cat(self._op, self._tag), self._address[:8], self._address[8:]]
        parts += [self._data.word_select(i, 8) for i in range(self.params.payload_bytes)]
        with m.If(self._left > CHECKSUM_BYTES):
            for i, part in enumerate(parts):
                with m.If(place == i):
                    m.d.npu += part.eq(byte)

    def _decide(self, m: Module) -> None:
        """Begin the access, or refuse it."""
        begins = Signal()
        with m.If(self._state == State.DECIDE):
            m.d.npu += [self._status.eq(Status.BAD_OPERATION), self._state.eq(State.START)]
            with m.Switch(self._op):
                for op in Op:
                    low, high = lengths(op, self.params)
                    with m.Case(op):
                        # None is longer than a body can be.
                        exact = low == high
                        m.d.comb += begins.eq(self._size == low if exact else self._size >= low)
                        m.d.npu += self._status.eq(Status.BAD_LENGTH)
            with m.If(~self._processor.match_detected):
                m.d.npu += self._status.eq(Status.BAD_CHECKSUM)
            with m.Elif(begins):
                m.d.npu += [
                    self.ar.valid.eq(self._op == Op.READ),
                    self.aw.valid.eq(self._op == Op.WRITE),
                    self.w.valid.eq(self._op == Op.WRITE),
                    self.access.valid.eq((self._op == Op.PUSH) | (self._op == Op.POP)),
                    self._state.eq(State.ACCESS),
                ]

    def _connect(self, m: Module) -> None:
        """Carry out the access, and note what it gave."""
        access = self.access
        m.d.comb += [
            self.ar.payload.addr.eq(self._address),
            self.aw.payload.addr.eq(self._address),
            self.w.payload.data.eq(self._data),
            self.w.payload.strb.eq(-1),
            access.payload.pop.eq(self._op == Op.POP),
            access.payload.channel.eq(self._address),
            access.payload.data.eq(self._data),
        ]
        for offer in (self.ar, self.aw, self.w, access):
            with m.If(offer.valid & offer.ready):
                m.d.npu += offer.valid.eq(0)
        for response, status, data in (
            (self.b, self.b.payload.resp, None),
            (self.r, self.r.payload.resp, self.r.payload.data),
            (self.answer, self.answer.payload.status, self.answer.payload.data),
        ):
            m.d.comb += response.ready.eq(self._state == State.ACCESS)
            with m.If(response.valid & response.ready):
                m.d.npu += [self._status.eq(status), self._state.eq(State.START)]
                if data is not None:
                    m.d.npu += self._data.eq(data)

    def _send(self, m: Module, sender: Sender) -> None:
        """Send the answer, which has data if a word was read or a payload popped."""
        state, checksum = self._state, self._processor
        byte, sent = sender.byte.payload, Signal()
        size = Signal(range(self.params.payload_bytes + 1))
        m.d.comb += sent.eq(sender.byte.valid & sender.byte.ready)
        with m.If(self._status == Status.OKAY):
            with m.Switch(self._op):
                with m.Case(Op.READ):
                    m.d.comb += size.eq(WORD_BYTES)
                with m.Case(Op.POP):
                    m.d.comb += size.eq(self.params.payload_bytes)
        with m.If((state == State.COUNT) | (state == State.STATUS) | (state == State.DATA)):
            m.d.comb += [checksum.data.eq(byte), checksum.valid.eq(sent)]
        m.d.comb += sender.byte.valid.eq(state >= State.START)
        with m.Switch(state):
            with m.Case(State.START):
                m.d.comb += [byte.eq(ANSWER_START), checksum.start.eq(sent)]
                self._next(m, sent, State.COUNT)
            with m.Case(State.COUNT):
                m.d.comb += byte.eq(1 + size)
                self._next(m, sent, State.STATUS)
            with m.Case(State.STATUS):
                m.d.comb += byte.eq(Cat(self._status, Const(0, 1), self._tag))
                self._next(m, sent, Mux(size == 0, State.HIGH, State.DATA))
                m.d.npu += self._left.eq(size)
            with m.Case(State.DATA):
                m.d.comb += byte.eq(self._data[:8])
                self._next(m, sent, Mux(self._left == 1, State.HIGH, State.DATA))
                with m.If(sent):
                    m.d.npu += [self._data.eq(self._data[8:]), self._left.eq(self._left - 1)]
            with m.Case(State.HIGH):
                m.d.comb += byte.eq(checksum.crc[8:])
                self._next(m, sent, State.LOW)
            with m.Case(State.LOW):
                m.d.comb += byte.eq(checksum.crc[:8])
                self._next(m, sent, State.HUNT)

    def _next(self, m: Module, sent: Signal, state: State | Value) -> None:
        """Go on once the byte is on its way."""
        with m.If(sent):
            m.d.npu += self._state.eq(state)
