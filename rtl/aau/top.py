# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of the largest elements of a row: a list in order, with which others are merged.

Mathematics: the largest by their keys, and of equals those of the lowest index.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ahasd.rtl.aau.primitives.integers import Ints


class Place(NamedTuple):
    """An element that was found.

    Attributes
    ----------
    key
        Its place in the order of all.
    index
        Its place in the row.
    """

    key: int
    index: int


def before(new: Place, old: Place) -> bool:
    """Tell whether an element comes before one that is kept."""
    return new.key > old.key or (new.key == old.key and new.index < old.index)


def merge_places(kept: Sequence[Place], given: Sequence[Place], count: int) -> tuple[Place, ...]:
    """Return the first of two lists in order.

    Parameters
    ----------
    kept, given
        The lists.
    count
        How many places are returned, or fewer if there are not so many.
    """
    merged: list[Place] = []
    olds, news = list(kept), list(given)
    while len(merged) < count and (olds or news):
        takes_new = bool(news) and (not olds or before(news[0], olds[0]))
        merged.append((news if takes_new else olds).pop(0))
    return tuple(merged)


def places_of_beats(
    keys: Ints, sound: Ints, index: Ints, lanes: int, count: int
) -> list[list[Place]]:
    """Return the first elements of every beat in order, of equals the lower lane first.

    Those that are below as many others of the row as count are left out, and beats without others.

    Parameters
    ----------
    keys, index
        Of all elements of a row.
    sound
        1 for those that count.
    lanes
        Elements of a beat.
    count
        How many are returned of a beat.
    """
    candidates = np.flatnonzero(sound)
    if len(candidates) > count:
        least = np.partition(keys[candidates], -count)[-count]
        candidates = candidates[keys[candidates] >= least]
    beats: dict[int, list[int]] = {}
    for i in candidates[np.argsort(-keys[candidates], kind="stable")].tolist():
        beats.setdefault(i // lanes, []).append(i)
    return [
        [Place(int(keys[i]), int(index[i])) for i in ranked[:count]]
        for _, ranked in sorted(beats.items())
    ]
