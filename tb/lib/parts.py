# SPDX-License-Identifier: Apache-2.0
"""What the bench of parts drives: for each part the pins of edge after edge, as its users may."""

from collections.abc import Callable, Generator, Mapping
from itertools import pairwise
from random import Random
from typing import Any

from ahasd.rtl.aau.encodings import KEY_WIDTH, Op
from ahasd.rtl.aau.largest import packed
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH
from ahasd.rtl.aau.reals import real_width
from ahasd.rtl.aau.schedule import DELAYS
from ahasd.rtl.aau.sums import Sums
from ahasd.rtl.aau.sums_pins import packed as packed_sums
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


def some_product(rng: Random, level: int, params: AauParams) -> int:
    """Return a product below 4 times `2**level`: exact, of any sign, also not normalised."""
    width = 2 * real_width(params.numerics)
    up = rng.randrange(params.depth_factor_width - params.numerics.fraction_width)
    down = rng.choice((-up, 0, rng.randrange(8), rng.randrange(70), rng.randrange(200)))
    size = width - max(0, -down)
    mantissa = rng.choice((0, (1 << size) - 1, rng.getrandbits(size)))
    exponent = (level - down) & ((1 << EXPONENT_WIDTH) - 1)
    flags = rng.getrandbits(1)
    return mantissa | (exponent | flags << EXPONENT_WIDTH) << width


def block_sums(rng: Random, widths: Widths, params: AauParams) -> Stimulus:
    """Drive beats of products, and of powers, whose sums are relative to 1."""
    lanes = params.lanes
    size = widths["product"] // lanes
    for _ in range(4000):
        of_power = rng.getrandbits(1)
        level = 0 if of_power else rng.randrange(-300, 300)
        products = (some_product(rng, level, params) for _ in range(lanes))
        yield {
            "enable": int(rng.random() < 0.8),
            "active": rng.choice(((1 << lanes) - 1, rng.getrandbits(lanes))),
            "product": sum(each << size * lane for lane, each in enumerate(products)),
            "power": rng.getrandbits(widths["power"]),
            "of_power": of_power,
            "level": level & ((1 << widths["level"]) - 1),
        }


STEPS = ("raise_reference", "lift", "add")


def some_sums(rng: Random, near: int, step: int, params: AauParams) -> Sums:
    """Return sums with a reference that is near another one."""
    low, high = -(1 << (params.reference_width - 1)), (1 << (params.reference_width - 1)) - 1
    reference = max(low, min(high, near + rng.randrange(-step, step + 1)))
    a, b = (rng.getrandbits(rng.randrange(params.b_width)) for _ in range(2))
    return Sums(reference, a, b)


def row_states(rng: Random, widths: Widths, params: AauParams) -> Stimulus:
    """Drive parts, then the beats of a row, at all distances from the reference to its sums."""
    unit = 1 << params.numerics.fraction_width
    for _ in range(150):
        powers, weighted = rng.choice(((0, 0), (1, 0), (1, 1)))
        delay = rng.randrange(len(DELAYS))
        still = {"powers": powers, "weighted": weighted, "delay": delay, "clear": 0, "given": 0}
        still |= {"enable": 0, "importing": 0, **dict.fromkeys(STEPS, 0)}
        yield {**still, "clear": 1}
        step = rng.choice((3, 40, 3 * unit, 40 * unit))
        near = rng.randrange(-(1 << (params.reference_width - 1)), 0)
        for _ in range(rng.randrange(4)):
            part = some_sums(rng, near, step, params)
            near = max(near, part.reference)
            for name in STEPS if weighted else STEPS[::2]:
                while rng.random() < 0.3:
                    yield {**still, "given": rng.getrandbits(widths["given"]), name: 1}
                yield {**still, "importing": 1, "given": packed_sums(part, params), name: 1}

        interval, beats = 2 if weighted else rng.choice((1, 1, 2, 3)), rng.randrange(25)
        wait = DELAYS[delay]
        due = {name: set[int]() for name in STEPS}
        for beat in range(beats):
            due["raise_reference"].add(beat * interval)
            due["lift"] |= {beat * interval + wait} if weighted else set()
            due["add"].add(beat * interval + wait + weighted)
        for cycle in range(max(due["add"], default=0) + 1 if beats else 0):
            given = some_sums(rng, near, step, params)
            if not powers and rng.getrandbits(1):
                given = given._replace(a=-given.a)
            near = max(near, given.reference) if cycle in due["raise_reference"] else near
            done = {name: int(cycle in cycles) for name, cycles in due.items()}
            while rng.random() < 0.2:
                noise = {name: rng.getrandbits(1) for name in STEPS}
                yield {**still, **noise, "given": rng.getrandbits(widths["given"])}
            yield {**still, **done, "enable": 1, "given": packed_sums(given, params)}


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
        "blocksum": lambda: block_sums(rng, widths, params),
        "rowstate": lambda: row_states(rng, widths, params),
    }
    return special.get(part, lambda: numbers(rng, widths))()
