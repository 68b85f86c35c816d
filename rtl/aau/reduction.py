# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of a row's state: what one pass keeps of it, and how parts are merged."""

from dataclasses import replace

import numpy as np

from ahasd.rtl.aau.encodings import KEY_WIDTH, MOMENTS, POWERS, Op, State
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.exp2.golden import exp2
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import Ints
from ahasd.rtl.aau.primitives.load.golden import Real
from ahasd.rtl.aau.reals import product, real_width, scaled
from ahasd.rtl.aau.schedule import REDUCE
from ahasd.rtl.aau.sums import Sums, joined, no_sums, rebase, term, whole, wrap
from ahasd.rtl.aau.top import Place, merge_places, places_of_beats


def order(codes: Ints, form: Format) -> Ints:
    """Return the places of elements in the order of all; zeros and subnormal numbers are equal."""
    if form.floating:
        magnitude = codes & 0x7FFF
        magnitude = np.where(magnitude >> form.fraction_width == 0, 0, magnitude)
        return np.where((codes >> 15 & 1 == 1) & (magnitude > 0), ~magnitude, magnitude)
    half = 1 << (form.width - 1)
    return (codes ^ half) - half


def empty(params: AauParams) -> State:
    """Return the state of no element."""
    key = -(1 << (KEY_WIDTH - 1))
    return State(
        **no_sums(params)._asdict(),
        count=0,
        key=key,
        index=0,
        seen=0,
        nan=0,
        positive=0,
        negative=0,
    )


def merge(first: State, second: State, op: int, params: AauParams) -> State:
    """Return the state of two parts of a row, of which the first comes first among equals."""
    sums = _sums(first)
    if op in POWERS | MOMENTS:
        sums = joined(sums, _sums(second), op, params)
    merged = State(
        **sums._asdict(),
        count=(first.count + second.count) & ((1 << params.count_width) - 1),
        key=0,
        index=0,
        seen=0,
        nan=first.nan | second.nan,
        positive=first.positive | second.positive,
        negative=first.negative | second.negative,
    )
    return with_places(
        merged, merge_places(places(first), places(second), params.entries(op)), params
    )


def _sums(state: State) -> Sums:
    return Sums(state.reference, state.a, state.b)


def places(state: State) -> tuple[Place, ...]:
    """Return the largest elements of a row, in order."""
    return (Place(state.key, state.index), *state.places) if state.seen else ()


def with_places(state: State, found: tuple[Place, ...], params: AauParams) -> State:
    """Return a state with other largest elements."""
    none = empty(params)
    head = found[0] if found else Place(none.key, none.index)
    return replace(state, key=head.key, index=head.index, seen=int(bool(found)), places=found[1:])


def outgoing(state: State, op: int, params: AauParams) -> list[State]:
    """Return what goes out of a state, or what is summed up of it, one after the other."""
    found = places(state)
    rest = range(1, params.entries(op))
    return [
        replace(state, places=()),
        *(replace(with_places(state, found[i : i + 1], params), count=0) for i in rest),
    ]


def reduce(
    state: State,
    codes: Ints,
    form: Format,
    elements: Real,
    factor: Real,
    op: int,
    first_index: int,
    params: AauParams,
) -> State:
    """Return a state that goes on over a row.

    Parameters
    ----------
    state
        What was there before.
    codes, form, elements
        The row, as it came and as numbers.
    factor
        Constant by which elements are multiplied before powers are taken.
    op, first_index
        As in the command.
    """
    numerics, lanes = params.numerics, params.lanes
    masked = elements.infinite & elements.sign
    sound = (masked | elements.nan) == 0
    state = _largest(state, order(codes, form), sound, op, first_index, params)
    state = replace(
        state,
        count=(state.count + len(codes)) & ((1 << params.count_width) - 1),
        nan=state.nan | int(elements.nan.any()),
        positive=state.positive | int((elements.infinite & (elements.sign ^ 1)).any()),
        negative=state.negative | int(masked.any()),
    )
    if op not in POWERS | MOMENTS:
        return state

    beats = -(-len(codes) // lanes)
    missing = beats * lanes - len(codes)

    def by_beat(values: Ints, fill: int) -> Ints:
        return np.concatenate([values, np.full(missing, fill, dtype=np.int64)]).reshape(-1, lanes)

    width = real_width(numerics)
    lowest = no_sums(params).reference
    if op in POWERS:
        height = by_beat(np.where(sound, scaled(product(elements, factor, width), numerics), 0), 0)
        kept = by_beat(sound.astype(np.int64), 0)
    else:
        height = by_beat(elements.exponent, 0)
        kept = by_beat(np.ones(len(codes), dtype=np.int64), 0)
    highest = np.where(kept == 1, height, lowest).max(axis=1)
    reference = np.maximum.accumulate(np.maximum(highest, state.reference))
    if op in POWERS:
        point = numerics.fraction_width
        level = (reference + (1 << point) - 1) >> point
        depth = np.where(kept == 1, (level[:, None] << point) - height, 0)
        power = exp2(depth, numerics)
        mantissa = power.mantissa << (width - numerics.mantissa_width)
        low = depth & ((1 << params.depth_factor_width) - 1)
        first = term(mantissa, width - 1, power.shift, params)
        second = term(mantissa * low, width - 1 + point, power.shift, params)
    else:
        level = reference
        down = reference[:, None] - height
        mantissa = by_beat(elements.mantissa, 0)
        sign = by_beat(elements.sign, 0)
        first = term(mantissa, width - 1, down, params)
        first = np.where(sign == 1, -first, first)
        second = term(mantissa * mantissa, 2 * (width - 1), 2 * down, params)
    summed = REDUCE[Op(op)]
    firsts = np.where(kept == 1, first, 0).sum(axis=1) * (summed.firsts is not None)
    seconds = np.where(kept == 1, second, 0).sum(axis=1) * (summed.seconds is not None)
    a, b, base = state.a, state.b, whole(state.reference, op, params)
    a_width, b_mask = params.a_width, (1 << params.b_width) - 1
    for here, first_sum, second_sum in zip(
        level.tolist(), firsts.tolist(), seconds.tolist(), strict=True
    ):
        rise = here - base
        if rise:
            a, b = rebase(a, b, rise, op)
            base += rise
        a = wrap(a + first_sum, a_width)
        b = (b + second_sum) & b_mask
    return replace(state, reference=int(reference[-1]) if beats else state.reference, a=a, b=b)


def _largest(
    state: State, key: Ints, sound: Ints, op: int, first_index: int, params: AauParams
) -> State:
    """Return a state with the largest elements; of equals the first of a beat, then by index."""
    index = (first_index + np.arange(len(key))) & ((1 << params.index_width) - 1)
    count, found = params.entries(op), places(state)
    for beat in places_of_beats(key, sound, index, params.lanes, count):
        found = merge_places(found, beat, count)
    return with_places(state, found, params)
