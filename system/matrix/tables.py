# SPDX-License-Identifier: Apache-2.0
"""The tables of a matrix; what the AHASD paper says stands in columns of its own."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from ahasd.system.devices.mapping import mapping_lines
from ahasd.system.matrix.binding import Gist, mean_shares, sentence
from ahasd.system.matrix.cells import ABLATION, step_before

Found = dict[str, Any]
NONE = "-"


@dataclass(frozen=True, kw_only=True)
class Published:
    """What the AHASD paper (arXiv 2604.25326) says of a configuration over another.

    Parameters
    ----------
    speed, efficiency
        Ratio of throughput, and of energy efficiency, as text.
    acceptance
        Change of the acceptance rate by this step.
    """

    speed: str = NONE
    efficiency: str = NONE
    acceptance: str = NONE


PAPER_ABLATION = {
    "gpu-sd": Published(speed="1.0", efficiency="1.0"),
    "async": Published(speed="2.2", efficiency="1.9", acceptance="-25.1%"),
    "+ AAU": Published(speed="2.7", efficiency="2.6"),
    "+ EDC": Published(speed="3.4", efficiency="4.5", acceptance="+24.6%"),
    "+ TVC": Published(speed="3.8", efficiency="5.2"),
}
"""Fig. 8, over the GPU alone; means of 3 models by 4 rules."""
PAPER_BASELINES = {
    "gpu-sd": Published(speed="3.8 (4.2)", efficiency="5.2 (5.6)"),
    "specpim": Published(speed="(1.5)", efficiency="1.24"),
    "npu-sd": Published(speed="3.10", efficiency="1/0.48"),
}
"""AHASD over others: Figs. 8 and 9, and the power table, whose NPU with LPDDR5 is taken to draft
and verify by itself."""


def values(
    found: Sequence[Found], pair: str, rule: str, configuration: str, key: Callable[[Found], float]
) -> list[float]:
    """Return a figure of all seeds of a cell that have a result."""
    return [
        key(each["metrics"])
        for each in found
        if "metrics" in each
        and (each["cell"]["pair"], each["cell"]["rule"], each["cell"]["configuration"])
        == (pair, rule, configuration)
    ]


def _rows(found: Sequence[Found]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((each["cell"]["pair"], each["cell"]["rule"]) for each in found))


def ratios(
    found: Sequence[Found], name: str, over: str, key: Callable[[Found], float]
) -> Iterator[float]:
    """Yield a configuration's figure over another's, of every pair and rule that has both."""
    for pair, rule in _rows(found):
        ours, base = (values(found, pair, rule, each, key) for each in (name, over))
        if ours and base:
            yield statistics.fmean(ours) / statistics.fmean(base)


def _speed(metrics: Found) -> float:
    return metrics["throughput_tokens_s"]


def _tokens_per_mj(style: str) -> Callable[[Found], float]:
    return lambda metrics: 1 / metrics["energy"]["mid"][style]["mj_per_token"]


def speed_table(found: Sequence[Found], configurations: Sequence[str]) -> Table:
    """Return tokens a second of every cell; over seeds the mean, and half its 95 % interval."""
    shown = Table(
        title="tokens/s, decoding",
        caption="Lossless: the tokens are the target's own, in order. Positions: the trace has no"
        " tokens, so only that each position came out once, in order, is asserted.",
    )
    for header in ("pair", "rule"):
        shown.add_column(header)
    for name in (*configurations, "lossless"):
        shown.add_column(name, justify="right")
    last = ""
    for pair, rule in _rows(found):
        cells = [mean_text(values(found, pair, rule, name, _speed)) for name in configurations]
        told = pair.replace(":", ": ") if pair != last else ""
        shown.add_row(told, rule, *cells, lossless(found, pair, rule))
        last = pair
    return shown


def lossless(found: Sequence[Found], pair: str, rule: str) -> str:
    """Return what the losslessness of a row's runs is about, and of how many if not of all."""
    here = [each for each in found if (each["cell"]["pair"], each["cell"]["rule"]) == (pair, rule)]
    kinds = dict.fromkeys(each["lossless"] for each in here if "lossless" in each)
    count = sum("lossless" in each for each in here)
    told = "/".join(kinds) or NONE
    return told if count == len(here) else f"{told}, {count} of {len(here)}"


def ablation_table(found: Sequence[Found], configurations: Sequence[str]) -> Table:
    """Return what each step gives over the first configuration, the paper's figures beside."""
    first = configurations[0]
    is_paper = tuple(configurations) == ABLATION
    shown = Table(
        title=f"over {first}, geometric mean of all pairs and rules",
        caption="tokens/J: middle of the range, of the devices and at the wall."
        " Accepted: of drafted, against the step before in the ablation."
        + (" paper: AHASD, Fig. 8." if is_paper else "")
        + " A GPU reads what does not fit over PCIe, every pass.",
    )
    shown.add_column("")
    for header in ("tokens/s", "tokens/J", "wall", "accepted"):
        shown.add_column(header, justify="right")
        if is_paper and header != "tokens/J":
            shown.add_column("paper", justify="right")
    for name in configurations:
        cells = [
            _mean(list(ratios(found, name, first, _speed))),
            _mean(list(ratios(found, name, first, _tokens_per_mj("device")))),
            _mean(list(ratios(found, name, first, _tokens_per_mj("wall")))),
            _acceptance(found, name),
        ]
        if is_paper:
            paper = PAPER_ABLATION[name]
            cells.insert(4, paper.acceptance)
            cells.insert(3, paper.efficiency)
            cells.insert(1, paper.speed)
        shown.add_row(name, *cells)
    return shown


