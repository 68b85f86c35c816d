# SPDX-License-Identifier: Apache-2.0
"""How fast a rank's PIM unit takes MACab commands, and what keeps it from being faster.

One unit serves a rank. A MACab gives it the same column of every bank; a bank holds rows of the
matrix, so the unit multiplies one burst of inputs, from its buffer, with as many rows as there are
banks, and adds into one INT32 accumulator per bank and token.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from ahasd.system.devices.dram.timing import Timing
from ahasd.system.platform import Pim

Limit = Literal["t_mac", "bandwidth", "compute"]

RESULT_BYTES = 4
"""Bytes of one accumulator."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Clock cycles from MACab to MACab, and the limit that makes them."""

    cycles: int
    limit: Limit


def mac_bytes(timing: Timing) -> int:
    """Return the bytes that one MACab reads: a burst of every bank."""
    return timing.banks * timing.burst_bytes


def pace(pim: Pim, timing: Timing, slots: int) -> Pace:
    """Return the spacing of MACab commands on a rank; of equal limits the first.

    Both printed rates count as they are printed, without a factor of efficiency; a spacing is whole
    cycles, rounded up.

    Parameters
    ----------
    pim
        Gives the rates of a unit: bytes of its banks, multiply-accumulates.
    timing
        The memory; `t_mac` is the least spacing that its banks allow.
    slots
        INT8 multiply-accumulates for each byte that is read, at least 1: tokens, times query heads
        to a key head, times two where a weight of one byte meets an input of two.

    Raises
    ------
    ValueError
        `slots` is below 1.
    """
    if slots < 1:
        raise ValueError(f"slots = {slots} must be at least 1")
    size = mac_bytes(timing)
    limits: tuple[tuple[int, Limit], ...] = (
        (timing.t_mac, "t_mac"),
        (_cycles(timing, size / pim.rank_bandwidth_bytes_s), "bandwidth"),
        (_cycles(timing, size * slots / pim.rank_mac_s), "compute"),
    )
    cycles, limit = max(limits, key=lambda each: each[0])
    return Pace(cycles=cycles, limit=limit)


def paced(timing: Timing, spacing: Pace) -> Timing:
    """Return the memory with its MACab commands that far apart, and one rank of one channel."""
    return replace(timing, t_mac=spacing.cycles, channels=1, ranks=1)


def _cycles(timing: Timing, seconds: Fraction) -> int:
    return -(-seconds * 10**12 // timing.period_ps)
