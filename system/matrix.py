# SPDX-License-Identifier: Apache-2.0
"""A matrix of runs: pairs of models, drafting rules and configurations, with common random numbers.

Every cell is a run of its own, kept in a file as soon as it is done, so that an interrupted matrix
goes on where it was. Cells run in parallel; a process gives all its cells devices from one pool.
"""

import hashlib
import json
import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.table import Table

from ahasd import UserError
from ahasd.system.config import RunConfig, load_config
from ahasd.system.devices.pool import DevicePool
from ahasd.system.results import write_json
from ahasd.system.simulate import prepare, simulate
from ahasd.system.stats import metrics

PAIRS = ("opt-1.3b:opt-6.7b", "llama2-7b:llama2-13b", "palm-8b:palm-30b")
RULES = ("specdecpp", "svip", "adaedl", "banditspec")

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "gpu-ar": {"scheme": "gpu-ar", "gpu.offload": "true"},
    "gpu-sd": {"scheme": "gpu-sd", "gpu.offload": "true"},
    "npu-ar": {"scheme": "npu-ar"},
    "npu-sd": {"scheme": "npu-sd"},
    "pim-ar": {"scheme": "pim-ar"},
    "pim-sd": {"scheme": "pim-sd"},
    "sync": {"scheme": "sync"},
    "async": {"scheme": "async", "nonlinear.unit": "npu"},
    "+ AAU": {"scheme": "async", "nonlinear.unit": "aau"},
    "+ EDC": {"scheme": "async-edc", "nonlinear.unit": "aau"},
    "+ TVC": {"scheme": "ahasd", "nonlinear.unit": "aau"},
}
"""Configurations by label; those of a GPU spill what does not fit over its host's link."""

ABLATION = ("gpu-sd", "async", "+ AAU", "+ EDC", "+ TVC")
"""The five of the AHASD paper's ablation, the GPU first."""

PAPER_SPEEDUP = {"gpu-sd": 1.0, "async": 2.2, "+ AAU": 2.7, "+ EDC": 3.4, "+ TVC": 3.8}
"""Throughput over the GPU alone, mean of 3 models by 4 rules: AHASD (arXiv 2604.25326), Fig. 8."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run of the matrix."""

    pair: str
    rule: str
    configuration: str
    seed: int


def cells(
    pairs: Sequence[str], rules: Sequence[str], configurations: Sequence[str], seeds: Sequence[int]
) -> list[Cell]:
    """Return the cells of a matrix, those of a pair together.

    Raises
    ------
    UserError
        A pair or a configuration is none.
    """
    for pair in pairs:
        if pair.count(":") != 1 or not all(pair.split(":")):
            raise UserError(f"pair {pair!r} must be DRAFT:TARGET, such as {PAIRS[0]}")
    for name in configurations:
        if name not in CONFIGURATIONS:
            raise UserError(
                f"there is no configuration {name!r}; choose from {', '.join(CONFIGURATIONS)}"
            )
    return [
        Cell(pair=pair, rule=rule, configuration=configuration, seed=seed)
        for pair in pairs
        for configuration in configurations
        for rule in rules
        for seed in seeds
    ]


def resolved(cell: Cell, base: str, settings: Mapping[str, Any]) -> RunConfig:
    """Return the configuration of a cell's run.

    Parameters
    ----------
    cell
        The cell.
    base
        Packaged run or the path of a TOML file.
    settings
        Dotted keys on top of it.
    """
    draft, target = cell.pair.split(":")
    return load_config(
        base,
        {
            **settings,
            "dlm": draft,
            "tlm": target,
            "draft.rule": cell.rule,
            "seed": cell.seed,
            "baseline": "none",
            **CONFIGURATIONS[cell.configuration],
        },
    )


