# SPDX-License-Identifier: Apache-2.0
"""Handshakes and exact skipping, on a small engine whose every edge is recorded."""

import pytest

from ahasd.sim.clocked import Clock, ClockedUnit, QuiescenceError
from ahasd.sim.kernel import Kernel
from ahasd.sim.ports import advance


class Doubler:
    """Takes a number, is busy for `work` edges, then offers twice the number."""

    def __init__(self, work: int = 2, lies: bool = False) -> None:
        self.work = work
        self.lies = lies
        self.left = 0
        self.result: int | None = None
        self.changed = False
        self.edges: list[int] = []

    def step(self, pins, clocks, time_ps):
        self.edges.append(time_ps)
        busy = self.left > 0 or self.result is not None
        seen = {
            "number__ready": int(not busy),
            "double__valid": int(self.left == 0 and self.result is not None),
            "double__payload": self.result or 0,
            "idle": int(self.lies or not busy),
        }
        self.changed = True
        if self.left:
            self.left -= 1
        elif self.result is not None and pins["double__ready"]:
            self.result = None
        elif not busy and pins["number__valid"]:
            self.left, self.result = self.work, 2 * pins["number__payload"]
        else:
            self.changed = False
        return seen

    def run(self, pins, grid):
        for time_ps, clocks, changing in grid.edges(pins):
            self.step(changing, clocks, time_ps)
            if self.changed:
                return time_ps
        return None

    def advance(self, pins, grid, watch):
        return advance(self, pins, grid, watch)


def unit(kernel, engine, *, phase_ps=0, skip=True):
    return ClockedUnit(
        engine,
        kernel,
        {"pim": Clock(period_ps=1250, phase_ps=phase_ps)},
        inputs={"number": "pim"},
        outputs={"double": "pim"},
        levels={},
        idle={"pim": "idle"},
        skip=skip,
    )


def test_a_payload_is_offered_at_the_first_edge_after_it_was_sent():
    kernel, engine = Kernel(), Doubler()
    clocked = unit(kernel, engine)
    results = []
    clocked.listen("double", lambda value: results.append((kernel.now_ps, value)))
    kernel.at(10_000, clocked.send, "number", 21)
    kernel.run()
    # Sent at the instant of edge 8, taken at edge 9, two edges of work, transferred at edge 12.
    assert results == [(15_000, 42)]


def test_a_phase_shifts_every_edge():
    kernel, engine = Kernel(), Doubler()
    clocked = unit(kernel, engine, phase_ps=300)
    results = []
    clocked.listen("double", lambda value: results.append(kernel.now_ps))
    kernel.at(10_000, clocked.send, "number", 1)
    kernel.run()
    assert results == [10_300 + 3 * 1250]


def test_payloads_queue_and_come_out_in_order():
    kernel, engine = Kernel(), Doubler()
    clocked = unit(kernel, engine)
    results = []
    clocked.listen("double", results.append)
    for number in range(5):
        clocked.send("number", number)
    kernel.run()
    assert results == [0, 2, 4, 6, 8]


def test_stepped_and_skipped_cycles_add_up_and_only_quiescent_ones_are_skipped():
    kernel, engine = Kernel(), Doubler()
    clocked = unit(kernel, engine)
    clocked.listen("double", lambda value: None)
    kernel.at(1_000_000, clocked.send, "number", 1)
    kernel.at(2_000_000, lambda: None)
    kernel.run()
    cycles = clocked.finish()["pim"]
    assert cycles.stepped + cycles.skipped == 2_000_000 // 1250
    assert cycles.stepped == len(engine.edges)
    # One edge to find it idle at the start; transfer, two of work, result, and one to rest.
    assert cycles.stepped == 1 + 5


def test_clocking_every_cycle_gives_the_same_transfers_at_the_same_times():
    seen = {}
    for skip in (True, False):
        kernel, engine = Kernel(), Doubler()
        clocked = unit(kernel, engine, skip=skip)
        results = seen[skip] = []
        clocked.listen("double", lambda value, r=results, k=kernel: r.append((k.now_ps, value)))
        for time_ps in (3_000, 90_001, 91_000, 500_000):
            kernel.at(time_ps, clocked.send, "number", time_ps)
        kernel.run()
        cycles = clocked.finish()["pim"]
        if not skip:
            assert cycles.skipped == 0
            assert cycles.stepped == len(engine.edges) == kernel.now_ps // 1250
    assert seen[True] == seen[False]


