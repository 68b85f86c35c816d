# SPDX-License-Identifier: Apache-2.0
"""One driver for every backend, a monitor of the invariants, and random closed-loop traffic."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.gtsu.params import (
    DRAIN_LIMIT_CYCLES,
    OVERHEAD_CYCLES,
    Command,
    GtsuParams,
    Issue,
    Kind,
    State,
    Task,
)
from ahasd.sim.ports import Engine
from ahasd.sim.registry import make_engine

LIMIT_CYCLES = 2000
WAITING = (State.DRAINING, State.SWITCHING)
MASK_OF = {Kind.DRAFT: "dlm_mask", Kind.PREVERIFY: "tlm_mask"}


class Monitor:
    """What must hold on every edge, whatever the traffic, read from the pins alone.

    `events` counts what was seen, so that a test can ask whether its traffic was worth anything.
    """

    def __init__(self, params: GtsuParams) -> None:
        self.params = params
        self.events: Counter[str] = Counter()
        self.queued: dict[Kind, deque[int]] = {kind: deque() for kind in Kind}
        self.suspended: int | None = None
        self.issue: Issue | None = None  # last offered
        self._flushed = False  # the last offered task was flushed
        self._was: tuple[dict[str, int], dict[str, int]] | None = None
        self._preverify_waited = False
        self._drain_max = self._switch = 0  # as sampled
        self._undrained = self._drained = self._unmasked = 0  # cycles of this switch
        self._owed = 0  # cycles for which a task could have been issued
        self._mask_kind: Kind | None = None  # whose mask was raised last
        self._other_mask = 0

    @property
    def pending(self) -> int:
        return sum(map(len, self.queued.values())) + (self.suspended is not None)

    def observe(self, pins: dict[str, int], seen: dict[str, int]) -> None:
        """Check one edge: outputs as they stand before it, and the inputs that it takes."""
        if self._was is not None:
            self._check_change(*self._was, pins, seen)
        self._check_levels(pins, seen)
        self._follow(pins, seen)
        self._was = (dict(pins), seen)

    def _check_levels(self, pins: dict[str, int], seen: dict[str, int]) -> None:
        state, mask = State(seen["state"]), seen["mask"]
        # A command to a rank that is gated, or while nothing may compute.
        granted = pins["compute_request"] & mask if seen["running"] else 0
        assert seen["compute_grant"] == granted
        assert not mask & self._other_mask, "ranks of both kinds are under the mask"
        if state in WAITING or state is State.IDLE:
            assert not seen["running"]
            assert not seen["issue__valid"]
            assert state is State.DRAINING or not mask
        else:
            assert self.issue is not None
            assert mask
            assert state.name == self.issue.kind.name
            assert self.issue.kind is self._mask_kind, "a task under the other kind's mask"
        assert not (seen["running"] and seen["issue__valid"])
        if seen["timeout"] or seen["bad_masks"]:
            assert state is State.IDLE
        assert seen["pending"] == self.pending
        waiting = sum(map(len, self.queued.values()))
        room = waiting < self.params.task_entries
        assert seen["task__ready"] == (room and not pins["command__valid"])
        assert seen["done__ready"]
        assert seen["command__ready"]

    def _check_change(
        self,
        was: dict[str, int],
        saw: dict[str, int],
        pins: dict[str, int],
        seen: dict[str, int],
    ) -> None:
        self._check_running(was, saw, seen)
        self._check_offer(was, saw, seen)
        self._check_switch(was, saw, seen)
        self._check_errors(was, saw, seen)
        if saw["idle_pim"] and not any(
            was[f"{name}__valid"] for name in ("task", "done", "command")
        ):
            same = ("mask", "running", "state", "pending", "issue__valid", "issue__payload")
            assert all(saw[name] == seen[name] for name in same)
        if was["task__valid"] and saw["task__ready"]:
            task = Task.unpack(was["task__payload"])
            self.queued[task.kind].append(task.id)
            self.events["accepted"] += 1
            assert seen["pending"] == self.pending

    def _check_offer(self, was: dict[str, int], saw: dict[str, int], seen: dict[str, int]) -> None:
        if saw["issue__valid"] and not was["issue__ready"]:
            self.events["stalled offer"] += 1
            assert seen["issue__valid"]
            assert seen["issue__payload"] == saw["issue__payload"]
        elif seen["issue__valid"]:
            issue = Issue.unpack(seen["issue__payload"])
            assert not saw["timeout"]
            assert not saw["bad_masks"]
            if issue.kind is Kind.PREVERIFY:
                assert not issue.resumed
                assert issue.id == self.queued[issue.kind].popleft()
            else:
                assert not self.queued[Kind.PREVERIFY], "a pre-verification goes first"
                assert issue.resumed == (self.suspended is not None)
                if issue.resumed:
                    assert issue.id == self.suspended
                    self.suspended = None
                else:
                    assert issue.id == self.queued[issue.kind].popleft()
            self.issue = issue
            self._flushed = False
            self.events[f"issued {issue.kind.name}{' again' * issue.resumed}"] += 1
            if saw["mask"]:
                self.events["issued without a switch"] += 1
        else:
            assert saw["issue__payload"] == seen["issue__payload"]

    def _check_running(
        self, was: dict[str, int], saw: dict[str, int], seen: dict[str, int]
    ) -> None:
        if saw["issue__valid"] and was["issue__ready"]:
            assert seen["running"] != self._flushed
            self.events["dead on arrival"] += self._flushed
        elif not saw["running"]:
            assert not seen["running"]
        else:
            assert self.issue is not None
            ended = was["done__valid"] and was["done__payload"] == self.issue.id
            if ended:
                self.events["done"] += 1
            elif self._flushed:
                self.events["flushed while running"] += 1
            elif (
                self.issue.kind is Kind.DRAFT
                and self._preverify_waited
                and was["preempt"]
                and was["layer_boundary"]
            ):
                self.suspended = self.issue.id
                self.events["suspended"] += 1
            else:
                assert seen["running"]
                return
            assert not seen["running"]
            if not ended:
                assert seen["state"] == State.DRAINING

    def _check_switch(self, was: dict[str, int], saw: dict[str, int], seen: dict[str, int]) -> None:
        before, after = State(saw["state"]), State(seen["state"])
        if after is State.DRAINING and before is not State.DRAINING:
            assert before not in WAITING
            self._drain_max = min(was["drain_max_cycles"], DRAIN_LIMIT_CYCLES)
            self._undrained = self._drained = self._switch = 0
        if after is State.SWITCHING and before is not State.SWITCHING:
            assert before is State.DRAINING
            assert was["drained"]
            self._switch = max(was["switch_cycles"], 1)
            self._unmasked = 0
        if before in WAITING:
            self._undrained += not was["drained"]
            self._drained += was["drained"]
            self._unmasked += before is State.SWITCHING
            self.events[f"undrained while {before.name}"] += not was["drained"]
            # Bounded whatever happens: the budget, one cycle to see it drained, the gap.
            assert self._undrained <= self._drain_max + 1
            assert self._drained <= 1 + self._switch
            assert (self._undrained > self._drain_max) == (seen["timeout"] and not saw["timeout"])
        if before is State.SWITCHING and after is not State.SWITCHING:
            assert seen["timeout"] or self._drained == 1 + self._switch
        if seen["mask"] != saw["mask"]:
            if seen["mask"]:
                assert not saw["mask"], "a mask was exchanged for another"
                assert seen["issue__valid"]
                assert was["drained"], "a mask was raised over commands in flight"
                assert self._unmasked >= self._switch
                assert self.issue is not None
                kind = self.issue.kind
                assert seen["mask"] == was[MASK_OF[kind]]
                self._other_mask = was[MASK_OF[Kind(1 - kind)]]
                self._mask_kind = kind
                self.events["mask raised"] += 1
            else:
                assert not saw["running"]
        # A task that could be issued is issued, or an error is raised, within the bound.
        free = not (saw["running"] or saw["issue__valid"] or saw["timeout"] or saw["bad_masks"])
        self._owed = self._owed + 1 if free and saw["pending"] else 0
        limit = self._drain_max + max(self._switch, was["switch_cycles"]) + OVERHEAD_CYCLES - 1
        assert before not in WAITING or self._owed <= limit

    def _check_errors(self, was: dict[str, int], saw: dict[str, int], seen: dict[str, int]) -> None:
        clear = was["command__valid"] and was["command__payload"] == Command.CLEAR_ERRORS
        before = State(saw["state"])
        for name in ("timeout", "bad_masks", "orphan_done"):
            if saw[name] and not clear:
                assert seen[name], f"{name} is sticky"
            if seen[name] and (clear or not saw[name]):
                self.events[name] += 1
                self.events[f"{name} in the cycle of its clear"] += saw[name] and clear
                match name:
                    case "timeout":
                        assert before in WAITING
                        assert not was["drained"]
                    case "bad_masks":
                        assert before is State.SWITCHING
                        assert was["dlm_mask"] & was["tlm_mask"] or not (
                            was["dlm_mask"] and was["tlm_mask"]
                        )
                    case "orphan_done":
                        assert was["done__valid"]

    def _follow(self, pins: dict[str, int], seen: dict[str, int]) -> None:
        """Take the done and the command of this edge, which come before what the unit decides."""
        issued = self.issue.id if self.issue is not None else None
        runs = seen["running"] and pins["done__payload"] == issued
        if pins["done__valid"] and not runs and pins["done__payload"] == self.suspended:
            self.suspended = None
            self.events["done while suspended"] += 1
        if pins["command__valid"] and pins["command__payload"] == Command.FLUSH:
            self.events[f"flush in {State(seen['state']).name}"] += 1
            self.events["flush of an offer"] += seen["issue__valid"]
            self.events["flush while running"] += seen["running"]
            self.events["flush while halted"] += seen["timeout"] or seen["bad_masks"]
            for queue in self.queued.values():
                queue.clear()
            self.suspended = None
            self._flushed = True
        self.events["full"] += pins["task__valid"] and not seen["task__ready"]
        # A task that is accepted at this edge is not seen by what the unit decides at it.
        self._preverify_waited = bool(self.queued[Kind.PREVERIFY])


class Driver:
    """A GTSU on its pins: transactions with the fewest cycles, or single edges."""

    def __init__(self, engine: Engine, params: GtsuParams) -> None:
        self.engine = engine
        self.params = params
        self.monitor = Monitor(params)
        self.all_ranks = (1 << params.ranks) - 1
        self.dlm = (1 << params.ranks // 2) - 1
        self.tlm = self.all_ranks & ~self.dlm
        self.seen: dict[str, int] = {}
        self.pins = {
            "task__valid": 0,
            "task__payload": 0,
            "done__valid": 0,
            "done__payload": 0,
            "command__valid": 0,
            "command__payload": 0,
            "issue__ready": 1,
            "drained": 1,
            "layer_boundary": 0,
            "compute_request": self.all_ranks,
            "dlm_mask": self.dlm,
            "tlm_mask": self.tlm,
            "switch_cycles": 4,
            "drain_max_cycles": 10,
            "preempt": 1,
        }

    def edge(self, **pins: int) -> dict[str, int]:
        """One edge with some pins changed for it alone."""
        taken = self.pins | pins
        self.seen = self.engine.step(taken, 1, 0)
        self.monitor.observe(taken, self.seen)
        return self.seen

    def edges(self, count: int) -> dict[str, int]:
        """Some edges alike; return what the last one saw."""
        for _ in range(count):
            self.edge()
        return self.seen

    def task(self, kind: Kind, number: int) -> None:
        seen = self.edge(task__valid=1, task__payload=Task(kind, number).pack())
        assert seen["task__ready"]

    def draft(self, *numbers: int) -> None:
        for number in numbers:
            self.task(Kind.DRAFT, number)

    def preverify(self, *numbers: int) -> None:
        for number in numbers:
            self.task(Kind.PREVERIFY, number)

    def done(self, number: int) -> None:
        self.edge(done__valid=1, done__payload=number)

    def command(self, command: Command) -> None:
        self.edge(command__valid=1, command__payload=command)

    def flush(self) -> None:
        self.command(Command.FLUSH)

    def clear_errors(self) -> None:
        self.command(Command.CLEAR_ERRORS)

    def until(self, **outputs: int) -> int:
        """Step until outputs have these values; return how many edges saw others before."""
        for count in range(LIMIT_CYCLES):
            seen = self.edge()
            if all(seen[name] == value for name, value in outputs.items()):
                return count
        raise AssertionError(f"never {outputs}")

    def issued(self) -> Issue:
        """Step until a task is offered, which is taken if `issue__ready` is set."""
        self.until(issue__valid=1)
        return Issue.unpack(self.seen["issue__payload"])

    def state(self) -> State:
        return State(self.edge()["state"])

    def run(self, kind: Kind, number: int) -> None:
        """Queue a task and see it run."""
        self.task(kind, number)
        issue = self.issued()
        assert (issue.kind, issue.id) == (kind, number)
        assert self.edge()["running"]


@pytest.fixture(params=["golden", "rtl", "pysim"])
def make_gtsu(request: pytest.FixtureRequest) -> Callable[..., Driver]:
    """Start a GTSU of a configuration, with parameters changed."""

    def make(configuration: str = "paper", **changes: Any) -> Driver:
        params = replace(UNITS["gtsu"].configurations[configuration], **changes)
        return Driver(make_engine("gtsu", params, request.param), params)

    return make


@pytest.fixture
def gtsu(make_gtsu: Callable[..., Driver]) -> Driver:
    return make_gtsu()


class Traffic:
    """Random pins, from a seed, and sequencers that answer: they run, drain, and report the end."""

    def __init__(self, params: GtsuParams, seed: int) -> None:
        self._params = params
        self._rng = Random(seed)
        self._count = 0
        self._last: dict[str, int] = {}
        self._levels: dict[str, int] = {}
        self._chosen = 0
        self._hold = 0  # blocks of 32 edges for which the levels stay
        self._ran = False
        self._in_flight = 0  # cycles until the ranks are drained

    def _choose_levels(self) -> None:
        rng, params = self._rng, self._params
        every = (1 << params.ranks) - 1
        dlm = rng.randint(1, every - 1)
        tlm = every & ~dlm & (rng.getrandbits(params.ranks) | rng.getrandbits(params.ranks))
        if rng.random() < 0.08:
            tlm = rng.getrandbits(params.ranks)
        self._levels = {
            "dlm_mask": dlm,
            "tlm_mask": tlm,
            "switch_cycles": rng.choice((0, 1, 2, 3, 9)),
            "drain_max_cycles": rng.choice((0, 1, 4, 4, 20)),
            "preempt": int(rng.random() < 0.75),
        }
        self._hold = 1
        self._chosen += 1
        if self._chosen % 32 == 5:  # long enough for the largest values to be met
            self._levels |= {"switch_cycles": 127, "drain_max_cycles": 1023}
            self._hold = 8

    def pins(self, seen: dict[str, int]) -> dict[str, int]:
        """Return the pins of the next edge; `seen` is what the last one gave."""
        rng, params = self._rng, self._params
        every = (1 << params.ranks) - 1
        if self._count % 32 == 0:
            self._hold -= 1
            if self._hold < 0:
                self._choose_levels()
            self._load = rng.choice((0.02, 0.1, 0.6))
            self._preverify = rng.choice((0.1, 0.4, 0.7))
            self._stall = rng.choice((0.0, 0.3, 0.9))
            self._work = rng.choice((2, 10, 30))
        self._count += 1
        budget = min(self._levels["drain_max_cycles"], DRAIN_LIMIT_CYCLES)
        runs = bool(seen and seen["running"])
        if seen and seen["compute_grant"]:
            self._in_flight = 1 + rng.choice((0, 1, 2, budget, budget + 1, budget + 2))
        self._in_flight = max(0, self._in_flight - 1)
        # After a task was stopped its end may still be reported; else a done is an error.
        stopped = self._ran and not runs and not self._last["done__valid"]
        offered = bool(seen and seen["issue__valid"])
        late = not runs and rng.random() < (0.25 if stopped else 0.05 if offered else 0.01)
        self._ran = runs
        errors = bool(seen) and any(seen[name] for name in ("timeout", "bad_masks", "orphan_done"))
        ends = rng.random() < (1 / self._work if runs else 0.0)
        clears = rng.random() < (0.1 if errors else 0.005)
        number = rng.getrandbits(params.id_width)
        if seen and rng.random() < (0.9 if runs else 0.6):  # of the last task that was offered
            number = Issue.unpack(seen["issue__payload"]).id
        task = Task(Kind(rng.random() < self._preverify), rng.getrandbits(params.id_width))
        self._last = self._levels | {
            "task__valid": int(rng.random() < self._load),
            "task__payload": task.pack(),
            "done__valid": int(ends or late),
            "done__payload": number,
            "command__valid": int(clears or rng.random() < 0.01),
            "command__payload": Command.CLEAR_ERRORS if clears else Command.FLUSH,
            "issue__ready": int(rng.random() >= self._stall),
            "drained": int(not self._in_flight and rng.random() >= 0.02),
            "layer_boundary": int(rng.random() < 0.5),
            "compute_request": rng.choice((every, every, rng.getrandbits(params.ranks), 0)),
        }
        return self._last


@pytest.fixture
def traffic() -> Callable[[GtsuParams, int], Traffic]:
    return Traffic


@pytest.fixture
def monitor() -> Callable[[GtsuParams], Monitor]:
    return Monitor
