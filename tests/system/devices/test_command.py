# SPDX-License-Identifier: Apache-2.0
"""Tasks from memory commands: beside the roofline, what does not fit, and what is counted."""

from functools import cache

import pytest

from ahasd import UserError
from ahasd.system.devices.analytic import AnalyticDevices
from ahasd.system.devices.capacity import rank_map
from ahasd.system.devices.command import CommandDevices, memory_timing
from ahasd.system.devices.machine import ONE
from ahasd.system.model import load_model
from ahasd.system.platform import load_platform

PAIRS = [("llama2-7b", "llama2-13b"), ("opt-1.3b", "opt-6.7b"), ("palm-8b", "palm-30b")]
FULL = {"pim.efficiency": 1, "npu.offchip_efficiency": 1}


@cache
def made(name, draft, target, **settings):
    """Return the devices of a pair at both fidelities, and where the models lie."""
    platform = load_platform(name, FULL)
    shapes = load_model(draft), load_model(target)
    ranks = rank_map(platform, *shapes, 1200, platform.offload)
    command = CommandDevices(platform, *shapes, ranks, **settings)
    analytic = AnalyticDevices(platform, *shapes, ranks.draft_ranks, ranks.target.ranks)
    return command, analytic, ranks


def check(draft, target, contexts, all_rows):
    command, analytic, _ = made("mobile-paper", draft, target, unit="none", refresh=False)
    for context in contexts:
        for rows in all_rows:
            beside = analytic.verify(rows, context).alone_ps
            assert command.verify(rows, context).alone_ps == pytest.approx(beside, rel=0.05)
            beside = analytic.preverify(rows, context).alone_ps
            assert command.preverify(rows, context).alone_ps == pytest.approx(beside, rel=0.05)
        beside = analytic.draft(context).alone_ps
        assert command.draft(context).alone_ps == pytest.approx(beside, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("draft", "target"), PAIRS)
def test_without_refresh_and_operators_the_times_are_those_of_the_roofline(draft, target):
    check(draft, target, (128, 1024), (1, 4, 16))


def test_so_they_are_for_a_draft_step_and_a_pass():
    check("opt-1.3b", "opt-6.7b", (128,), ())
    command, analytic, _ = made("mobile-paper", "opt-1.3b", "opt-6.7b", unit="none", refresh=False)
    beside = analytic.verify(8, 1024).alone_ps
    assert command.verify(8, 1024).alone_ps == pytest.approx(beside, rel=0.05)


def tiny(name="mobile-jedec", context=600, overrides=None, **settings):
    platform = load_platform(name, overrides or {})
    shapes = load_model("tiny-draft"), load_model("tiny-target")
    ranks = rank_map(platform, *shapes, context, platform.offload)
    return CommandDevices(platform, *shapes, ranks, **settings)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"pim.channels": 2}, "has 2 channels, its memory lpddr5-6400 has 4"),
        ({"pim.ranks": 8}, "has 2 ranks per channel, its memory lpddr5-6400 has 4"),
        ({"pim.rank_capacity_bytes": 2**30}, "has 1073741824 bytes per rank, its memory"),
        ({"pim.rank_capacity_bytes": 2**33}, "has 8589934592 bytes per rank, its memory"),
        ({"dram": "no-such-memory"}, "no-such-memory"),
    ],
)
def test_a_memory_of_another_shape_is_refused(overrides, message):
    with pytest.raises(UserError, match=message):
        memory_timing(load_platform("mobile-paper", overrides))


def test_a_task_moves_what_its_model_has():
    devices = tiny()
    draft, target = devices.draft_shape, devices.target_shape
    task = devices.draft(100)
    assert task.events.pim_read_bytes >= draft.bytes_per_pass
    assert task.events.pim_read_bytes >= draft.read_bytes(100, 2)
    passed = devices.verify(4, 100)
    assert passed.events.read_bytes >= target.read_bytes(100, 2)
    assert devices.preverify(4, 100).events.pim_read_bytes >= target.bytes_per_pass
    both, one = (devices.prefill(32, drafts=each).events for each in (True, False))
    assert one.read_bytes >= target.bytes_per_pass
    assert both.read_bytes - one.read_bytes >= draft.bytes_per_pass
    for each in (task, passed, devices.preverify(4, 100)):
        assert each.commands > 0
        moved = each.events.read_bytes + each.events.write_bytes
        assert sum(phase.channel_bytes for phase in each.phases) == pytest.approx(moved, rel=0.01)


