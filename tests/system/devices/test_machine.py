# SPDX-License-Identifier: Apache-2.0
"""Tasks side by side, at rates that a made-up memory gives, worked out by hand."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from ahasd.sim.kernel import Kernel
from ahasd.system.devices.machine import ONE, ConservationError, Machine
from ahasd.system.devices.work import Events, Phase, Task

HALF, QUARTER, THIRD = ONE // 2, ONE // 4, ONE // 3


class Rates:
    """A memory whose rates depend on the names of the phases."""

    def __init__(self, rates, peak_bytes_s=1e15) -> None:
        self._rates = rates
        self.peak_bytes_s = peak_bytes_s
        self.asked: list[tuple[str, str]] = []

    def rates(self, npu, pim):
        self.asked.append((npu.name, pim.name))
        return dict(zip(("npu", "pim"), self._rates[npu.name, pim.name], strict=True))


def phase(name, memory_ps=0, compute_ps=0, channel_bytes=0):
    return Phase(name=name, memory_ps=memory_ps, compute_ps=compute_ps, channel_bytes=channel_bytes)


def task(*phases):
    return Task(phases=phases, events=Events(pim_macs=1200), commands=len(phases))


@pytest.fixture
def make():
    """Make a machine, and begin tasks whose ends are written down."""

    def build(rates=None, **memory):
        kernel = Kernel()
        gives: Any = None if rates is None else Rates(rates, **memory)
        machine = Machine(kernel, gives)
        ends: list[tuple[str, int]] = []

        def begin(user, *phases, label=None):
            return machine.begin(
                user, task(*phases), lambda: ends.append((label or user, kernel.now_ps))
            )

        return SimpleNamespace(kernel=kernel, machine=machine, ends=ends, begin=begin, memory=gives)

    return build


def test_tasks_that_share_nothing_take_their_own_time(make):
    made = make()
    made.begin("npu", phase("a", 100), phase("b", 20, 50))
    made.begin("pim", phase("a", 70, 30))
    made.kernel.run()
    assert made.ends == [("pim", 70), ("npu", 150)]
    assert made.machine.delayed_ps == {"npu": 0, "pim": 0}
    assert made.machine.commands == 3


def test_each_gets_on_at_its_rate_while_the_other_is_there(make):
    made = make({("read", "weights"): (HALF, QUARTER)})
    made.begin("npu", phase("read", 100))
    made.begin("pim", phase("weights", 100))
    made.kernel.run()
    # The NPU is done at 200; the PIM has 50 of 100 then, and goes on alone.
    assert made.ends == [("npu", 200), ("pim", 250)]
    assert made.machine.delayed_ps == {"npu": 100, "pim": 150}


def test_every_pair_of_phases_has_its_own_rates(make):
    made = make(
        {
            ("read", "weights"): (HALF, ONE),
            ("read", "attention"): (QUARTER, HALF),
        }
    )
    made.begin("npu", phase("read", 100))
    made.begin("pim", phase("weights", 60), phase("attention", 40))
    made.kernel.run()
    # To 60 the NPU does 30; to 140 the PIM's other 40, the NPU 20; the last 50 alone.
    assert made.ends == [("pim", 140), ("npu", 190)]
    assert made.memory.asked == [("read", "weights"), ("read", "attention")]
    assert made.machine.delayed_ps == {"npu": 30 + 60, "pim": 40}


def test_a_task_that_comes_later_slows_the_other_from_then_on(make):
    made = make({("read", "weights"): (HALF, HALF)})
    made.begin("pim", phase("weights", 100))
    made.kernel.after(40, made.begin, "npu", phase("read", 30))
    made.kernel.run()
    assert made.ends == [("npu", 100), ("pim", 130)]
    assert made.machine.delayed_ps == {"npu": 30, "pim": 30}


def test_arithmetic_beside_the_memory_is_not_slowed(make):
    made = make({("read", "weights"): (HALF, HALF)})
    made.begin("npu", phase("read", 50, 80))
    made.begin("pim", phase("weights", 30))
    made.kernel.run()
    # The PIM has its 30 at 60, and the NPU 30 of 50; the rest alone to 80, when its arithmetic is
    # done, too: nothing is lost.
    assert made.ends == [("pim", 60), ("npu", 80)]
    assert made.machine.delayed_ps == {"npu": 0, "pim": 30}


def test_a_phase_that_has_all_its_data_no_longer_uses_the_memory(make):
    made = make({("read", "weights"): (HALF, HALF)})
    made.begin("npu", phase("read", 20, 100))
    made.begin("pim", phase("weights", 50))
    made.kernel.run()
    # The NPU has read its 20 at 40; the PIM's last 30 are alone.
    assert made.ends == [("pim", 70), ("npu", 100)]


def test_a_phase_without_memory_is_beside_nobody(make):
    made = make({})
    made.begin("npu", phase("nonlinear", compute_ps=30))
    made.begin("pim", phase("weights", 20))
    made.kernel.run()
    assert made.ends == [("pim", 20), ("npu", 30)]
    assert made.memory.asked == []


def test_an_end_between_two_picoseconds_is_at_the_later_and_nothing_is_lost(make):
    made = make({("read", "weights"): (THIRD, ONE)})
    made.begin("npu", phase("read", 10))
    made.begin("pim", phase("weights", 100))
    made.kernel.run()
    # A third of ONE is rounded down: 10 x ONE / (ONE // 3) is 30.00003.
    assert made.ends == [("npu", 31), ("pim", 100)]


def test_who_has_no_rate_waits_for_the_other(make):
    made = make({("read", "weights"): (ONE, 0)})
    made.begin("pim", phase("weights", 10))
    made.begin("npu", phase("read", 100))
    made.kernel.run()
    assert made.ends == [("npu", 100), ("pim", 110)]
    assert made.machine.delayed_ps == {"npu": 0, "pim": 100}


def test_two_tasks_may_end_at_one_instant(make):
    made = make({("read", "weights"): (HALF, HALF)})
    made.begin("pim", phase("weights", 25))
    made.begin("npu", phase("read", 25))
    made.kernel.run()
    assert sorted(made.ends) == [("npu", 50), ("pim", 50)]


def test_an_end_may_begin_the_next_task_of_either_user(make):
    made = make({("read", "weights"): (HALF, HALF)})
    ends = made.ends

    def again():
        ends.append(("first", made.kernel.now_ps))
        made.begin("pim", phase("weights", 10), label="second")
        made.begin("npu", phase("read", 10))

    made.machine.begin("pim", task(phase("weights", 30)), again)
    made.kernel.run()
    assert ends[0] == ("first", 30)
    assert sorted(ends[1:]) == [("npu", 50), ("second", 50)]


@pytest.mark.parametrize("phases", [(), (phase("nothing"),)])
def test_a_task_of_no_length_ends_at_once_but_not_within_its_begin(make, phases):
    made = make()
    made.kernel.after(5, lambda: (made.begin("npu", *phases), made.ends.append(("begun", 5))))
    made.kernel.run()
    assert made.ends == [("begun", 5), ("npu", 5)]


def test_a_user_has_one_task_at_a_time(make):
    made = make()
    made.begin("npu", phase("read", 10))
    with pytest.raises(ValueError, match="npu has a task under way, and begins another"):
        made.begin("npu", phase("read", 10))
    made.kernel.run()
    made.begin("npu", phase("read", 10))


def test_a_task_that_is_given_up_leaves_the_memory_to_the_other(make):
    made = make({("read", "weights"): (HALF, HALF)})
    job = made.begin("pim", phase("weights", 100))
    made.begin("npu", phase("read", 100))
    made.kernel.after(80, job.cancel)
    made.kernel.run()
    # 40 at half the rate, 60 alone.
    assert made.ends == [("npu", 140)]
    assert job.share_done == Fraction(40, 100)
    job.cancel()
    assert made.machine.delayed_ps == {"npu": 40, "pim": 40}


def test_share_and_time_of_a_task_under_way(make):
    made = make({("read", "weights"): (HALF, QUARTER)})
    made.kernel.after(7, lambda: seen.append(made.begin("pim", phase("weights", 60), phase("b"))))
    seen: list[Any] = []
    made.kernel.after(7 + 12, lambda: made.begin("npu", phase("read", 40)))
    told = []

    def look():
        made.machine.update()
        told.append((seen[0].elapsed_ps, seen[0].share_done))

    made.kernel.after(7 + 32, look)
    made.kernel.run()
    # 12 alone and 20 at a quarter.
    assert told == [(32, Fraction(17, 60))]
    assert seen[0].share_done == 1


def test_a_task_stops_at_the_boundary_of_equal_parts(make):
    made = make()
    job = made.begin("pim", phase("a", 60), phase("b", 60))
    stops: list[int] = []
    # Four parts of 30: at 70 the third is under way, and ends at 90.
    made.kernel.after(70, job.stop_at_part, 4, lambda: stops.append(made.kernel.now_ps))
    made.kernel.run()
    assert (stops, made.ends) == ([90], [])
    assert job.share_done == Fraction(3, 4)


def test_a_stop_at_a_boundary_is_at_once(make):
    made = make()
    job = made.begin("pim", phase("a", 60), phase("b", 60))
    stops: list[int] = []
    made.kernel.after(60, job.stop_at_part, 4, lambda: stops.append(made.kernel.now_ps))
    made.kernel.run()
    assert stops == [60]
    assert job.share_done == Fraction(1, 2)


def test_a_stop_in_the_last_part_is_at_the_end(make):
    made = make()
    job = made.begin("pim", phase("a", 60), phase("b", 10, 60))
    stops: list[int] = []
    made.kernel.after(91, job.stop_at_part, 4, lambda: stops.append(made.kernel.now_ps))
    made.kernel.run()
    assert stops == [120]
    assert job.share_done == 1


def test_the_way_to_a_boundary_is_as_slow_as_the_other_makes_it(make):
    made = make({("read", "a"): (HALF, HALF), ("read", "b"): (HALF, HALF)})
    job = made.begin("pim", phase("a", 60), phase("b", 60))
    made.begin("npu", phase("read", 500))
    stops: list[int] = []
    # 50 of 120 at 100; three parts of 40: to 80 in 60 more.
    made.kernel.after(100, job.stop_at_part, 3, lambda: stops.append(made.kernel.now_ps))
    made.kernel.run()
    assert stops == [160]
    assert job.share_done == Fraction(2, 3)


def test_more_bytes_than_the_channels_carry_are_a_fault_of_ours(make):
    # 1e12 bytes a second are one a picosecond: two phases of 60 bytes in 100 ps are too many.
    both = {("read", "weights"): (ONE, ONE)}
    made = make(both, peak_bytes_s=1e12)
    made.begin("npu", phase("read", 100, channel_bytes=60))
    made.begin("pim", phase("weights", 100, channel_bytes=60))
    with pytest.raises(ConservationError, match="120 bytes crossed the channels in 100 ps"):
        made.kernel.run()
    made = make(both, peak_bytes_s=1e12)
    made.begin("npu", phase("read", 100, channel_bytes=60))
    made.begin("pim", phase("weights", 100, channel_bytes=40))
    made.kernel.run()
    assert len(made.ends) == 2


def test_the_bytes_of_a_phase_cross_at_its_rate(make):
    # 60 bytes in 100 ps each, but at half the rate: 60 bytes in 100 ps are carried.
    made = make({("read", "weights"): (HALF, HALF)}, peak_bytes_s=0.61e12)
    made.begin("npu", phase("read", 100, channel_bytes=60))
    made.begin("pim", phase("weights", 100, channel_bytes=60))
    made.kernel.run()
    assert len(made.ends) == 2
