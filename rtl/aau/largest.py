# SPDX-License-Identifier: Apache-2.0
"""Golden models behind their pins of what finds the largest elements, edge by edge."""

from collections.abc import Mapping

from ahasd.rtl.aau.encodings import KEY_WIDTH, Op
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.top import Place, before

Pins = Mapping[str, int]
LOWEST = -(1 << (KEY_WIDTH - 1))


def packed(place: Place, seen: int, params: AauParams) -> int:
    """Return an element as it is on the wires."""
    low = place.key & ((1 << KEY_WIDTH) - 1)
    return low | place.index << KEY_WIDTH | seen << (KEY_WIDTH + params.index_width)


def unpacked(pin: int, params: AauParams) -> Place | None:
    """Return the element on the wires; None without one."""
    if not pin >> (KEY_WIDTH + params.index_width):
        return None
    return Place(_signed(pin), pin >> KEY_WIDTH & ((1 << params.index_width) - 1))


def _signed(pin: int) -> int:
    low = pin & ((1 << KEY_WIDTH) - 1)
    return low - (low >> (KEY_WIDTH - 1) << KEY_WIDTH)


class MaxGolden:
    """The largest of a beat, and then those behind it."""

    latency = 1
    interval = 1

    def __init__(self, params: AauParams) -> None:
        self.params = params
        self._candidate: int | None = None
        self._left: list[int] = []

    def step(self, pins: Pins, clocks: int = 1) -> dict[str, int]:
        """Take an edge; return the outputs just before it, none before anything was found."""
        outputs = {} if self._candidate is None else {"candidate": self._candidate}
        if clocks and pins["enable"]:
            lanes = range(self.params.lanes)
            keys = [_signed(pins["key"] >> KEY_WIDTH * lane) for lane in lanes]
            ranked = self._left
            if pins["start"]:
                sound = [lane for lane in lanes if pins["sound"] >> lane & 1]
                ranked = sorted(sound, key=lambda lane: -keys[lane])
            first = ranked[0] if ranked else 0
            index = (pins["index"] + first) & ((1 << self.params.index_width) - 1)
            self._candidate = packed(Place(keys[first], index), int(bool(ranked)), self.params)
            self._left = ranked[1:] if pins["more"] else []
        if clocks and pins["load"]:
            self._candidate, self._left = pins["given"], []
        return outputs


class TopGolden:
    """A list in order, into which others are merged step by step."""

    latency = 1
    interval = 1

    def __init__(self, params: AauParams) -> None:
        self.params = params
        self._count = params.entries(Op.TOP)
        none: list[Place | None] = [None] * self._count
        self._olds = none  # what is left of the list that a merge began with
        self._news: list[Place] = []  # what a merge has made of it

    def step(self, pins: Pins, clocks: int = 1) -> dict[str, int]:
        """Take an edge; return the outputs just before it."""
        new = unpacked(pins["candidate"], self.params)
        head = self._olds[0]
        wins = new is not None and (head is None or before(new, head))
        outputs = {
            "wins": int(wins),
            "head": packed(head or Place(LOWEST, 0), int(head is not None), self.params),
        }
        if clocks and pins["merge"]:
            if new is not None and wins:
                self._news.append(new)
                self._olds = self._olds[: self._count - pins["step"] - 1]
            else:
                self._olds = self._olds[1:]
                self._news += [] if head is None else [head]
            if pins["step"] == self._count - 1:
                self._olds = [*self._news, *[None] * (self._count - len(self._news))]
                self._news = []
        if clocks and pins["rotate"]:
            self._olds = [*self._olds[1:], head]
        if clocks and pins["replace"] and wins:
            self._olds = [new, *self._olds[1:]]
        if clocks and pins["clear"]:
            self._olds, self._news = [None] * self._count, []
        return outputs
