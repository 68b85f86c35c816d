# SPDX-License-Identifier: Apache-2.0
"""Timing files: sources, rounding, and the cycles of every packaged memory worked out by hand."""

from fractions import Fraction

import pytest

from ahasd import UserError
from ahasd.system.devices.dram import kernel
from ahasd.system.devices.dram.commands import (
    Command,
    Op,
    decoded,
    encoded,
    touched_banks,
)
from ahasd.system.devices.dram.engine import Fault
from ahasd.system.devices.dram.rules import Constraint, minima
from ahasd.system.devices.dram.timing import ASSUMED, load_file, load_timing
from ahasd.system.toml import known

# Cycles in the order of `Constraint` without ORDER and COMMAND_BUS. By hand from the figures of
# JEDEC and the papers: ns over the clock period, rounded up; RTW = RL + BL + gap - WL; WTR and WR
# from the end of the data, WL + BL, in a group WL + BL/n_max; REFI = 8 intervals, rounded down.
BY_HAND = {
    # 18/1.25, 42/1.25, 21/1.25, 9+2+28, 17+2+2-9, 9+2+5, 9+4+10, 280/1.25, 140/1.25, 90/1.25
    "lpddr5-6400": (
        *(15, 15, 15, 34, 49, 15, 17, 2, 8, 39, 2, 4, 4, 11, 20, 12, 16, 23),
        *(4, 12, 0, 4, 4, 16, 224, 112, 72, 6, 24992),
    ),
    # As printed, at 0.625 ns; 21.25/0.625 = 34, 11.25/0.625 = 18, 18+4+24, 34+4+4-18
    "paper": (
        *(32, 32, 32, 64, 96, 32, 34, 4, 16, 46, 4, 6, 6, 22, 30, 24, 32, 46),
        *(8, 24, 0, 8, 8, 64, 560, 224, 144, 12, 49920),
    ),
    # 18/0.9375 = 19.2, 42/0.9375 = 44.8, RL 22.7 -> 23, WL 12, 12+2+37, 23+2+2-12, 280/0.9375
    "lpddr5x-8533": (
        *(20, 20, 20, 45, 65, 20, 23, 2, 10, 51, 2, 4, 4, 14, 20, 15, 21, 29),
        *(4, 15, 0, 6, 6, 22, 299, 150, 96, 8, 33328),
    ),
    # PIMSimulator's list; 8+2+16, 20+2+2-8, 8+2+6, 8+2+9
    "hbm2": (
        *(14, 10, 14, 33, 47, 14, 14, 1, 5, 26, 2, 4, 4, 10, 20, 16, 16, 19),
        *(3, 15, 0, 4, 6, 16, 350, 160, 8, 8, 31200),
    ),
    # AttAcc's list; 6+2+21, 6+2, 19+2+2-6, 6+2+8, 6+2+11, 19+2+1-6, 350 ns * 1.3, 8 ns * 1.3
    "hbm3-5200": (
        *(19, 19, 19, 45, 63, 19, 19, 2, 8, 29, 2, 4, 6, 8, 20, 17, 16, 19),
        *(3, 16, 0, 2, 4, 39, 455, 260, 11, 11, 40560),
    ),
    # DRAMsim3's lists; 14+8+30, 14+8, 17+8+2-14, 14+8+8, 14+8+16, 8+1, 17+8+1-14, 14+8+1-17
    "lpddr4-2400": (
        *(15, 15, 15, 32, 47, 15, 15, 2, 12, 52, 8, 8, 8, 22, 40, 13, 30, 38),
        *(9, 12, 6, 8, 8, 32, 392, 196, 196, 8, 69280),
    ),
    # 9+4+12, 9+4, 12+4+2-9, 9+4+6, 9+4+6, 4+1, 12+4+1-9, 9+4+1-12
    "lpddr3-1600": (
        *(15, 15, 15, 34, 49, 15, 15, 1, 6, 25, 4, 4, 4, 13, 20, 9, 19, 19),
        *(5, 8, 2, 8, 8, 40, 168, 72, 72, 8, 24960),
    ),
}
GB_S = {"lpddr5-6400": 51.2, "paper": 51.2, "hbm2": 256.0, "hbm3-5200": 665.6}


def test_every_packaged_memory_is_worked_out_by_hand(standards):
    assert set(standards) <= set(known("dram")) <= set(BY_HAND)


