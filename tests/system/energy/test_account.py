# SPDX-License-Identifier: Apache-2.0
from dataclasses import fields
from fractions import Fraction

import pytest

from ahasd.system.devices.work import Events
from ahasd.system.energy.account import (
    CHARGES,
    COMPONENTS,
    IDLE,
    EnergyAccount,
    energy_pj,
    standing_pj,
)
from ahasd.system.energy.hardware import Hardware, Priced
from ahasd.system.energy.table import LEVELS, EnergyTable, Range, load_energy

ROWS = {
    "activate_pj": 1000,
    "array_pj_per_bit": 1,
    "column_pj_per_bit": 2,
    "io_pj_per_bit": 4,
    "phy_pj_per_bit": 8,
    "pim_read_pj_per_bit": 16,
    "pim_mac_pj": 0.25,
    "npu_mac_pj": 0.5,
    "scratchpad_pj_per_byte": 3,
    "vector_pj": 5,
    "refresh_nj": 9,
    "background_w": 0.01,
    "static_w": 0.5,
    "link_pj_per_bit": 32,
}


def table(**changes: float) -> EnergyTable:
    """Build a table of simple numbers: mid is twice low, high three times."""
    rows = {
        key: {"low": low, "mid": 2 * low, "high": 3 * low, "source": "made up here"}
        for key, low in (ROWS | changes).items()
    }
    rows["activate_pj"]["row_bytes"] = 1000
    floor = {"value": 0.5, "source": "made up here"}
    return EnergyTable.model_validate({"name": "simple", **rows, "floor_pj_per_bit": floor})


def made_up(low: float) -> Range:
    return Range(low=low, mid=2 * low, high=3 * low, source="made up here")


HARDWARE = Hardware(
    {
        "aau_pj_per_cycle": made_up(7),
        "aau_idle_w": made_up(0.25),
        "control_pj_per_step": made_up(11),
        "control_idle_w": made_up(0.125),
    }
)
PRICES = Priced(table(), HARDWARE)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (Events(activates=3), {"activate": 3000}),
        (Events(read_bytes=10), {"array": 80, "column": 160, "channel": 960}),
        (Events(write_bytes=10), {"array": 80, "column": 160, "channel": 960}),
        (Events(read_bytes=9, write_bytes=1), {"array": 80, "column": 160, "channel": 960}),
        (Events(pim_read_bytes=10), {"pim_read": 1280}),
        (Events(pim_macs=8), {"pim_mac": 2}),
        (Events(npu_macs=8), {"npu_mac": 4}),
        (Events(scratchpad_bytes=10), {"scratchpad": 30}),
        (Events(vector_ops=10), {"vector": 50}),
        (Events(aau_cycles=10), {"aau": 70}),
        (Events(control_steps=10), {"control": 110}),
        (Events(refreshes=2), {"refresh": 18_000}),
        (Events(host_bytes=10), {"link": 2560}),
        (Events(), {}),
    ],
)
def test_every_event_costs_its_rows(events, expected):
    assert energy_pj(events, PRICES, "low") == expected
    assert energy_pj(events, PRICES, "high") == {key: 3 * pj for key, pj in expected.items()}


def test_every_count_of_events_is_charged():
    assert {charge.events for charge in CHARGES} == {field.name for field in fields(Events)}


def test_every_row_of_a_table_and_of_hardware_is_charged():
    given = {key for key, row in table() if isinstance(row, Range)} | HARDWARE.rows.keys()
    idle = {key for _, key in IDLE.values()}
    assert {charge.row for charge in CHARGES} | {"background_w", "static_w"} | idle == given


