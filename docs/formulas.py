# SPDX-License-Identifier: Apache-2.0
"""Record what drafting ahead and an oracle gain over taking turns, on the machine of the formulas.

python docs/formulas.py    some minutes; writes docs/formulas.json

Passes take one time, draft steps a fixed part of it. A Monte Carlo by others gave the printed
gains; of their mix only the mean acceptance is known, so ours is another process.
"""

import json
from pathlib import Path
from typing import Any

from ahasd.system.constant_run import PASS_PS, constant_run, tokens_per_pass_time
from ahasd.system.results import provenance

TOKENS = 16384
CAP = 16
FIRSTS = (1, 2, 3, 4, 6, 8, 12)
BATCHES = (1, 2, 3, 4, 8)
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
    fixed = {
        k: rate(trace, ratio, scheme="sync", draft__rule="fixed", draft__k=k)
        for k in range(1, CAP + 1)
    }
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
        k: rate(trace, ratio, TOKENS // 4, scheme="async", draft__rule="fixed", draft__k=k)
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


if __name__ == "__main__":
    told = {
        "tokens": TOKENS,
        "rows": [row(*each) for each in PRINTED],
        "provenance": provenance(),
    }
    path = Path(__file__).with_name("formulas.json")
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