@pytest.mark.parametrize("name", known("dram"))
def test_cycles_are_those_worked_out_by_hand(name):
    found = minima(load_timing(name))
    by_hand = dict(zip(list(Constraint)[2:], BY_HAND[name], strict=True))
    assert {each: found[each] for each in by_hand} == by_hand


@pytest.mark.parametrize("name", GB_S)
def test_the_peak_rate_is_the_one_printed(name):
    timing = load_timing(name)
    assert float(timing.channel_bytes_s * timing.channels) == GB_S[name] * 1e9


def test_the_clock_period_is_exact():
    assert load_timing("lpddr5x-8533").period_ps == Fraction(1875, 2)
    assert load_timing("hbm3-5200").period_ps == Fraction(10000, 13)
    # 13 cycles of 10000/13 ps are 10000 ps; the first edge at or after one cycle is 770 ps.
    assert [load_timing("hbm3-5200").time_ps(cycles) for cycles in (0, 1, 13)] == [0, 770, 10000]


def test_capacities_are_those_of_the_parts():
    for name, gib in (("lpddr5-6400", 4), ("hbm2", 1 / 4), ("hbm3-5200", 1 / 2)):
        timing = load_timing(name)
        assert timing.rows * timing.row_bytes * timing.banks == gib * 2**30


def test_every_assumed_value_says_why(standards):
    for name in standards:
        file = load_file(name)
        values = [*dict(file.organisation).values(), *dict(file.intervals).values()]
        sources = [each.source for each in (*values, file.clock, file.refresh_slack)]
        for source in sources:
            assert source.startswith(ASSUMED) or "assumed" not in source
            assert not source.startswith(ASSUMED) or len(source) > len(ASSUMED) + 10


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("intervals.t_rp.ps", "18000.5", "intervals.t_rp.ps"),
        ("intervals.t_rp", '{ source = "somewhere" }', "an interval needs ps or cycles above 0"),
        ("intervals.t_rp.source", '""', "intervals.t_rp.source"),
        ("intervals.t_rpp", "1", "unknown key intervals.t_rpp"),
        ("organisation.ranks.value", "0", "organisation.ranks.value"),
        ("command_bus.kind", "both", "command_bus.kind"),
        ("intervals.t_ccd_l.cycles", "1", "dram lpddr5-6400: t_ccd_l = 1 must be at least t_ccd_s"),
    ],
)
def test_a_file_with_a_slip_is_refused_in_one_line(key, value, told):
    with pytest.raises(UserError, match=told) as refusal:
        load_timing("lpddr5-6400", {key: value})
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"t_ccd_l": 1}, "t_ccd_l = 1 must be at least t_ccd_s = 2"),
        ({"t_rc": 30}, "t_rc = 30 must be at least t_ras = 34"),
        ({"t_faw": 50}, "t_rc = 49 must be at least t_faw = 50"),
        ({"wl": 18}, "rl = 17 must be at least wl = 18"),
        ({"row_bytes": 2050}, "row_bytes = 2050 must be a multiple of burst_bytes = 32"),
        ({"banks_per_refresh": 3}, "banks = 16 must be a multiple of banks_per_refresh = 3"),
        ({"t_ppd": 0}, "t_ppd = 0 must be at least 1"),
    ],
)
def test_values_that_contradict_each_other_are_refused(load, change, told):
    with pytest.raises(ValueError, match=told):
        load("lpddr5-6400", **change)


def test_commands_touch_the_banks_that_they_name(load):
    timing = load("lpddr5-6400")
    one = Command(op=Op.ACT, group=2, bank=3)
    assert touched_banks(timing, one) == (11,)
    assert touched_banks(timing, Command(op=Op.REFPB, group=2, bank=3)) == (3, 11)
    assert touched_banks(timing, Command(op=Op.MACAB)) == tuple(range(16))


def test_commands_survive_as_numbers(timing, make_traffic):
    traffic = make_traffic(timing, 1)
    commands = [traffic.command() for _ in range(200)]
    assert decoded(encoded(timing, commands)) == commands
    assert encoded(timing, []).shape == (0, 6)


@pytest.mark.parametrize(("prefix", "numbers"), [("O", Op), ("K", Constraint), ("F", Fault)])
def test_the_kernel_uses_the_same_numbers(prefix, numbers):
    assert {each.name: getattr(kernel, f"{prefix}_{each.name}") for each in numbers} == {
        each.name: each.value for each in numbers
    }
