# SPDX-License-Identifier: Apache-2.0
"""Parameters of the bridge, and the codes of its frames."""

import enum
from dataclasses import dataclass

REQUEST_START = 0x5A
"""First byte of a request."""

ANSWER_START = 0xA5
"""First byte of an answer."""

HEAD_BYTES = 3
"""Bytes of a request's body before its data: tag and operation, and the address."""

WORD_BYTES = 4
"""Bytes of a register."""

ADDRESS_BITS = 16
"""Bits of an address."""

TAG_BITS = 4
"""Bits of the number that an answer has in common with its request."""

LINE_BITS = 10
"""Bits of a byte on the line: start, eight of data, stop."""


class Op(enum.IntEnum):
    """What a request asks for."""

    READ = 1
    """The register at an address."""
    WRITE = 2
    """To write it, whole."""
    PUSH = 3
    """To offer a payload on an input stream."""
    POP = 4
    """To take what an output stream offers."""


class Status(enum.IntEnum):
    """What became of a request. `OKAY`, `REFUSED` and `ABSENT` are the responses of AXI."""

    OKAY = 0
    """Done."""
    EMPTY = 1
    """The stream offers nothing."""
    REFUSED = 2
    """The register is there, and cannot be accessed so."""
    ABSENT = 3
    """There is no register, or no such stream, at the address."""
    FULL = 4
    """What was pushed before is still on offer."""
    BAD_LENGTH = 5
    """The length is none that the operation can have."""
    BAD_CHECKSUM = 6
    """The bytes are not those that were sent; the tag may not be, either."""
    BAD_OPERATION = 7
    """There is no such operation."""


class State(enum.IntEnum):
    """What the bridge does."""

    HUNT = 0
    """It waits for the first byte of a request."""
    LENGTH = 1
    """The next byte is the length."""
    BODY = 2
    """The body and the checksum come in."""
    DECIDE = 3
    """The request is complete."""
    ACCESS = 4
    """The register or the stream is accessed."""
    START = 5
    """The answer's first byte goes out."""
    COUNT = 6
    """Its length does."""
    STATUS = 7
    """Tag and status do."""
    DATA = 8
    """Its data do."""
    HIGH = 9
    """The upper byte of the checksum does."""
    LOW = 10
    """The lower one does."""


@dataclass(frozen=True, kw_only=True)
class BridgeParams:
    """Sizes of the bridge.

    Parameters
    ----------
    divisor
        Cycles of the NPU's clock for a bit on the line: clock [Hz] / rate [baud].
    gap_cycles
        Cycles without a byte after which a request that has begun is given up; two bytes' time at
        least.
    payload_bytes
        Most data of a frame: a register's, or the payload of the widest stream.

    Raises
    ------
    ValueError
        A value is outside its range; the message names the rule and the value.
    """

    divisor: int = 217
    gap_cycles: int = 500_000
    payload_bytes: int = 12

    def __post_init__(self) -> None:
        for name, low, high in (
            ("divisor", 4, 1 << 16),
            ("gap_cycles", 2 * self.byte_cycles, 1 << 32),
            ("payload_bytes", WORD_BYTES, 64),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be in {low}..{high}, not {value}")

    @property
    def byte_cycles(self) -> int:
        """Cycles of a byte on the line."""
        return LINE_BITS * self.divisor

    @property
    def body_max(self) -> int:
        """Longest body of a request [byte]."""
        return HEAD_BYTES + self.payload_bytes

    @property
    def data_bits(self) -> int:
        """Bits of a frame's data."""
        return 8 * self.payload_bytes


def lengths(op: Op, params: BridgeParams) -> tuple[int, int]:
    """Return the least and the greatest length of a request's body [byte]."""
    match op:
        case Op.WRITE:
            return HEAD_BYTES + WORD_BYTES, HEAD_BYTES + WORD_BYTES
        case Op.PUSH:
            return HEAD_BYTES + 1, params.body_max
        case _:
            return HEAD_BYTES, HEAD_BYTES
