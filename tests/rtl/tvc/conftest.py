# SPDX-License-Identifier: Apache-2.0
"""One driver for every backend, so that the contract suite runs unchanged on all of them."""

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from random import Random
from types import ModuleType
from typing import Any

import pytest

from ahasd.rtl.configs import UNITS, Unit
from ahasd.rtl.tvc.params import (
    Command,
    Decision,
    Levels,
    NpuEvent,
    NpuKind,
    Record,
    Request,
    Table,
    TvcParams,
)
from ahasd.sim.ports import Engine
from ahasd.sim.registry import make_engine

STREAMS = ("record", "npu", "command", "request")


class Driver:
    """A TVC on its pins: transactions with the fewest cycles, or single edges.

    `now` counts edges, unless a test sets it; `pins` holds the levels, with an NPU ratio of 1.
    """

    def __init__(self, engine: Engine, params: TvcParams) -> None:
        self.engine = engine
        self.params = params
        self.seen: dict[str, int] = {}
        self.now = 0
        self.started = 0
        self.pins = {
            **{f"{name}__valid": 0 for name in STREAMS},
            **{f"{name}__payload": 0 for name in STREAMS},
            "decision__ready": 1,
            **Levels(params.npu_ratio_one, max_length=min(8, params.tokens_max))._asdict(),
        }

    def edge(self, **pins: int) -> dict[str, int]:
        """One edge with some pins changed for it alone."""
        self.seen = self.engine.step(self.pins | {"now": self.now} | pins, 1, 0)
        self.now = (self.now + 1) % (1 << self.params.time_width)
        return self.seen

    def transfer(self, stream: str, payload: int) -> int:
        """Offer a payload until it is taken; return the edges before that."""
        for waited in range(self.params.decision_cycles + self.params.record_cycles):
            seen = self.edge(**{f"{stream}__valid": 1, f"{stream}__payload": payload})
            if seen[f"{stream}__ready"]:
                return waited
        raise AssertionError(f"{stream} was never taken")

    def record(self, table: int, *measurements: tuple[int, int]) -> None:
        for cycles, length in measurements:
            self.transfer("record", Record(table, cycles, length).pack(self.params))

    def fill(self, **tables: list[tuple[int, int]]) -> None:
        """Record lists of (cycles, length) by the tables' names."""
        for name, measurements in tables.items():
            self.record(Table[name.upper()], *measurements)

    def start(self, kv_length: int) -> None:
        """Start a task, and keep its time stamp in `started`."""
        self.transfer("npu", NpuEvent(NpuKind.START, kv_length).pack(self.params))
        self.started = self.now - 1

    def end(self, kv_length: int, npu_cycles: int) -> None:
        self.transfer("npu", NpuEvent(NpuKind.END, kv_length, npu_cycles).pack(self.params))

    def command(self, command: Command) -> None:
        assert self.transfer("command", command) == 0

    def until_idle(self) -> None:
        for _ in range(self.params.decision_cycles + 2 * self.params.record_cycles):
            if self.edge()["idle_pim"]:
                return
        raise AssertionError("never idle")

    def answer(self) -> Decision:
        """Wait for a decision and take it."""
        for _ in range(self.params.decision_cycles):
            if self.edge()["decision__valid"]:
                return Decision.unpack(self.seen["decision__payload"], self.params)
        raise AssertionError("no decision")

    def request(
        self, available: int = 8, overhead: int = 0, *, elapsed: int | None = None
    ) -> Decision:
        """Ask and return the decision; with `elapsed`, that long after the last start."""
        self.until_idle()
        if elapsed is not None:
            self.now = (self.started + elapsed) % (1 << self.params.time_width)
        assert self.transfer("request", Request(overhead, available).pack(self.params)) == 0
        return self.answer()

    def ask(self, slack: int, available: int = 8, overhead: int = 0) -> Decision:
        """Ask at the very start of a task that takes so many cycles; PDCT may take from them."""
        self.fill(nvct=[(slack, 1)] * self.params.table_entries)
        self.start(1)
        return self.request(available, overhead, elapsed=0)


# The source of a unit of this size takes a quarter of a second for each decision.
BACKENDS = ["golden", "rtl", pytest.param("pysim", marks=pytest.mark.slow)]


@pytest.fixture(params=BACKENDS)
def make_tvc(request: pytest.FixtureRequest) -> Callable[..., Driver]:
    """Start a TVC of a configuration, with parameters changed."""

    def make(configuration: str = "small", **changes: Any) -> Driver:
        params = replace(UNITS["tvc"].configurations[configuration], **changes)
        return Driver(make_engine("tvc", params, request.param), params)

    return make


@pytest.fixture
def tvc(make_tvc: Callable[..., Driver]) -> Driver:
    return make_tvc()


