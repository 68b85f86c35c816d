# SPDX-License-Identifier: Apache-2.0
"""What a matrix leaves behind: all of it as JSON, the main figures as CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ahasd.system.matrix.lengths import Fixed
from ahasd.system.results import provenance, write_json, write_text
from ahasd.system.stats import flat

SCHEMA = "ahasd-matrix/2"

COLUMNS = (
    "tokens",
    "time_s",
    "ttft_s",
    "throughput_tokens_s",
    "mean_acceptance_length_tokens",
    "rows_per_pass",
    "acceptance_rate",
    "drafted_per_token",
    "rejected_per_token",
    "flushed_per_token",
    "npu.busy",
    "npu.blocked",
    "npu.idle",
    "pim.busy",
    "pim.blocked",
    "pim.idle",
    "delayed_s.npu",
    "delayed_s.pim",
    "energy.low.device.mj_per_token",
    "energy.mid.device.mj_per_token",
    "energy.high.device.mj_per_token",
    "energy.low.wall.mj_per_token",
    "energy.mid.wall.mj_per_token",
    "energy.high.wall.mj_per_token",
    "energy.floor_mj_per_token",
)
"""Metrics in the CSV; docs/metrics.md says what they mean."""


def write(
    folder: Path,
    asked: Mapping[str, Any],
    base: str,
    settings: Mapping[str, Any],
    found: Sequence[dict[str, Any]],
    fixed: Sequence[Fixed],
    wall_s: float,
) -> None:
    """Write matrix.json and matrix.csv.

    Parameters
    ----------
    folder
        Where to.
    asked
        What makes this matrix another one than the next.
    base, settings
        What all cells share.
    found
        All cells.
    fixed
        Throughputs by fixed draft length.
    wall_s
        Time that the matrix took, s.

    Raises
    ------
    UserError
        They cannot be written.
    """
    told = {
        "schema": SCHEMA,
        "config": dict(asked),
        "base": base,
        "settings": dict(settings),
        "cells": list(found),
        "fixed_lengths": [
            {
                "pair": each.pair,
                "configuration": each.configuration,
                "best": each.best,
                "throughput_tokens_s": {str(k): speed for k, speed in each.speeds.items()},
            }
            for each in fixed
        ],
        "wall_s": wall_s,
        "provenance": provenance(),
    }
    write_json(folder / "matrix.json", told)
    write_text(folder / "matrix.csv", csv_text(found))


def csv_text(found: Sequence[dict[str, Any]]) -> str:
    """Return a line a cell; what a cell does not have is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    cell_columns = ("pair", "rule", "k", "configuration", "seed")
    writer.writerow((*cell_columns, "lossless", *COLUMNS, "wall_s", "error"))
    for each in found:
        known = flat(each.get("metrics", {}))
        cells = [*(each["cell"][name] for name in cell_columns), each.get("lossless")]
        cells += [known.get(name) for name in COLUMNS]
        cells += [each["timing"]["wall_s"], each.get("error")]
        writer.writerow("" if cell is None else cell for cell in cells)
    return text.getvalue()