def test_a_gibibyte_read_by_the_npu_of_a_phone_takes_43_mj():
    events = Events(activates=2**30 // 2048, read_bytes=2**30)
    found = energy_pj(events, load_energy("mobile"), "mid")
    # 524 288 activates of 2400 pJ; 2^33 bits at 1.25 + 1.75 + 0.9 + 1.0 pJ.
    assert found["activate"] == 1_258_291_200
    assert float(sum(found.values())) / 1e9 == pytest.approx(1.2583 + 42.0907, rel=1e-5)


def test_energy_is_linear_in_events():
    one, other = Events(read_bytes=3, vector_ops=7), Events(read_bytes=5, pim_macs=11)
    for level in LEVELS:
        parts = [energy_pj(each, table(), level) for each in (one * 13, other)]
        together = energy_pj(one * 13 + other, table(), level)
        for component in together:
            assert together[component] == sum(part.get(component, 0) for part in parts)


def test_standing_energy_grows_with_time_and_ranks():
    # 1 W for 1 us is 1 uJ, a million pJ.
    assert standing_pj(table(), Hardware(), "low", 4, 10**6) == {
        ("machine", "static"): 500_000,
        ("memory", "background"): 40_000,
    }
    assert standing_pj(table(), Hardware(), "mid", 0, 10**6) == {("machine", "static"): 10**6}
    assert standing_pj(table(), HARDWARE, "mid", 0, 10**6) == {
        ("machine", "static"): 10**6,
        ("pim", "aau_idle"): 500_000,
        ("control", "control_idle"): 250_000,
    }


def test_an_event_without_a_row_is_refused_and_one_that_did_not_happen_is_not():
    gpu = load_energy("gpu")
    assert energy_pj(Events(read_bytes=1), gpu, "low")
    with pytest.raises(ValueError, match="gpu has no pim_read_pj_per_bit"):
        energy_pj(Events(pim_read_bytes=1), gpu, "low")
    with pytest.raises(ValueError, match="gpu has no background_w"):
        standing_pj(gpu, Hardware(), "low", 1, 1)
    with pytest.raises(ValueError, match="gpu has no aau_pj_per_cycle"):
        energy_pj(Events(aau_cycles=1), gpu, "low")


def test_what_is_booked_adds_up_by_device_and_fate():
    account = EnergyAccount(ranks=2, t_refi_ps=1000)
    account.add("pim", "committed", Events(pim_macs=5), times=3)
    account.add("pim", "committed", Events(aau_cycles=1))
    account.add("npu", "committed", Events(npu_macs=4))
    account.add("pim", "flushed", Events(pim_macs=1), times=0)
    assert account.events(time_ps=999) == {
        ("pim", "committed"): Events(pim_macs=15, aau_cycles=1),
        ("npu", "committed"): Events(npu_macs=4),
        ("pim", "flushed"): Events(),
        ("memory", "standing"): Events(),
    }


def test_refreshes_are_counted_by_time_and_never_by_work():
    account = EnergyAccount(ranks=2, t_refi_ps=1000)
    account.add("pim", "committed", Events(refreshes=50, pim_macs=1))
    assert account.events(3999)["memory", "standing"] == Events(refreshes=6)
    assert account.events(3999)["pim", "committed"] == Events(pim_macs=1)
    assert account.events(4000)["memory", "standing"] == Events(refreshes=8)


@pytest.mark.parametrize("fate", ["standing", "lost", ""])
def test_no_work_is_booked_under_another_fate(fate):
    account = EnergyAccount(ranks=0, t_refi_ps=1)
    with pytest.raises(ValueError, match=f"fate = '{fate}' must be one of committed, rejected"):
        account.add("npu", fate, Events())


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="times = -1 must be 0 or more"):
        EnergyAccount(ranks=0, t_refi_ps=1).add("npu", "prefill", Events(), times=-1)
    with pytest.raises(ValueError, match="ranks = -1 must be 0 or more"):
        EnergyAccount(ranks=-1, t_refi_ps=1)
    with pytest.raises(ValueError, match="t_refi_ps = 0 above 0"):
        EnergyAccount(ranks=1, t_refi_ps=0)


def test_components_are_named_once_and_all():
    found = energy_pj(Events(**dict.fromkeys((f.name for f in fields(Events)), 1)), PRICES, "low")
    standing = {component for _, component in standing_pj(table(), HARDWARE, "low", 1, 1)}
    assert len(set(COMPONENTS)) == len(COMPONENTS)
    assert set(found) | standing == set(COMPONENTS)
    assert all(isinstance(energy, Fraction) for energy in found.values())
