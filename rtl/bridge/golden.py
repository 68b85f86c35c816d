# SPDX-License-Identifier: Apache-2.0
"""Bit- and cycle-exact model of the bridge in plain integers."""

from binascii import crc_hqx
from collections.abc import Mapping

from ahasd.rtl.bridge.params import (
    ADDRESS_BITS,
    ANSWER_START,
    HEAD_BYTES,
    LINE_BITS,
    REQUEST_START,
    WORD_BYTES,
    BridgeParams,
    Op,
    State,
    Status,
    lengths,
)

CHECKSUM_INIT = 0xFFFF
WORD_MASK = (1 << 8 * WORD_BYTES) - 1
STATUS_BITS = 3


def checksum(data: bytes) -> bytes:
    """Return the checksum of a frame's bytes from the length on: CRC-16/CCITT, upper byte first."""
    return crc_hqx(data, CHECKSUM_INIT).to_bytes(2, "big")


class _Receiver:
    """Samples the line; a byte's bits as a list."""

    def __init__(self, divisor: int) -> None:
        self._divisor = divisor
        self._bits: list[int] = []
        self._wait = 0
        self.active = False

    def taken(self, line: int) -> int | None:
        """Return the byte that this cycle completes."""
        if self.active and not self._wait and len(self._bits) == LINE_BITS - 1 and line:
            return sum(bit << i for i, bit in enumerate(self._bits[1:]))
        return None

    def edge(self, line: int) -> None:
        """Take an edge."""
        if not self.active:
            if not line:
                self.active, self._wait, self._bits = True, self._divisor // 2 - 1, []
        elif self._wait:
            self._wait -= 1
        else:
            self._bits.append(line)
            self._wait = self._divisor - 1
            if self._bits == [1] or len(self._bits) == LINE_BITS:
                self.active = False


class _Sender:
    """What is still to be on the line, cycle by cycle, from this one on."""

    def __init__(self, divisor: int) -> None:
        self._divisor = divisor
        self._bits: list[int] = []
        self._wait = 0

    @property
    def ready(self) -> bool:
        return not self._bits

    @property
    def line(self) -> int:
        return self._bits[0] if self._bits else 1

    def edge(self, byte: int | None) -> None:
        """Take an edge, and a byte if one was sent and `ready`."""
        if byte is not None:
            self._bits = [0, *(byte >> i & 1 for i in range(8)), 1]
            self._wait = self._divisor - 1
        elif self._bits and self._wait:
            self._wait -= 1
        elif self._bits:
            self._bits.pop(0)
            self._wait = self._divisor - 1


