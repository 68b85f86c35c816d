# SPDX-License-Identifier: Apache-2.0
"""Requests to try a controller with: streams, strides, random; reads and writes; any rate."""

import numpy as np
import numpy.typing as npt

from ahasd.system.devices.dram.controller import Requests


def sequential(count: int, step_bytes: int, *, start_bytes: int = 0) -> npt.NDArray[np.int64]:
    """Return addresses one step after the other."""
    return start_bytes + np.arange(count, dtype=np.int64) * step_bytes


def strided(
    count: int, step_bytes: int, burst_bytes: int, range_bytes: int
) -> npt.NDArray[np.int64]:
    """Return addresses one step after the other, from the begin again when a range ends.

    Each time one burst further, until a step is reached: so every burst of the range comes once
    before any comes again.
    """
    turn, index = np.divmod(np.arange(count, dtype=np.int64), range_bytes // step_bytes)
    return index * step_bytes + turn * burst_bytes % step_bytes


def random(
    rng: np.random.Generator, count: int, burst_bytes: int, range_bytes: int
) -> npt.NDArray[np.int64]:
    """Return bursts anywhere in a range, all equally likely."""
    return rng.integers(0, range_bytes // burst_bytes, count) * burst_bytes


def reads(addresses: npt.NDArray[np.int64]) -> Requests:
    """Return reads that all wait from the begin."""
    return Requests(addresses=addresses, writes=np.zeros(len(addresses), np.bool_))


def mixed(
    rng: np.random.Generator, addresses: npt.NDArray[np.int64], read_share: float
) -> Requests:
    """Return reads and writes that all wait from the begin, each a read with this probability."""
    return Requests(addresses=addresses, writes=rng.random(len(addresses)) >= read_share)


def at_rate(requests: Requests, cycles_each: float) -> Requests:
    """Return the same requests, one each so many cycles."""
    arrivals = np.floor(np.arange(len(requests.addresses)) * cycles_each).astype(np.int64)
    return Requests(addresses=requests.addresses, writes=requests.writes, arrivals=arrivals)
