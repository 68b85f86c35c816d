# SPDX-License-Identifier: Apache-2.0
import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.tvc.golden import TvcGolden
from ahasd.rtl.tvc.params import (
    Decision,
    NpuEvent,
    NpuKind,
    Reason,
    Record,
    Request,
    Table,
    TvcParams,
)

CYCLES = {"paper": (1298, 92), "small": (722, 60), "test": (179, 30)}


def test_the_paper_configuration_has_the_published_sizes():
    params = UNITS["tvc"].configurations["paper"]
    assert (params.table_entries, params.cycles_width, params.length_width) == (4, 64, 32)


@pytest.mark.parametrize("configuration", CYCLES)
def test_golden_tells_the_cycles_of_their_parameters(configuration):
    params = UNITS["tvc"].configurations[configuration]
    decision, recording = CYCLES[configuration]
    assert (params.decision_cycles, params.record_cycles) == (decision, recording)
    golden = TvcGolden(params)
    assert (golden.latency, golden.interval) == (decision, decision)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table_entries": 1}, "table_entries must be a power of two in 2..16, not 1"),
        ({"table_entries": 3}, "table_entries must be a power of two in 2..16, not 3"),
        ({"table_entries": 32}, "table_entries must be a power of two in 2..16, not 32"),
        ({"cycles_width": 1}, "cycles_width must be in 2..64, not 1"),
        ({"cycles_width": 65}, "cycles_width must be in 2..64, not 65"),
        ({"length_width": 0}, "length_width must be in 1..32, not 0"),
        ({"cycles_width": 8, "length_width": 9}, "length_width must be in 1..8, not 9"),
        ({"ratio_fraction_width": 17}, "ratio_fraction_width must be in 0..16, not 17"),
        ({"tokens_width": 0}, "tokens_width must be in 1..16, not 0"),
        ({"time_width": 31}, "time_width must be in 32..64, not 31"),
        ({"time_width": 65}, "time_width must be in 32..64, not 65"),
    ],
)
def test_an_illegal_size_names_the_rule_and_the_value(change, message):
    with pytest.raises(ValueError, match=message):
        TvcParams(**change)


def test_the_ratio_of_the_clocks_is_encoded_half_up():
    params = TvcParams()
    assert params.encode_npu_ratio(0.8) == 26214
    assert params.encode_npu_ratio(1) == 32768
    assert params.encode_npu_ratio(0) == 0
    for ratio in (-0.1, 2, 1.99999):
        with pytest.raises(ValueError, match=rf"not {ratio}"):
            params.encode_npu_ratio(ratio)


def test_payloads_are_packed_lowest_field_first():
    params = TvcParams()
    assert Record(Table.PVCT, 5, 7).pack(params) == 2 | 5 << 2 | 7 << 34
    assert NpuEvent(NpuKind.END, 7, 5).pack(params) == 1 | 7 << 1 | 5 << 17
    assert Request(3, 9).pack(params) == 3 | 9 << 6
    assert Decision(8, Reason.NO_SLACK, 5, 7).pack(params) == 8 | 3 << 6 | 5 << 9 | 7 << 41


def test_payloads_are_unpacked_as_they_were_packed():
    params = TvcParams()
    for payload in (
        Record(Table.NVCT, 4321, 99),
        NpuEvent(NpuKind.START, 17, 123),
        Request(63, 1),
        Decision(8, Reason.INSERT, 1 << 31, 77),
    ):
        assert type(payload).unpack(payload.pack(params), params) == payload