def baseline_table(found: Sequence[Found], configurations: Sequence[str], subject: str) -> Table:
    """Return a configuration over each of the others, the paper's figures beside."""
    shown = Table(
        title=f"{subject} over others, geometric mean of all pairs and rules",
        caption="tokens/J: middle of the range, of the devices and at the wall. paper: AHASD, its"
        " Figs. 8 and 9 and power table, the most in brackets; SpecPIM has two GPUs there.",
    )
    shown.add_column("over")
    for header in ("tokens/s", "range", "paper", "tokens/J", "wall", "paper"):
        shown.add_column(header, justify="right")
    for name in configurations:
        if name == subject:
            continue
        paper = PAPER_BASELINES.get(name, Published()) if subject == "+ TVC" else Published()
        shown.add_row(
            name,
            *_spread(list(ratios(found, subject, name, _speed))),
            paper.speed,
            _mean(list(ratios(found, subject, name, _tokens_per_mj("device")))),
            _mean(list(ratios(found, subject, name, _tokens_per_mj("wall")))),
            paper.efficiency,
        )
    return shown


def _mean(values_: Sequence[float]) -> str:
    return f"{statistics.geometric_mean(values_):.2f}" if values_ else NONE


def _spread(values_: Sequence[float]) -> tuple[str, str]:
    if not values_:
        return (NONE, NONE)
    return _mean(values_), f"{min(values_):.2f}-{max(values_):.2f}"


def _acceptance(found: Sequence[Found], name: str) -> str:
    """Return the relative change of the acceptance rate against the step before."""
    last = step_before(name)
    if not last:
        return NONE
    changes = list(ratios(found, name, last, lambda metrics: metrics["acceptance_rate"] or 0.0))
    return f"{statistics.fmean(changes) - 1:+.1%}" if changes else NONE


def explanations(found: Sequence[Found], configurations: Sequence[str]) -> list[str]:
    """Return a sentence a configuration: what binds, and why a step of the ablation does not help.

    Steps are compared with the one before in the ablation, if that is there.
    """
    known: dict[str, dict[tuple[str, str, int], Found]] = {name: {} for name in configurations}
    for each in found:
        cell = each["cell"]
        if "metrics" in each and cell["configuration"] in known:
            known[cell["configuration"]][cell["pair"], cell["rule"], cell["seed"]] = each
    told = []
    for name, here in known.items():
        last = step_before(name)
        before = known.get(last, {})
        both = [key for key in here if not before or key in before]
        if both:
            told.append(
                sentence(
                    name,
                    [Gist.of(here[key]["metrics"]) for key in both],
                    mean_shares([here[key]["pass_shares"] for key in both]),
                    [Gist.of(before[key]["metrics"]) for key in both] if before else (),
                    over=last,
                )
            )
    return told


def mappings(found: Sequence[Found]) -> list[str]:
    """Return a line a pair, configuration and model whose operators a search placed."""
    told = dict[str, None]()
    for each in found:
        cell = each["cell"]
        for line in mapping_lines(each.get("metrics", {})):
            told[f"{cell['pair']}, {cell['configuration']}, {line}"] = None
    return list(told)


def effort(what: str, found: Sequence[Found], wall_s: float) -> str:
    """Return a line on how many cells were run, how long that took, and what the time went into."""
    ran = [each["timing"] for each in found if not each["timing"]["taken_over"]]
    work_s, hardware_s, memory_s = (
        sum(each.get(key, 0.0) for each in ran) for key in ("wall_s", "hardware_s", "memory_s")
    )
    return (
        f"{what}: {len(found)} cells, {len(ran)} run, {len(found) - len(ran)} taken over, in"
        f" {wall_s:.1f} s; of {work_s:.1f} s in all processes {hardware_s:.1f} s control hardware,"
        f" {memory_s:.1f} s memory and devices, {work_s - hardware_s - memory_s:.1f} s the rest"
    )


# Two-sided 97.5 % quantiles of Student's t by degrees of freedom, from 1 on.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_T_LARGE = 1.96


def mean_text(values_: Sequence[float]) -> str:
    """Return a mean, and half its 95 % confidence interval if there are several values."""
    if not values_:
        return NONE
    mean = statistics.fmean(values_)
    if len(values_) == 1:
        return f"{mean:.2f}"
    freedom = len(values_) - 1
    t = _T[freedom - 1] if freedom <= len(_T) else _T_LARGE
    half = t * statistics.stdev(values_) / len(values_) ** 0.5
    return f"{mean:.2f} ± {half:.2f}"


def seeds_matter(found: Sequence[dict[str, Any]]) -> bool:
    """Tell whether cells that differ in their seed alone have different speeds."""
    speeds: dict[tuple[str, ...], set[float]] = {}
    for each in found:
        if "metrics" in each:
            cell = each["cell"]
            key = cell["pair"], cell["rule"], cell["configuration"]
            speeds.setdefault(key, set()).add(each["metrics"]["throughput_tokens_s"])
    return any(len(values) > 1 for values in speeds.values())
