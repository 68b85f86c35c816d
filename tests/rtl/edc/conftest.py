# SPDX-License-Identifier: Apache-2.0
"""One driver for every backend, so that the contract suite runs unchanged on all of them."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.edc.params import BOUNDARY_PRESETS, Command, Decision, EdcParams, Verdict
from ahasd.sim.ports import Engine
from ahasd.sim.registry import make_engine

LIMIT_CYCLES = 2000


def packed(params: EdcParams, preset: str) -> int:
    encoded = params.boundaries(preset)
    return sum(value << (i * params.entropy_width) for i, value in enumerate(encoded))


class Driver:
    """An EDC on its pins: transactions with the fewest cycles, or single edges."""

    def __init__(self, engine: Engine, params: EdcParams) -> None:
        self.engine = engine
        self.params = params
        self.seen: dict[str, int] = {}
        self.edges = 0
        self.pins = {
            "draft__valid": 0,
            "draft__payload": 0,
            "verdict__valid": 0,
            "verdict__payload": 0,
            "command__valid": 0,
            "command__payload": 0,
            "decision__ready": 1,
            "boundaries": packed(params, "sqrt4"),
            "recheck": 1,
            "explore": 0,
        }

    def edge(self, **pins: int) -> dict[str, int]:
        """One edge with some pins changed for it alone."""
        self.seen = self.engine.step(self.pins | pins, 1, 0)
        self.edges += 1
        return self.seen

    def until_idle(self) -> int:
        """Step until idle; return the edges that it took."""
        for count in range(LIMIT_CYCLES):
            if self.edge()["idle_pim"]:
                return count
        raise AssertionError("never idle")

    def _transfer(self, stream: str, payload: int) -> Decision | None:
        for _ in range(LIMIT_CYCLES):
            seen = self.edge(**{f"{stream}__valid": 1, f"{stream}__payload": payload})
            if seen[f"{stream}__ready"]:
                seen = self.edge()
                if seen["decision__valid"]:
                    return Decision.unpack(seen["decision__payload"])
                return None
        raise AssertionError(f"{stream} was never taken")

    def entropy(self, bucket: int) -> int:
        """Return an encoded entropy that falls into a bucket of the preset `sqrt4`."""
        return 0 if bucket == 0 else self.params.boundaries("sqrt4")[bucket - 1]

    def draft(self, bucket: int) -> Decision:
        decision = self._transfer("draft", self.entropy(bucket))
        assert decision is not None
        return decision

    def verdict(self, full: bool) -> Decision | None:
        return self._transfer("verdict", int(full))

    def void(self) -> Decision | None:
        return self._transfer("verdict", Verdict.VOID)

    def start_sequence(self) -> None:
        assert self._transfer("command", Command.START_SEQUENCE) is None

    def clear_pht(self) -> None:
        assert self._transfer("command", Command.CLEAR_PHT) is None

    @property
    def outstanding(self) -> int:
        return self.edge()["outstanding"]

    def reject_until_stop(self, *buckets: int) -> None:
        """Train the entry that the last bucket meets, in a fresh sequence, to a weak stop."""
        self.start_sequence()
        for bucket in buckets:
            self.draft(bucket)
        for _ in buckets[:-1]:
            self.verdict(True)
        self.verdict(False)
        self.start_sequence()


@pytest.fixture(params=["golden", "rtl", "pysim"])
def make_edc(request: pytest.FixtureRequest) -> Callable[..., Driver]:
    """Start an EDC of a configuration, with parameters changed; cleared unless asked otherwise."""

    def make(configuration: str = "paper", *, cleared: bool = True, **changes: Any) -> Driver:
        params = replace(UNITS["edc"].configurations[configuration], **changes)
        driver = Driver(make_engine("edc", params, request.param), params)
        if cleared:
            driver.until_idle()
        return driver

    return make


@pytest.fixture
def edc(make_edc: Callable[..., Driver]) -> Driver:
    return make_edc()


class Traffic:
    """Random pins, from a seed: drafts, verdicts, commands, CSR changes and back-pressure."""

    def __init__(self, params: EdcParams, seed: int) -> None:
        self._params = params
        self._rng = Random(seed)
        self._count = 0
        self._levels = {}

    def pins(self, seen: dict[str, int]) -> dict[str, int]:
        """Return the pins of the next edge; a stop in `seen` is mostly obeyed for a while."""
        rng, params = self._rng, self._params
        if self._count % 64 == 0:
            self._levels = {
                "boundaries": packed(params, rng.choice(BOUNDARY_PRESETS)),
                "recheck": int(rng.random() < 0.75),
                "explore": rng.choice((0, 0, 1, 2, 7)),
            }
            self._stall = rng.choice((0.0, 0.3, 0.9))
        if self._count % 8 == 0:  # bursts, so that stops are held while verdicts come
            self._load = rng.choice((0.0, 0.3, 0.95))
            self._judged = rng.choice((0.0, 0.3, 0.8))
            self._reject = rng.choice((0.05, 0.5, 0.95))
        if seen.get("decision__valid") and not seen["decision__payload"] & 1:
            self._load = 0.0
            self._judged = 0.5
            self._reject = 0.1
        self._count += 1
        # With too few batches outstanding most stops would be released by the next verdict.
        deep = seen.get("outstanding", 0) >= params.max_outstanding // 2
        ceiling = params.entropy_max >> rng.choice((0, 2, 4))
        clear = rng.random() < 16 / params.pht_entries
        return {
            "draft__valid": int(rng.random() < self._load),
            "draft__payload": rng.randint(0, ceiling),
            "verdict__valid": int(rng.random() < (self._judged if deep else self._judged / 8)),
            "verdict__payload": 2 if rng.random() < 0.1 else int(rng.random() >= self._reject),
            "command__valid": int(rng.random() < 0.004),
            "command__payload": Command.CLEAR_PHT if clear else Command.START_SEQUENCE,
            "decision__ready": int(rng.random() >= self._stall),
            **self._levels,
        }


@pytest.fixture
def traffic() -> Callable[[EdcParams, int], Traffic]:
    return Traffic
