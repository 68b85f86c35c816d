# SPDX-License-Identifier: Apache-2.0
"""The ablation: what each control unit adds, on one trace, in hardware and in golden models."""

import time
from collections.abc import Callable
from typing import Any

from rich.table import Table

from ahasd.system.config import BackendName, RunConfig
from ahasd.system.devices.capacity import RankMap
from ahasd.system.devices.pool import DevicePool
from ahasd.system.matrix.binding import Gist, pass_shares, sentence
from ahasd.system.schemes.names import Scheme
from ahasd.system.simulate import Outcome, simulate
from ahasd.system.stats import cycle_account, flat, metrics
from ahasd.system.workload.trace import Trace

STEPS: dict[str, tuple[Scheme, dict[str, Any]]] = {
    "async": ("async", {"nonlinear": {"unit": "npu"}}),
    "+ AAU": ("async", {"nonlinear": {"unit": "aau"}}),
    "+ EDC": ("async-edc", {"nonlinear": {"unit": "aau"}}),
    "+ TVC": ("ahasd", {"nonlinear": {"unit": "aau"}, "tvc": {"otherwise": "continue"}}),
    "+ TVC, waiting": ("ahasd", {"nonlinear": {"unit": "aau"}, "tvc": {"otherwise": "wait"}}),
}
"""Steps by label, each on top of the one before but for the last: scheme, and keys by section. The
two last differ in what becomes of a stop for which the TVC finds no time: AHASD drafts on, the
other waits."""

