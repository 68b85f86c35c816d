# SPDX-License-Identifier: Apache-2.0
"""The page of closed forms shows its record, and the record is within what the page claims."""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def made():
    spec = spec_from_file_location("formulas", DOCS / "formulas.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def told():
    return json.loads((DOCS / "formulas.json").read_text("utf-8"))


def test_the_page_shows_the_record(made, told):
    page = (DOCS / "formulas.md").read_text("utf-8")
    assert made.filled(page, told) == page, "run `python docs/formulas.py`"
    assert [(row["trace"], row["draft_passes"]) for row in told["rows"]] == [
        each[:2] for each in made.PRINTED
    ]


def test_closed_forms_and_runs_agree_within_three_percent(told):
    assert len(told["forms"]) == 11
    for form in told["forms"]:
        assert form["simulated"] == pytest.approx(form["closed"], rel=0.03), form


@pytest.mark.parametrize("what", ["ahead", "oracle"])
def test_gains_on_independent_acceptance_are_the_printed_ones_within_three_percent(told, what):
    rows = [row for row in told["rows"] if row["trace"].startswith("iid")]
    assert len(rows) == 3
    for row in rows:
        over_best, over_8 = row["printed"][what].replace("(", "").replace(")", "").split()
        rate = row[what]["rate"]
        assert rate / row["fixed"]["rate"] == pytest.approx(float(over_best), rel=0.03), row
        assert rate / row["fixed_8_rate"] == pytest.approx(float(over_8), rel=0.03), row


def test_a_gain_is_a_quotient_of_rates(made):
    row = {
        "trace": "iid:0.5",
        "draft_passes": 0.1,
        "printed": {"ahead": "a", "oracle": "o"},
        "fixed": {"choice": 3, "rate": 2.0},
        "fixed_8_rate": 1.0,
        "ahead": {"choice": 2, "rate": 3.0},
        "bonus": {"rate": 1.0},
        "hardware": {"choice": 4, "rate": 2.0},
        "oracle": {"rate": 4.0},
    }
    cells = made.table({"rows": [row]}).splitlines()[-1].replace(" ", "")
    assert cells == "|`iid:0.5`|0.1|3|a|1.50(3.00),2|0.50(1.00)|1.00(2.00),4|o|2.00(4.00)|"