def test_numbers_out_of_range_are_refused():
    devices = tiny()
    with pytest.raises(ValueError, match="context = -1"):
        devices.draft(-1)
    with pytest.raises(ValueError, match="= 0 must be at least 1"):
        devices.preverify(0, 10)
    with pytest.raises(ValueError, match="rows = 0"):
        devices.verify(0, 10)


def test_operators_take_time_of_their_own():
    none, aau, npu = (tiny(unit=unit).draft(100) for unit in ("none", "aau", "npu"))
    assert none.alone_ps < aau.alone_ps < npu.alone_ps
    assert aau.events.aau_cycles > 0
    assert none.events.aau_cycles == npu.events.aau_cycles == 0


def test_refresh_takes_its_share():
    kept, refreshed = (tiny(refresh=each, unit="none").verify(1, 100) for each in (False, True))
    # 224 of 3124 cycles; so short a read has whole refreshes only.
    assert 1 < refreshed.alone_ps / kept.alone_ps < 1 + 2 * 224 / 3124
    assert refreshed.events == kept.events


def test_an_interface_slower_than_the_channels_binds():
    # Half of the channels' 51.2 GB/s; weights and attention are all that a pass reads.
    slow = tiny(overrides={"npu.offchip_bandwidth_gb_s": 25.6}, unit="none").verify(1, 100)
    printed_ps = slow.events.read_bytes / 25.6e9 * 1e12
    assert slow.alone_ps == pytest.approx(printed_ps, rel=0.02)
    assert tiny(unit="none").verify(1, 100).alone_ps < 0.65 * printed_ps


def test_weights_that_do_not_fit_come_over_the_link():
    shapes = load_model("palm-8b"), load_model("palm-62b")
    offload = {"offload.bandwidth_gb_s": 4.0, "offload.capacity_bytes": 2**36}
    platform = load_platform("mobile-paper", offload)
    ranks = rank_map(platform, *shapes, 1200, platform.offload)
    assert platform.offload is not None
    spilled = ranks.target.spilled_bytes
    assert spilled > 0
    task = CommandDevices(platform, *shapes, ranks).verify(1, 100)
    (link,) = [phase for phase in task.phases if phase.name == "offload"]
    assert link.compute_ps == pytest.approx(spilled / 4e9 * 1e12, rel=1e-9)
    assert sum(phase.alone_ps for phase in task.phases) == task.alone_ps > link.compute_ps
    assert task.events.host_bytes == spilled


def test_rates_beside_each_other_are_shares_and_played_once():
    devices = tiny()
    (reads, *_) = [phase for phase in devices.verify(1, 100).phases if phase.memory_ps]
    weights = next(phase for phase in devices.draft(100).phases if phase.name == "weights")
    rates = devices.rates(reads, weights)
    assert 0 < rates["npu"] <= ONE
    assert 0 < rates["pim"] <= ONE
    assert min(rates.values()) < ONE
    played = devices.simulated_commands
    assert devices.rates(reads, weights) == rates
    assert devices.simulated_commands == played


def test_a_unit_too_slow_for_the_refreshes_is_refused_in_one_line():
    # 512 multiply-accumulates at 0.5 a ns are 1.02 us; 64 columns of a row 65 us, and a refresh
    # can be put off by eight intervals of 3.9 us.
    platform = load_platform("mobile-paper", {"pim.gops": 1.0})
    shapes = load_model("llama2-7b"), load_model("llama2-13b")
    devices = CommandDevices(platform, *shapes, rank_map(platform, *shapes, 256))
    with pytest.raises(UserError, match=r"longer than a refresh can be put off: choose more"):
        devices.draft(128)
