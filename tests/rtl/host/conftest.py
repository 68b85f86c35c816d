# SPDX-License-Identifier: Apache-2.0
"""A bus master on the pins of the host interface, and random pins."""

from collections.abc import Callable
from random import Random

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.host.golden import NPU, PIM
from ahasd.rtl.host.params import HostParams, Response, unpack, widths
from ahasd.rtl.host.registers import REGISTERS
from ahasd.sim.driver import Registers
from ahasd.sim.ports import Engine
from ahasd.sim.registry import make_engine

LIMIT_EDGES = 400
TAKEN = ("edc_command", "tvc_command", "gtsu_command", "tvc_record")


class BusError(Exception):
    """The response of an access was an error."""


class Clocks:
    """Edges of two clocks with a ratio of periods and a phase, in the order of time."""

    def __init__(self, npu_period: int = 1000, phase: int = 0, pim_period: int = 1250) -> None:
        self._next = [pim_period, phase + npu_period]
        self._periods = (pim_period, npu_period)

    def mask(self) -> int:
        time = min(self._next)
        mask = 0
        for i in (0, 1):
            if self._next[i] == time:
                mask |= 1 << i
                self._next[i] += self._periods[i]
        return mask


class Master:
    """The unit on its pins; commands are taken unless `pins` says otherwise."""

    def __init__(self, engine: Engine, clocks: Clocks) -> None:
        self.engine = engine
        self.clocks = clocks
        self.pins = {f"{name}__valid": 0 for name in ("aw", "w", "ar")}
        self.pins |= {f"{name}__payload": 0 for name in ("aw", "w", "ar")}
        self.pins |= {f"{name}__ready": 0 for name in ("b", "r")}
        self.pins |= {f"{name}__ready": 1 for name in TAKEN}
        self.pins |= {
            f"{side}_{what}": 0 for side in ("pim", "npu") for what in ("events", "status")
        }
        self.registers = Registers(self.read, self.write)
        self.taken: list[tuple[str, int]] = []
        self.npu_edges = 0

    def edge(self, **pins: int) -> tuple[int, dict[str, int]]:
        """Take the next edge of the clocks."""
        mask = self.clocks.mask()
        seen = self.engine.step(self.pins | pins, mask, 0)
        if mask & PIM:
            ready = self.pins | pins
            self.taken += [
                (name, seen[f"{name}__payload"])
                for name in TAKEN
                if seen[f"{name}__valid"] and ready[f"{name}__ready"]
            ]
        self.npu_edges += mask >> 1
        return mask, seen

    def npu_edge(self, **pins: int) -> dict[str, int]:
        """Take edges up to one of the NPU."""
        while True:
            mask, seen = self.edge(**pins)
            if mask & NPU:
                return seen

    def pim_edge(self, **pins: int) -> dict[str, int]:
        """Take edges up to one of the PIM."""
        while True:
            mask, seen = self.edge(**pins)
            if mask & PIM:
                return seen

    def wait(self, edges: int = 40) -> dict[str, int]:
        """Let things settle; return what the last edge saw."""
        for _ in range(edges - 1):
            self.edge()
        return self.edge()[1]

    def event(self, domain: str, **steps: int) -> None:
        """Show events for exactly one edge of their domain."""
        edge = self.pim_edge if domain == "pim" else self.npu_edge
        edge(**{f"{domain}_events": packed(f"{domain}_events", **steps)})

    def offer(self, name: str, payload: int) -> None:
        """Offer a request until it is taken."""
        for _ in range(LIMIT_EDGES):
            if self.npu_edge(**{f"{name}__valid": 1, f"{name}__payload": payload})[
                f"{name}__ready"
            ]:
                return
        raise AssertionError(f"{name} was never taken")

    def response(self, name: str, limit: int = LIMIT_EDGES) -> int | None:
        """Take a response; None if none comes."""
        for _ in range(limit):
            seen = self.npu_edge(**{f"{name}__ready": 1})
            if seen[f"{name}__valid"]:
                return seen[f"{name}__payload"]
        return None

    def read_raw(self, address: int) -> tuple[int, Response]:
        self.offer("ar", address)
        payload = self.response("r")
        assert payload is not None
        return payload & 0xFFFF_FFFF, Response(payload >> 32)

    def write_raw(self, address: int, data: int, strobe: int = 0xF) -> Response:
        self.offer("aw", address)
        self.offer("w", data | strobe << 32)
        payload = self.response("b")
        assert payload is not None
        return Response(payload)

    def read(self, address: int) -> int:
        data, response = self.read_raw(address)
        if response is not Response.OKAY:
            raise BusError(response.name)
        return data

    def write(self, address: int, data: int) -> None:
        response = self.write_raw(address, data)
        if response is not Response.OKAY:
            raise BusError(response.name)

    def control(self) -> dict[str, int]:
        """Return the fields of the port `control`."""
        return unpack("control", self.wait(4)["control"])