@cache
def code_digest() -> str:
    """Return a digest of this package's sources: results of other sources are not taken over."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for folder in ("rtl", "gen", "sim", "system"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".py", ".toml", ".rdl", ".npz"):
                digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()


def cell_path(folder: Path, config: RunConfig) -> Path:
    """Return the file of a cell: it belongs to its configuration, its backend and these sources."""
    told = json.dumps([config.model_dump(mode="json"), code_digest()], sort_keys=True)
    return folder / "cells" / f"{hashlib.sha256(told.encode()).hexdigest()[:20]}.json"


_POOL = DevicePool()


def run_cell(cell: Cell, config: RunConfig, path: Path) -> dict[str, Any]:
    """Run a cell and keep what came out, or the line that says why nothing did.

    A fault of ours, an invariant that broke, is told likewise: the other cells have their results.
    """
    found: dict[str, Any] = {"cell": asdict(cell)}
    try:
        found["metrics"] = metrics(simulate(config, *prepare(config), pool=_POOL))
    except (UserError, AssertionError) as error:
        found["error"] = str(error)
    write_json(path, found)
    return found


def run_matrix(
    wanted: Sequence[Cell],
    base: str,
    settings: Mapping[str, Any],
    folder: Path,
    *,
    jobs: int | None = None,
    progress: Callable[[dict[str, Any]], None] = lambda found: None,
) -> list[dict[str, Any]]:
    """Run the cells that no file has yet; return all, in their order.

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
        Called with every cell that is there.

    Raises
    ------
    UserError
        A configuration is wrong: nothing runs then.
    """
    configs = [resolved(cell, base, settings) for cell in wanted]
    paths = [cell_path(folder, config) for config in configs]
    found: dict[int, dict[str, Any]] = {}
    for i, path in enumerate(paths):
        if path.exists():
            found[i] = json.loads(path.read_text(encoding="utf-8"))
            progress(found[i])
    missing = [i for i in range(len(wanted)) if i not in found]
    workers = min(jobs or len(os.sched_getaffinity(0)), max(1, len(missing)))
    if workers == 1:
        for i in missing:
            found[i] = run_cell(wanted[i], configs[i], paths[i])
            progress(found[i])
    elif missing:
        # Not forked: compiled code and open libraries do not take to it.
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
            futures = {
                executor.submit(run_cell, wanted[i], configs[i], paths[i]): i for i in missing
            }
            for future in as_completed(futures):
                found[futures[future]] = future.result()
                progress(future.result())
    return [found[i] for i in range(len(wanted))]


def speed_table(found: Sequence[dict[str, Any]], configurations: Sequence[str]) -> Table:
    """Return tokens a second of every cell; over seeds the mean, and half its 95 % interval."""
    shown = Table(title="tokens/s, decoding")
    for header in ("pair", "rule"):
        shown.add_column(header)
    for name in configurations:
        shown.add_column(name, justify="right")
    for pair, rule in dict.fromkeys((c["cell"]["pair"], c["cell"]["rule"]) for c in found):
        row = [
            _mean_text(list(_speeds(found, pair, rule, configuration)))
            for configuration in configurations
        ]
        shown.add_row(pair, rule, *row)
    return shown


def speedup_table(found: Sequence[dict[str, Any]], configurations: Sequence[str]) -> Table:
    """Return the mean speed-up over the first configuration, the paper's figures beside."""
    first = configurations[0]
    shown = Table(
        title=f"throughput over {first}, geometric mean of all pairs and rules",
        caption="Column paper: AHASD, Fig. 8. GPU: what does not fit is read over PCIe every pass.",
    )
    shown.add_column("configuration")
    for header in ("here", "least", "most", "paper"):
        shown.add_column(header, justify="right")
    for name in configurations:
        ratios = list(_ratios(found, name, first))
        cells_ = ("-", "-", "-")
        if ratios:
            mean = statistics.geometric_mean(ratios)
            cells_ = (f"{mean:.2f}", f"{min(ratios):.2f}", f"{max(ratios):.2f}")
        paper = PAPER_SPEEDUP.get(name)
        shown.add_row(name, *cells_, f"{paper:.1f}" if paper and first == "gpu-sd" else "-")
    return shown


def _speeds(
    found: Sequence[dict[str, Any]], pair: str, rule: str, configuration: str
) -> Iterator[float]:
    for each in found:
        cell = each["cell"]
        here = cell["pair"], cell["rule"], cell["configuration"]
        if here == (pair, rule, configuration) and "metrics" in each:
            yield each["metrics"]["throughput_tokens_s"]


def _ratios(found: Sequence[dict[str, Any]], name: str, first: str) -> Iterator[float]:
    for pair, rule in dict.fromkeys((c["cell"]["pair"], c["cell"]["rule"]) for c in found):
        ours, base = (list(_speeds(found, pair, rule, each)) for each in (name, first))
        if ours and base:
            yield statistics.fmean(ours) / statistics.fmean(base)


# Two-sided 97.5 % quantiles of Student's t by degrees of freedom, from 1 on.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_T_LARGE = 1.96


def _mean_text(values: Sequence[float]) -> str:
    if not values:
        return "-"
    mean = statistics.fmean(values)
    if len(values) == 1:
        return f"{mean:.2f}"
    freedom = len(values) - 1
    t = _T[freedom - 1] if freedom <= len(_T) else _T_LARGE
    half = t * statistics.stdev(values) / len(values) ** 0.5
    return f"{mean:.2f} ± {half:.2f}"
