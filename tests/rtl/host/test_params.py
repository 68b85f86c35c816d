# SPDX-License-Identifier: Apache-2.0
"""The parameters refuse what cannot be built; the map fits the units that it controls."""

from dataclasses import replace

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.edc.params import EdcParams
from ahasd.rtl.gtsu.params import Command as GtsuCommand
from ahasd.rtl.gtsu.params import GtsuParams, State
from ahasd.rtl.host.map import Kind
from ahasd.rtl.host.params import HostParams, fields, pack, unpack, widths
from ahasd.rtl.host.registers import REGISTERS
from ahasd.rtl.queues.params import QueuesParams
from ahasd.rtl.tvc.params import TvcParams


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("address_width", 12, "address_width must be in 13..32, not 12"),
        ("address_width", 33, "address_width must be in 13..32, not 33"),
        ("counter_width", 32, "counter_width must be in 33..64, not 32"),
        ("counter_width", 65, "counter_width must be in 33..64, not 65"),
        ("counter_start", -1, f"counter_start must be in 0..{(1 << 64) - 1}, not -1"),
    ],
)
def test_a_value_out_of_range_is_refused_by_its_rule(name, value, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        replace(HostParams(), **{name: value})


def test_no_two_registers_share_a_word_and_fields_do_not_overlap():
    words = [address for register in REGISTERS for address in register.addresses]
    assert len(set(words)) == len(words)
    assert all(address % 4 == 0 for address in words)
    for register in REGISTERS:
        free = (1 << 32 * len(register.addresses)) - 1
        for field in register.fields:
            bits = field.limit << field.low
            assert free & bits == bits
            assert field.reset <= field.limit
            free &= ~bits


def test_the_fields_have_the_widths_of_the_ports_that_they_drive():
    edc, tvc, gtsu = EdcParams(), TvcParams(), GtsuParams()
    control = widths("control")
    boundaries = [width for name, width in control.items() if name.startswith("edc_boundary_")]
    assert boundaries == [edc.entropy_width] * edc.boundary_count
    assert control["edc_explore"] == edc.explore_width
    assert control["tvc_npu_ratio"] == tvc.npu_ratio_width
    assert control["tvc_max_length"] == tvc.tokens_width
    for name in ("switch_cycles", "slowdown_cycles", "cold_cycles"):
        assert control[f"tvc_{name}"] == tvc.cycles_width
    assert control["gtsu_switch_cycles"] == gtsu.switch_width
    assert control["gtsu_drain_max"] == gtsu.drain_width
    assert widths("pim_events")["preverify_tokens"] == tvc.tokens_width


@pytest.mark.parametrize("configuration", ["paper", "small"])
def test_every_configuration_of_the_units_fits_the_fields(configuration):
    edc: EdcParams = UNITS["edc"].configurations[configuration]
    gtsu: GtsuParams = UNITS["gtsu"].configurations[configuration]
    queues: QueuesParams = UNITS["queues"].configurations[configuration]
    status = widths("pim_status")
    assert status["outstanding"] >= edc.llr_width
    assert status["epoch"] >= queues.epoch_width
    assert status["credits"] >= queues.credit_width
    assert status["waiting_tokens"] >= queues.waiting_width
    assert status["mask"] >= gtsu.ranks
    assert status["pending"] >= gtsu.pending_width
    assert max(State) < 1 << status["gtsu_state"]
    assert widths("npu_status")["epoch"] >= queues.epoch_width


def test_commands_are_named_after_the_units_and_their_codes():
    names = list(fields("pim", Kind.COMMAND))
    assert [name for name in names if name.startswith("gtsu_")] == [
        f"gtsu_{command.name.lower()}" for command in sorted(GtsuCommand)
    ]


def test_ports_are_packed_lowest_field_first():
    assert pack("npu_status", epoch=0xA5, flushing=1) == 0x1A5
    assert unpack("npu_status", 0x0A5) == {"epoch": 0xA5, "flushing": 0}
    with pytest.raises(ValueError, match=r"^epoch of npu_status must be in 0\.\.255, not 256$"):
        pack("npu_status", epoch=256)
    with pytest.raises(ValueError, match=r"^npu_status has no field depth$"):
        pack("npu_status", depth=1)
