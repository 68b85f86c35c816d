# SPDX-License-Identifier: Apache-2.0
"""What the bridge's page says, byte by byte, on the golden model, the source and the RTL."""

import pytest

from ahasd.rtl.bridge.golden import checksum
from ahasd.rtl.bridge.params import BridgeParams

READ, WRITE, PUSH, POP = 1, 2, 3, 4
OKAY, EMPTY, REFUSED, ABSENT, FULL, BAD_LENGTH, BAD_CHECKSUM, BAD_OPERATION = range(8)


def test_the_checksum_is_the_one_that_catalogues_call_crc_16_ibm_3740():
    assert checksum(b"123456789") == bytes((0x29, 0xB1)), "the check value that they publish"


def test_a_register_is_read_byte_for_byte(make_bridge):
    bridge = make_bridge()
    # Start, length 3, tag 9 and READ, address 0x0000, checksum; computed by hand from the above.
    data = bytes((0x5A, 3, 0x91, 0x00, 0x00))
    data += checksum(data[1:])
    answer = bridge.ask(data)
    body = bytes((5, 0x90, 0x44, 0x53, 0x48, 0x41))  # length, tag and OKAY, 0x41485344
    assert answer == bytes((0xA5, *body)) + checksum(body)


def test_a_register_is_written_with_all_its_bytes(make_bridge, frames):
    bridge = make_bridge()
    data = frames.request(WRITE, 0x0000, 0x11, 0x22, 0x33, 0x44, tag=3)
    assert bridge.ask(data) == frames.answer(0x30 | OKAY)
    assert bridge.writes == [(0x0000, 0x44332211, 0b1111)]


@pytest.mark.parametrize(("op", "data"), [(READ, ()), (WRITE, (1, 2, 3, 4))])
def test_a_response_of_the_bus_is_the_status_of_the_answer(make_bridge, frames, op, data):
    bridge = make_bridge()
    assert bridge.ask(frames.request(op, 0x1234, *data, tag=5)) == frames.answer(0x50 | ABSENT)


def test_a_payload_is_pushed_with_zeros_where_no_bytes_came(make_bridge, frames):
    bridge = make_bridge()
    bridge.answers = [(OKAY, 0), (FULL, 0xFFFF)]
    assert bridge.ask(frames.request(PUSH, 0x1002, 1, 2, 3, 4)) == frames.answer(OKAY)
    assert bridge.ask(frames.request(PUSH, 0x1003, 0x99)) == frames.answer(FULL)
    assert bridge.accesses == [(0, 0x1002, 0x04030201), (0, 0x1003, 0x99)]


def test_a_payload_is_popped_in_as_many_bytes_as_a_payload_can_have(make_bridge, frames):
    bridge = make_bridge("small")
    bridge.answers = [(OKAY, 0x0102030405060708), (EMPTY, 5)]
    answer = frames.answer(OKAY, 8, 7, 6, 5, 4, 3, 2, 1)
    assert bridge.ask(frames.request(POP, 0x0001)) == answer
    assert bridge.ask(frames.request(POP, 0x0001)) == frames.answer(EMPTY)
    assert bridge.accesses[0][:2] == (1, 0x0001)


@pytest.mark.parametrize("place", range(7))
def test_a_bit_that_is_flipped_is_found_wherever_it_is(make_bridge, frames, place):
    bridge = make_bridge()
    data = bytearray(frames.request(READ, 0x0000, tag=2))
    data[place] ^= 0x10
    answer = bridge.ask(bytes(data))
    if place == 0:
        assert answer == b"", "no request begins"
    elif place == 1:
        assert answer == frames.answer(BAD_LENGTH), "19 bytes are too many"
    elif place == 2:
        assert answer == frames.answer(0x30 | BAD_CHECKSUM), "the tag that came"
    else:
        assert answer == frames.answer(0x20 | BAD_CHECKSUM)
    bridge.rest(bridge.params.gap_cycles)
    assert bridge.ask(frames.request(READ, 0x0000)) == frames.answer(0, 0x44, 0x53, 0x48, 0x41)


