# SPDX-License-Identifier: Apache-2.0
import math

import pytest

from ahasd.rtl.draftctl.params import Decision, DraftctlParams, Outcome, Token


def test_the_formats_are_q4_12_nat_and_q8_8_bit():
    params = DraftctlParams()
    assert (params.entropy_width, params.entropy_max) == (16, 65535)
    assert (params.doubt_width, params.doubt_max) == (16, 65535)
    assert params.length_max == 255


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"length_width": 0}, "length_width must be in 1..8, not 0"),
        ({"length_width": 9}, "length_width must be in 1..8, not 9"),
        ({"entropy_integer_width": 0}, "entropy_integer_width must be in 1..8, not 0"),
        ({"entropy_fraction_width": 25}, "entropy_fraction_width must be in 0..24, not 25"),
        ({"doubt_integer_width": 17}, "doubt_integer_width must be in 1..16, not 17"),
        ({"doubt_fraction_width": -1}, "doubt_fraction_width must be in 0..24, not -1"),
    ],
)
def test_an_illegal_size_names_the_rule_and_the_value(change, message):
    with pytest.raises(ValueError, match=message):
        DraftctlParams(**change)


@pytest.mark.parametrize(
    ("nats", "encoded"),
    [(0.0, 0), (1.0, 4096), (0.6, 2458), (15.99999, 65535), (16.0, 65535), (math.inf, 65535)],
)
def test_an_entropy_is_rounded_to_q4_12_and_saturates(nats, encoded):
    assert DraftctlParams().encode_entropy(nats) == encoded


@pytest.mark.parametrize("nats", [-0.1, math.nan])
def test_an_entropy_that_is_none_is_refused(nats):
    with pytest.raises(ValueError, match="entropy must be a number >= 0 nat"):
        DraftctlParams().encode_entropy(nats)


@pytest.mark.parametrize(
    ("probability", "encoded"),
    # -log2: 0, 1, 1.73697 (444.66 / 256), 0.00141 (0.36 / 256, lost), 256 bit and more.
    [(1.0, 0), (0.5, 256), (0.3, 445), (0.99902, 0), (2.0**-300, 65535), (0.0, 65535)],
)
def test_a_doubt_is_rounded_to_q8_8_and_saturates(probability, encoded):
    assert DraftctlParams().encode_doubt(probability) == encoded


@pytest.mark.parametrize(
    ("probability", "encoded"),
    [(1.0, 0), (0.5, 256), (0.3, 445), (2.0**-300, 65534), (0.0, 65535)],
)
def test_only_a_limit_of_probability_0_is_never_exceeded(probability, encoded):
    assert DraftctlParams().encode_doubt_limit(probability) == encoded


@pytest.mark.parametrize("probability", [-0.1, 1.1, math.nan])
def test_a_probability_that_is_none_is_refused(probability):
    params = DraftctlParams()
    for encode in (params.encode_doubt, params.encode_doubt_limit):
        with pytest.raises(ValueError, match=r"probability must be in 0\.\.1, not"):
            encode(probability)


def test_payloads_are_packed_from_bit_0_up():
    params = DraftctlParams()
    token = Token(True, 0x1234, 0xABCD)
    assert token.pack(params) == 1 | 0x1234 << 1 | 0xABCD << 17
    assert Token.unpack(token.pack(params), params) == token
    decision = Decision(Outcome.DROP, 7)
    assert decision.pack() == 0b111_10
    assert Decision.unpack(0b111_10) == decision


def test_an_unknown_outcome_on_the_wires_is_refused():
    with pytest.raises(ValueError, match="3 is not a valid Outcome"):
        Decision.unpack(0b011)
