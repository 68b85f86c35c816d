# SPDX-License-Identifier: Apache-2.0
import pytest

from ahasd.sim.kernel import CLOCK, Kernel


def test_events_come_in_the_order_of_time_priority_and_request():
    kernel = Kernel()
    seen = []
    kernel.at(20, seen.append, "late")
    kernel.at(10, seen.append, "first asked")
    kernel.at(10, seen.append, "second asked")
    kernel.at(10, seen.append, "clock edge", priority=CLOCK)
    kernel.run()
    assert seen == ["clock edge", "first asked", "second asked", "late"]
    assert kernel.now_ps == 20


def test_an_event_asked_for_now_comes_after_those_already_asked_for():
    kernel = Kernel()
    seen = []

    def first():
        kernel.after(0, seen.append, "asked within")

    kernel.at(5, first)
    kernel.at(5, seen.append, "asked before")
    kernel.run()
    assert seen == ["asked before", "asked within"]


def test_a_cancelled_event_does_nothing_and_moves_no_time():
    kernel = Kernel()
    seen = []
    kernel.at(5, seen.append, "kept")
    kernel.at(9, seen.append, "cancelled").cancel()
    kernel.run()
    assert seen == ["kept"]
    assert kernel.now_ps == 5


def test_stop_returns_after_the_present_event_and_run_goes_on_later():
    kernel = Kernel()
    seen = []
    kernel.at(1, kernel.stop)
    kernel.at(1, seen.append, "after")
    kernel.run()
    assert seen == []
    kernel.run()
    assert seen == ["after"]


def test_an_event_in_the_past_is_refused():
    kernel = Kernel()
    kernel.at(5, lambda: None)
    kernel.run()
    with pytest.raises(ValueError, match="event at 4 ps is before now, 5 ps"):
        kernel.at(4, lambda: None)
