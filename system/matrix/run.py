# SPDX-License-Identifier: Apache-2.0
"""Running the cells of a matrix: in parallel, resumable, none of them in the way of the others.

Every cell is kept in a file as soon as it is done, so that an interrupted matrix goes on where it
was. A process gives all its cells devices from one pool.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from ahasd import UserError
from ahasd.system.config import RunConfig
from ahasd.system.devices.pool import DevicePool
from ahasd.system.drafting.file import FileOptions
from ahasd.system.matrix.binding import pass_shares
from ahasd.system.matrix.cells import Cell, resolved
from ahasd.system.parallel import run_grouped
from ahasd.system.results import write_json
from ahasd.system.simulate import asserted, prepare, simulate
from ahasd.system.stats import metrics

Result = TypeVar("Result")
Found = dict[str, Any]
"""What is known of a cell: `cell`, `timing`, and `metrics` with what was asserted, or `error`."""


@cache
def code_digest() -> str:
    """Return a digest of this package's sources: results of other sources are not taken over."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for folder in ("rtl", "gen", "sim", "system"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".py", ".toml", ".rdl", ".npz"):
                digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()


def cell_path(folder: Path, config: RunConfig) -> Path:
    """Return the file of a cell: it belongs to its configuration, its backend and these sources.

    Of files that the configuration names, a trace or a rule, the contents count.
    """
    draft = config.draft
    named = [config.workload.trace, *([draft.path] if isinstance(draft, FileOptions) else [])]
    read = [Path(each).read_bytes() for each in named if Path(each).is_file()]
    files = [hashlib.sha256(each).hexdigest() for each in read]
    told = json.dumps([config.model_dump(mode="json"), files, code_digest()], sort_keys=True)
    return folder / "cells" / f"{hashlib.sha256(told.encode()).hexdigest()[:20]}.json"


_POOL = DevicePool()


def run_cell(cell: Cell, config: RunConfig, path: Path) -> Found:
    """Run a cell and keep what came out; return that, or the line that says why nothing did.

    A fault of ours, an invariant that broke, is told likewise: the other cells have their results.
    """
    found: Found = {"cell": asdict(cell)}
    began = time.perf_counter()
    parts: dict[str, float] = {}
    try:
        trace, ranks = prepare(config)
        outcome = simulate(config, trace, ranks, pool=_POOL)
        parts = outcome.wall_s
        found["metrics"] = metrics(outcome)
        found["pass_shares"] = pass_shares(outcome)
        # `simulate` ends with an error otherwise.
        found["lossless"] = asserted(trace)
    except (UserError, AssertionError) as error:
        found["error"] = str(error)
    except Exception as error:
        found["error"] = f"{type(error).__name__}: {error}"
    found["timing"] = {"wall_s": time.perf_counter() - began}
    found["timing"] |= {f"{name}_s": spent for name, spent in parts.items()}
    if "metrics" in found:  # what fails may be mended next time
        write_json(path, found)
    return found


def run_matrix(
    wanted: Sequence[Cell],
    base: str,
    settings: Mapping[str, Any],
    folder: Path,
    *,
    jobs: int | None = None,
    progress: Callable[[Found], None] = lambda found: None,
) -> list[Found]:
    """Run the cells that no file has yet; return all, in their order.

    Cells whose configurations are equal share a run.

    Parameters
    ----------
    wanted
        The cells.
    base, settings
        As for `resolved`.
    folder
        Keeps `cells/`.
    jobs
        Processes; the machine's cores by default.
    progress
        Called once for every cell that is there; `timing.taken_over` says whether it was.

    Raises
    ------
    UserError
        A configuration is wrong: nothing runs then.
    """
    configs = [resolved(cell, base, settings) for cell in wanted]
    paths = [cell_path(folder, config) for config in configs]
    places: dict[Path, list[int]] = {}
    for i, path in enumerate(paths):
        places.setdefault(path, []).append(i)
    found: dict[int, Found] = {}

    def keep(path: Path, run: Found, *, taken_over: bool) -> None:
        for i in places[path]:
            shared = taken_over or i != places[path][0]
            timing = {**run["timing"], "taken_over": shared}
            found[i] = {**run, "cell": asdict(wanted[i]), "timing": timing}
            progress(found[i])

    for path in places:
        held = _held(path)
        if held is not None:
            keep(path, held, taken_over=True)
    missing = [path for path in places if places[path][0] not in found]
    tasks = [(wanted[places[path][0]], configs[places[path][0]], path) for path in missing]
    for number, run in in_parallel(run_cell, tasks, [task[0].pair for task in tasks], jobs):
        keep(missing[number], run, taken_over=False)
    for path in missing:
        if places[path][0] not in found:
            lost = "a process died: run the same command again, with fewer --jobs"
            keep(path, {"error": lost, "timing": {"wall_s": 0.0}}, taken_over=False)
    return [found[i] for i in range(len(wanted))]


def _held(path: Path) -> Found | None:
    """Return a cell that is kept; None if there is none, or it is damaged and runs anew."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(held, dict) and {"cell", "metrics", "timing"} <= held.keys()
    return held if whole else None


def in_parallel(
    function: Callable[..., Result],
    tasks: Sequence[tuple[Any, ...]],
    groups: Sequence[str],
    jobs: int | None,
) -> Iterator[tuple[int, Result]]:
    """Yield the number and the result of every task, until a process dies.

    Parameters
    ----------
    function, tasks, groups
        As for `ahasd.system.parallel.run_grouped`.
    jobs
        Processes; the machine's cores by default. One is this process.
    """
    workers = min(jobs or len(os.sched_getaffinity(0)), len(tasks))
    if workers <= 1:
        for number, task in enumerate(tasks):
            yield number, function(*task)
        return
    try:
        yield from run_grouped(function, tasks, groups, workers)
    except BrokenProcessPool:
        return
