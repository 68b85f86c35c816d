# SPDX-License-Identifier: Apache-2.0
"""The ablation: what each control unit adds, on one trace, in hardware and in golden models."""

import time
from collections.abc import Callable
from typing import Any

from rich.table import Table

from ahasd.system.config import RunConfig, Scheme, Tvc
from ahasd.system.devices.capacity import RankMap
from ahasd.system.simulate import Outcome, simulate
from ahasd.system.stats import cycle_account, flat, metrics
from ahasd.system.workload.trace import Trace

STEPS: dict[str, tuple[Scheme, dict[str, Any]]] = {
    "async": ("async", {}),
    "+ EDC": ("async-edc", {}),
    "+ EDC + TVC": ("ahasd", {"otherwise": "continue"}),
    "+ EDC + TVC, waiting": ("ahasd", {"otherwise": "wait"}),
}
"""Steps by label: scheme, and registers of the TVC. The two last differ in what becomes of a stop
for which the TVC finds no time: AHASD drafts on, the other waits."""

Progress = Callable[[str, int], None]


class BackendDifference(AssertionError):
    """Golden model and compiled RTL gave different runs: a fault of ours."""


def ablation(
    config: RunConfig,
    trace: Trace,
    ranks: RankMap,
    *,
    check: bool = True,
    progress: Progress = lambda label, emitted: None,
) -> list[dict[str, Any]]:
    """Run every step, in the configured backend and, to check it, in the other one of golden, RTL.

    Parameters
    ----------
    config
        Everything but scheme and backend.
    trace, ranks
        From `prepare`.
    check
        False runs the configured backend alone.
    progress
        Called with the step's label and the number of tokens emitted so far.

    Returns
    -------
    list
        A step's `step`, `metrics`, `cycles`, `wall_s` by backend, and `checked`: whether another
        backend gave the same.

    Raises
    ------
    BackendDifference
        The backends differ.
    InvariantError
        A run is not lossless, or an account does not balance.
    """
    first = config.backend.ahasd
    backends = [first, *({"golden", "rtl"} - {first} if check else ())]
    steps = []
    for label, (scheme, tvc) in STEPS.items():
        changed = Tvc.model_validate({**config.tvc.model_dump(), **tvc})
        wall_s: dict[str, float] = {}
        outcomes: list[Outcome] = []
        for backend in backends:
            chosen = config.model_copy(
                update={
                    "scheme": scheme,
                    "tvc": changed,
                    "backend": config.backend.model_copy(update={"ahasd": backend}),
                }
            )
            began = time.perf_counter()
            outcome = simulate(
                chosen,
                trace,
                ranks,
                progress=lambda emitted, name=f"{label} ({backend})": progress(name, emitted),
            )
            wall_s[backend] = time.perf_counter() - began
            outcomes.append(outcome)
        seen = [(metrics(each), each.cycles, each.counters) for each in outcomes]
        if any(each != seen[0] for each in seen):
            raise BackendDifference(f"{label}: {' and '.join(backends)} give different runs")
        steps.append(
            {
                "step": label,
                "metrics": seen[0][0],
                "cycles": cycle_account(outcomes[0].cycles),
                "wall_s": wall_s,
                "checked": len(outcomes) > 1,
            }
        )
    return steps


def _waste_s(found: dict[str, Any]) -> float:
    """Return the time in which the NPU had nothing to verify, or could not, s."""
    return (found["npu"]["idle"] + found["npu"]["blocked"]) * found["time_s"]


def ablation_table(steps: list[dict[str, Any]]) -> Table:
    """Return the steps as a table, one column each; changes are against the step before."""
    shown = Table(title="Ablation")
    shown.add_column("")
    for step in steps:
        shown.add_column(step["step"], justify="right")
    found = [step["metrics"] for step in steps]
    before = [None, *found[:-1]]
    rows: list[tuple[str, list[str]]] = [
        ("tokens/s", [f"{each['throughput_tokens_s']:.3f}" for each in found]),
        ("tokens/pass", [f"{each['mean_acceptance_length_tokens']:.2f}" for each in found]),
        ("drafted/token", [f"{each['drafted_per_token']:.2f}" for each in found]),
        ("flushed/token", [f"{each['flushed_per_token']:.2f}" for each in found]),
        ("NPU finish, s", [f"{each['time_s']:.2f}" for each in found]),
        (
            "  change",
            [
                "" if last is None else f"{each['time_s'] / last['time_s'] - 1:+.1%}"
                for each, last in zip(found, before, strict=True)
            ],
        ),
        ("NPU idle + blocked, s", [f"{_waste_s(each):.2f}" for each in found]),
        (
            "  change, s",
            [
                "" if last is None else f"{_waste_s(each) - _waste_s(last):+.2f}"
                for each, last in zip(found, before, strict=True)
            ],
        ),
        ("lossless", ["yes" for _ in steps]),  # a run that is not ends with an error
    ]
    if any(step["checked"] for step in steps):
        rows.append(("golden = RTL", ["yes" for _ in steps]))  # so does a difference
    for label, cells in rows:
        shown.add_row(label, *cells)
    return shown


def tvc_table(steps: list[dict[str, Any]]) -> Table:
    """Return what the TVC did, a column a step that has it."""
    shown = Table(title="TVC")
    shown.add_column("")
    having = [step for step in steps if "tvc" in step["metrics"]]
    for step in having:
        shown.add_column(step["step"], justify="right")
    told = [flat(step["metrics"]["tvc"]) for step in having]
    for label, key, form in TVC_ROWS:
        cells = [each.get(key) for each in told]
        shown.add_row(label, *("-" if cell is None else form.format(cell) for cell in cells))
    return shown


TVC_ROWS = (
    ("pre-verifications asked for", "asked", "{}"),
    ("inserted", "inserted", "{}"),
    ("run to the end", "run", "{}"),
    ("broken off by a rejection", "broken_off", "{}"),
    ("tokens processed", "tokens", "{}"),
    ("rejections foretold", "predicted", "{}"),
    ("useful: changed what the NPU verified", "useful", "{}"),
    ("harmful: the NPU starved meanwhile", "harmful", "{}"),
    ("starved meanwhile, s", "harmful_s", "{:.3f}"),
    ("time in the PIM, s", "time_s", "{:.3f}"),
    *(
        (
            f"{table.upper()} error, {model}, {what}",
            f"prediction_error.{table}.{model}.{what}",
            form,
        )
        for table in ("nvct", "pdct", "pvct")
        for model in ("ratio", "affine")
        for what, form in (("mean", "{:.2%}"), ("p95", "{:.2%}"))
    ),
)
