# SPDX-License-Identifier: Apache-2.0
"""Table of the rules side by side on the packaged trace, for the docs."""

from typing import Any

from pydantic import TypeAdapter

from ahasd.system.devices.markdown import markdown_table
from ahasd.system.drafting.registry import AnyRuleOptions
from ahasd.system.toml import with_overrides
from ahasd.system.workload.replay import replay
from ahasd.system.workload.trace import load_trace

_ROWS = (
    "fixed k=1",
    "fixed k=2",
    "fixed k=4",
    "fixed k=8",
    "hf-heuristic",
    "hf-confidence",
    "hf-confidence refit=false",
    "svip",
    "svip source=paper",
    "adaedl lambda0=0.3",
    "adaedl lambda0=0.7",
    "specdecpp h=0.3",
    "specdecpp h=0.5",
    "specdecpp h=0.7",
    "specdecpp h=0.3 head=fitted",
    "banditspec longest=4",
    "banditspec longest=8",
    "banditspec longest=8 mode=ucb_repo",
    "banditspec longest=8 mode=exp3",
    "saddle tau=0.1",
    "saddle tau=0.3",
    "saddle tau=0.5",
    "disco-lite",
    "oracle",
)

_ANY: TypeAdapter[Any] = TypeAdapter(AnyRuleOptions)


def rules_on_trace() -> str:
    """Return what every rule does with the packaged trace, under a cap of 12."""
    trace = load_trace("smollm2-rtn4")
    rows = []
    for text in _ROWS:
        result = replay(trace, _ANY.validate_python(_table(text)).build())
        rows.append(
            (
                f"`{text}`",
                f"{result.mean_length:.2f}",
                f"{result.sd_length:.1f}",
                f"{result.acceptance_rate:.3f}",
                f"{result.acceptance_length:.2f}",
                f"{result.verification_rate:.3f}",
                f"{result.discard_rate:.3f}",
            )
        )
    header = ("rule", "mean L", "sd of L", "acceptance rate", "AL", "verification", "discard")
    return markdown_table(header, rows)


def _table(text: str) -> dict[str, Any]:
    rule, *settings = text.split()
    values = dict(setting.split("=") for setting in settings)
    return with_overrides({"rule": rule, "k_max": 12}, values)


TABLES = {"drafting": rules_on_trace}
