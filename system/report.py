# SPDX-License-Identifier: Apache-2.0
"""The table that a run prints."""

from typing import Any

from rich.table import Table

from ahasd.rtl.aau.params import AauParams
from ahasd.system.energy.table import LEVELS
from ahasd.system.metrics.spread import SHARES
from ahasd.system.schemes.names import HARDWARE_SCHEMES
from ahasd.system.stats import FATES, flat

ROWS = (
    ("throughput, decoding", "throughput_tokens_s", "{:.2f} tokens/s"),
    ("time to first token", "ttft_s", "{:.3f} s"),
    ("time a token after it, p50", "latency.tpot_s.p50", "{:.3f} s"),
    ("time between chunks, p50 / p90 / p99", "latency.itl_s.{}", "s"),
    ("mean acceptance length", "mean_acceptance_length_tokens", "{:.2f} tokens/pass"),
    ("acceptance rate, of drafted", "acceptance_rate", "{:.1%}"),
    ("acceptance rate, of judged", "judged_acceptance_rate", "{:.1%}"),
    ("acceptance rate, of tested (alpha)", "speculation.alpha", "{:.1%}"),
    ("drafted per output token", "drafted_per_token", "{:.2f}"),
    ("rejected per output token", "rejected_per_token", "{:.2f}"),
    ("flushed per output token", "flushed_per_token", "{:.2f}"),
    ("NPU busy", "npu.busy", "{:.1%}"),
    ("NPU blocked", "npu.blocked", "{:.1%}"),
    ("NPU idle", "npu.idle", "{:.1%}"),
    ("NPU delayed by the PIM", "delayed_s.npu", "{:.2f} s"),
    ("PIM busy", "pim.busy", "{:.1%}"),
    ("PIM blocked", "pim.blocked", "{:.1%}"),
    ("PIM idle", "pim.idle", "{:.1%}"),
    ("PIM delayed by the NPU", "delayed_s.pim", "{:.2f} s"),
    ("energy, devices, low / mid / high", "energy.{}.device.mj_per_token", "mJ/token"),
    ("energy, wall, low / mid / high", "energy.{}.wall.mj_per_token", "mJ/token"),
    ("DRAM-read floor", "energy.floor_mj_per_token", "{:.1f} mJ/token"),
    ("EDC go: full / rejected / void / flushed", "edc.confusion_batches.go", ""),
    ("EDC stop: full / rejected / void / flushed", "edc.confusion_batches.stop", ""),
    ("EDC reject recall", "edc.reject_recall", "{:.1%}"),
    ("EDC false stops", "edc.false_stop_rate", "{:.1%}"),
    ("TVC asked", "tvc.asked", "{}"),
    ("TVC inserted", "tvc.inserted", "{}"),
    ("pre-verifications useful", "tvc.useful", "{}"),
    ("pre-verifications harmful", "tvc.harmful", "{}"),
)
NONE = "-"


FIDELITIES = {
    "command": "by the commands of the memory",
    "analytic": "by the analytic device model",
}


def _operators(results: dict[str, Any]) -> str:
    """Say where the times of the PIM's non-linear operators are from."""
    config = results["config"]
    unit = "none" if config["memory"]["fidelity"] == "analytic" else config["nonlinear"]["unit"]
    return {
        "aau": f"AAU: {AauParams.timing}.",
        "npu": "Non-linear operators: trips to the NPU.",
        "none": "Non-linear operators: left out.",
    }[unit]


def _cell(values: dict[str, Any], key: str, form: str) -> str:
    if not form:
        fates = [values.get(f"{key}.{fate}") for fate in FATES]
        return NONE if None in fates else " / ".join(str(fate) for fate in fates)
    if "{}" in key:
        levels, digits = (SHARES, ".2f") if form == "s" else (LEVELS, ".0f")
        found = [values.get(key.format(level)) for level in levels]
        return NONE if None in found else " / ".join(f"{x:{digits}}" for x in found) + f" {form}"
    value = values.get(key)
    return NONE if value is None else form.format(value)


def table(results: dict[str, Any]) -> Table:
    """Return a run's results as a table, one column a scheme, the first the one asked for."""
    timing, backend = results["timing_is_of"], results["backend"]
    shown = Table(
        title=f"{timing['dlm']} drafts for {timing['tlm']} on {timing['platform']}",
        caption=f"Acceptance is that of the trace {results['acceptance_is_of']['trace']}; timing is"
        f" that of the named models, {FIDELITIES[timing['devices']]}. {_operators(results)}",
    )
    shown.add_column("")
    runs = [flat(run) for run in results["runs"]]
    for run in runs:
        unit = f" ({backend['ahasd']})" if run["scheme"] in HARDWARE_SCHEMES else ""
        shown.add_column(run["scheme"] + unit, justify="right")
    for other, speedup in results["speedup"].items():
        shown.add_row(f"speed-up over {other}", f"{speedup:.2f}", *[NONE] * (len(runs) - 1))
    for label, key, form in ROWS:
        cells = [_cell(run, key, form) for run in runs]
        if any(cell != NONE for cell in cells):
            shown.add_row(label, *cells)
    return shown
