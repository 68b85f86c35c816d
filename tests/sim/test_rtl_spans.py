# SPDX-License-Identifier: Apache-2.0
"""Edges that the compiled top takes in one call are those that it takes one by one."""

import json
from collections import Counter
from random import Random

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.sim.ahasd import STREAMS_IN, STREAMS_OUT
from ahasd.sim.ports import Grid, Watch, advance
from ahasd.sim.rtl.build import ENTRY, build
from ahasd.sim.rtl.engine import RtlEngine

UNIT = UNITS["ahasd"]
PARAMS = UNIT.configurations["test"]
DOMAINS = UNIT.domains
IDLE = ("idle_pim", "idle_npu")
NOW = ("now", 0)
NEVER = 1 << 62
CLOCKS = ((1250, 1000), (1000, 1000), (700, 3000), (3000, 700))


class World:
    """Two equal tops, one of which is only ever stepped, on clocks and with pins of any kind."""

    def __init__(self, seed):
        self.random = Random(seed)
        folder = build(UNIT, PARAMS)
        self.whole, self.stepped = RtlEngine(folder), RtlEngine(folder)
        ports = json.loads((folder / ENTRY).read_text())["ports"]
        self.widths = {port["name"]: port["width"] for port in ports}
        self.time_ps = self.now = 0
        self.levels = {"room": 1, "running": 0, "draft__ready": 1, "ar__ready": 1}
        self.ends = Counter()

    def pins(self, busy):
        """Return pins, and what of them would be a transfer."""
        chance = self.random.random
        pins = {"now": self.now, "drained": chance() < 0.8, "layer_boundary": chance() < 0.2}
        pins = {name: int(value) for name, value in pins.items()} | {
            "compute_request": self.random.getrandbits(PARAMS.gtsu.ranks)
        }
        transfers = []
        for i, domain in enumerate(DOMAINS):
            for name in STREAMS_IN[domain]:
                offered = chance() < busy
                pins[f"{name}__valid"] = int(offered)
                pins[f"{name}__payload"] = self.random.getrandbits(self.widths[f"{name}__payload"])
                if offered:
                    transfers.append((f"{name}__ready", i))
            for name in STREAMS_OUT[domain]:
                taken = chance() < 0.8
                pins[f"{name}__ready"] = int(taken)
                if taken:
                    transfers.append((f"{name}__valid", i))
        return pins, tuple(each for each in transfers if chance() < 0.9)

    def grid(self):
        """Return edges of two clocks, which may coincide."""
        chosen = self.random
        periods = chosen.choice(CLOCKS)
        following = tuple(self.time_ps + chosen.randrange(1, each + 1, 50) for each in periods)
        until_ps = max(min(following), self.time_ps + chosen.choice((500, 5_000, 60_000)))
        now = chosen.choice((None, NOW, ("now", 1)))
        return Grid(periods, following, until_ps, now)

    def advance(self):
        """Take a span with both tops; return what each says."""
        pins, transfers = self.pins(self.random.choice((0, 0, 0.05, 0.4)))
        grid = self.grid()
        said = []
        quiet = [self.random.randrange(9) for _ in DOMAINS]
        watched = self.random.sample(sorted(self.levels), self.random.randrange(5))
        levels = {name: self.levels[name] for name in watched}
        settle = self.random.choice((1, 8, 12, NEVER))
        for engine in (self.whole, self.stepped):
            watch = Watch(transfers, levels, IDLE, list(quiet), settle)
            if engine is self.whole:
                span = engine.advance(dict(pins), grid, watch)
            else:
                span = advance(engine, dict(pins), grid, watch)
            said.append((span, watch.quiet, engine.changed))
        span, quiet, _ = said[1]
        self.time_ps, self.now = span.time_ps, (self.now + span.edges[0]) % (1 << 10)
        self.ends["level"] += any(span.seen[pin] != value for pin, value in levels.items())
        self.ends["settled"] += min(quiet) >= settle
        self.ends["moved"] += any(
            span.clocks >> domain & 1 and span.seen[pin] for pin, domain in transfers
        )
        self.ends["time"] += not any(span.seen[pin] for pin, _ in transfers) and settle == NEVER
        self.ends["together"] += span.clocks == 0b11
        self.ends["several"] += sum(span.edges) > 1
        self.levels = {name: span.seen[name] for name in self.levels}
        return said

    def run(self):
        """Take all edges of a grid; return when either top says that one changed something."""
        pins, _ = self.pins(0)
        grid = self.grid()
        changed_ps = None
        time_ps = self.time_ps
        for time_ps, clocks, changing in grid.edges(pins):
            self.stepped.step(changing, clocks, time_ps)
            self.now = (self.now + (clocks & 1)) % (1 << 10)
            if self.stepped.changed:
                changed_ps = time_ps
                break
        said = self.whole.run(dict(pins), grid)
        self.time_ps = time_ps
        self.ends["change" if changed_ps else "no change"] += 1
        return said, changed_ps


@pytest.mark.parametrize("seed", range(4))
def test_spans_and_runs_are_their_edges(seed):
    world = World(seed)
    for _ in range(1000):
        whole, stepped = world.advance()
        assert whole == stepped
        if world.random.random() < 0.1:
            said, changed_ps = world.run()
            assert said == changed_ps
    # Nothing of that in vain: spans of every kind came.
    assert set(world.ends) == {
        *("level", "settled", "moved", "time", "together", "several", "change", "no change")
    }
    assert min(world.ends.values()) > 5, world.ends


def test_an_output_that_is_a_flip_flop_is_seen_before_the_edge():
    unit = UNITS["edc"]
    params = unit.configurations["test"]
    whole, stepped = RtlEngine.of(unit, params), RtlEngine.of(unit, params)
    pins = dict.fromkeys(("draft__valid", "verdict__valid", "decision__ready", "recheck"), 1)
    pins |= dict.fromkeys(("verdict__payload", "command__valid", "command__payload", "explore"), 0)
    pins |= {"draft__payload": 3, "boundaries": 5}
    decisions = 0
    for edge in range(60):
        grid = Grid((1250,), (1250 * edge,), 1250 * edge)
        watch = Watch((("decision__valid", 0),), {}, ("idle_pim",), [0], NEVER)
        span = whole.advance(pins, grid, watch)
        assert span == advance(stepped, pins, grid, watch)
        decisions += span.seen["decision__valid"]
        pins["draft__valid"] = edge % 3 % 2
    assert decisions > 5
