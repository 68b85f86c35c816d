# SPDX-License-Identifier: Apache-2.0
"""What the AAU's arithmetic changes in buckets of the EDC and in lengths of drafts: the record."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from ahasd.rtl.aau.params import AauParams
from ahasd.system.config import load_config
from ahasd.system.devices.markdown import markdown_table
from ahasd.system.drafting.base import Drafting
from ahasd.system.numerics.decisions import compare
from ahasd.system.numerics.logits import LARGEST, TAILS, Tail
from ahasd.system.numerics.statistics import LogitFormat, statistics, with_statistics
from ahasd.system.parallel import run_grouped
from ahasd.system.workload.trace import Trace

RULES = ("adaedl", "svip", "saddle", "specdecpp")
"""Rules that look at entropies or probabilities, with their default options."""
FORMATS: tuple[LogitFormat, ...] = get_args(LogitFormat)
Rows = npt.NDArray[np.integer[Any]]
FLIPS_ALLOWED, LENGTHS_ALLOWED = 0.005, 0.01


def measure(trace: Trace, every: int, jobs: int = 1) -> dict[str, Any]:
    """Compare the AAU with float64 on the same logits, for all tails, formats and rules.

    Parameters
    ----------
    trace
        The trace.
    every
        One row in so many is looked at.
    jobs
        Processes.
    """
    chosen = np.arange(0, trace.rows, every)
    asked = [(trace, chosen, tail, form) for tail in TAILS for form in FORMATS]
    if jobs > 1:
        found = dict(run_grouped(_case, asked, range(len(asked)), jobs))
        cases = [found[i] for i in range(len(asked))]
    else:
        cases = [_case(*each) for each in asked]
    return {
        "trace": trace.source,
        "vocabulary": trace.vocab_size,
        "rows": len(chosen),
        "steps": len(chosen) * trace.k_max,
        "largest_logit": LARGEST,
        "params": asdict(AauParams()),
        "probe": probe(trace),
        "cases": cases,
    }


def probe(trace: Trace) -> list[list[float]]:
    """Return what the AAU tells of the first row: other arithmetic than the record's shows here.

    Returns
    -------
    list
        Entropies [nat] and largest probabilities, one a step; of the first tail and format.
    """
    found = statistics(trace, TAILS[0], FORMATS[0], params=AauParams(), rows=np.array([0]))
    return found.aau[:, 0].tolist()


def _case(trace: Trace, chosen: Rows, tail: Tail, form: LogitFormat) -> dict[str, Any]:
    """Compare on logits of one family in one format."""
    part = _rows(trace, chosen)
    found = statistics(trace, tail, form, params=AauParams(), rows=chosen)
    exact, rounded, aau = (
        with_statistics(part, each, name)
        for each, name in ((found.exact, "float64"), (found.rounded, form), (found.aau, "AAU"))
    )
    of_aau, of_format = np.abs(found.aau - found.rounded), found.rounded - found.exact
    return {
        "tail": tail,
        "format": form,
        "missed_nats": found.missed_nats,
        "aau_entropy_error_nats": float(of_aau[0].max()),
        "aau_probability_error": float((of_aau / found.rounded)[1].max()),
        "format_entropy_error_nats": float(np.abs(of_format)[0].max()),
        "rules": {
            rule: {
                "aau": asdict(compare(rounded, aau, _rule(rule))),
                "format": asdict(compare(exact, rounded, _rule(rule))),
            }
            for rule in RULES
        },
    }


def _rule(name: str) -> Callable[[], Drafting]:
    options = load_config("default", {"draft.rule": name}).draft
    return lambda: options.build(0)


def _rows(trace: Trace, chosen: Rows) -> Trace:
    """Return some rows of a trace, each a request of its own."""
    columns = {name: values[chosen] for name, values in trace.columns().items()}
    count = len(chosen)
    columns["seq"], columns["t"] = np.arange(count, dtype=np.int32), np.zeros(count, np.int32)
    # A request of one token has no second target that a rollout could meet.
    columns["run"] = np.minimum(columns["run"], 1).astype(np.uint8)
    header = {key: value for key, value in trace.header.items() if key not in _PER_REQUEST}
    return replace(trace, header=header, **columns)


_PER_REQUEST = ("category", "prompt_len")


def effect_table(record: dict[str, Any]) -> str:
    """Return the record as a table for the page."""
    rows = []
    for case in record["cases"]:
        for rule, found in case["rules"].items():
            aau, form = found["aau"], found["format"]
            rows.append(
                (
                    case["tail"],
                    case["format"],
                    f"`{rule}`",
                    f"{case['aau_entropy_error_nats']:.1e}",
                    f"{max(aau['bucket_flips'].values()):.2%}",
                    f"{aau['lengths_changed']:.2%}",
                    f"{aau['mean_length'] / aau['mean_length_reference'] - 1:+.2%}",
                    f"{max(form['bucket_flips'].values()):.2%}",
                    f"{form['lengths_changed']:.2%}",
                )
            )
    header = (
        "tail",
        "format",
        "rule",
        "AAU: entropy, nat",
        "AAU: buckets",
        "AAU: lengths",
        "AAU: mean length",
        "format: buckets",
        "format: lengths",
    )
    return markdown_table(header, rows, text_columns=3)
