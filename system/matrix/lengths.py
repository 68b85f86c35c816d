# SPDX-License-Identifier: Apache-2.0
"""The best fixed draft length of a configuration, by search.

Throughput over the length rises to one maximum and falls, but for the noise of a trace. So the
search tries powers of two and then the middles beside the best, until its neighbours are known: of
16 lengths it runs 5 to 11. Where noise makes a second maximum, it may miss the higher one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from ahasd.system.matrix.cells import Cell
from ahasd.system.matrix.run import Found, in_parallel, run_matrix

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
        Tokens a second by length, mean over the seeds; 0 where a run has no result.
    cells
        What is known of the cells.
    """

    pair: str
    configuration: str
    speeds: dict[int, float]
    cells: list[Found]

    @property
    def best(self) -> int:
        """The fastest length."""
        return best_length(self.speeds)

    def told(self) -> str:
        """Return a line on the best length and the paper's."""
        if not any(self.speeds.values()):
            return f"{self.pair}, {self.configuration}: no fixed length has a result"
        paper = self.speeds.get(PAPER_K)
        beside = f"; k = {PAPER_K}: {paper:.2f}" if paper else ""
        return (
            f"{self.pair}, {self.configuration}: best fixed k = {self.best}:"
            f" {self.speeds[self.best]:.2f} tokens/s{beside}"
        )


def search(
    pair: str,
    configuration: str,
    seeds: Sequence[int],
    run: Callable[[list[Cell]], list[Found]],
    longest: int = LONGEST,
) -> Fixed:
    """Find the best fixed length of a pair under a configuration.

    Parameters
    ----------
    pair, configuration, seeds
        Of the cells.
    run
        Runs cells and returns what is known of them, as `run_matrix` does.
    longest
        Greatest length.
    """
    speeds: dict[int, float] = {}
    cells: list[Found] = []
    while lengths := untried(speeds, longest):
        for k in lengths:
            found = run(
                [
                    Cell(pair=pair, rule="fixed", configuration=configuration, seed=seed, k=k)
                    for seed in seeds
                ]
            )
            cells += found
            speeds[k] = fmean(
                each["metrics"]["throughput_tokens_s"] if "metrics" in each else 0.0
                for each in found
            )
    return Fixed(
        pair=pair, configuration=configuration, speeds=dict(sorted(speeds.items())), cells=cells
    )


def search_here(
    pair: str,
    configuration: str,
    seeds: Sequence[int],
    base: str,
    settings: Mapping[str, Any],
    folder: Path,
) -> Fixed:
    """Do the same in this process, with the cells of a folder; see `run_matrix`."""
    return search(
        pair,
        configuration,
        seeds,
        lambda wanted: run_matrix(wanted, base, settings, folder, jobs=1),
    )


def search_all(
    pairs: Sequence[str],
    configurations: Sequence[str],
    seeds: Sequence[int],
    base: str,
    settings: Mapping[str, Any],
    folder: Path,
    *,
    jobs: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Fixed]:
    """Find the best fixed length of every pair under every configuration.

    Parameters
    ----------
    pairs, configurations, seeds
        As for `ahasd.system.matrix.cells.cells`.
    base, settings, folder, jobs
        As for `run_matrix`.
    progress
        Called with the number of searches that are done.
    """
    tasks = [
        (pair, name, seeds, base, settings, folder) for pair in pairs for name in configurations
    ]
    found: dict[int, Fixed] = {}
    for number, fixed in in_parallel(search_here, tasks, [task[0] for task in tasks], jobs):
        found[number] = fixed
        progress(len(found))
    return [found[number] for number in sorted(found)]
