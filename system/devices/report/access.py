# SPDX-License-Identifier: Apache-2.0
"""Bandwidth of one channel against the access pattern, by the controller with its default options.

Requests are bursts that all wait from the begin. Reads and writes are mixed at random.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ahasd.system.devices.dram.controller import Options
from ahasd.system.devices.dram.controller_fast import serve
from ahasd.system.devices.dram.controller_mapping import MAPPINGS, Mapping
from ahasd.system.devices.dram.controller_traffic import mixed, random, sequential, strided
from ahasd.system.devices.dram.timing import Timing

REQUESTS = 4096
STRIDE_BURSTS = (4, 16, 64, 256, 1024, 4096, 16384)
READ_SHARES = (1.0, 2 / 3, 0.5, 0.0)

_SEED = 1


@dataclass(frozen=True, kw_only=True)
class Access:
    """What one access pattern gets.

    Parameters
    ----------
    pattern
        `sequential`, `stride` or `random`.
    step_bytes
        From one address to the next; 0 of random ones.
    read_share
        Share of reads, 0 to 1; the others write.
    mapping
        Name of the address mapping.
    bytes_s
        Rate, bytes a second.
    share
        Share of the time in which the data bus carries data, 0 to 1.
    row_hits
        Share of accesses to a row that was open already, 0 to 1.
    """

    pattern: str
    step_bytes: int
    read_share: float
    mapping: str
    bytes_s: float
    share: float
    row_hits: float


def accesses(timing: Timing, *, requests: int = REQUESTS) -> Iterator[Access]:
    """Yield every pattern under every mapping that suits the memory: reads, then the mixes.

    Parameters
    ----------
    timing
        The memory, of which one channel is taken.
    requests
        Bursts of each.
    """
    one = replace(timing, channels=1)
    held_bytes = one.ranks * one.banks * one.rows * one.row_bytes
    count = min(requests, held_bytes // one.burst_bytes)
    rng = np.random.default_rng(_SEED)
    burst = one.burst_bytes
    reads = {("sequential", burst): sequential(count, burst)}
    for times in STRIDE_BURSTS:
        if times * burst <= held_bytes:
            reads["stride", times * burst] = strided(count, times * burst, burst, held_bytes)
    reads["random", 0] = random(rng, count, burst, held_bytes)
    cases = [(each, 1.0) for each in reads.items()]
    cases += [
        (each, share)
        for each in reads.items()
        if each[0][0] != "stride"
        for share in READ_SHARES[1:]
    ]
    for name, mapping in MAPPINGS.items():
        if not _suits(mapping, one):
            continue
        for ((pattern, step_bytes), addresses), read_share in cases:
            asked = mixed(np.random.default_rng(_SEED), addresses, read_share)
            served = serve(one, asked, Options(mapping=mapping))
            yield Access(
                pattern=pattern,
                step_bytes=step_bytes,
                read_share=read_share,
                mapping=name,
                bytes_s=float(served.bytes_s),
                share=served.bus_share,
                row_hits=served.row_hits,
            )


def _suits(mapping: Mapping, timing: Timing) -> bool:
    """Tell whether the memory has the sizes that a mapping needs."""
    try:
        mapping.places(timing, np.zeros(1, np.int64))
    except ValueError:
        return False
    return True
