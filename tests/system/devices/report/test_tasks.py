# SPDX-License-Identifier: Apache-2.0
"""Where time goes, and what devices do to each other."""

from collections import defaultdict

import pytest

from ahasd.system.devices.capacity import rank_map
from ahasd.system.devices.command import CommandDevices
from ahasd.system.devices.dram.sharing import Arbiter
from ahasd.system.devices.report.tasks import beside, npu_phases, pim_phases, whole
from ahasd.system.devices.work import Events, Phase, Task
from ahasd.system.model import load_model
from ahasd.system.platform import load_platform

pytestmark = pytest.mark.full


def test_a_whole_task_is_as_fast_as_its_phases_one_after_another():
    taken = [
        (Phase(name="weights", memory_ps=60), 0.25, 0.5),
        (Phase(name="nonlinear", compute_ps=40), 1.0, 1.0),
    ]
    made = whole("draft step", taken)
    # 120 ps and 40 ps instead of 100 ps.
    assert made.pim_rate == pytest.approx(100 / 160)
    assert made.npu_rate == pytest.approx((120 * 0.25 + 40) / 160)


def test_units_hide_a_memory_that_is_held_up():
    made = whole("draft step", [(Phase(name="weights", memory_ps=20, compute_ps=50), 1.0, 0.5)])
    assert made.pim_rate == 1


def test_a_task_that_never_gets_on_has_no_rate():
    taken = [
        (Phase(name="exchange", memory_ps=10), 0.5, 0.5),
        (Phase(name="weights", memory_ps=60), 1.0, 0.0),
    ]
    made = whole("draft step", taken)
    assert (made.npu_rate, made.pim_rate) == (1, 0)


def test_a_phase_is_bound_by_its_longer_side_and_empty_ones_are_left_out():
    phases = (
        Phase(name="fill", memory_ps=10**9),
        Phase(name="weights", memory_ps=2 * 10**9, compute_ps=6 * 10**9),
        Phase(name="drain"),
        Phase(name="attention", memory_ps=10**9, compute_ps=10**9),
    )
    made = list(npu_phases("pass", Task(phases=phases, events=Events())))
    assert [(each.phase, each.bound, each.share) for each in made] == [
        ("fill", "memory", 0.125),
        ("weights", "compute", 0.75),
        ("attention", "memory", 0.125),
    ]
    assert (made[1].memory_ms, made[1].compute_ms) == (2, 6)


def test_shares_of_a_task_are_all_of_it(report):
    shares = defaultdict(float)
    for each in report.phases:
        shares[each.device, each.task] += each.share
    assert len(shares) == len(report.points)
    assert all(share == pytest.approx(1) for share in shares.values())


def bounds(report, task):
    return {each.phase: each.bound for each in report.phases if each.task == task}


def test_what_spaces_the_macs_is_told(report):
    # 16 GB/s a rank and 51.2 GMAC/s: three slots of a byte before the unit is full.
    assert bounds(report, "draft step")["weights"] == "bandwidth"
    assert bounds(report, "pre-verification, 2 rows")["weights"] == "bandwidth"
    assert bounds(report, "pre-verification, 4 rows")["weights"] == "compute"
    assert bounds(report, "pre-verification, 4 rows")["attention"] == "compute"
    assert set(bounds(report, "pass, 1 row").values()) == {"memory", "compute"}
    assert bounds(report, "pass, 1 row")["weights"] == "memory"


def made_devices(platform="mobile-paper", **options):
    machine = load_platform(platform)
    draft, target = load_model("opt-1.3b"), load_model("opt-6.7b")
    ranks = rank_map(machine, draft, target, 256)
    return CommandDevices(machine, draft, target, ranks, **options)


def test_on_jedec_rates_the_banks_space_them():
    devices = made_devices("mobile-jedec")
    step = devices.draft(256)
    made = pim_phases(devices, "draft step", step, devices.draft_shape, 1, 256)
    limits = {each.phase: each.bound for each in made}
    assert (limits["weights"], limits["attention"]) == ("t_mac", "t_mac")


def test_bursts_to_the_units_and_reads_of_the_npu_share_the_bus(report):
    (exchange,) = (
        each for each in report.besides if (each.task, each.phase) == ("draft step", "exchange")
    )
    # Each alone has the whole bus, less what refresh takes.
    assert 0.9 < exchange.npu_rate + exchange.pim_rate < 1.1
    assert exchange.npu_rate == pytest.approx(0.5, abs=0.05)


def test_macs_of_the_target_ranks_stop_their_reads_and_those_of_others_do_not(report):
    rates = {(each.task, each.phase): each.npu_rate for each in report.besides}
    assert rates["pre-verification, 1 row", "weights"] < 0.6
    assert rates["draft step", "weights"] > 0.9


def test_who_goes_first_decides_who_is_delayed():
    rates = []
    for policy in ("npu-first", "fair", "pim-first"):
        devices = made_devices(arbiter=Arbiter(policy=policy))
        step, reads = devices.draft(256), devices.verify(1, 256)
        made = {each.phase: each for each in beside(devices, "draft step", step, reads)}
        assert list(made) == ["exchange", "weights", "attention", "transfer", "whole"]
        rates.append((made["exchange"].npu_rate, -made["exchange"].pim_rate))
    npu, pim = zip(*rates, strict=True)
    assert npu == tuple(sorted(npu, reverse=True))
    assert pim == tuple(sorted(pim, reverse=True))
    assert npu[0] - npu[2] > 0.5
    assert pim[0] - pim[2] > 0.5
