# SPDX-License-Identifier: Apache-2.0
"""Records of power as a table, for terminal and pages alike."""

from collections.abc import Sequence
from typing import Any

from ahasd.synth.tables import TextTable, span


def power_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return units with their power at 28 nm, idle and busy, and the mean of the run."""
    shown = []
    for row in rows:
        scaled, leakage = row["scaled_mw"], row["assumed_leakage_mw"]
        answer = row["scaled_pj_per_answer"]
        stopped = [low + leak for low, leak in zip(scaled["mean_stopped"], leakage, strict=True)]
        shown.append(
            (
                row["unit"],
                f"{row['flops']:,}",
                f"{row['gated_flops'] / row['flops']:.0%}",
                f"{row['duty']:.2g}",
                span(*scaled["idle"], digits=2),
                span(*scaled["busy"], digits=2),
                f"{row['busy_pj']['clock'] / sum(row['busy_pj'].values()):.0%}",
                span(*stopped, digits=3),
                span(*answer, digits=2) if answer else "-",
            )
        )
    header = (
        "unit",
        "flip-flops",
        "gated",
        "duty",
        "idle, mW",
        "busy, mW",
        "of it clock",
        "mean, stopped, mW",
        "pJ/answer",
    )
    note = (
        "At 28 nm, 0.9 V. Gated: flip-flops behind clock gates. Idle: the unit's clocks run,"
        " nothing is asked; stopped: they stand still then, and assumed leakage is left. pJ/answer:"
        " all but the clock, over the answers of the run."
        + "".join(
            f" {row['unit']} is one of {row['instances']}." for row in rows if row["instances"] > 1
        )
    )
    return TextTable("Power", header, shown, note=note)


def command_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return the commands that were tried on units, with their power."""
    shown = [
        (
            each["operation"],
            each["model"],
            f"{each['length']:,}",
            f"{each['cycles']:,}",
            f"{each['share']:.1%}",
            span(*each["scaled_mw"], digits=1),
            span(*each["scaled_pj_per_element"], digits=1),
        )
        for row in rows
        for each in row["commands"]
    ]
    header = ("operation", "model", "elements", "cycles", "of its work", "mW", "pJ/element")
    note = (
        "Commands on drawn rows, each once as the run issues it, at its longest context; of its"
        " work: cycles of the run that are of this operation and model, by which they are weighed."
    )
    return TextTable("AAU, by command", header, shown, texts=2, note=note)


def origin_line(rows: Sequence[dict[str, Any]]) -> str:
    """Return what run the activity is of."""
    found = {
        f"{run['tokens']} tokens of {run['trace']}, {run['dlm']} for {run['tlm']}, scheme"
        f" {run['scheme']}, seed {run['seed']}, configuration {run['config_sha256'][:12]}"
        for run in (row["activity"]["run"] for row in rows)
    }
    edges = sum(row["activity"]["edges_equal"] for row in rows)
    return (
        f"Activity: {'; '.join(sorted(found))}. Gates equal RTL at each of the {edges:,} edges that"
        " were recorded."
    )