def test_a_unit_that_says_idle_while_it_works_is_found_out():
    kernel, engine = Kernel(), Doubler(lies=True)
    clocked = unit(kernel, engine)
    clocked.listen("double", lambda value: None)
    kernel.at(10_000, clocked.send, "number", 1)
    with pytest.raises(QuiescenceError, match="edge at 12500 ps changed the unit's state"):
        kernel.run()


def test_a_change_in_a_cycle_that_would_have_been_skipped_is_found_when_it_is_clocked():
    kernel, engine = Kernel(), Doubler()
    clocked = unit(kernel, engine, skip=False)
    clocked.listen("double", lambda value: None)

    def disturb():
        engine.left = 1

    kernel.at(10_000, disturb)
    kernel.at(20_000, clocked.send, "number", 1)
    with pytest.raises(QuiescenceError, match="changed the unit's state"):
        kernel.run()


def test_edges_before_the_phase_do_not_exist():
    clock = Clock(period_ps=1000, phase_ps=400)
    assert [clock.edges_until(t) for t in (0, 399, 1399, 1400, 2400)] == [0, 0, 0, 1, 2]
    assert clock.time_ps(2) == 2400


class Still:
    """A unit of two domains that takes numbers in the second and is always idle."""

    changed = False

    def __init__(self) -> None:
        self.edges: list[tuple[int, int, int, int]] = []

    def step(self, pins, clocks, time_ps):
        self.edges.append((time_ps, clocks, pins["now"], pins["gate"]))
        return {"number__ready": 1, "idle_a": 1, "idle_b": 1}

    def run(self, pins, grid):
        for time_ps, clocks, changing in grid.edges(pins):
            self.step(changing, clocks, time_ps)

    def advance(self, pins, grid, watch):
        return advance(self, pins, grid, watch)


def still(kernel, skip=True):
    engine = Still()
    clocked = ClockedUnit(
        engine,
        kernel,
        {"a": Clock(1000), "b": Clock(2500)},
        inputs={"number": "b"},
        outputs={},
        levels={"gate": 0},
        idle={"a": "idle_a", "b": "idle_b"},
        now=("now", "a"),
        skip=skip,
    )
    return engine, clocked


@pytest.mark.parametrize("disturbed_ps", [None, 9_500, 19_999])
def test_a_unit_of_two_domains_rests_after_eight_quiet_edges_of_each(disturbed_ps):
    kernel = Kernel()
    engine, clocked = still(kernel)
    if disturbed_ps is not None:
        kernel.at(disturbed_ps, lambda: None)
    kernel.run()
    # The eighth edge of the slower clock is at 20 ns.
    assert (kernel.now_ps, engine.edges[-1][0]) == (20_000, 20_000)
    assert [time_ps for time_ps, clocks, *_ in engine.edges if clocks == 3] == [
        5000,
        10_000,
        15_000,
        20_000,
    ]
    kernel.at(100_000, clocked.send, "number", 1)
    kernel.run()
    # It is taken at 102.5 ns, and eight quiet edges later, at 122.5 ns, the unit rests again.
    assert engine.edges[-1][0] == 122_500
    cycles = clocked.finish()
    assert (cycles["a"].stepped, cycles["a"].skipped) == (20 + 22, 80)
    assert (cycles["b"].stepped, cycles["b"].skipped) == (8 + 9, 32)


@pytest.mark.parametrize("skip", [True, False])
def test_the_count_of_cycles_goes_on_through_a_rest(skip):
    kernel = Kernel()
    engine, clocked = still(kernel, skip)
    kernel.at(100_000, clocked.send, "number", 1)
    kernel.run()
    # Edge n of the first domain sees n - 1, and so does what comes up to the next.
    assert len(engine.edges) == (24 + 27 if skip else 122 + 49 - 24)
    for time_ps, _, now, _ in engine.edges:
        assert now == (time_ps - 1) // 1000


def test_a_level_is_as_it_was_on_edges_before_it_was_set():
    kernel = Kernel()
    engine, clocked = still(kernel, skip=False)
    kernel.at(100_000, clocked.set, "gate", 1)
    kernel.at(100_000, clocked.set, "gate", 1)
    kernel.run()
    assert len(engine.edges) > 140
    for time_ps, _, _, gate in engine.edges:
        assert gate == (time_ps > 100_000)
