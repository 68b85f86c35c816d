# SPDX-License-Identifier: Apache-2.0
"""Timed methods, on a clock of the test's own."""

import pytest

from ahasd.system import stopwatch
from ahasd.system.stopwatch import Stopwatch


class Part:
    kind = "a part"

    def __init__(self, clock):
        self.clock = clock
        self.calls = 0

    def work(self, seconds, *, more=0):
        self.calls += 1
        self.clock[0] += seconds + more
        return seconds

    def fail(self):
        self.clock[0] += 4
        raise ValueError("no")

    def idle(self, seconds):
        self.clock[0] += seconds

    @property
    def state(self):
        return self.calls


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: now[0])
    return now


def test_named_methods_are_timed_and_all_else_is_the_parts_own(clock):
    watch, part = Stopwatch(), Part(clock)
    timed = watch.on(part, "work", ("work", "fail"))
    assert timed.work(2, more=1) == 2
    timed.idle(8)
    assert watch.spent_s == {"work": 3}
    with pytest.raises(ValueError, match="no"):
        timed.fail()
    assert watch.spent_s == {"work": 7}
    assert (timed.state, timed.kind) == (1, "a part")
    part.work(16)
    assert watch.spent_s == {"work": 7}
    assert not hasattr(timed, "nothing")
