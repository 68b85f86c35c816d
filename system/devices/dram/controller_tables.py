# SPDX-License-Identifier: Apache-2.0
"""Bandwidth of a memory against the access pattern, and the tables of it in `docs/dram.md`."""

from dataclasses import dataclass, replace

import numpy as np

from ahasd.system.devices.dram.controller import Options
from ahasd.system.devices.dram.controller_fast import serve
from ahasd.system.devices.dram.controller_mapping import MAPPINGS
from ahasd.system.devices.dram.controller_traffic import mixed, random, sequential, strided
from ahasd.system.devices.dram.timing import Timing, load_timing
from ahasd.system.devices.markdown import markdown_table

REQUESTS = 10_000
STRIDES_BYTES = (64, 256, 1024, 4096, 16384, 65536, 2**20)
READ_SHARES = (1.0, 2 / 3, 0.5, 0.0)

_SEED = 1


@dataclass(frozen=True, kw_only=True)
class Bandwidth:
    """What one channel gives under one pattern.

    Parameters
    ----------
    pattern
        `sequential`, `stride <bytes>` or `random`.
    mapping
        Name of the address mapping.
    read_share
        Share of reads among the requests, 0 to 1.
    gb_s
        Rate of reads and writes, 10**9 bytes a second.
    bus_share
        Share of the time in which the data bus carries data, 0 to 1.
    row_hits
        Share of the accesses to a row that was not opened for them, 0 to 1.
    read_latency_ns
        Mean from the entry of a read to its last data; 0 without reads.
    """

    pattern: str
    mapping: str
    read_share: float
    gb_s: float
    bus_share: float
    row_hits: float
    read_latency_ns: float


def bandwidth(
    timing: Timing,
    pattern: str,
    addresses: np.ndarray,
    *,
    mapping: str = "groups-interleaved",
    read_share: float = 1.0,
) -> Bandwidth:
    """Serve addresses of one channel as fast as they are taken."""
    requests = mixed(np.random.default_rng(_SEED), addresses, read_share)
    served = serve(timing, requests, Options(mapping=MAPPINGS[mapping]))
    latencies = served.read_latencies()
    mean = float(latencies.mean()) if len(latencies) else 0.0
    return Bandwidth(
        pattern=pattern,
        mapping=mapping,
        read_share=read_share,
        gb_s=float(served.bytes_s) / 1e9,
        bus_share=served.bus_share,
        row_hits=served.row_hits,
        read_latency_ns=mean * float(timing.period_ps) / 1000,
    )


def patterns(timing: Timing, requests: int = REQUESTS) -> dict[str, np.ndarray]:
    """Return addresses of each pattern, over one rank: in sequence, in strides, at random."""
    rank_bytes = timing.banks * timing.rows * timing.row_bytes
    burst = timing.burst_bytes
    found = {"sequential": sequential(requests, burst)}
    for step in STRIDES_BYTES:
        found[f"stride {step}"] = strided(requests, max(step, burst), burst, rank_bytes)
    rng = np.random.default_rng(_SEED)
    return {**found, "random": random(rng, requests, burst, rank_bytes)}


def bandwidth_table(timing: Timing, requests: int = REQUESTS) -> list[Bandwidth]:
    """Return the bandwidth of one channel: reads in every pattern and mapping, then mixes.

    Mappings that do not suit the memory are left out. Strides are of bytes within the channel.
    """
    return [*_of_reads(timing, requests), *_of_mixes(timing, requests)]


def _of_reads(timing: Timing, requests: int) -> list[Bandwidth]:
    one = replace(timing, channels=1)
    return [
        bandwidth(one, name, addresses, mapping=mapping)
        for name, addresses in patterns(one, requests).items()
        for mapping in MAPPINGS
        if MAPPINGS[mapping].suits(one)
    ]


def _of_mixes(timing: Timing, requests: int) -> list[Bandwidth]:
    one = replace(timing, channels=1)
    addresses = patterns(one, requests)
    return [
        bandwidth(one, name, addresses[name], read_share=share)
        for name in ("sequential", "random")
        for share in READ_SHARES
    ]


def pattern_table() -> str:
    """Return what a channel of the default memory gives for each pattern, by mapping."""
    table = _of_reads(load_timing("lpddr5-6400"), REQUESTS)
    rates = {(each.pattern, each.mapping): f"{each.gb_s:.2f}" for each in table}
    rows = [
        (pattern, *(rates[pattern, mapping] for mapping in MAPPINGS))
        for pattern in dict.fromkeys(each.pattern for each in table)
    ]
    return markdown_table(("reads, GB/s", *MAPPINGS), rows)


def mix_table() -> str:
    """Return what a channel of the default memory gives for mixes of reads and writes."""
    table = _of_mixes(load_timing("lpddr5-6400"), REQUESTS)
    rows = [
        (pattern, *(f"{each.gb_s:.2f}" for each in table if each.pattern == pattern))
        for pattern in dict.fromkeys(each.pattern for each in table)
    ]
    header = ("GB/s", *(f"{share:.0%} reads" for share in READ_SHARES))
    return markdown_table(header, rows)
