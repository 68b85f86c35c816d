# SPDX-License-Identifier: Apache-2.0
"""DRAM commands per second of wall time: both engines on a stream, and a long read with skipping.

The compiled engine is in the cache before the first measure; each figure is the best of several.

    python benchmarks/dram_speed.py [repeats]
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ahasd.system.devices.dram.commands import decoded
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.reference import ReferenceEngine
from ahasd.system.devices.dram.stream import SequentialRead, read_range
from ahasd.system.devices.dram.timing import Timing, load_timing
from ahasd.system.toml import known

SEGMENTS = 3000
REFERENCE_COMMANDS = 20_000
READ_BYTES = 2**30


def best_s(act: Callable[[], object], repeats: int) -> float:
    """Return the shortest wall time of several calls, s."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return min(times)


def measure(timing: Timing, repeats: int) -> tuple[float, float, float, float]:
    """Return commands a second of both engines, and time in s and rate of a long read."""
    # Without refreshes the stream is one array; none may fall overdue.
    alone = replace(timing, channels=1, refresh_slack=10**6)
    pattern = SequentialRead(alone, SEGMENTS * timing.bank_groups * timing.bursts_per_row)
    commands = np.concatenate(
        [
            pattern.segment(index, fresh=index == 0, last=index == SEGMENTS - 1)
            for index in range(SEGMENTS)
        ]
    )
    some = decoded(commands[:REFERENCE_COMMANDS])
    FastEngine(alone).run_encoded(commands[:10])
    fast_s = best_s(lambda: FastEngine(alone).run_encoded(commands), repeats)
    reference_s = best_s(lambda: ReferenceEngine(alone).run(some), repeats)
    read_s = best_s(lambda: read_range(FastEngine, timing, 0, READ_BYTES), repeats)
    played = read_range(FastEngine, timing, 0, READ_BYTES)
    stood_for = played.simulated_commands + played.skipped_commands
    return len(commands) / fast_s, len(some) / reference_s, read_s, stood_for / read_s


def main() -> None:
    """Measure and print."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for name in known("dram"):
        fast, reference, read_s, stood_for = measure(load_timing(name), repeats)
        print(
            f"{name}: fast {fast / 1e6:.1f} M commands/s, reference {reference / 1e3:.1f} k/s, "
            f"1 GiB read in {read_s * 1e3:.1f} ms ({stood_for / 1e9:.2f} G commands/s stood for)"
        )


if __name__ == "__main__":
    main()