class BridgeGolden:
    """What the bridge does: to a request as a whole, and edge by edge.

    Parameters
    ----------
    params
        Sizes; the same object builds the hardware.
    """

    latency = 3

    def __init__(self, params: BridgeParams) -> None:
        self.params = params
        self.interval = params.byte_cycles
        self._stages = (1, 1)  # of the synchroniser
        self._receiver = _Receiver(params.divisor)
        self._sender = _Sender(params.divisor)
        self._state = State.HUNT
        self._silence = 0
        self._request = bytearray()  # from the length on
        self._code = self._address = self._data = 0
        self._offered: set[str] = set()
        self._status = Status.OKAY
        self._reply: list[int] = []  # bytes of the answer that are still to be sent
        self._length = 0  # of all of them

    def judge(self, request: bytes) -> Status:
        """Return what a complete request is answered, `OKAY` if it is to be carried out.

        Parameters
        ----------
        request
            From the length to the checksum.
        """
        if checksum(request[:-2]) != request[-2:]:
            return Status.BAD_CHECKSUM
        code = request[1] & 0xF
        if code not in list(Op):
            return Status.BAD_OPERATION
        low, high = lengths(Op(code), self.params)
        return Status.OKAY if low <= request[0] <= high else Status.BAD_LENGTH

    def reply(self) -> list[int]:
        """Return the bytes of the answer."""
        size = 0
        if self._status is Status.OKAY:
            size = {Op.READ: WORD_BYTES, Op.POP: self.params.payload_bytes}.get(self._op, 0)
        body = bytes((1 + size, self._code & 0xF0 | self._status))
        body += (self._data & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        return [ANSWER_START, *body, *checksum(body)]

    @property
    def _op(self) -> int:
        return self._code & 0xF

    def step(self, pins: Mapping[str, int], clocks: int = 1) -> dict[str, int]:
        """Take one edge of the NPU's clock.

        Parameters
        ----------
        pins
            Input pins by their Verilog names, all of them.
        clocks
            1, or 0 to look at the outputs without an edge.

        Returns
        -------
        dict
            Output pins by their Verilog names, as they stand just before the edge.
        """
        outputs = self.outputs()
        if clocks:
            self.edge(pins)
        return outputs

    def outputs(self) -> dict[str, int]:
        """Return the output pins, which depend on flip-flops only."""
        line = self._stages[1]
        waits = self._state is State.ACCESS
        word = self._data & WORD_MASK
        access = int(self._op == Op.POP) | self._address << 1 | self._data << 1 + ADDRESS_BITS
        return {
            "tx": self._sender.line,
            "aw__valid": int("aw" in self._offered),
            "aw__payload": self._address,
            "w__valid": int("w" in self._offered),
            "w__payload": word | 0xF << 8 * WORD_BYTES,
            "b__ready": int(waits),
            "ar__valid": int("ar" in self._offered),
            "ar__payload": self._address,
            "r__ready": int(waits),
            "access__valid": int("access" in self._offered),
            "access__payload": access,
            "answer__ready": int(waits),
            "idle_npu": int(
                self._state is State.HUNT
                and not self._receiver.active
                and line == 1
                and self._sender.ready
            ),
        }

    def edge(self, pins: Mapping[str, int]) -> None:
        """Take an edge; pins as for `step`."""
        line = self._stages[1]
        byte = self._receiver.taken(line)
        sends = self._state is State.START and self._sender.ready
        sent = self._reply[0] if sends else None
        self._edge(byte, pins)
        self._receiver.edge(line)
        self._sender.edge(sent)
        if sent is not None:
            self._send()
        self._stages = (pins["rx"], self._stages[0])

    def _send(self) -> None:
        """Let go of the answer's next byte, and of the data's if it is one of these."""
        done = self._length - len(self._reply)
        if HEAD_BYTES <= done < self._length - 2:
            self._data >>= 8
        self._reply.pop(0)
        if not self._reply:
            self._state = State.HUNT

    def _edge(self, byte: int | None, pins: Mapping[str, int]) -> None:
        """Go on with the request."""
        self._offered = {name for name in self._offered if not pins[f"{name}__ready"]}
        match self._state:
            case State.HUNT if byte == REQUEST_START:
                self._state, self._request, self._silence = State.BODY, bytearray(), 0
            case State.BODY:
                self._take(byte)
            case State.DECIDE:
                status = self.judge(bytes(self._request))
                if status is Status.OKAY:
                    offers = {Op.READ: {"ar"}, Op.WRITE: {"aw", "w"}}
                    self._offered = offers.get(Op(self._op), {"access"})
                    self._state = State.ACCESS
                else:
                    self._answer(status)
            case State.ACCESS:
                self._respond(pins)

    def _take(self, byte: int | None) -> None:
        """Take a byte of a request that has begun, or the silence that gives it up."""
        if byte is None:
            self._silence += 1
            if self._silence == self.params.gap_cycles:
                self._state = State.HUNT
            return
        self._silence = 0
        self._request.append(byte)
        size, count = self._request[0], len(self._request) - 1
        if not HEAD_BYTES <= size <= self.params.body_max:
            self._data, self._code = 0, self._op  # no tag
            self._answer(Status.BAD_LENGTH)
            return
        if count == 0:
            self._data = 0
        elif count == 1:
            self._code = byte
        elif count <= HEAD_BYTES:
            shift = 8 * (count - 2)
            self._address = self._address & ~(0xFF << shift) | byte << shift
        elif count <= size:
            self._data |= byte << 8 * (count - HEAD_BYTES - 1)
        if count == size + 2:
            self._state = State.DECIDE

    def _respond(self, pins: Mapping[str, int]) -> None:
        """Take a response."""
        if pins["answer__valid"]:
            payload = pins["answer__payload"]
            self._data = payload >> STATUS_BITS
            self._answer(Status(payload & ((1 << STATUS_BITS) - 1)))
        elif pins["r__valid"]:
            payload = pins["r__payload"]
            self._data = payload & WORD_MASK
            self._answer(Status(payload >> 8 * WORD_BYTES))
        elif pins["b__valid"]:
            self._answer(Status(pins["b__payload"]))

    def _answer(self, status: Status) -> None:
        self._status, self._state = status, State.START
        self._reply = self.reply()
        self._length = len(self._reply)