COMPARED: tuple[BackendName, ...] = ("golden", "rtl")
"""Backends that must give the same."""

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
        A step's `step`, `metrics`, `pass_shares`, `cycles`, `wall_s` by backend, `checked`: whether
        another backend gave the same; and `without_contention`: metrics if NPU and PIM did not
        delay each other, from the golden model, None where they do not in any case.

    Raises
    ------
    BackendDifference
        The backends differ.
    InvariantError
        A run is not lossless, or an account does not balance.
    """
    first = config.backend.ahasd
    backends = list(dict.fromkeys((first, *COMPARED))) if check else [first]
    steps = []
    pool = DevicePool()
    for label, (scheme, changes) in STEPS.items():
        changed: dict[str, Any] = {"scheme": scheme}
        for section, keys in changes.items():
            held = getattr(config, section)
            changed[section] = type(held).model_validate({**held.model_dump(), **keys})
        step = config.model_copy(update=changed)
        wall_s: dict[str, float] = {}
        outcomes: list[Outcome] = []
        for backend in backends:
            began = time.perf_counter()
            outcome = simulate(
                _on_backend(step, backend),
                trace,
                ranks,
                pool=pool,
                progress=lambda emitted, name=f"{label} ({backend})": progress(name, emitted),
            )
            wall_s[backend] = time.perf_counter() - began
            outcomes.append(outcome)
        seen = [(metrics(each), each.cycles, each.counters) for each in outcomes]
        if any(each != seen[0] for each in seen):
            raise BackendDifference(f"{label}: {' and '.join(backends)} give different runs")
        without = None
        if step.memory.contends:
            ideal = step.model_copy(
                update={"memory": step.memory.model_copy(update={"contention": False})}
            )
            outcome = simulate(
                _on_backend(ideal, "golden"),
                trace,
                ranks,
                pool=pool,
                progress=lambda emitted, name=f"{label} (no contention)": progress(name, emitted),
            )
            without = metrics(outcome)
        steps.append(
            {
                "step": label,
                "metrics": seen[0][0],
                "pass_shares": pass_shares(outcomes[0]),
                "without_contention": without,
                "cycles": cycle_account(outcomes[0].cycles),
                "wall_s": wall_s,
                "checked": len(outcomes) > 1,
            }
        )
    return steps


def _on_backend(config: RunConfig, backend: BackendName) -> RunConfig:
    return config.model_copy(
        update={"backend": config.backend.model_copy(update={"ahasd": backend})}
    )


def _waste_s(found: dict[str, Any]) -> float:
    """Return the time in which the NPU had nothing to verify, or could not, s."""
    return (found["npu"]["idle"] + found["npu"]["blocked"]) * found["time_s"]


def ablation_table(steps: list[dict[str, Any]]) -> Table:
    """Return the steps as a table, one column each; changes are against the step before."""
    shown = Table(
        title="Ablation",
        caption="Waste: the NPU had nothing to verify. Delayed: lost to the other device on the"
        " memory; uncontended: as if nothing were. Energy: middle of the range.",
    )
    shown.add_column("")
    for step in steps:
        shown.add_column(step["step"], justify="right")
    found = [step["metrics"] for step in steps]
    before = [None, *found[:-1]]
    ideal = [step["without_contention"] for step in steps]
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
        ("NPU waste, s", [f"{_waste_s(each):.2f}" for each in found]),
        (
            "  change, s",
            [
                "" if last is None else f"{_waste_s(each) - _waste_s(last):+.2f}"
                for each, last in zip(found, before, strict=True)
            ],
        ),
        ("mJ/token, devices", [_energy(each, "device") for each in found]),
        ("mJ/token, wall", [_energy(each, "wall") for each in found]),
        ("lossless", ["yes" for _ in steps]),  # a run that is not ends with an error
    ]
    if any(step["checked"] for step in steps):
        rows.append(("golden = RTL", ["yes" for _ in steps]))  # so does a difference
    if all(ideal):
        rows += [
            ("NPU delayed, s", [f"{each['delayed_s']['npu']:.2f}" for each in found]),
            ("PIM delayed, s", [f"{each['delayed_s']['pim']:.2f}" for each in found]),
            ("uncontended tokens/s", [f"{e['throughput_tokens_s']:.3f}" for e in ideal]),
            ("uncontended finish, s", [f"{each['time_s']:.2f}" for each in ideal]),
            (
                "  change, uncontended",
                [
                    "" if last is None else f"{each['time_s'] / last['time_s'] - 1:+.1%}"
                    for each, last in zip(ideal, [None, *ideal[:-1]], strict=True)
                ],
            ),
            ("uncontended waste, s", [f"{_waste_s(each):.2f}" for each in ideal]),
        ]
    for label, cells in rows:
        shown.add_row(label, *cells)
    return shown


def explanations(steps: list[dict[str, Any]]) -> list[str]:
    """Return a line a step: what binds, what it changed against the one before, and why no more."""
    told = []
    for number, step in enumerate(steps):
        before = steps[number - 1 : number] if number else []
        told.append(
            sentence(
                step["step"],
                [Gist.of(step["metrics"])],
                step["pass_shares"],
                [Gist.of(each["metrics"]) for each in before],
                over=before[0]["step"] if before else "",
            )
        )
    return told


def _energy(found: dict[str, Any], style: str) -> str:
    """Return the middle of the range."""
    return f"{found['energy']['mid'][style]['mj_per_token']:.0f}"


def tvc_table(steps: list[dict[str, Any]]) -> Table:
    """Return what the TVC did, a column a step that has it, and one without contention beside."""
    shown = Table(
        title="TVC",
        caption="Useful: changed what the NPU verified. Harmful: the NPU starved meanwhile."
        " Errors are of the TVC's predictions.",
    )
    shown.add_column("")
    told = []
    for step in steps:
        for found, more in ((step["metrics"], ""), (step["without_contention"], "uncontended")):
            if found and "tvc" in found:
                shown.add_column(more or step["step"], justify="right")
                told.append(flat(found["tvc"]))
    for label, key, form in TVC_ROWS:
        cells = [each.get(key) for each in told]
        shown.add_row(label, *("-" if cell is None else form.format(cell) for cell in cells))
    return shown


TVC_ROWS = (
    ("asked for", "asked", "{}"),
    ("inserted", "inserted", "{}"),
    ("run to the end", "run", "{}"),
    ("broken off", "broken_off", "{}"),
    ("tokens processed", "tokens", "{}"),
    ("rejections foretold", "predicted", "{}"),
    ("useful", "useful", "{}"),
    ("harmful", "harmful", "{}"),
    ("starved meanwhile, s", "harmful_s", "{:.3f}"),
    ("time in the PIM, s", "time_s", "{:.3f}"),
    *(
        (
            f"{table.upper()} {model}, {what} error",
            f"prediction_error.{table}.{model}.{what}",
            form,
        )
        for table in ("nvct", "pdct", "pvct")
        for model in ("ratio", "affine")
        for what, form in (("mean", "{:.2%}"), ("p95", "{:.2%}"))
    ),
)
