# SPDX-License-Identifier: Apache-2.0
"""One driver for every backend, and random traffic."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.draftctl.params import Decision, DraftctlParams, Rule, Token
from ahasd.sim.ports import Engine
from ahasd.sim.registry import make_engine

LIMIT_CYCLES = 100


class Driver:
    """A draft-length control on its pins: tokens with the fewest cycles, or single edges."""

    def __init__(self, engine: Engine, params: DraftctlParams) -> None:
        self.engine = engine
        self.params = params
        self.pins = {
            "token__valid": 0,
            "token__payload": 0,
            "decision__ready": 1,
            "rule": Rule.FIXED,
            "entropy_limit": 0,
            "doubt_limit": 0,
            "k_max": params.length_max,
            "min_len": 1,
            "keep_tripping_token": 1,
        }

    def edge(self, **pins: int) -> dict[str, int]:
        """One edge with some pins changed for it alone."""
        return self.engine.step(self.pins | pins, 1, 0)

    def offer(self, entropy: int = 0, doubt: int = 0, *, first: bool = False) -> dict[str, int]:
        """Return the pins that offer a token."""
        payload = Token(first, entropy, doubt).pack(self.params)
        return {"token__valid": 1, "token__payload": payload}

    def token(self, entropy: int = 0, doubt: int = 0, *, first: bool = False) -> tuple[str, int]:
        """Give a token; return outcome and place."""
        pins = self.offer(entropy, doubt, first=first)
        for _ in range(LIMIT_CYCLES):
            if self.edge(**pins)["token__ready"]:
                seen = self.edge()
                assert seen["decision__valid"]
                decision = Decision.unpack(seen["decision__payload"])
                return decision.outcome.name, decision.place
        raise AssertionError("the token was never taken")


@pytest.fixture(params=["golden", "rtl", "pysim"])
def make_draftctl(request: pytest.FixtureRequest) -> Callable[..., Driver]:
    """Start a draft-length control, with some registers set."""

    def make(configuration: str = "paper", **registers: int) -> Driver:
        params = UNITS["draftctl"].configurations[configuration]
        driver = Driver(make_engine("draftctl", params, request.param), params)
        assert registers.keys() <= driver.pins.keys()
        driver.pins |= registers
        return driver

    return make


class Traffic:
    """Random pins, from a seed: tokens, register changes and back-pressure."""

    def __init__(self, params: DraftctlParams, seed: int) -> None:
        self._params = params
        self._rng = Random(seed)
        self._count = 0
        self._levels: dict[str, Any] = {}

    def _scaled(self, largest: int) -> int:
        """Return a value of any order of magnitude."""
        return self._rng.randint(0, largest >> self._rng.randrange(largest.bit_length()))

    def pins(self) -> dict[str, int]:
        """Return the pins of the next edge."""
        rng, params = self._rng, self._params
        if self._count % 16 == 0:
            self._load = rng.choice((0.1, 0.5, 1.0))
            self._stall = rng.choice((0.0, 0.3, 0.9))
            self._first = rng.choice((0.0, 0.02, 0.3))
        # A register may change within a batch, but mostly stays for some.
        if self._count % 64 == 0 or rng.random() < 0.01:
            self._levels = {
                "rule": rng.choice(list(Rule)),
                "entropy_limit": rng.choice((self._scaled(params.entropy_max), params.entropy_max)),
                "doubt_limit": params.doubt_max
                - rng.choice((0, 1, self._scaled(params.doubt_max))),
                "k_max": rng.choice((self._scaled(params.length_max), params.length_max)),
                "min_len": self._scaled(params.length_max) >> rng.choice((0, 2)),
                "keep_tripping_token": rng.getrandbits(1),
            }
        self._count += 1
        token = Token(
            rng.random() < self._first,
            self._scaled(params.entropy_max),
            rng.choice((self._scaled(params.doubt_max), rng.randint(0, params.doubt_max))),
        )
        return {
            "token__valid": int(rng.random() < self._load),
            "token__payload": token.pack(params),
            "decision__ready": int(rng.random() >= self._stall),
            **self._levels,
        }


@pytest.fixture
def traffic() -> Callable[[DraftctlParams, int], Traffic]:
    return Traffic