class Traffic:
    """Random pins, from a seed, that keep tables filled, a task running and slack near its limits.

    For a while at a time, measurements lie near lines that were drawn for it, or anywhere. `now`
    leaps while the unit is idle, so that tasks are met at every age.
    """

    def __init__(self, params: TvcParams, seed: int) -> None:
        self._params = params
        self._rng = Random(seed)
        self._count = 0
        self._now = self._start = self._rng.getrandbits(params.time_width)
        self._pins = {"npu__valid": 0}

    def _scene(self) -> None:
        rng, params = self._rng, self._params
        self._wild = rng.random() < 0.3
        self._tokens = min(params.length_max, rng.choice((1, 2, 7, 7, 7, 1000, params.length_max)))
        part = params.cycles_max >> rng.randrange(max(1, params.cycles_width // 2))
        self._lines = {}
        for table in Table:
            # Several tokens of the PIM fit into a task of the NPU.
            scale = rng.choice((1, 2)) if table is Table.NVCT else rng.choice((4, 16, 64, 1 << 64))
            slope = rng.randint(-part, part) // (2 * self._tokens * scale)
            level = rng.randint(-part // 4, part) // scale + max(0, -slope * self._tokens)
            self._lines[table] = level, rng.choice((slope, *3 * (abs(slope),), 0))
        self._duration = max(self._lines[Table.NVCT][0], 1)
        costs = self._duration // rng.choice((4, 64, 1 << 64)) + 1
        self._levels = {
            "npu_ratio": rng.choice(
                (params.npu_ratio_one, 26214, rng.getrandbits(params.npu_ratio_width))
            ),
            "switch_cycles": rng.randrange(costs),
            "slowdown_cycles": rng.randrange(costs),
            "max_length": rng.choice((0, 1, params.tokens_max, params.tokens_max)),
            "affine_npu": int(rng.random() < 0.7),
            "affine_preverify": int(rng.random() < 0.7),
            "cold_preverify_cycles": rng.choice((0, rng.randrange(costs))),
        }
        if rng.random() < 0.1:
            for name in ("switch_cycles", "slowdown_cycles", "cold_preverify_cycles"):
                self._levels[name] = rng.getrandbits(params.cycles_width)
        self._stall = rng.choice((0.0, 0.3, 0.97))
        self._clears = rng.choice((0.0, 0.0, 0.02))
        self._refused = rng.choice((0.0, 0.0, 0.2))
        self._tables = rng.choice((tuple(Table), tuple(Table), (Table.NVCT, Table.PDCT)))

    def _measurement(self, table: Table) -> tuple[int, int]:
        rng, params = self._rng, self._params
        length = 0 if rng.random() < self._refused else rng.randint(1, self._tokens)
        if self._wild:
            anything = rng.getrandbits(params.cycles_width)
            return rng.choice((0, params.cycles_max, anything)), length
        level, slope = self._lines[table]
        cycles = level + slope * length
        return min(
            max(cycles + rng.randint(0, abs(cycles) // rng.choice((50, 1000))), 0),
            params.cycles_max,
        ), length

    def pins(self, seen: dict[str, int]) -> dict[str, int]:
        """Return the pins of the next edge; while the unit is busy, most of them stay."""
        rng, params = self._rng, self._params
        if self._pins["npu__valid"] and seen["npu__ready"] and not self._pins["npu__payload"] & 1:
            self._start = self._now
        self._now += 1
        if self._count % (8 * params.decision_cycles) == 0:
            self._scene()
        self._count += 1
        free = not seen or seen["record__ready"]
        if free and rng.random() < 0.5:
            self._now = self._start + rng.randint(0, self._duration)
        elif free and rng.random() < 0.02:
            self._now = rng.getrandbits(params.time_width)
        self._now %= 1 << params.time_width
        if free or rng.random() < 0.05:
            self._pins |= self._offers() | self._levels
        else:
            self._pins |= {"npu__valid": 0, "command__valid": 0}
        stalled = rng.random() < self._stall
        return self._pins | {"now": self._now, "decision__ready": int(not stalled)}

    def _offers(self) -> dict[str, int]:
        rng, params = self._rng, self._params
        table = 3 if rng.random() < self._refused / 4 else rng.choice(self._tables)
        record = Record(table, *self._measurement(Table.NVCT if table == 3 else Table(table)))
        npu_cycles, kv_length = self._measurement(Table.NVCT)
        kind = NpuKind.END if rng.random() < 0.2 else NpuKind.START
        command = Command.CLEAR if rng.random() < 0.7 else Command.FORGET_TASK
        bits = params.tokens_width
        overhead = rng.getrandbits(bits) >> rng.randrange(bits + 1)
        return {
            "record__valid": int(rng.random() < 0.4),
            "record__payload": record.pack(params),
            "npu__valid": int(rng.random() < 0.2),
            "npu__payload": NpuEvent(kind, kv_length, npu_cycles).pack(params),
            "command__valid": int(rng.random() < self._clears),
            "command__payload": command,
            "request__valid": int(rng.random() < 0.5),
            "request__payload": Request(overhead, rng.getrandbits(bits)).pack(params),
        }


@pytest.fixture
def traffic() -> Callable[[TvcParams, int], Traffic]:
    return Traffic


@pytest.fixture
def tvc_mutant(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Unit]:
    """Make a TVC from its sources with one text replaced."""

    def make(before: str, after: str) -> Unit:
        stems = ("arithmetic", "estimator", "unit")
        sources = {stem: (files("ahasd.rtl.tvc") / f"{stem}.py").read_text() for stem in stems}
        found = sum(source.count(before) for source in sources.values())
        assert found == 1, "the mutant no longer fits the source"
        for stem, source in sources.items():
            mutated = source.replace(before, after)
            for other in stems:
                mutated = mutated.replace(f"ahasd.rtl.tvc.{other}", f"tvc_mutant_{other}")
            module = ModuleType(f"tvc_mutant_{stem}")
            monkeypatch.setitem(sys.modules, module.__name__, module)
            exec(compile(mutated, module.__name__, "exec"), module.__dict__)
        return replace(UNITS["tvc"], hardware="tvc_mutant_unit:TvcUnit")

    return make
