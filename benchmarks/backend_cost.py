# SPDX-License-Identifier: Apache-2.0
"""Cost of the rtl backend: wall time of the default run with `rtl` over that with `golden`.

Runs the two in turn, as whole processes (`ahasd run`, baseline included) and inside one process
(simulation alone), and prints the ratio pair by pair. The compiled unit is in the cache before the
first pair; building it once is reported apart.

    python benchmarks/backend_cost.py [pairs]
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ahasd.sim.registry import Backend, make_engine
from ahasd.system.config import load_config
from ahasd.system.simulate import prepare, simulate

BACKENDS: tuple[Backend, Backend] = ("rtl", "golden")


def whole_process_s(backend: Backend, folder: Path) -> float:
    """Return the wall time of the main command, s."""
    command = [sys.executable, "-m", "ahasd", "run", "--backend", backend, "--out", str(folder)]
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def simulation_s(backend: Backend) -> float:
    """Return the wall time of the simulation alone, s."""
    config = load_config("default", {"backend.ahasd": backend})
    trace, ranks = prepare(config)
    began = time.perf_counter()
    simulate(config, trace, ranks)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    began = time.perf_counter()
    make_engine("ahasd", load_config("default", {}).hardware.params, "rtl")
    print(f"engine ready after {time.perf_counter() - began:.2f} s (compiles when not cached)")
    with tempfile.TemporaryDirectory() as folder:
        for what, measure in (
            ("whole process", lambda backend: whole_process_s(backend, Path(folder) / backend)),
            ("simulation alone", simulation_s),
        ):
            ratios = []
            for _ in range(pairs):
                rtl_s, golden_s = (measure(backend) for backend in BACKENDS)
                ratios.append(rtl_s / golden_s)
            print(
                f"{what}: rtl / golden = {statistics.median(ratios):.2f}"
                f" (median of {pairs} pairs; {min(ratios):.2f} to {max(ratios):.2f})"
            )


if __name__ == "__main__":
    main()
