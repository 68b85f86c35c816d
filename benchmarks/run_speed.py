# SPDX-License-Identifier: Apache-2.0
"""Wall time of the default run against its length: at command level, the top in RTL.

Every run makes its devices anew, so nothing that one has timed helps the next; compiled code is in
its cache before the first. Memory commands are all that the run takes; those simulated are fewer,
the rest repeat them exactly. Printed beside: what peers simulate in a second, from their own runs.

    python benchmarks/run_speed.py [tokens ...]
"""

import sys
import time

from ahasd.system.config import load_config
from ahasd.system.simulate import prepare, simulate

TOKENS = (256, 512, 1024, 2048)

# Cycles of one channel simulated in a second of wall time, on another machine of two cores.
PEERS = {
    "Ramulator 2.1, LPDDR5 stream": 0.85e6,
    "DRAMsim3, HBM2 stream, 8 channels": 2.3e6,
    "PIMSimulator, GEMV, 64 channels": 0.53e6,
    "AttAcc, HBM3-PIM attention": 0.08e6,
}


def timed(tokens: int) -> tuple[float, int, int, float]:
    """Return the wall time of a run [s], its commands, those simulated, and channel cycles."""
    config = load_config("default", {"workload.tokens": tokens})
    trace, ranks = prepare(config)
    began = time.perf_counter()
    outcome = simulate(config, trace, ranks)
    wall_s = time.perf_counter() - began
    cycles = outcome.time_ps / 1250 * config.platform.pim.channels
    return wall_s, outcome.memory_commands, outcome.devices.simulated_commands, cycles


def main() -> None:
    """Measure and print."""
    lengths = [int(each) for each in sys.argv[1:]] or TOKENS
    timed(16)
    first = None
    for tokens in lengths:
        wall_s, commands, simulated, cycles = timed(tokens)
        first = first or (tokens, wall_s)
        growth = wall_s / first[1] / (tokens / first[0])
        print(
            f"{tokens} tokens: {wall_s:.1f} s ({growth:.2f} of linear growth from {first[0]});"
            f" {commands:.3g} memory commands, {simulated:,} simulated;"
            f" {commands / wall_s:.3g} commands and {cycles / wall_s:.3g} channel cycles a second,"
            f" {simulated / wall_s:,.0f} commands simulated a second"
        )
    for peer, rate in PEERS.items():
        print(f"{peer}: {rate:.3g} channel cycles a second")


if __name__ == "__main__":
    main()
