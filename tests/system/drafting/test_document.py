# SPDX-License-Identifier: Apache-2.0
"""docs/drafting.md holds every rule and key, and its code runs."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from ahasd.system.drafting.file import FileOptions
from ahasd.system.drafting.options import RuleOptions
from ahasd.system.drafting.registry import AnyRuleOptions
from ahasd.system.workload.replay import replay

DOCUMENT = (Path(__file__).parents[3] / "docs" / "drafting.md").read_text(encoding="utf-8")
KINDS: dict[str, Any] = {
    kind.model_fields["rule"].default: kind for kind in get_args(get_args(AnyRuleOptions)[0])
}


def test_the_document_lists_every_rule_in_the_order_of_the_registry():
    first_table = DOCUMENT[: DOCUMENT.index("## Conventions")]
    assert re.findall(r"^\| `([\w-]+)` \|", first_table, re.MULTILINE) == list(KINDS)


@pytest.mark.parametrize("rule", KINDS)
def test_the_document_lists_the_keys_of_a_rule_with_their_defaults(rule):
    (row,) = re.findall(rf"^\| `{rule}` \|[^|]*\|([^|]*)\|", DOCUMENT, re.MULTILINE)
    fields = KINDS[rule].model_fields
    own = {name for name in fields if name not in RuleOptions.model_fields} - {"rule"}
    printed = dict(re.findall(r"`(\w+)`(?: (`[\w-]+`|[\w.-]+))?", row))
    assert set(printed) == own
    for name, text in printed.items():
        if text:
            default = fields[name].default
            shown = str(default).lower() if isinstance(default, bool) else str(default)
            assert text.strip("`") == shown
        else:
            assert fields[name].is_required()


def test_the_rules_of_the_document_run(tmp_path, shipped):
    (code,) = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
    path = tmp_path / "margin.py"
    path.write_text(code)
    lengths = [
        replay(shipped, FileOptions(path=str(path), name=name, k_max=12).build()).mean_length
        for name in ("Margin", "unlikely")
    ]
    assert all(1 < length < 12 for length in lengths)
    assert lengths[0] != lengths[1]
