# SPDX-License-Identifier: Apache-2.0
"""Streams behind addresses: random accesses against the golden model, and faults."""

import sys
from dataclasses import replace
from random import Random

import pytest
from amaranth.hdl import unsigned

from ahasd.rtl.board.golden import Access, ChannelsGolden
from ahasd.rtl.board.params import POPPED, PUSHED, BoardParams, channel
from ahasd.rtl.bridge.params import BridgeParams, Status
from ahasd.rtl.configs import UNITS, Unit
from ahasd.rtl.host.params import HostParams
from ahasd.sim.pysim import PysimEngine

PARAMS = BridgeParams(divisor=4, gap_cycles=100, payload_bytes=4)
WIDTHS = {"draft": 20, "request": 32, "task": 3, "decision": 4, "feedback": 32}
PUSHES, POPS = ("draft", "request", "task"), ("decision", "feedback")
ADDRESSES = [channel(name) for name in (*PUSHES, *POPS)] + [0x0000, 0x1003, 0x2000, 0x1101]
STATUSES = {Status.OKAY, Status.EMPTY, Status.ABSENT, Status.FULL}


@pytest.fixture
def differs(monkeypatch):
    """Return a function that runs random accesses.

    It tells at which edge the two differ, None if they do not, and the statuses up to there.
    """
    UNITS["board"].load_hardware()

    def hardware(self):
        def make(params):
            made = sys.modules["ahasd.rtl.board.unit"].Channels(
                params,
                "pim",
                pushed={name: unsigned(WIDTHS[name]) for name in PUSHES},
                popped={name: unsigned(WIDTHS[name]) for name in POPS},
            )
            return made

        return make

    monkeypatch.setattr(Unit, "load_hardware", hardware)
    unit = replace(UNITS["board"], domains=("pim",))

    def run(edges: int = 3000) -> tuple[int | None, set[Status]]:
        rng = Random(5)
        engine, golden = PysimEngine(unit, PARAMS), ChannelsGolden(WIDTHS, PUSHES, POPS)
        statuses = set()
        access = None
        for edge in range(edges):
            if access is None and rng.random() < 0.7:
                access = Access(rng.getrandbits(1), rng.choice(ADDRESSES), rng.getrandbits(32))
            streams = {}
            for name in POPS:
                streams |= {f"{name}__valid": rng.getrandbits(1)}
                streams |= {f"{name}__payload": rng.getrandbits(WIDTHS[name])}
            streams |= {f"{name}__ready": int(rng.random() < 0.1) for name in PUSHES}
            takes = rng.getrandbits(1)
            pins = {name: value for name, value in streams.items() if name.endswith("__ready")}
            pins |= {name.replace("__", "_in__"): streams[name] for name in streams.keys() - pins}
            offer = access or Access(0, 0, 0)
            packed = offer.pop | offer.channel << 1 | offer.data << 17
            pins |= {"access__valid": int(access is not None), "access__payload": packed}
            pins["result__ready"] = takes
            seen = engine.step(pins, 1, edge)
            expected = golden.pins(access)
            for name, value in expected.items():
                stream, _, pin = name.partition("__")
                told = f"{stream}_in__{pin}" if stream in POPS else name
                if seen[told] != value:
                    return edge, statuses
            ready = golden.result is None
            result = (seen["result__valid"], seen["result__payload"] * seen["result__valid"])
            if (seen["access__ready"], seen["idle"]) != (ready, golden.idle):
                return edge, statuses
            if result != (int(not ready), golden.result or 0):
                return edge, statuses
            if golden.result is not None:
                statuses.add(Status(golden.result & 7))
            golden.edge(access, streams, taken=bool(takes))
            if ready:
                access = None
        return None, statuses

    return run


def test_random_accesses_give_what_the_golden_model_gives(differs):
    assert differs() == (None, STATUSES)


MUTANTS = {
    "a push replaces what is on offer": ("with m.If(taken & ~offer.valid):", "with m.If(taken):"),
    "a full stream says that it took": (
        "Mux(offer.valid, Status.FULL, Status.OKAY)",
        "Status.OKAY",
    ),
    "an offer is withdrawn": ("with m.If(offer.ready):", "with m.If(1):"),
    "an offer stays when it was taken": ("with m.If(offer.ready):", "with m.If(0):"),
    "a pop takes before its access is taken": ("offer.ready.eq(taken)", "offer.ready.eq(1)"),
    "an empty stream gives": ("Mux(offer.valid, Status.OKAY, Status.EMPTY)", "Status.OKAY"),
    "every address is a stream": ("Status.ABSENT", "Status.OKAY"),
    "a result is replaced": ("access.ready.eq(~result.valid)", "access.ready.eq(1)"),
    "a result is lost": ("with m.If(result.ready):", "with m.If(1):"),
    "idle does not look at offers": (", *(offer.valid for offer in offers)", ""),
}


@pytest.mark.full
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name, mutant, differs):
    mutant("board", *MUTANTS[name], file="channels")
    edge, _ = differs()
    assert edge is not None


def test_addresses_are_those_of_the_page():
    assert {name: channel(name) for name in (*PUSHED["npu"], *POPPED["npu"])} == {
        "feedback_in": 0x0000,
        "batch_out": 0x0000,
    }
    assert [channel(name) for name in PUSHED["pim"]] == [0x1000, 0x1001, 0x1002, 0x1003, 0x1004]
    assert [channel(name) for name in POPPED["pim"]] == [0x1000, 0x1001, 0x1002, 0x1003, 0x1004]
    assert PUSHED["pim"] == ("draft", "request", "task", "done", "measure")
    assert POPPED["pim"] == ("decision", "feedback", "answer", "preverify", "issue")


def test_parts_that_do_not_fit_are_refused():
    ahasd = UNITS["ahasd"].configurations["small"]
    with pytest.raises(ValueError, match=r"payload_bytes = 8 must hold the \d+ bits of feedback"):
        BoardParams(ahasd=ahasd, bridge=BridgeParams(payload_bytes=8))
    with pytest.raises(ValueError, match=r"ahasd.host.address_width must be 16, not 14"):
        BoardParams(ahasd=replace(ahasd, host=HostParams(address_width=14)))
