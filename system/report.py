# SPDX-License-Identifier: Apache-2.0
"""The table that a run prints, and what it says of the memory's commands."""

import math
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from ahasd.rtl.aau.params import AauParams
from ahasd.system.energy.table import LEVELS
from ahasd.system.metrics.spread import SHARES
from ahasd.system.schemes.names import DECODERS, HARDWARE_SCHEMES, ONE_DEVICE, Scheme
from ahasd.system.stats import FATES, flat

ROWS = (
    ("throughput, decoding", "throughput_tokens_s", "{:.2f} tokens/s"),
    ("time to first token", "ttft_s", "s"),
    ("time a token after it, p50", "latency.tpot_s.p50", "s"),
    ("time between chunks, p50 / p90 / p99", "latency.itl_s.{}", "s"),
    ("mean acceptance length", "mean_acceptance_length_tokens", "{:.2f} tokens/pass"),
    ("acceptance rate, of drafted", "acceptance_rate", "{:.1%}"),
    ("acceptance rate, of judged", "judged_acceptance_rate", "{:.1%}"),
    ("acceptance rate, of tested (alpha)", "speculation.alpha", "{:.1%}"),
    ("drafted per output token", "drafted_per_token", "{:.2f}"),
    ("rejected per output token", "rejected_per_token", "{:.2f}"),
    ("flushed per output token", "flushed_per_token", "{:.2f}"),
    ("verifier busy", "npu.busy", "{:.1%}"),
    ("verifier blocked", "npu.blocked", "{:.1%}"),
    ("verifier idle", "npu.idle", "{:.1%}"),
    ("verifier delayed by the other", "delayed_s.npu", "s"),
    ("drafter busy", "pim.busy", "{:.1%}"),
    ("drafter blocked", "pim.blocked", "{:.1%}"),
    ("drafter idle", "pim.idle", "{:.1%}"),
    ("drafter delayed by the other", "delayed_s.pim", "s"),
    ("energy, devices, low / mid / high", "energy.{}.device.mj_per_token", "J/token"),
    ("energy, wall, low / mid / high", "energy.{}.wall.mj_per_token", "J/token"),
    ("DRAM-read floor", "energy.floor_mj_per_token", "J/token"),
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
PREFIXES = {-12: "p", -9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}
BASE = {"s": 1.0, "J/token": 1e-3}
"""Scaled units: what a value of results.json is in them, where times are in s, energies in mJ."""

FIDELITIES = {
    "command": "by the commands of the memory",
    "analytic": "by the analytic device model",
}


def _operators(results: dict[str, Any]) -> str:
    """Say where the times of the PIM's non-linear operators are from, if a scheme has a PIM."""
    config = results["config"]
    if all(run["scheme"].startswith(("gpu", "npu")) for run in results["runs"]):
        return ""
    unit = "none" if config["memory"]["fidelity"] == "analytic" else config["nonlinear"]["unit"]
    return {
        "aau": f" AAU: {AauParams.timing}.",
        "npu": " Non-linear operators: trips to the NPU.",
        "none": " Non-linear operators: left out.",
    }[unit]


def _cell(values: dict[str, Any], key: str, form: str) -> str:
    if key.startswith("delayed_s") and values["scheme"] in (*DECODERS, *ONE_DEVICE):
        return NONE  # there is no other device
    if not form:
        fates = [values.get(f"{key}.{fate}") for fate in FATES]
        return NONE if None in fates else " / ".join(str(fate) for fate in fates)
    if form in BASE:
        levels = ("",) if "{}" not in key else SHARES if form == "s" else LEVELS
        found = [values.get(key.format(level)) for level in levels]
        return NONE if None in found else scaled([x * BASE[form] for x in found], form)
    value = values.get(key)
    return NONE if value is None else form.format(value)


def scaled(values: Sequence[float], unit: str) -> str:
    """Return values with three digits, and with the SI prefix that the largest of them asks for."""
    most = float(f"{max(map(abs, values)):.3g}")  # rounded, so that it is below 1000 afterwards
    power = 3 * math.floor(math.log10(most) / 3) if most else 0
    power = min(max(power, min(PREFIXES)), max(PREFIXES))
    shown = (f"{value / 10**power:#.3g}".rstrip(".") for value in values)
    return f"{' / '.join(shown)} {PREFIXES[power]}{unit}"


def devices(scheme: Scheme) -> str:
    """Return which device verifies and which drafts: what figures `npu` and `pim` are of."""
    if scheme == "specpim":
        return "NPU + PIM / NPU + PIM"
    alone = scheme.split("-")[0].upper() if scheme in (*DECODERS, *ONE_DEVICE) else None
    drafter = NONE if scheme in DECODERS else alone or "PIM"
    return f"{alone or 'NPU'} / {drafter}"


def memory_line(commands: dict[str, int]) -> str:
    """Return a sentence on the memory commands of runs, as `stats.memory_commands` counts them."""
    return (
        f"memory: {commands['all']:,} commands in all; {commands['simulated']:,} were simulated:"
        " every different task once, and what tasks do to each other, beyond the run too"
    )


def uncounted_lines(run: dict[str, Any]) -> list[str]:
    """Return a sentence for each unit of a run that its energy is without."""
    return [
        f"{run['scheme']}: energy without {unit}, {told['instances']} of them: {told['why']}"
        for unit, told in run["energy"]["hardware"].items()
        if not told["counted"]
    ]


def table(results: dict[str, Any]) -> Table:
    """Return a run's results as a table, one column a scheme, the first the one asked for."""
    timing, backend = results["timing_is_of"], results["backend"]
    shown = Table(
        title=f"{timing['dlm']} drafts for {timing['tlm']} on {timing['platform']}",
        caption=f"Acceptance is that of the trace {results['acceptance_is_of']['trace']}; timing is"
        f" that of the named models, {FIDELITIES[timing['devices']]}.{_operators(results)}",
    )
    shown.add_column("")
    runs = [flat(run) for run in results["runs"]]
    for run in runs:
        unit = f" ({backend['ahasd']})" if run["scheme"] in HARDWARE_SCHEMES else ""
        shown.add_column(run["scheme"] + unit, justify="right")
    for other, speedup in results["speedup"].items():
        shown.add_row(f"speed-up over {other}", f"{speedup:.2f}", *[NONE] * (len(runs) - 1))
    shown.add_row("verifier / drafter", *(devices(run["scheme"]) for run in runs))
    for label, key, form in ROWS:
        cells = [_cell(run, key, form) for run in runs]
        if any(cell != NONE for cell in cells):
            shown.add_row(label, *cells)
    return shown
