# SPDX-License-Identifier: Apache-2.0
"""What docs/units/host.md promises, statement by statement, on golden and on the compiled RTL."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from ahasd.rtl.edc.params import Command as EdcCommand
from ahasd.rtl.edc.params import EdcParams
from ahasd.rtl.gtsu.params import DRAIN_DEFAULT_CYCLES, SWITCH_DEFAULT_CYCLES
from ahasd.rtl.gtsu.params import Command as GtsuCommand
from ahasd.rtl.host.params import Response
from ahasd.rtl.host.registers import REGISTERS
from ahasd.rtl.tvc.params import Command as TvcCommand
from ahasd.rtl.tvc.params import Levels, Table, TvcParams
from ahasd.rtl.tvc.params import Record as TvcRecord

ROOT = Path(__file__).resolve().parents[3]

OKAY, SLVERR, DECERR = Response.OKAY, Response.SLVERR, Response.DECERR

# What the units' own parameters and documents say.
DEFAULTS = {
    "edc_enable": 1,
    "edc_recheck": 1,
    "edc_explore": 0,
    "tvc_affine_npu": 0,
    "tvc_affine_preverify": 0,
    "gtsu_preempt": 0,
    **{f"edc_boundary_{i}": boundary for i, boundary in enumerate(EdcParams().boundaries("sqrt4"))},
    "tvc_npu_ratio": TvcParams().encode_npu_ratio(0.8),
    "tvc_switch_cycles": SWITCH_DEFAULT_CYCLES,
    "tvc_slowdown_cycles": 0,
    "tvc_max_length": Levels(npu_ratio=0).max_length,
    "tvc_cold_cycles": 0,
    "gtsu_dlm_mask": 0,
    "gtsu_tlm_mask": 0,
    "gtsu_switch_cycles": SWITCH_DEFAULT_CYCLES,
    "gtsu_drain_max": DRAIN_DEFAULT_CYCLES,
}


def test_the_units_see_their_defaults_after_reset(host):
    assert host.control() == DEFAULTS


def test_the_identification_reads_as_letters(host):
    word = host.read(0x0000)
    assert word.to_bytes(4, "big") == b"AHSD"
    assert host.registers.read("npu.VERSION") == {"major": 1, "minor": 0}


@pytest.mark.parametrize(
    "address", [0x0014, 0x00FC, 0x0128, 0x0FFC, 0x1018, 0x105C, 0x1190, 0x1FFC]
)
def test_an_address_without_a_register_is_a_decode_error_and_reads_0(host, address):
    assert host.read_raw(address) == (0, DECERR)
    assert host.write_raw(address, 0xFFFF_FFFF) is DECERR
    assert host.control() == DEFAULTS


@pytest.mark.parametrize("address", [0x2000, 0x2004, 0x3000, 0x3004])
def test_nothing_answers_beyond_the_two_blocks(host, address):
    assert host.read_raw(address) == (0, DECERR)
    assert host.write_raw(address, 0xFFFF_FFFF) is DECERR
    assert host.registers.read("npu.IRQ_ENABLE")["error"] == 0


@pytest.mark.parametrize("register", REGISTERS, ids=lambda register: register.name)
def test_an_access_that_a_register_refuses_is_a_slave_error(host, register):
    for address in register.addresses:
        can_read = register.access != "wo"
        can_write = register.access != "ro"
        assert host.read_raw(address)[1] is (OKAY if can_read else SLVERR)
        assert host.write_raw(address, 0) is (OKAY if can_write else SLVERR)


def test_a_refused_write_does_nothing(host):
    host.event("npu", rejections=1)
    assert host.write_raw(0x0120, 77) is SLVERR
    assert host.registers.read("npu.REJECTIONS") == {"value": 1}
    assert host.read_raw(0x1004) == (0, SLVERR)
    assert host.taken == []


def test_the_lowest_two_bits_of_an_address_are_ignored(host):
    assert host.write_raw(0x1063, 0x1234_5678) is OKAY
    for address in range(0x1060, 0x1064):
        assert host.read(address) == 0x1234_5678


def test_what_is_written_is_read_and_seen_by_the_units(host):
    writes = {
        "gtsu_dlm_mask": (0x1060, 0x0000_FFFF),
        "gtsu_tlm_mask": (0x1064, 0xFFFF_0000),
        "tvc_switch_cycles": (0x1044, 0x8765_4321),
        "edc_boundary_0": (0x1020, 0x1111),
        "edc_boundary_6": (0x1038, 0x7777),
        "tvc_max_length": (0x104C, 0x3F),
        "gtsu_switch_cycles": (0x1068, 0x7F),
        "gtsu_drain_max": (0x106C, 0x3FF),
    }
    for address, data in writes.values():
        host.write(address, data)
    for address, data in writes.values():
        assert host.read(address) == data
    assert host.control() == DEFAULTS | {name: data for name, (_, data) in writes.items()}


def test_bits_without_a_field_read_0(host):
    for address, fields in ((0x1000, 0xFF), (0x104C, 0x3F), (0x1068, 0x7F), (0x000C, 0b111)):
        host.write(address, 0xFFFF_FFFF)
        assert host.read(address) == fields


def test_each_strobe_guards_its_byte(host):
    host.write(0x1060, 0xAABB_CCDD)
    expected = 0xAABB_CCDD
    for strobe in range(16):
        data = 0x1010_1010 * (strobe % 7 + 1)
        assert host.write_raw(0x1060, data, strobe) is OKAY
        for i in range(4):
            if strobe >> i & 1:
                byte = 0xFF << 8 * i
                expected = expected & ~byte | data & byte
        assert host.read(0x1060) == expected


@pytest.mark.parametrize("strobe", range(16))
def test_a_strobe_guards_a_field_that_spans_bytes_bit_by_bit(host, strobe):
    host.write(0x106C, 0x155)
    assert host.write_raw(0x106C, 0x2AA, strobe) is OKAY
    expected = 0x155
    if strobe & 1:
        expected = expected & 0x300 | 0xAA
    if strobe & 2:
        expected = expected & 0x0FF | 0x200
    assert host.read(0x106C) == expected


@pytest.mark.parametrize("order", ["aw first", "w first", "together"])
@pytest.mark.parametrize("address", [0x000C, 0x1060])
def test_address_and_data_come_in_any_order(host, order, address):
    if order == "aw first":
        host.offer("aw", address)
        assert host.response("b", limit=40) is None
        host.offer("w", 0xF << 32 | 5)
    elif order == "w first":
        host.offer("w", 0xF << 32 | 5)
        assert host.response("b", limit=40) is None
        host.offer("aw", address)
    else:
        host.npu_edge(aw__valid=1, aw__payload=address, w__valid=1, w__payload=0xF << 32 | 5)
    assert host.response("b") == OKAY
    assert host.read(address) == 5


@pytest.mark.parametrize("name", ["b", "r"])
@pytest.mark.parametrize("block", [0x0000, 0x1000])
def test_a_response_that_is_not_taken_stays_and_the_other_channel_goes_on(host, name, block):
    if name == "b":
        host.offer("aw", block + 0x0C)
        host.offer("w", 0)
    else:
        host.offer("ar", block + 0x0C)
    host.wait(60)
    seen = {host.npu_edge()[f"{name}__payload"] for _ in range(20)}
    assert len(seen) == 1
    if name == "b":
        for _ in range(3):
            assert host.read_raw(block + 0x0C)[1] is OKAY
    else:
        for _ in range(3):
            assert host.write_raw(block + 0x10, 0) is SLVERR
    assert host.npu_edge()[f"{name}__valid"] == 1
    assert host.response(name) == seen.pop()
    assert host.response(name, limit=60) is None


def test_a_second_request_of_a_kind_waits_for_the_first_response(host):
    host.offer("ar", 0x0000)
    host.offer("ar", 0x0004)
    host.wait(40)
    assert host.npu_edge()["ar__ready"] == 0
    assert host.response("r") == 0x4148_5344
    assert host.response("r") == 0x0100


def test_reads_and_writes_are_served_by_turns(host):
    """A stream of reads cannot starve a write, nor the other way round."""
    served = []
    pins = {
        "ar__valid": 1,
        "ar__payload": 0x0000,
        "aw__valid": 1,
        "aw__payload": 0x000C,
        "w__valid": 1,
        "w__payload": 0xF << 32,
        "r__ready": 1,
        "b__ready": 1,
    }
    for _ in range(40):
        seen = host.npu_edge(**pins)
        served += [name for name in ("r", "b") if seen[f"{name}__valid"]]
    assert len(served) > 30
    assert all(a != b for a, b in pairwise(served))


def test_a_response_of_the_npu_block_is_offered_after_two_cycles(host):
    host.offer("ar", 0x0000)
    assert host.npu_edge()["r__valid"] == 0
    assert host.npu_edge()["r__valid"] == 1


def test_the_npu_block_takes_a_read_every_two_cycles(host):
    served = sum(
        host.npu_edge(ar__valid=1, ar__payload=0, r__ready=1)["r__valid"] for _ in range(100)
    )
    assert 49 <= served <= 50


@pytest.mark.parametrize("npu_period", [500, 1000, 1250, 3000])
@pytest.mark.parametrize("phase", [0, 300, 777])
def test_a_response_of_the_pim_block_comes_within_the_cycles_of_the_page(
    make_host, npu_period, phase
):
    host = make_host(npu_period=npu_period, phase=phase)
    for _ in range(8):
        host.wait(3)
        host.offer("ar", 0x1000)
        edges = 1
        while not host.npu_edge()["r__valid"]:
            edges += 1
        assert 5 * npu_period <= edges * npu_period <= 5 * npu_period + 4 * 1250
        if npu_period == 1000:
            assert 8 <= edges <= 10
        host.response("r")


COMMANDS = {
    "edc_start_sequence": ("edc_command", EdcCommand.START_SEQUENCE),
    "edc_clear_pht": ("edc_command", EdcCommand.CLEAR_PHT),
    "tvc_clear": ("tvc_command", TvcCommand.CLEAR),
    "tvc_forget_task": ("tvc_command", TvcCommand.FORGET_TASK),
    "gtsu_clear_errors": ("gtsu_command", GtsuCommand.CLEAR_ERRORS),
    "gtsu_flush": ("gtsu_command", GtsuCommand.FLUSH),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_given_once_to_its_unit(host, command):
    host.registers.write("pim.COMMAND", **{command: 1})
    host.wait()
    assert host.taken == [COMMANDS[command]]


def test_commands_of_one_write_go_in_the_order_of_their_bits(host):
    host.registers.write("pim.COMMAND", **dict.fromkeys(COMMANDS, 1))
    host.wait()
    assert sorted(host.taken) == sorted(COMMANDS.values())
    for name in ("edc_command", "tvc_command", "gtsu_command"):
        assert [code for stream, code in host.taken if stream == name] == [0, 1]


def test_a_command_is_answered_when_it_was_taken(host):
    host.pins["edc_command__ready"] = 0
    host.offer("aw", 0x1004)
    host.offer("w", 0xF << 32 | 0b10)
    assert host.response("b", limit=100) is None
    host.offer("ar", 0x1000)
    assert host.response("r", limit=100) is None, "a read overtook the command"
    assert host.taken == []
    seen = host.npu_edge()
    assert (seen["edc_command__valid"], seen["edc_command__payload"]) == (1, EdcCommand.CLEAR_PHT)
    host.pins["edc_command__ready"] = 1
    assert host.response("b") == OKAY
    assert host.response("r") is not None
    assert host.taken == [("edc_command", EdcCommand.CLEAR_PHT)]


def test_registers_of_the_npu_answer_behind_a_command_that_was_taken_only(host):
    host.pins["gtsu_command__ready"] = 0
    host.offer("aw", 0x1004)
    host.offer("w", 0xF << 32 | 1 << 5)
    host.wait(40)
    host.offer("ar", 0x0000)
    assert host.response("r", limit=60) is None
    host.pins["gtsu_command__ready"] = 1
    assert host.response("r") == 0x4148_5344


def test_a_command_without_its_strobe_is_none(host):
    assert host.write_raw(0x1004, 0xFFFF_FFFF, 0b1110) is OKAY
    host.wait()
    assert host.taken == []


@pytest.mark.parametrize(
    ("table", "length", "cycles"),
    [(Table.NVCT, 1, 2), (Table.PVCT, 0xFFFF, 0xFFFF_FFFF), (3, 0, 0)],
)
def test_a_preload_is_a_record_for_the_tvc(host, table, length, cycles):
    host.registers.write("pim.TVC_PRELOAD_CYCLES", value=cycles)
    host.pins["tvc_record__ready"] = 0
    host.offer("aw", 0x1058)
    host.offer("w", 0xF << 32 | length << 16 | table)
    assert host.response("b", limit=60) is None
    host.pins["tvc_record__ready"] = 1
    assert host.response("b") == OKAY
    ((name, payload),) = host.taken
    assert name == "tvc_record"
    assert TvcRecord.unpack(payload, TvcParams()) == (table, cycles, length)


def test_status_registers_show_what_the_units_show(host):
    # One string of bits, written out by hand: errors, mask, CREDITS, STATUS.
    bits = "101011" + f"{0xDEAD_BEEF:032b}" + f"{0x1234:016b}{0x56:08b}"
    bits += f"{0x78:08b}{0b100:03b}{0x9A:08b}{0b10101:05b}"
    host.pins["pim_status"] = int(bits, 2)
    host.pins["npu_status"] = 1 << 8 | 0xA5
    assert host.read(0x1014) == 0b101011
    assert host.read(0x1010) == 0xDEAD_BEEF
    assert host.read(0x100C) == 0x1234_0056
    assert host.read(0x1008) == 0x7804_9A15
    assert host.read(0x0010) == 0x1A5


COUNTERS = [register for register in REGISTERS if len(register.addresses) == 2]


def test_a_counter_counts_its_events_and_no_others(host):
    for times, register in enumerate(COUNTERS):
        domain, _, name = register.name.partition(".")
        for _ in range(times):
            host.event(domain, **{name.lower(): 1})
    counts = [host.registers.read(register.name)["value"] for register in COUNTERS]
    assert counts == list(range(len(COUNTERS)))


def test_pre_verified_tokens_are_counted_by_their_number(host):
    for tokens in (63, 1, 62):
        host.event("pim", preverify_tokens=tokens, preverify_inserts=1)
    assert host.registers.read("pim.PREVERIFY_TOKENS") == {"value": 126}
    assert host.registers.read("pim.PREVERIFY_INSERTS") == {"value": 3}


@pytest.mark.parametrize(("domain", "name"), [("pim", "SWITCHES"), ("npu", "REJECTIONS")])
def test_a_counter_is_read_whole_although_it_moves_between_the_words(make_host, domain, name):
    host = make_host("test")
    register = next(each for each in COUNTERS if each.name == f"{domain}.{name}")
    low, high = register.addresses
    start = (1 << 33) - 6
    for _ in range(5):
        host.event(domain, **{name.lower(): 1})
    assert host.read(low) == 0xFFFF_FFFF
    host.event(domain, **{name.lower(): 1})  # carries into the high word, which wraps to 0
    assert host.read(high) == 1
    assert host.read(low) == (start + 6) % (1 << 33) == 0
    assert host.read(high) == 0


def test_the_high_word_is_kept_until_a_low_word_of_the_block_is_read(make_host):
    host = make_host("test")
    host.read(0x1100)
    for _ in range(6):
        host.event("pim", batches_offered=1)
    host.write_raw(0x1108, 0)  # refused, and reads nothing
    assert host.read(0x1104) == 1
    assert host.read(0x010C) == 0, "the other block has a high word of its own"
    assert host.read(0x1100) == 0
    assert host.read(0x110C) == 0, "the high word is of the counter whose low word was read last"


FLAGS = {"draft_ready": 1 << 0, "feedback_taken": 1 << 1, "error": 1 << 2}


def provoke(host, flag: str) -> None:
    if flag == "draft_ready":
        host.event("npu", draft_ready=1)
    elif flag == "feedback_taken":
        host.event("npu", feedback_accepted=1)
    else:
        host.pins["pim_status"] = 1 << 80
    host.wait()


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_rises_with_its_cause_interrupts_if_enabled_and_is_cleared_by_a_1(host, flag):
    provoke(host, flag)
    assert host.read(0x0008) == FLAGS[flag]
    assert host.wait()["irq"] == 0
    host.registers.write("npu.IRQ_ENABLE", **{flag: 1})
    assert host.wait()["irq"] == 1
    host.write(0x0008, 0)
    assert host.write_raw(0x0008, 0b111, strobe=0b1110) is OKAY
    host.write(0x0008, 0b111 & ~FLAGS[flag])
    assert host.read(0x0008) == FLAGS[flag]
    host.write(0x0008, FLAGS[flag])
    assert host.read(0x0008) == 0
    assert host.wait()["irq"] == 0


def test_another_flag_does_not_interrupt(host):
    host.registers.write("npu.IRQ_ENABLE", draft_ready=1, error=1)
    provoke(host, "feedback_taken")
    assert host.wait()["irq"] == 0


def test_an_event_in_the_cycle_of_its_clear_stays(host):
    host.write(0x0008, 0)
    host.pins["npu_events"] = 1
    host.write(0x0008, 0b001)
    host.pins["npu_events"] = 0
    assert host.read(0x0008) == 0b001


@pytest.mark.parametrize("error", range(6))
def test_the_flag_of_errors_rises_when_the_first_appears_and_again_after_all_have_gone(host, error):
    host.pins["pim_status"] = 1 << (80 + error)
    host.wait()
    host.registers.write("npu.IRQ_STATUS", error=1)
    host.pins["pim_status"] |= 1 << (80 + (error + 1) % 6)
    host.wait()
    assert host.read(0x0008) == 0, "another error beside the first is no rise"
    host.pins["pim_status"] = 0
    host.wait()
    assert host.read(0x0008) == 0
    host.pins["pim_status"] = 1 << (80 + error)
    host.wait()
    assert host.read(0x0008) == FLAGS["error"]


def test_the_diagram_shows_what_happens(host):
    drawn = json.loads((ROOT / "docs" / "units" / "host.wave.json").read_text())
    waves = {}
    for group in drawn["signal"]:
        for line in group[1:] if isinstance(group, list) else ():
            levels = []
            for mark in line["wave"]:
                levels.append(levels[-1] if mark == "." else int(mark))
            waves[line["name"]] = levels
    host.pins |= {"aw__payload": 0x000C, "w__payload": 0xF << 32}
    for cycle in range(len(waves["aw__valid"])):
        inputs = {name: waves[name][cycle] for name in waves if name in host.pins}
        seen = host.npu_edge(**inputs)
        for name in waves.keys() - inputs.keys():
            assert seen[name] == waves[name][cycle], f"{name} in cycle {cycle}"
