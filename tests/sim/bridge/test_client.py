# SPDX-License-Identifier: Apache-2.0
"""The client on a line that damages, loses and delays."""

from binascii import crc_hqx
from typing import Any

import pytest

from ahasd.rtl.bridge.params import Op, Status
from ahasd.sim.bridge.client import ATTEMPTS, BridgeError, Client


def answer(code: int, data: bytes = b"") -> bytes:
    told = bytes((1 + len(data), code)) + data
    return bytes((0xA5,)) + told + crc_hqx(told, 0xFFFF).to_bytes(2, "big")


class Script:
    """A line whose far end gives these answers, one a request; `TAG` stands for the request's."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[bytes] = []
        self.rests = 0
        self._waiting = b""

    def send(self, data: bytes) -> None:
        self.sent.append(data)
        reply: Any = self.answers.pop(0)
        self._waiting += reply if isinstance(reply, bytes) else reply(data[2] >> 4)

    def receive(self, count: int) -> bytes:
        found, self._waiting = self._waiting[:count], self._waiting[count:]
        return found

    def rest(self) -> None:
        self.rests += 1
        self._waiting = b""


def good(status: int = 0, data: bytes = b""):
    return lambda tag: answer(tag << 4 | status, data)


def test_a_read_is_the_request_that_the_page_shows():
    line = Script(good(0, bytes((0x44, 0x53, 0x48, 0x41))))
    assert Client(line).read(0x1008) == 0x4148_5344
    body = bytes((3, 0x11, 0x08, 0x10))
    assert line.sent == [b"\x5a" + body + crc_hqx(body, 0xFFFF).to_bytes(2, "big")]


def test_a_payload_goes_out_in_as_many_bytes_as_it_has():
    line = Script(good(), good(Status.FULL))
    client = Client(line)
    assert client.push(0x1002, 0x123, 9)
    assert line.sent[0][5:-2] == bytes((0x23, 0x01))
    assert not client.push(0x1002, 1, 1)


def test_an_empty_stream_is_none_and_an_offered_zero_is_not():
    client = Client(Script(good(Status.EMPTY), good(0, bytes(4))))
    assert client.pop(1) is None
    assert client.pop(1) == 0


@pytest.mark.parametrize("damaged", [good(Status.BAD_CHECKSUM), answer(0x0 | Status.BAD_LENGTH)])
def test_a_damaged_request_is_sent_again_whatever_it_asks_for(damaged):
    line = Script(damaged, good())
    Client(line).write(0x0004, 7)
    assert len(line.sent) == 2


@pytest.mark.parametrize(
    "lost", [b"", b"\xa5", b"\xa5\x05\x10\x00", b"\x00\x01\x02", b"\xa5\x00\x00\x00"]
)
def test_a_read_without_a_whole_answer_is_repeated_after_a_rest(lost):
    line = Script(lost, good(0, bytes((1, 0, 0, 0))))
    assert Client(line).read(0) == 1
    assert line.rests == 1


@pytest.mark.parametrize("op", [Op.WRITE, Op.PUSH, Op.POP])
def test_what_may_have_been_carried_out_is_not_repeated(op):
    line = Script(b"")
    with pytest.raises(BridgeError, match=f"no answer to {op.name} of 0x1001"):
        Client(line).ask(op, 0x1001, b"1234")
    assert len(line.sent) == 1


def test_a_board_that_is_not_there_is_told_after_some_attempts():
    line = Script(*[b""] * ATTEMPTS)
    with pytest.raises(BridgeError, match="is the board configured"):
        Client(line).read(0)


def test_a_refusal_names_the_request_and_the_status():
    with pytest.raises(BridgeError, match="WRITE of 0x0000 is answered REFUSED") as caught:
        Client(Script(good(Status.REFUSED))).write(0, 1)
    assert caught.value.status is Status.REFUSED


def test_an_answer_to_another_request_is_an_error():
    with pytest.raises(BridgeError, match="an answer to request 9 came to request 1"):
        Client(Script(answer(0x90, bytes(4)))).read(0)


def test_an_answer_with_a_damaged_byte_is_none():
    broken = bytearray(answer(0x10, bytes(4)))
    broken[4] ^= 1
    line = Script(bytes(broken), good(0, bytes((9, 0, 0, 0))))
    assert Client(line).read(0) == 9
