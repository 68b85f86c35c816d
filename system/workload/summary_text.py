# SPDX-License-Identifier: Apache-2.0
"""A summary as tables for a terminal, and the list of presets."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from ahasd.system.workload.presets import BAND, PRESETS
from ahasd.system.workload.summary import ENTROPY_EDGES_NATS, Summary
from ahasd.system.workload.trace import Trace

_STEPS_SHOWN = 16
_BAND_LENGTH = 4


def tables(trace: Trace, summary: Summary) -> list[Table]:
    """Return the tables of `ahasd trace info`."""
    return [
        _plain("Trace", _facts(trace)),
        _positions(summary),
        _plain("Entropy of the draft", _entropy(summary)),
        _by_entropy(summary),
    ]


def preset_table() -> Table:
    """Return the presets with what they rest on, and what a band of acceptance does to results."""
    table = Table(title="Presets", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("preset", "PI0/M/KAPPA", "alpha", "tokens a call", "evidence"):
        table.add_column(column)
    for each in PRESETS.values():
        model = each.model
        low, high = each.band
        table.add_row(
            each.name,
            f"{model.certain:.2f}/{model.mean_nats:.2f}/{model.kappa_per_nat:.2f}",
            f"{model.alpha:.3f}",
            "-".join(f"{_acceptance_length(alpha):.2f}" for alpha in (low, model.alpha, high)),
            each.evidence,
        )
    notes: dict[str, dict[str, None]] = {}
    for each in PRESETS.values():
        notes.setdefault(f"{each.target} <- {each.draft}", {})[each.note] = None
    table.caption = "\n".join(
        (
            f"Tokens a call: drafts of {_BAND_LENGTH}, for alpha - {BAND}, alpha, alpha + {BAND}.",
            "They would be that many if tokens were accepted independently.",
            *(f"{pair}: {'; '.join(told)}." for pair, told in notes.items()),
        )
    )
    table.caption_justify = "left"
    return table


def _acceptance_length(alpha: float) -> float:
    return sum(alpha**place for place in range(_BAND_LENGTH + 1))


def _facts(trace: Trace) -> list[tuple[str, str]]:
    header = trace.header
    told = [
        (name, str(header[name]))
        for name in ("target", "draft", "tokenizer", "dataset", "evidence", "provenance", "licence")
        if name in header
    ]
    kinds = dict.fromkeys(request.category or "not told" for request in trace.requests)
    return [
        ("source", trace.source),
        *told,
        ("coupling", trace.coupling),
        ("requests", f"{len(trace.requests)} ({', '.join(kinds)})"),
        ("rows", f"{trace.rows} target tokens, rollouts of {trace.k_max} steps"),
        ("vocabulary", f"{trace.vocab_size} token ids"),
        ("optional columns", ", ".join(_optional(trace)) or "none"),
    ]


def _optional(trace: Trace) -> list[str]:
    return [name for name in ("beta", "p_tgt", "a_hat") if name in trace.columns()]


def _positions(summary: Summary) -> Table:
    table = Table(title="Acceptance by step of a draft")
    for column in ("step", "tested", "right if tested", "all right so far", "right run ends here"):
        table.add_column(column, justify="right")
    for step, tested in enumerate(summary.tested[:_STEPS_SHOWN]):
        ends = summary.run_shares[step] if step < len(summary.run_shares) - 1 else None
        table.add_row(
            str(step + 1),
            str(tested),
            _figure(summary.conditional[step]),
            _figure(summary.survival[step]),
            _figure(ends),
        )
    if len(summary.tested) > _STEPS_SHOWN:
        table.caption = f"{len(summary.tested) - _STEPS_SHOWN} more steps: see --json"
    return table


def _entropy(summary: Summary) -> list[tuple[str, str]]:
    told = summary.entropy_nats
    names = {
        "mean": "mean, nat",
        "p5": "5th percentile",
        "median": "median",
        "p95": "95th percentile",
        "right": "mean of right tokens",
        "wrong": "mean of wrong tokens",
        "behind": "mean behind wrong tokens",
    }
    return [
        *((names[name], _figure(told[name])) for name in names),
        ("below 0.01 nat", _figure(summary.certain)),
        ("lag-1 correlation of log10 H", _figure(summary.lag_one)),
        *(
            (f"AUC of {name} against acceptance", _figure(value))
            for name, value in summary.auc.items()
        ),
    ]


def _by_entropy(summary: Summary) -> Table:
    table = Table(title="Acceptance by entropy")
    for column in ("nat", "tested", "right"):
        table.add_column(column, justify="right")
    edges = [f"{edge:g}" for edge in ENTROPY_EDGES_NATS]
    for low, high, (tested, right) in zip(edges, [*edges[1:], ""], summary.by_entropy, strict=True):
        table.add_row(f"{low} to {high}" if high else f"above {low}", str(tested), _figure(right))
    return table


def _plain(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    table = Table(title=title, show_header=False)
    for name, value in rows:
        table.add_row(name, value)
    return table


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
