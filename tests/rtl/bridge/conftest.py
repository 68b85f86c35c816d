# SPDX-License-Identifier: Apache-2.0
"""A bridge on its pins: a line, a register file of AXI4-Lite behind it, streams, and random
traffic."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from ahasd.rtl.bridge.params import BridgeParams
from ahasd.rtl.configs import UNITS
from ahasd.sim.ports import Engine
from ahasd.sim.registry import make_engine


def crc16(data: bytes) -> bytes:
    """CRC-16 with polynomial 0x1021 from 0xFFFF, bit by bit, as its definition says."""
    crc = 0xFFFF
    for byte in data:
        for i in reversed(range(8)):
            top = crc >> 15 ^ byte >> i & 1
            crc = crc << 1 & 0xFFFF ^ (0x1021 if top else 0)
    return crc.to_bytes(2, "big")


def frame(start: int, *body: int) -> bytes:
    told = bytes((len(body), *body))
    return bytes((start,)) + told + crc16(told)


def request(op: int, address: int, *data: int, tag: int = 0) -> bytes:
    return frame(0x5A, op | tag << 4, address & 0xFF, address >> 8, *data)


def bits(data: bytes) -> Iterator[int]:
    for byte in data:
        yield from (0, *(byte >> i & 1 for i in range(8)), 1)


class Driver:
    """A bridge, edge by edge; what it asks for is answered from `registers` and `streams`."""

    def __init__(self, engine: Engine, params: BridgeParams) -> None:
        self.engine, self.params = engine, params
        self.registers = {0x0000: 0x4148_5344}
        self.writes: list[tuple[int, int, int]] = []
        self.accesses: list[tuple[int, int, int]] = []
        self.answers: list[tuple[int, int]] = []  # (status, data) for what accesses streams
        self.idle: Any = None
        self.line = 1
        self.edges = 0
        self.samples: list[int] = []  # of tx, one an edge
        self._due: dict[str, int] = {}
        self._aw: int | None = None
        self._w: int | None = None

    def edge(self) -> None:
        pins = {"rx": self.line, "aw__ready": 1, "w__ready": 1, "ar__ready": 1, "access__ready": 1}
        for name in ("b", "r", "answer"):
            pins[f"{name}__valid"] = int(name in self._due)
            pins[f"{name}__payload"] = self._due.get(name, 0)
        seen = self.engine.step(pins, 1, self.edges)
        self.edges += 1
        self.samples.append(seen["tx"])
        self.idle = seen["idle_npu"]
        self._due = {name: due for name, due in self._due.items() if not seen[f"{name}__ready"]}
        if seen["ar__valid"]:
            address = seen["ar__payload"]
            known = address in self.registers
            self._due["r"] = self.registers.get(address, 0) | (0 if known else 3) << 32
        if seen["aw__valid"]:
            self._aw = seen["aw__payload"]
        if seen["w__valid"]:
            self._w = seen["w__payload"]
        if self._aw is not None and self._w is not None:
            self.writes.append((self._aw, self._w & 0xFFFF_FFFF, self._w >> 32))
            self._due["b"] = 0 if self._aw in self.registers else 3
            self._aw = self._w = None
        if seen["access__valid"]:
            payload = seen["access__payload"]
            self.accesses.append((payload & 1, payload >> 1 & 0xFFFF, payload >> 17))
            status, data = self.answers.pop(0)
            self._due["answer"] = status | data << 3

    def send(self, data: bytes) -> None:
        for bit in bits(data):
            self.line = bit
            for _ in range(self.params.divisor):
                self.edge()

    def rest(self, cycles: int) -> None:
        for _ in range(cycles):
            self.edge()

    def heard(self) -> bytes:
        """Return the bytes that were on `tx` since this was called last."""
        divisor, samples, found, at = self.params.divisor, self.samples, bytearray(), 0
        while at < len(samples):
            if samples[at]:
                at += 1
                continue
            places = [at + divisor * i + divisor // 2 for i in range(10)]
            start, *byte, stop = (samples[place] for place in places)
            assert (start, stop) == (0, 1), "a frame of 8N1"
            found.append(sum(bit << i for i, bit in enumerate(byte)))
            at = places[-1]
        self.samples = []
        return bytes(found)

    def ask(self, data: bytes) -> bytes:
        """Send bytes and return what is heard until the bridge is idle again."""
        self.send(data)
        self.rest(8)
        while not self.idle:
            self.edge()
        return self.heard()


@pytest.fixture(params=["golden", "rtl", pytest.param("pysim", marks=pytest.mark.full)])
def make_bridge(request: pytest.FixtureRequest) -> Callable[..., Driver]:
    """Start a bridge."""

    def make(configuration: str = "test") -> Driver:
        params = UNITS["bridge"].configurations[configuration]
        driver = Driver(make_engine("bridge", params, request.param), params)
        driver.rest(4)
        return driver

    return make


class Traffic:
    """Random pins, from a seed: requests good and bad, noise, silence, and slow responses."""

    def __init__(self, params: BridgeParams, seed: int) -> None:
        self._params = params
        self._rng = Random(seed)
        self._pace = 0.5
        self._levels = self._frames()

    def _request(self) -> bytes:
        """Return a request, mostly good, or what is left of one."""
        rng, payload = self._rng, self._params.payload_bytes
        op = rng.choice((1, 2, 3, 4, 0, 5, rng.randrange(16)))
        size = {1: 0, 2: 4, 3: rng.randrange(1, payload + 1), 4: 0}.get(op, 0)
        if rng.random() < 0.5:
            size = rng.choice((0, payload - 1, payload, payload + 1))
        data = bytearray(
            request(op, rng.getrandbits(16), *rng.randbytes(size), tag=rng.randrange(16))
        )
        kind = rng.random()
        if kind < 0.1:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        elif kind < 0.2:
            del data[rng.randrange(1, len(data)) :]
        elif kind < 0.3:
            data[:0] = rng.randbytes(rng.randrange(1, 4))
        return bytes(data)

    def _frames(self) -> Iterator[int]:
        """Yield the line's level for every cycle."""
        rng, params = self._rng, self._params
        gap = params.gap_cycles - params.byte_cycles
        while True:
            self._pace = rng.choice((0.05, 0.5, 1.0))
            data = self._request()
            pause = rng.randrange(len(data)) if rng.random() < 0.2 else None
            for i, byte in enumerate(data):
                if i == pause:
                    yield from [1] * (gap + rng.randrange(-2, 3))
                for bit in bits(bytes((byte,))):
                    slip = rng.choice((-1, 0, 1)) if rng.random() < 0.01 else 0
                    level = bit ^ (rng.random() < 0.005)
                    yield from [level] * (params.divisor + slip)
            yield from [1] * rng.choice((0, 3, params.byte_cycles))
            if rng.random() < 0.1:  # a glitch, or a break
                yield from [0] * rng.choice((1, params.byte_cycles))
            yield from [1] * rng.choice((params.byte_cycles, params.gap_cycles, 3 * gap, 4 * gap))

    def pins(self) -> dict[str, int]:
        """Return the pins of the next edge."""
        rng = self._rng
        pins = {"rx": next(self._levels)}
        for name in ("aw", "w", "ar", "access"):
            pins[f"{name}__ready"] = int(rng.random() < self._pace)
        for name, width in (("b", 2), ("r", 34), ("answer", 3 + self._params.data_bits)):
            pins[f"{name}__valid"] = int(rng.random() < 0.2 * self._pace)
            pins[f"{name}__payload"] = rng.getrandbits(width)
            if rng.random() < 0.7:
                pins[f"{name}__payload"] &= ~(7 if name == "answer" else 3 << max(0, width - 2))
        return pins


@pytest.fixture
def traffic() -> Callable[[BridgeParams, int], Traffic]:
    return Traffic


class Frames:
    """Requests and answers, from the definition of the frames."""

    request = staticmethod(request)

    @staticmethod
    def answer(code: int, *data: int) -> bytes:
        return frame(0xA5, code, *data)


@pytest.fixture
def frames() -> type[Frames]:
    return Frames
