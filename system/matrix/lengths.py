# SPDX-License-Identifier: Apache-2.0
"""The best fixed draft length of a configuration, by search.

Throughput over the length rises to one maximum and falls, but for the noise of a trace. So the
search tries powers of two and then the middles beside the best, until its neighbours are known: of
16 lengths it runs 7 or 8. Where noise makes a second maximum it may miss the higher one; the
exhaustive search is one `--configurations` with every `k` away, and a test holds both together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ahasd.system.matrix.cells import Cell

PAPER_K = 8
"""What the AHASD artifact's baselines use."""
LONGEST = 16


def untried(speeds: Mapping[int, float], longest: int = LONGEST) -> list[int]:
    """Return the lengths to try next, rising; none if the best and its neighbours are known.

    Parameters
    ----------
    speeds
        Throughput of the lengths tried so far; one that failed has 0.
    longest
        Greatest length.
    """
    if not speeds:
        grid = {1 << i for i in range(longest.bit_length()) if 1 << i <= longest}
        return sorted(grid | {longest, min(PAPER_K, longest)})
    best = best_length(speeds)
    found = set[int]()
    lower = max((k for k in speeds if k < best), default=None)
    upper = min((k for k in speeds if k > best), default=None)
    for other in (lower, upper):
        if other is not None and abs(other - best) > 1:
            found.add((best + other) // 2)
    return sorted(found)


def best_length(speeds: Mapping[int, float]) -> int:
    """Return the fastest length; of equal ones the shortest."""
    return min(speeds, key=lambda k: (-speeds[k], k))


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """Throughput of a configuration by fixed draft length.

    Parameters
    ----------
    pair, configuration
        Whose.
    speeds
        Tokens a second by length, mean over the seeds.
    """

    pair: str
    configuration: str
    speeds: dict[int, float]

    @property
    def best(self) -> int:
        """The fastest length."""
        return best_length(self.speeds)

    def told(self) -> str:
        """Return a line on the best length and the paper's."""
        paper = self.speeds.get(PAPER_K)
        beside = f"; k = {PAPER_K}: {paper:.2f}" if paper else ""
        return (
            f"{self.pair}, {self.configuration}: best fixed k = {self.best}:"
            f" {self.speeds[self.best]:.2f} tokens/s{beside}"
        )


def search(
    pairs: Iterable[str],
    configurations: Sequence[str],
    seeds: Sequence[int],
    run: Callable[[list[Cell]], list[dict[str, Any]]],
    *,
    longest: int = LONGEST,
) -> list[Fixed]:
    """Find the best fixed length of every pair under every configuration.

    All of them take their next step together, so that there is work for every core.

    Parameters
    ----------
    pairs, configurations, seeds
        As for `ahasd.system.matrix.cells.cells`.
    run
        Runs cells and returns what is known of them, as `run_matrix` does.
    longest
        Greatest length.
    """
    speeds: dict[tuple[str, str], dict[int, float]] = {
        (pair, name): {} for pair in pairs for name in configurations
    }
    while True:
        wanted = [
            Cell(pair=pair, rule="fixed", configuration=name, seed=seed, k=k)
            for (pair, name), known in speeds.items()
            for k in untried(known, longest)
            for seed in seeds
        ]
        if not wanted:
            break
        met: dict[tuple[str, str, int], list[float]] = {}
        for cell, found in zip(wanted, run(wanted), strict=True):
            assert cell.k is not None
            speed = found["metrics"]["throughput_tokens_s"] if "metrics" in found else 0.0
            met.setdefault((cell.pair, cell.configuration, cell.k), []).append(speed)
        for (pair, name, k), each in met.items():
            speeds[pair, name][k] = fmean(each)
    return [
        Fixed(pair=pair, configuration=name, speeds=dict(sorted(known.items())))
        for (pair, name), known in speeds.items()
        if any(known.values())
    ]
