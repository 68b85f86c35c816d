# SPDX-License-Identifier: Apache-2.0
"""What the bench of parts drives: for each part the pins of edge after edge, as its users may."""

from collections.abc import Callable, Generator, Mapping
from itertools import pairwise
from random import Random
from typing import Any

from ahasd.rtl.aau.encodings import KEY_WIDTH, Op
from ahasd.rtl.aau.largest import packed
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.top import Place, before

Stimulus = Generator[dict[str, int], dict[str, int], None]
"""Pins for one edge after the other; it is sent the outputs as they stand before the edge."""
Widths = Mapping[str, int]

EXHAUSTIVE = 1 << 14
"""Operands that are driven one by one if there are no more."""


def numbers(rng: Random, widths: Widths) -> Stimulus:
    """Drive every operand there is, or the corners of each and then random ones."""
    operands = {name: width for name, width in widths.items() if name != "enable"}
    total = sum(operands.values())
    every = range(1 << total) if 1 << total <= EXHAUSTIVE else ()
    corners = ((1 << total) - 1, 0, 1, 1 << (total - 1))
    drawn = (rng.getrandbits(total) for _ in range(EXHAUSTIVE))
    for wanted in (*corners, *(every or drawn)):
        enable = 0
        while not enable:
            enable = int(rng.random() < 0.7)
            rest = wanted if enable else rng.getrandbits(total)
            pins = {"enable": enable}
            for name, width in operands.items():
                pins[name] = rest & ((1 << width) - 1)
                rest >>= width
            yield pins


def sigmoids(rng: Random, widths: Widths) -> Stimulus:
    """Drive operands of both signs; the lowest of all is not among them."""
    for pins in numbers(rng, widths):
        if pins["scaled"] != 1 << (widths["scaled"] - 1):
            yield pins


def some_key(rng: Random) -> int:
    """Return a key: often one of few, so that there are equals."""
    return rng.choice((rng.randrange(-3, 4), rng.randrange(-(1 << 31), 1 << 31)))


def beats(rng: Random, widths: Widths, params: AauParams) -> Stimulus:
    """Drive beats, and go on with what is left of them."""
    for _ in range(1500):
        beat = {
            "sound": rng.getrandbits(params.lanes),
            "key": sum(
                (some_key(rng) & ((1 << KEY_WIDTH) - 1)) << KEY_WIDTH * lane
                for lane in range(params.lanes)
            ),
            "index": rng.getrandbits(params.index_width),
            "more": int(rng.random() < 0.8),
        }
        begun = False
        for _ in range(rng.randrange(1, params.lanes + 3)):
            enable = int(rng.random() < 0.7)
            idle = {"load": 0, "given": rng.getrandbits(widths["given"])}
            yield {**beat, **idle, "enable": enable, "start": int(not begun)}
            begun = begun or bool(enable)
        if rng.random() < 0.2:
            enable = rng.getrandbits(1)
            yield {**beat, **idle, "enable": enable, "start": 1, "load": 1}
            yield {**beat, **idle, "enable": 1, "start": 0}


def lists(rng: Random, widths: Widths, params: AauParams) -> Stimulus:
    """Drive merges with lists in order, replacements of the head, and whole rotations."""
    count = params.entries(Op.TOP)
    still = {"clear": 0, "replace": 0, "merge": 0, "step": 0, "rotate": 0, "candidate": 0}
    noise = {"candidate": 0}
    for _ in range(700):
        if rng.random() < 0.15:
            yield {**still, "clear": 1}
        places = {
            Place(some_key(rng), rng.getrandbits(params.index_width))
            for _ in range(rng.randrange(2 * count))
        }
        given = sorted(places, key=lambda place: (-place.key, place.index))
        assert all(before(a, b) for a, b in pairwise(given))
        for step in range(count):
            while rng.random() < 0.3:
                noise = {"candidate": rng.getrandbits(widths["candidate"])}
                yield {**still, **noise, "step": step}
            offered = packed(given[0], 1, params) if given else 0
            seen = yield {**still, "merge": 1, "step": step, "candidate": offered}
            given = given[seen["wins"] :]
        if rng.random() < 0.2:
            yield {**still, "replace": 1, "candidate": rng.getrandbits(widths["candidate"])}
            yield {**still, "clear": 1}
        if rng.random() < 0.3:
            for _ in range(count):
                yield {**still, "rotate": 1}


def stimulus(part: str, rng: Random, widths: Widths, params: Any) -> Stimulus:
    """Return what a part is driven with.

    Parameters
    ----------
    part
        Its name in the catalogue.
    rng
        Generator of its own.
    widths
        Of its input pins.
    params
        Its parameters.
    """
    special: dict[str, Callable[[], Stimulus]] = {
        "sigmoid": lambda: sigmoids(rng, widths),
        "maxtree": lambda: beats(rng, widths, params),
        "topk": lambda: lists(rng, widths, params),
    }
    return special.get(part, lambda: numbers(rng, widths))()
