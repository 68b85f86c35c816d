# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

import pytest

from ahasd.system.drafting.adaedl import AdaEdl
from ahasd.system.drafting.base import Drafting
from ahasd.system.drafting.fixed import Fixed
from ahasd.system.drafting.svip import Svip
from ahasd.system.workload.presets import PRESETS
from ahasd.system.workload.replay import replay
from ahasd.system.workload.schema import COLUMNS
from ahasd.system.workload.trace import load_trace

DOCUMENT = (Path(__file__).parents[3] / "docs" / "trace.md").read_text(encoding="utf-8")


def test_the_document_lists_every_column_with_its_type_and_shape():
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| (rows[^|]*) \|", DOCUMENT, re.MULTILINE)
    assert rows == [
        (
            name,
            " or ".join(map(str, column.dtypes)),
            "rows, K" if column.per_step else "rows",
        )
        for name, column in COLUMNS.items()
    ]


def test_the_script_of_the_document_makes_a_valid_trace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (script,) = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
    exec(compile(script, "docs/trace.md", "exec"), {})
    trace = load_trace("pair.npz")
    assert (trace.rows, trace.k_max) == (30, 4)
    assert 0 < replay(trace, Drafting(Fixed(4), k_max=4)).acceptance_rate < 1


@pytest.mark.parametrize(
    ("label", "rule"),
    [
        ("fixed 1", Fixed(1)),
        ("fixed 2", Fixed(2)),
        ("fixed 4", Fixed(4)),
        ("SVIP, c 0.15, h 0.3", Svip(c=0.15, h=0.3)),
        ("AdaEDL, lambda0 0.3", AdaEdl(lambda0=0.3, k_max=12)),
        ("AdaEDL, lambda0 0.7", AdaEdl(lambda0=0.7, k_max=12)),
    ],
)
def test_the_document_prints_what_a_replay_gives(label, rule, shipped):
    result = replay(shipped, Drafting(rule, k_max=12))
    assert (
        f"| {label} | {result.mean_length:.2f} | {result.acceptance_rate:.3f} "
        f"| {result.acceptance_length:.2f} | {result.verification_rate:.3f} "
        f"| {result.discard_rate:.3f} |\n"
    ) in DOCUMENT


def test_the_document_lists_every_preset_with_its_parameters_and_its_evidence():
    rows = re.findall(
        r"^\| `([^`]+)` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| (\w+) \|$",
        DOCUMENT,
        re.MULTILINE,
    )
    assert rows == [
        (
            each.name,
            f"{each.model.certain:.2f}",
            f"{each.model.mean_nats:.2f}",
            f"{each.model.kappa_per_nat:.2f}",
            f"{each.model.alpha:.3f}",
            each.evidence,
        )
        for each in PRESETS.values()
    ]
