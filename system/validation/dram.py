# SPDX-License-Identifier: Apache-2.0
"""Our memory controller against peers' measured results on the same access patterns.

Options are the peers' defaults. Ramulator 2.1: queues of 32, FR-FCFS. DRAMsim3: 32 transactions
before queues of 8 for each bank, rows kept for 4 hits. PIMSimulator: queues of 64. Addresses and
kinds of requests are drawn anew, as the peers' generators differ.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ahasd.system.devices.dram.controller import Options, Requests, Served
from ahasd.system.devices.dram.controller_fast import serve
from ahasd.system.devices.dram.controller_mapping import (
    FOUR_LINES_XOR,
    ROW_BANK_RANK_COLUMN,
    Mapping,
)
from ahasd.system.devices.dram.controller_traffic import mixed, random, reads, sequential
from ahasd.system.devices.dram.timing import Timing, load_timing
from ahasd.system.validation.rows import Row

REQUESTS = 200_000
"""As many as the peers were given."""

RAMULATOR = "Ramulator 2.1"
DRAMSIM3 = "DRAMsim3"
PIMSIMULATOR = "PIMSimulator"

_SEED = 1


def rows(requests: int = REQUESTS) -> list[Row]:
    """Return every case; fewer requests give about the same rates sooner."""
    return [*_ramulator(requests), *_loaded(requests), *_dramsim3(requests), *_pimsimulator()]


def _row(
    peer: str, case: str, unit: str, theirs: float, ours: float | Fraction, reason: str = ""
) -> Row:
    return Row(peer=peer, case=case, unit=unit, theirs=theirs, ours=float(ours), reason=reason)


def _ramulator_options(mapping: Mapping, *, refresh: bool = True) -> Options:
    return Options(
        mapping=mapping, hits_cap=0, hits_limit=0, refresh="all-bank" if refresh else "none"
    )


def _ramulator(requests: int) -> list[Row]:
    """LPDDR5-6400, one x16 channel of one rank, reads of 32 B as fast as they are taken."""
    timing = replace(load_timing("lpddr5-6400"), channels=1, ranks=1)
    stream = sequential(requests, timing.burst_bytes)
    anywhere = random(np.random.default_rng(_SEED), requests, timing.burst_bytes, 2**30)
    found = []
    for pattern, addresses, mapping, refresh, theirs, their_latency in (
        ("stream", stream, FOUR_LINES_XOR, False, 12_637, 85.0),
        ("stream", stream, FOUR_LINES_XOR, True, 11_545, 91.3),
        ("stream", stream, ROW_BANK_RANK_COLUMN, True, 10_138, 100.0),
        ("random in 1 GiB", anywhere, FOUR_LINES_XOR, False, 6_100, 168.3),
        ("random in 1 GiB", anywhere, FOUR_LINES_XOR, True, 5_589, 180.6),
    ):
        served = serve(timing, reads(addresses), _ramulator_options(mapping, refresh=refresh))
        name = "MOP4CLXOR" if mapping is FOUR_LINES_XOR else "RoBaRaCoCh"
        case = f"LPDDR5-6400 read, {pattern}, {name}, {'REFab' if refresh else 'no refresh'}"
        latency = served.read_latencies().mean()
        found.append(_row(RAMULATOR, case, "MB/s", theirs, served.bytes_s / 10**6))
        found.append(_row(RAMULATOR, f"{case}: latency", "cycles", their_latency, latency))
    return found


def _loaded(requests: int) -> list[Row]:
    """Latency of single reads anywhere beside a stream of a given rate, LPDDR5-6400."""
    timing = replace(load_timing("lpddr5-6400"), channels=1, ranks=1)
    options = _ramulator_options(Mapping(order=("row", "column", "bank", "group", "rank")))
    two = Requests(
        addresses=np.array([0, timing.banks * timing.row_bytes]),
        writes=np.zeros(2, np.bool_),
        arrivals=np.array([0, 1000]),
    )
    alone = serve(timing, two, options).read_latencies()[1]
    unloaded_ns = int(alone) * timing.period_ps / 1000
    found = [_row(RAMULATOR, "LPDDR5-6400 read, other row open", "ns", 63.8, unloaded_ns)]
    for theirs_gb_s, their_latency in ((8.63, 61.8), (10.20, 63.1), (11.71, 112.1)):
        step = float(timing.burst_bytes * 1000 / timing.period_ps) / theirs_gb_s
        latency = _beside_a_stream(timing, options, requests, step, their_latency)
        apart = replace(timing, act_command=1)
        other = _beside_a_stream(apart, options, requests, step, their_latency)
        reason = (
            "our ACT takes two command cycles on end and so holds up a read of the stream; theirs "
            f"are apart (tAAD). With an ACT of one cycle ours gives {other:.1f}"
        )
        case = f"LPDDR5-6400 read, REFab, stream of {theirs_gb_s} GB/s: latency of random reads"
        found.append(_row(RAMULATOR, case, "cycles", their_latency, latency, reason))
    return found


def _beside_a_stream(
    timing: Timing, options: Options, requests: int, step: float, probe_step: float
) -> float:
    """Return the mean latency of a read anywhere each `probe_step` cycles beside a stream.

    The source makes a pause after each request and does not catch up after a refresh; the pause is
    sought at which a request of the stream comes each `step` cycles.
    """
    rng = np.random.default_rng(_SEED)
    each = round(probe_step / step)
    is_probe = np.arange(requests) % (each + 1) == each
    channel_bytes = timing.banks * timing.rows * timing.row_bytes
    addresses = np.cumsum(~is_probe) * timing.burst_bytes
    addresses[is_probe] = random(rng, int(is_probe.sum()), timing.burst_bytes, channel_bytes)
    pause, latency = step, 0.0
    for _ in range(4):
        times = np.floor(np.cumsum(~is_probe) * pause).astype(np.int64)
        served = serve(
            timing,
            Requests(
                addresses=addresses,
                writes=np.zeros(requests, np.bool_),
                gaps=np.diff(times, prepend=0),
            ),
            options,
        )
        latency = served.read_latencies()[is_probe].mean()
        pause = max(1.0, pause * step * (~is_probe).sum() / served.cycles)
    return latency


def _dramsim3_options(mapping: Mapping) -> Options:
    return Options(
        mapping=mapping, drain_from=32, drain_to=0, bank_depth=8, hits_cap=4, hits_limit=0
    )


def _warm(served: Served) -> float:
    """Return the mean read latency without the first reads, which meet empty queues."""
    latencies = served.read_latencies()
    return latencies[len(latencies) // 20 :].mean()


def _two_to_one_stream(timing: Timing, requests: int) -> Requests:
    """Return what a stream of DRAMsim3 asks: of two arrays a read, of a third a write, each 64 B.

    Each element asks for a burst, though two may share one. Where the arrays begin is drawn sixteen
    times, as the rate falls by a fifth while two are in one bank.
    """
    channel_bytes = timing.ranks * timing.banks * timing.rows * timing.row_bytes
    index = np.arange(requests)
    draw, index = np.divmod(index, -(-requests // 16))
    begins = random(np.random.default_rng(_SEED), 48, timing.burst_bytes, channel_bytes)
    offset = index // 3 * 64 // timing.burst_bytes * timing.burst_bytes
    addresses = (begins[3 * draw + index % 3] + offset) % channel_bytes
    return Requests(addresses=addresses, writes=index % 3 == 2)


def _dramsim3(requests: int) -> list[Row]:
    mapping = Mapping(order=("row", "rank", "bank", "group", "column"))
    # That file of DRAMsim3 says REFI where the program reads tREFI, whose default is 7,800 cycles.
    lpddr3 = replace(load_timing("lpddr3-1600"), t_refi=7_800)
    found = []
    for label, timing, cases in (
        (
            "LPDDR4-2400, 64 bit",
            load_timing("lpddr4-2400"),
            {
                "stream, 2 reads to 1 write": (18.09, 581),
                "random, 2 reads to 1 write": (17.42, 998),
                "stream of reads": (18.31, 436),
                "random reads": (19.04, 978),
            },
        ),
        (
            "LPDDR3-1600, 64 bit, tREFI 7,800 cycles",
            lpddr3,
            {
                "stream, 2 reads to 1 write": (11.80, 305),
                "random, 2 reads to 1 write": (4.95, 988),
            },
        ),
    ):
        channel_bytes = timing.ranks * timing.banks * timing.rows * timing.row_bytes
        rng = np.random.default_rng(_SEED)
        anywhere = random(rng, requests, timing.burst_bytes, channel_bytes)
        traffic = {
            "stream, 2 reads to 1 write": _two_to_one_stream(timing, requests),
            "random, 2 reads to 1 write": mixed(rng, anywhere, 2 / 3),
            "stream of reads": reads(sequential(requests, timing.burst_bytes)),
            "random reads": reads(anywhere),
        }
        for pattern, (theirs, their_latency) in cases.items():
            served = serve(timing, traffic[pattern], _dramsim3_options(mapping))
            case = f"{label}, {pattern}"
            found.append(_row(DRAMSIM3, case, "GB/s", theirs, served.bytes_s / 10**9))
            found.append(_row(DRAMSIM3, f"{case}: latency", "cycles", their_latency, _warm(served)))
    found.append(_hbm2_random(requests))
    return found


def _hbm2_random(requests: int) -> Row:
    """HBM2 of eight channels; its source sends 64 B a cycle, so one channel gets every eighth.

    Its queue of 32 for all banks is one of two for each here.
    """
    file = load_timing("hbm2")
    # DRAMsim3 HBM2_8Gb_x128.ini: one channel of 128 bits, bursts of 64 B, rows of 2 KB.
    timing = replace(
        file,
        channels=1,
        rows=32768,
        row_bytes=2048,
        burst_bytes=64,
        rl=14,
        wl=4,
        t_rcd_rd=14,
        t_rcd_wr=14,
        t_ras=34,
        t_rc=48,
        t_faw=30,
        t_ccd_l=2,
        t_wtr_l=8,
        t_rtp=6,
        t_rfc_ab=260,
    )
    rng = np.random.default_rng(_SEED)
    arrivals = np.flatnonzero(rng.integers(0, 8, requests) == 0)
    count = len(arrivals)
    channel_bytes = timing.banks * timing.rows * timing.row_bytes
    anywhere = mixed(rng, random(rng, count, timing.burst_bytes, channel_bytes), 2 / 3)
    options = Options(
        mapping=Mapping(order=("row", "rank", "group", "bank", "column")),
        read_depth=16,
        write_depth=16,
        drain_from=16,
        drain_to=0,
        bank_depth=2,
        hits_cap=4,
        hits_limit=0,
    )
    served = serve(timing, replace(anywhere, arrivals=arrivals), options)
    return _row(
        DRAMSIM3,
        "HBM2, 8 channels, random, 2 reads to 1 write, bound by the source",
        "GB/s",
        60.8,
        8 * served.bytes_s / 10**9,
    )


def _pimsimulator() -> list[Row]:
    """HBM2, all channels alike: a range is read or written in sequence, bank by bank."""
    timing = replace(load_timing("hbm2"), channels=1)
    options = Options(
        mapping=Mapping(order=("rank", "row", "column", "group", "bank")),
        read_depth=64,
        write_depth=64,
        drain_from=52,
        drain_to=12,
    )

    def cycles(channels: int, read_bytes: int, write_bytes: int) -> int:
        per_channel = [each // channels // timing.burst_bytes for each in (read_bytes, write_bytes)]
        requests = Requests(
            addresses=sequential(sum(per_channel), timing.burst_bytes),
            writes=np.repeat([False, True], per_channel),
        )
        return serve(timing, requests, options).cycles

    mib = 2**20
    gb_s = Fraction(1000) / timing.period_ps
    found = [
        _row(
            PIMSIMULATOR,
            f"HBM2, 16 channels, {kind}",
            "GB/s",
            theirs,
            (read + write) * gb_s / cycles(16, read, write),
        )
        for kind, read, write, theirs in (
            ("read 8 MiB", 8 * mib, 0, 231),
            ("write 16 MiB", 0, 16 * mib, 243),
        )
    ]
    # Begun late in a refresh interval, so that one refresh comes.
    late = 3_000
    small = reads(sequential(2 * mib // 64 // timing.burst_bytes, timing.burst_bytes))
    small = replace(small, arrivals=small.arrivals + late)
    with_refresh = serve(timing, small, options).cycles - late
    reasons = {
        "GEMV 1024 x 1024": "theirs has a refresh in it, ours ends before the first; begun "
        f"{late} cycles into a refresh interval ours takes {with_refresh}"
    }
    for kernel, read, write, theirs in (
        ("GEMV 4096 x 1024", 8 * mib, 0, 9_042),
        ("GEMV 1024 x 1024", 2 * mib, 0, 2_494),
        ("GEMV 4096 x 4096", 32 * mib, 0, 36_082),
        ("GEMV 8192 x 8192", 128 * mib, 0, 143_276),
        ("ADD 2 Mi elements", 8 * mib, 4 * mib, 13_255),
        ("RELU 2 Mi elements", 4 * mib, 4 * mib, 8_756),
    ):
        case = f"HBM2, 64 channels, {kernel} without PIM"
        ours = cycles(64, read, write)
        found.append(_row(PIMSIMULATOR, case, "cycles", theirs, ours, reasons.get(kernel, "")))
    return found
