# SPDX-License-Identifier: Apache-2.0
"""What a matrix shows, on a terminal or on a page, and what of it a page needs."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from ahasd.system.matrix.cells import BASELINES, labels
from ahasd.system.matrix.lengths import Fixed
from ahasd.system.matrix.tables import (
    Found,
    ablation_table,
    baseline_table,
    explanations,
    mappings,
    speed_table,
)
from ahasd.system.stats import flat

KEPT = (
    "scheme",
    "throughput_tokens_s",
    "time_s",
    "prefill_s",
    "passes",
    "mean_acceptance_length_tokens",
    "npu.states_s.verifying",
    "delayed_s.npu",
    "energy.mid.device.mj_per_token",
    "energy.mid.wall.mj_per_token",
    "acceptance_rate",
    "drafted_per_token",
    "flushed_per_token",
    "pim.busy",
    "pim.blocked",
)
"""Metrics that tables and sentences are made of."""
COLUMNS = 5
"""Configurations that have room beside each other."""


def shown(
    found: Sequence[Found], configurations: Sequence[str], fixed: Sequence[Fixed]
) -> tuple[list[Table], list[str]]:
    """Return the tables of a matrix and the lines below them.

    Parameters
    ----------
    found
        All cells.
    configurations
        Their labels, in the order of the columns.
    fixed
        Throughputs by fixed draft length.
    """
    parts = [configurations[i : i + COLUMNS] for i in range(0, len(configurations), COLUMNS)]
    tables = [speed_table(found, part) for part in parts]
    tables.append(ablation_table(found, configurations))
    subject = "+ TVC" if "+ TVC" in configurations else configurations[-1]
    if set(configurations) & set(BASELINES) - {subject}:
        tables.append(baseline_table(found, configurations, subject))
    lines = [*explanations(found, configurations), *mappings(found)]
    return tables, lines + [each.told() for each in fixed]


def compact(told: dict[str, Any]) -> dict[str, Any]:
    """Return of a matrix.json what `of_page` needs, in a form that a repository can keep."""
    cells = []
    for each in told["cells"]:
        kept = {
            key: each[key] for key in ("cell", "lossless", "pass_shares", "error") if key in each
        }
        if "metrics" in each:
            known = flat(each["metrics"])
            kept["metrics"] = {key: known[key] for key in KEPT if key in known}
            if "mapping" in each["metrics"]:
                kept["mapping"] = each["metrics"]["mapping"]
        if each["cell"]["k"] is None:
            cells.append(kept)
    same = ("schema", "base", "settings", "fixed_lengths", "wall_s", "provenance")
    return {**{key: told[key] for key in same}, "cells": cells}


def of_page(told: dict[str, Any]) -> tuple[list[Table], list[str]]:
    """Return `shown` of what `compact` kept."""
    found = []
    for each in told["cells"]:
        cell = dict(each)
        if "metrics" in each:
            cell["metrics"] = _nested(each["metrics"])
        if "mapping" in each:
            cell["metrics"]["mapping"] = each["mapping"]
        found.append(cell)
    fixed = [
        Fixed(
            pair=each["pair"],
            configuration=each["configuration"],
            speeds={int(k): speed for k, speed in each["throughput_tokens_s"].items()},
            cells=[],
        )
        for each in told["fixed_lengths"]
    ]
    names = labels([each["cell"]["configuration"] for each in found])
    return shown(found, names, fixed)


def _nested(known: dict[str, Any]) -> dict[str, Any]:
    """Undo `flat`."""
    found: dict[str, Any] = {}
    for key, value in known.items():
        *folders, name = key.split(".")
        place = found
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = value
    return found
