# SPDX-License-Identifier: Apache-2.0
"""How well the TVC's two models foretell the durations that it was told afterwards."""

import math
from collections.abc import Sequence
from typing import Any

from ahasd.rtl.tvc.oracle import Measured, affine_model, ratio_model
from ahasd.rtl.tvc.params import Table

MODELS = {"ratio": ratio_model, "affine": affine_model}


def prediction_errors(
    records: Sequence[tuple[Table, int, int]], entries: int
) -> dict[str, dict[str, Any]]:
    """Return the relative errors of each model, table by table.

    Every measurement but a table's first is foretold from the `entries` before it, by exact
    arithmetic: what is shown is the model's error, not that of the hardware's rounding, which its
    own tests bound. Without a preload, so the first ones rest on few entries.

    Parameters
    ----------
    records
        Table, duration [PIM cycles] and length, in the order in which they were measured.
    entries
        Size of a table.

    Returns
    -------
    dict
        By table: `predictions`, their number, and by model `mean` and `p95` of the magnitude of
        (predicted - measured) / measured, None without predictions.
    """
    found: dict[str, dict[str, Any]] = {}
    for table in Table:
        told = [Measured(cycles, length) for which, cycles, length in records if which is table]
        errors: dict[str, list[float]] = {name: [] for name in MODELS}
        for i in range(1, len(told)):
            past, now = told[max(0, i - entries) : i], told[i]
            for name, model in MODELS.items():
                predicted = model(past).cycles(now.length)
                errors[name].append(abs(float(predicted) - now.cycles) / now.cycles)
        found[table.name.lower()] = {
            "predictions": len(errors["ratio"]),
            **{
                name: {"mean": _mean(values), "p95": _percentile(values, 0.95)}
                for name, values in errors.items()
            },
        }
    return found


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _percentile(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least this share of the values does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1] if values else None
