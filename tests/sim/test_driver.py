# SPDX-License-Identifier: Apache-2.0
"""The register driver: names, ranges, words."""

import re

import pytest

from ahasd.sim.driver import RegisterError, Registers, addresses, decode, encode


def test_a_write_is_an_address_and_a_word():
    assert encode("pim.TVC_NPU_RATIO", value=0x6666) == (0x1040, 0x6666)
    assert encode("pim.TVC_PRELOAD", table=2, length=5) == (0x1058, 5 << 16 | 2)
    assert encode("pim.COMMAND", tvc_clear=1) == (0x1004, 1 << 2)
    assert encode("npu.IRQ_STATUS", error=1) == (0x0008, 1 << 2)


def test_fields_that_are_not_given_come_from_the_reset_value_or_from_what_was_read():
    assert encode("pim.CONTROL", edc_explore=5) == (0x1000, 0b0001_0111)
    assert encode("pim.CONTROL", 0b1110_0000, edc_explore=5) == (0x1000, 0b1111_0100)


def test_a_counter_is_read_low_word_first():
    assert addresses("pim.SWITCHES") == (0x1188, 0x118C)
    assert decode("pim.SWITCHES", 7, 2) == {"value": (2 << 32) + 7}


def test_a_word_falls_into_fields():
    assert decode("pim.STATUS", 0x0904_0C1F) == {
        "outstanding": 31,
        "epoch": 12,
        "gtsu_state": 4,
        "pending": 9,
    }


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: encode("pim.CONTROLS"), "no register 'pim.CONTROLS'; nearest: pim.CONTROL"),
        (lambda: encode("x"), "no register 'x'"),
        (
            lambda: encode("pim.TVC_MAX_LENGTH", value=64),
            "pim.TVC_MAX_LENGTH.value must be in 0..63, not 64",
        ),
        (
            lambda: encode("pim.TVC_MAX_LENGTH", value=-1),
            "pim.TVC_MAX_LENGTH.value must be in 0..63, not -1",
        ),
        (
            lambda: encode("pim.TVC_PRELOAD", cycles=1),
            "pim.TVC_PRELOAD has no field 'cycles'; it has table, length",
        ),
        (lambda: encode("npu.ID", value=1), "npu.ID is read only"),
        (lambda: addresses("pim.COMMAND"), "pim.COMMAND is write only"),
    ],
)
def test_what_cannot_be_is_told_with_the_register_and_the_range(call, message):
    with pytest.raises(RegisterError, match=f"^{re.escape(message)}"):
        call()


def test_a_write_of_some_fields_keeps_the_others():
    words = {0x1000: 0b0000_0011, 0x1188: 1, 0x118C: 2}
    registers = Registers(words.__getitem__, words.__setitem__)
    registers.write("pim.CONTROL", gtsu_preempt=1)
    assert words[0x1000] == 0b1000_0011
    registers.write("pim.COMMAND", gtsu_flush=1)
    assert words[0x1004] == 1 << 5
    registers.write("pim.TVC_MAX_LENGTH", value=9)
    assert words[0x104C] == 9
    assert registers.read("pim.CONTROL")["gtsu_preempt"] == 1
    assert registers.read("pim.SWITCHES") == {"value": (2 << 32) + 1}
