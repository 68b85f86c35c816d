# SPDX-License-Identifier: Apache-2.0
"""Random numbers that are a function of where they are used, not of what was drawn before.

A draw depends on the seed, on a label that says what it is for, and on its indices (request,
position, step). Longer traces therefore begin with shorter ones, two traces of one seed share
their draws, and no order of computation matters.
"""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

_GAMMA = np.uint64(0x9E3779B97F4A7C15)  # splitmix64: Steele et al., OOPSLA 2014
_GOLDEN_RATIO = 0.6180339887498949


def bits(seed: int, label: str, *indices: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    """Return 64 random bits for each place.

    Parameters
    ----------
    seed : int
        Not negative.
    label : str
        What the draw is for; other labels give independent draws.
    *indices : array_like of int
        Not negative; they are broadcast, and the result has their shape.
    """
    start = blake2b(f"{seed} {label}".encode(), digest_size=8).digest()
    state = np.asarray(int.from_bytes(start, "little"), np.uint64)
    for index in indices:
        state = _mix(state ^ np.asarray(index, np.uint64))
    return state


def uniform(seed: int, label: str, *indices: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return one uniform draw for each place, in the open interval from 0 to 1; see `bits`."""
    return ((bits(seed, label, *indices) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def normal(seed: int, label: str, *indices: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return one standard normal draw for each place (Box and Muller); see `bits`."""
    radius = np.sqrt(-2 * np.log(uniform(seed, f"{label} radius", *indices)))
    return radius * np.cos(2 * np.pi * uniform(seed, f"{label} angle", *indices))


def spread(seed: int, label: str, count: int) -> npt.NDArray[np.float64]:
    """Return `count` draws from the open interval 0 to 1; every prefix covers it evenly.

    Each one by itself is uniform: multiples of the golden ratio from a random start, modulo 1.
    """
    places = (uniform(seed, label) + _GOLDEN_RATIO * np.arange(count)) % 1
    return np.maximum(places, 2.0**-53)


def _mix(value: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return splitmix64's output for a state."""
    with np.errstate(over="ignore"):  # wrapping around 2^64 is meant
        mixed = value + _GAMMA
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))