@pytest.mark.parametrize(
    ("op", "data", "status"),
    [
        (0, (), BAD_OPERATION),
        (5, (), BAD_OPERATION),
        (15, (1, 2), BAD_OPERATION),
        (READ, (1,), BAD_LENGTH),
        (WRITE, (1, 2, 3), BAD_LENGTH),
        (PUSH, (), BAD_LENGTH),
        (POP, (1, 2, 3, 4), BAD_LENGTH),
    ],
)
def test_what_cannot_be_carried_out_is_refused_and_touches_nothing(
    make_bridge, frames, op, data, status
):
    bridge = make_bridge()
    assert bridge.ask(frames.request(op, 0x0000, *data, tag=7)) == frames.answer(0x70 | status)
    assert not bridge.accesses
    assert not bridge.writes


@pytest.mark.parametrize("length", [0, 2, 8, 255])
def test_a_length_that_no_request_has_is_refused_at_once(make_bridge, frames, length):
    bridge = make_bridge()  # 4 bytes of payload: bodies of 3 to 7
    assert bridge.ask(bytes((0x5A, length))) == frames.answer(BAD_LENGTH)


@pytest.mark.parametrize("count", range(1, 7))
def test_half_a_request_is_forgotten_after_the_gap(make_bridge, frames, count):
    bridge = make_bridge()
    data = frames.request(READ, 0x0000)
    bridge.send(data[:count])
    bridge.rest(bridge.params.gap_cycles + 3)
    assert bridge.ask(data) == frames.answer(0, 0x44, 0x53, 0x48, 0x41)


def test_a_pause_that_is_shorter_than_the_gap_is_none(make_bridge, frames):
    bridge = make_bridge()
    data = frames.request(READ, 0x0000)
    bridge.send(data[:4])
    bridge.rest(bridge.params.gap_cycles - bridge.params.byte_cycles - 4)
    assert bridge.ask(data[4:]) == frames.answer(0, 0x44, 0x53, 0x48, 0x41)


def test_noise_before_a_request_is_skipped(make_bridge, frames):
    bridge = make_bridge()
    noise = bytes((0x00, 0xFF, 0xA5, 0x3C))
    answer = bridge.ask(noise + frames.request(READ, 0x0000))
    assert answer == frames.answer(0, 0x44, 0x53, 0x48, 0x41)


def test_what_comes_while_an_answer_goes_out_is_lost(make_bridge, frames):
    bridge = make_bridge()
    data = frames.request(READ, 0x0000)
    assert len(frames.answer(0, 1, 2, 3, 4)) > len(data)
    assert bridge.ask(data + data) == frames.answer(0, 0x44, 0x53, 0x48, 0x41)


def test_a_glitch_and_a_byte_without_a_stop_bit_are_dropped(make_bridge, frames):
    bridge = make_bridge()
    bridge.line = 0
    bridge.rest(1)
    bridge.line = 1
    bridge.rest(bridge.params.byte_cycles)
    bridge.line = 0
    bridge.rest(bridge.params.byte_cycles)
    bridge.line = 1
    bridge.rest(2 * bridge.params.byte_cycles)
    answer = bridge.ask(frames.request(READ, 0x0000))
    assert answer == frames.answer(0, 0x44, 0x53, 0x48, 0x41)


def test_a_refusal_begins_the_latency_after_the_middle_of_the_last_stop_bit(make_bridge, frames):
    bridge = make_bridge("small")
    divisor = bridge.params.divisor
    data = frames.request(0, 0x0000)
    before = bridge.edges
    bridge.heard()
    bridge.send(data)
    bridge.rest(divisor)
    start = bridge.samples.index(0)
    # Two cycles through the synchroniser; the line's last bit is as long as any other.
    middle = len(data) * bridge.params.byte_cycles - divisor + divisor // 2 + 2
    assert before + start - before == middle + 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"divisor": 3}, "divisor must be in 4..65536, not 3"),
        ({"gap_cycles": 4339}, "gap_cycles must be in 4340..4294967296, not 4339"),
        ({"payload_bytes": 3}, "payload_bytes must be in 4..64, not 3"),
        ({"payload_bytes": 65}, "payload_bytes must be in 4..64, not 65"),
    ],
)
def test_sizes_that_cannot_be_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        BridgeParams(**values)
