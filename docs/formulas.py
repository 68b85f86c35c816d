# SPDX-License-Identifier: Apache-2.0
"""Record what drafting ahead and an oracle gain over taking turns, on the machine of the formulas.

python docs/formulas.py    some minutes; writes docs/formulas.json and the tables of formulas.md

Passes take one time, draft steps a fixed part of it. A Monte Carlo by others gave the printed
gains; of their mix only the mean acceptance is known, so ours is another process.
"""

import json
from pathlib import Path
from typing import Any

from ahasd.system.constant_run import PASS_PS, constant_run, tokens_per_pass_time
from ahasd.system.devices.closed_forms import async_rate, oracle_rate, sync_rate
from ahasd.system.devices.markdown import markdown_table
from ahasd.system.results import provenance

DOCS = Path(__file__).resolve().parent
RECORD, PAGE = DOCS / "formulas.json", DOCS / "formulas.md"
TOKENS = 16384
FIXED = range(1, 13)
FIRSTS = (1, 2, 3, 6)
BATCHES = (2, 4)
MIX = "mix:0.95/0.5/12/4"
PRINTED = (
    ("iid:0.75", 0.054, "1.02 (1.03)", "1.29 (1.31)"),
    ("iid:0.75", 0.138, "1.07 (1.20)", "1.40 (1.56)"),
    ("iid:0.9", 0.2, "1.25 (1.26)", "1.41 (1.42)"),
    (MIX, 0.138, "1.22 (1.26)", "1.47 (1.52)"),
    (MIX, 0.5, "1.16 (1.55)", "1.31 (1.74)"),
)
"""Trace, draft step in passes, gains of drafting ahead and of the oracle: over the best fixed
length and, in brackets, over 8."""


def rate(trace: str, ratio: float, tokens: int = TOKENS, **settings: Any) -> float:
    """Return the tokens that come out in the time of a pass."""
    named = {key.replace("__", "."): value for key, value in settings.items()}
    # A step that ends with a pass is in time for the next one: let it end a picosecond before.
    return tokens_per_pass_time(constant_run(trace, ratio - 1 / PASS_PS, tokens, named))


def best(rates: dict[int, float]) -> dict[str, float]:
    """Return the choice with the highest rate, and that."""
    choice = max(rates, key=rates.__getitem__)
    return {"choice": choice, "rate": rates[choice]}


def row(trace: str, ratio: float, ahead: str, oracle: str) -> dict[str, Any]:
    """Return what is printed and what our runs give."""
    fixed = {k: rate(trace, ratio, scheme="sync", draft__rule="fixed", draft__k=k) for k in FIXED}
    drains = {
        first: rate(
            trace,
            ratio,
            scheme="amusd",
            verification__bonus="drop",
            verification__first_tokens=first,
        )
        for first in FIRSTS
    }
    hardware = {
        k: rate(trace, ratio, TOKENS // 8, scheme="async", draft__rule="fixed", draft__k=k)
        for k in BATCHES
    }
    return {
        "trace": trace,
        "draft_passes": ratio,
        "printed": {"ahead": ahead, "oracle": oracle},
        "fixed": best(fixed),
        "fixed_8_rate": fixed[8],
        "ahead": best(drains),
        "bonus": {"rate": rate(trace, ratio, scheme="amusd")},
        "hardware": best(hardware),
        "oracle": {"rate": rate(trace, ratio, scheme="sync", draft__rule="oracle")},
    }


def forms() -> list[dict[str, Any]]:
    """Return closed forms beside runs: tokens in the time of a pass."""
    found = []
    for alpha, k, ratio in ((0.75, 4, 0.05), (0.75, 8, 0.4), (0.9, 5, 0.05), (0.5, 2, 0.4)):
        run = rate(f"iid:{alpha}", ratio, scheme="sync", draft__rule="fixed", draft__k=k)
        found.append(form("taking turns", alpha, k, ratio, sync_rate(alpha, k, ratio, 1), run))
    flushes = {"scheme": "async", "verification__take": "one", "verification__bonus": "drop"}
    for alpha, k in ((0.75, 4), (0.9, 8)):
        for ratio in (0.05, 0.3):
            run = rate(
                f"iid:{alpha}", ratio, TOKENS // 2, **flushes, draft__rule="fixed", draft__k=k
            )
            closed = async_rate(alpha, k, ratio, 1)
            found.append(form("one batch a pass", alpha, k, ratio, closed, run))
    oracle = {"draft__rule": "oracle", "draft__may_skip": True, "draft__k_max": 255}
    for alpha, ratio in ((0.5, 0.05), (0.75, 0.14), (0.9, 0.2)):
        run = rate(f"iid:{alpha}", ratio, scheme="sync", **oracle)
        found.append(form("oracle", alpha, None, ratio, oracle_rate(alpha, ratio, 1), run))
    return found


def form(
    name: str, alpha: float, k: int | None, ratio: float, closed: float, run: float
) -> dict[str, Any]:
    """Return a line of the table of closed forms."""
    return {
        "form": name,
        "alpha": alpha,
        "k": k,
        "draft_passes": ratio,
        "closed": closed,
        "simulated": run,
    }


def table(told: dict[str, Any]) -> str:
    """Return the gains as a table: printed, then ours, over the best fixed length and over 8."""
    rows = []
    for each in told["rows"]:
        fixed = each["fixed"]

        def gain(part: dict[str, float], each: dict[str, Any] = each) -> str:
            best, eight = each["fixed"]["rate"], each["fixed_8_rate"]
            return f"{part['rate'] / best:.2f} ({part['rate'] / eight:.2f})"

        rows.append(
            (
                f"`{each['trace']}`",
                f"{each['draft_passes']}",
                f"{fixed['choice']}",
                each["printed"]["ahead"],
                f"{gain(each['ahead'])}, {each['ahead']['choice']}",
                gain(each["bonus"]),
                f"{gain(each['hardware'])}, {each['hardware']['choice']}",
                each["printed"]["oracle"],
                gain(each["oracle"]),
            )
        )
    header = (
        "acceptance",
        "draft step, passes",
        "best k",
        "ahead, theirs",
        "`amusd`, `drop`; first tokens",
        "`amusd`",
        "`async`; batch",
        "oracle, theirs",
        "`sync`, `oracle`",
    )
    return markdown_table(header, rows)


def forms_table(told: dict[str, Any]) -> str:
    """Return the closed forms and our runs as a table."""
    rows = [
        (
            each["form"],
            f"{each['alpha']}",
            "-" if each["k"] is None else f"{each['k']}",
            f"{each['draft_passes']}",
            f"{each['closed']:.3f}",
            f"{each['simulated']:.3f}",
            f"{each['simulated'] / each['closed'] - 1:+.1%}",
        )
        for each in told["forms"]
    ]
    header = ("form", "alpha", "k", "draft step, passes", "closed form", "simulated", "difference")
    return markdown_table(header, rows)


def filled(page: str, told: dict[str, Any]) -> str:
    """Return the page with the tables of a record."""
    for name, made in (("gains", table(told)), ("forms", forms_table(told))):
        head, _, rest = page.partition(f"<!-- begin: {name} -->\n")
        _, end, tail = rest.partition(f"\n<!-- end: {name} -->")
        page = f"{head}<!-- begin: {name} -->\n{made}{end}{tail}"
    return page


def main() -> None:
    """Run, and write the record and the page."""
    told = {
        "tokens": TOKENS,
        "rows": [row(*each) for each in PRINTED],
        "forms": forms(),
        "provenance": provenance(),
    }
    RECORD.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), told), encoding="utf-8")


if __name__ == "__main__":
    main()