def packed(port: str, **values: int) -> int:
    """Put fields of a port together, by a rule of its own: as a string of bits."""
    bits = "".join(
        format(values.pop(name, 0), f"0{width}b")[::-1] for name, width in widths(port).items()
    )
    assert not values
    return int(bits[::-1], 2)


@pytest.fixture(params=["golden", "rtl"])
def make_host(request: pytest.FixtureRequest) -> Callable[..., Master]:
    def make(configuration: str = "small", **clocks: int) -> Master:
        params = UNITS["host"].configurations[configuration]
        master = Master(make_engine("host", params, request.param), Clocks(**clocks))
        master.wait(12)
        return master

    return make


@pytest.fixture
def host(make_host: Callable[..., Master]) -> Master:
    return make_host()


@pytest.fixture
def clocks() -> type[Clocks]:
    return Clocks


class RandomPins:
    """Every pin without any discipline, in phases of more and less load.

    Most accesses go to a few registers that have more to them than storage, others to any register,
    or to the same place in any block, or anywhere.
    """

    FOCUS = (
        0x0008,
        0x0008,
        0x0008,
        0x000C,
        0x0108,
        0x010C,
        0x1000,
        0x1004,
        0x1054,
        0x1058,
        0x1170,
        0x1174,
    )
    ANY = tuple(address for register in REGISTERS for address in register.addresses)

    def __init__(self, params: HostParams, seed: int) -> None:
        self.rng = Random(seed)
        self._width = params.address_width
        self._load = self._take = 0.9
        self._busy = 0.01
        self._errors = 0

    def _address(self) -> int:
        rng = self.rng
        kind = rng.random()
        if kind < 0.9:
            return rng.choice(self.FOCUS if kind < 0.6 else self.ANY)
        anywhere = rng.getrandbits(self._width)
        return anywhere if kind < 0.95 else anywhere & ~0xFFF | rng.choice(self.ANY) & 0xFFF

    def _some(self, port: str) -> int:
        rng = self.rng
        return rng.getrandbits(sum(widths(port).values())) if rng.random() < self._busy else 0

    def next(self) -> dict[str, int]:
        """Return the inputs of an edge."""
        rng = self.rng
        if rng.random() < 0.02:
            self._load = rng.choice((0.1, 0.5, 0.95))
            self._take = rng.choice((0.1, 0.5, 0.95))
            self._busy = rng.choice((0.01, 0.1, 0.5))
        if rng.random() < 0.02:
            self._errors = rng.choice((0, 0, rng.getrandbits(6)))
        pins = {f"{name}__ready": int(rng.random() < self._take) for name in ("b", "r", *TAKEN)}
        pins |= {f"{name}__valid": int(rng.random() < self._load) for name in ("aw", "w", "ar")}
        pins |= {f"{name}__payload": self._address() for name in ("aw", "ar")}
        pins["w__payload"] = rng.getrandbits(36)
        pins |= {port: self._some(port) for port in ("pim_events", "npu_events", "npu_status")}
        pins["pim_status"] = rng.getrandbits(80) | self._errors << 80
        return pins


@pytest.fixture
def random_pins() -> type[RandomPins]:
    return RandomPins
