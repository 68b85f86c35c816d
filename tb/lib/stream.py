# SPDX-License-Identifier: Apache-2.0
"""Drivers of stream ports, with random gaps and random back-pressure."""

from collections import deque
from random import Random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge


class Source:
    """Drive an input stream: payloads in order, each held until it is taken.

    Parameters
    ----------
    dut, name, clock
        The design, the stream's name and its clock.
    rng, gap
        Source of randomness, and the probability of a cycle without an offer.
    """

    def __init__(self, dut: Any, name: str, clock: Any, rng: Random, gap: float) -> None:
        self._valid = getattr(dut, f"{name}__valid")
        self._ready = getattr(dut, f"{name}__ready")
        self._payload = getattr(dut, f"{name}__payload")
        self._clock = clock
        self._rng = rng
        self._gap = gap
        self.queue: deque[int] = deque()
        self.taken = 0
        self._valid.value = 0
        self._payload.value = 0
        cocotb.start_soon(self._drive())

    async def _drive(self) -> None:
        while True:
            if not self.queue or self._rng.random() < self._gap:
                await RisingEdge(self._clock)
                continue
            self._valid.value = 1
            self._payload.value = self.queue[0]
            await RisingEdge(self._clock)
            while not self._ready.value:
                await RisingEdge(self._clock)
            self.queue.popleft()
            self.taken += 1
            self._valid.value = 0
            self._payload.value = self._rng.getrandbits(len(self._payload))


class Sink:
    """Take an output stream.

    Parameters
    ----------
    dut, name, clock
        The design, the stream's name and its clock.
    rng, stall
        Source of randomness, and the probability of a cycle without ready.
    """

    def __init__(self, dut: Any, name: str, clock: Any, rng: Random, stall: float) -> None:
        self._valid = getattr(dut, f"{name}__valid")
        self._ready = getattr(dut, f"{name}__ready")
        self._payload = getattr(dut, f"{name}__payload")
        self._clock = clock
        self._rng = rng
        self._stall = stall
        self.received: deque[int] = deque()
        self._ready.value = 0
        cocotb.start_soon(self._drive())

    async def _drive(self) -> None:
        while True:
            self._ready.value = int(self._rng.random() >= self._stall)
            await RisingEdge(self._clock)
            if self._valid.value and self._ready.value:
                self.received.append(int(self._payload.value))
