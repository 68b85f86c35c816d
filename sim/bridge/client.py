# SPDX-License-Identifier: Apache-2.0
"""Requests to a bridge, over any line that carries bytes."""

from typing import Protocol

from ahasd import UserError
from ahasd.rtl.bridge.golden import checksum
from ahasd.rtl.bridge.params import ANSWER_START, REQUEST_START, WORD_BYTES, Op, Status

ATTEMPTS = 3
"""How often a request is sent that was not carried out."""

TAGS = 16

ADDRESS_BYTES = 2


class Line(Protocol):
    """A line to a bridge."""

    def send(self, data: bytes) -> None:
        """Send bytes."""
        ...

    def receive(self, count: int) -> bytes:
        """Return as many bytes, or those that came before the line was silent for too long."""
        ...

    def rest(self) -> None:
        """Let pass what makes a bridge give up half a request; forget what came meanwhile."""
        ...


class BridgeError(UserError):
    """A bridge does not answer, or refuses; `status` tells which, None where nothing was heard."""

    def __init__(self, message: str, status: Status | None = None) -> None:
        super().__init__(message)
        self.status = status


def frame(code: int, address: int, data: bytes = b"") -> bytes:
    """Return a request.

    Parameters
    ----------
    code
        Operation, and the tag above it.
    address
        Of a register or a stream.
    data
        What follows.
    """
    body = bytes((code,)) + address.to_bytes(ADDRESS_BYTES, "little") + data
    told = bytes((len(body),)) + body
    return bytes((REQUEST_START,)) + told + checksum(told)


class Client:
    """Ask a bridge.

    A request whose bytes were damaged was not carried out, and is sent again. One without an answer
    may have been: only reading a register is repeated then.

    Parameters
    ----------
    line
        To the bridge.
    """

    def __init__(self, line: Line) -> None:
        self.line = line
        self._tag = 0

    def read(self, address: int) -> int:
        """Return the word of a register.

        Raises
        ------
        BridgeError
            No answer, or the register cannot be read.
        """
        return int.from_bytes(self._done(Op.READ, address), "little")

    def write(self, address: int, data: int) -> None:
        """Write the word of a register.

        Raises
        ------
        BridgeError
            No answer, or the register cannot be written.
        """
        self._done(Op.WRITE, address, data.to_bytes(WORD_BYTES, "little"))

    def push(self, channel: int, payload: int, width: int) -> bool:
        """Offer a payload on a stream; False if the one before is still on offer.

        Parameters
        ----------
        channel
            Address of the stream.
        payload, width
            What, and its bits.

        Raises
        ------
        BridgeError
            No answer, or no such stream.
        """
        data = payload.to_bytes(-(-width // 8), "little")
        status, _ = self.ask(Op.PUSH, channel, data)
        return self._allowed(status, Status.FULL, Op.PUSH, channel)

    def pop(self, channel: int) -> int | None:
        """Return what a stream offers, and take it; None if it offers nothing.

        Raises
        ------
        BridgeError
            No answer, or no such stream.
        """
        status, data = self.ask(Op.POP, channel)
        if not self._allowed(status, Status.EMPTY, Op.POP, channel):
            return None
        return int.from_bytes(data, "little")

    def ask(self, op: Op, address: int, data: bytes = b"") -> tuple[Status, bytes]:
        """Send a request and return status and data of its answer.

        Raises
        ------
        BridgeError
            There is none that is whole.
        """
        for _ in range(ATTEMPTS):
            self._tag = (self._tag + 1) % TAGS
            self.line.send(frame(op | self._tag << 4, address, data))
            answer = self.hear()
            if answer is None:
                self.line.rest()
                if op is Op.READ:
                    continue
                break
            tag, status, found = answer
            if status in (Status.BAD_CHECKSUM, Status.BAD_LENGTH) and tag != self._tag:
                continue  # of a request that was damaged, and its tag with it
            if status is Status.BAD_CHECKSUM:
                continue
            if tag != self._tag:
                raise BridgeError(f"an answer to request {tag} came to request {self._tag}")
            return status, found
        raise BridgeError(
            f"no answer to {op.name} of 0x{address:04x}; is the board configured, are port and baud"
            " rate right?"
        )

    def hear(self) -> tuple[int, Status, bytes] | None:
        """Return tag, status and data of an answer; None if none comes that is whole."""
        head = self.line.receive(2)
        if len(head) < 2 or head[0] != ANSWER_START:
            return None
        rest = self.line.receive(head[1] + 2)
        body, check = rest[: head[1]], rest[head[1] :]
        if not body or checksum(head[1:] + body) != check:
            return None
        code = body[0] & 0xF
        if code not in list(Status):
            return None
        return body[0] >> 4, Status(code), body[1:]

    def _done(self, op: Op, address: int, data: bytes = b"") -> bytes:
        status, found = self.ask(op, address, data)
        self._allowed(status, Status.OKAY, op, address)
        return found

    def _allowed(self, status: Status, other: Status, op: Op, address: int) -> bool:
        """Tell whether the status is `OKAY`; another than that and one more is an error."""
        if status not in (Status.OKAY, other):
            raise BridgeError(f"{op.name} of 0x{address:04x} is answered {status.name}", status)
        return status is Status.OKAY
