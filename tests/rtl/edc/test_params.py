# SPDX-License-Identifier: Apache-2.0
import math

import pytest

from ahasd.rtl.edc.params import Decision, EdcParams


def test_the_paper_configuration_has_the_published_sizes():
    params = EdcParams()
    assert (params.history, params.bucket_width, params.llr_width) == (8, 3, 3)
    assert params.index_width == 9
    assert params.pht_entries == 512
    assert (params.counter_width, params.counter_reset, params.counter_max) == (2, 2, 3)
    assert params.max_outstanding == 7
    assert params.entropy_width == 16


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"history": 6}, "history must be twice a power of two, not 6"),
        ({"history": 0}, "history must be twice a power of two, not 0"),
        ({"bucket_width": 0}, "bucket_width must be in 1..4, not 0"),
        ({"llr_width": 6}, "llr_width must be in 1..5, not 6"),
        ({"counter_width": 9}, "counter_width must be in 1..8, not 9"),
        ({"entropy_integer_width": 0}, "entropy_integer_width must be in 1..8, not 0"),
        ({"entropy_fraction_width": 25}, "entropy_fraction_width must be in 0..24, not 25"),
    ],
)
def test_an_illegal_size_names_the_rule_and_the_value(change, message):
    with pytest.raises(ValueError, match=message):
        EdcParams(**change)


@pytest.mark.parametrize(
    ("nats", "encoded"),
    [(0.0, 0), (1.0, 4096), (0.6, 2458), (15.99999, 65535), (16.0, 65535), (1e9, 65535)],
)
def test_entropy_is_rounded_to_q4_12_and_saturates(nats, encoded):
    assert EdcParams().encode_entropy(nats) == encoded


@pytest.mark.parametrize("nats", [-0.1, math.nan])
def test_an_entropy_that_is_none_is_refused(nats):
    with pytest.raises(ValueError, match="entropy must be a number >= 0 nat"):
        EdcParams().encode_entropy(nats)


@pytest.mark.parametrize(
    ("preset", "nats"),
    [
        ("linear10", [1.25, 2.5, 3.75, 5.0, 6.25, 7.5, 8.75]),
        ("linear4", [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]),
        ("sqrt4", [0.0625, 0.25, 0.5625, 1.0, 1.5625, 2.25, 3.0625]),
    ],
)
def test_boundary_presets_lie_where_their_names_say(preset, nats):
    assert [value / 4096 for value in EdcParams().boundaries(preset)] == nats


def test_an_unknown_boundary_preset_lists_the_known_ones():
    with pytest.raises(ValueError, match="must be one of linear10, linear4, sqrt4, not 'log'"):
        EdcParams().boundaries("log")


def test_an_unknown_cause_on_the_wires_is_refused():
    with pytest.raises(ValueError, match="7 is not a valid Cause"):
        Decision.unpack(0b1110)
