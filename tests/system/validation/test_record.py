# SPDX-License-Identifier: Apache-2.0
"""The recorded comparison beside a fresh one, and how it is shown."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from ahasd.system.validation.record import (
    PARTS,
    QUICK,
    computed,
    document,
    markdown,
    peers,
    reasons,
    recorded,
    tables,
)
from ahasd.system.validation.rows import Row

RECORD = json.loads((Path(__file__).parents[3] / "docs" / "validation.json").read_text("utf-8"))
RERUN = "run `ahasd devices --validate --json > docs/validation.json`"


def same(rows: list[Row], held: list[Row]) -> bool:
    def key(row):
        return row.peer, row.case, row.unit, row.theirs, row.reason

    return [key(row) for row in rows] == [key(row) for row in held] and [
        row.ours for row in rows
    ] == pytest.approx([row.ours for row in held])


def test_every_part_is_recorded():
    assert list(RECORD["parts"]) == list(PARTS)
    assert {*QUICK} < {*PARTS}


@pytest.mark.parametrize("part", QUICK)
def test_quick_rows_are_those_of_the_record(part):
    assert same(computed([part])[part], recorded(RECORD)[part]), RERUN


@pytest.mark.slow
@pytest.mark.parametrize("part", [part for part in PARTS if part not in QUICK])
def test_other_rows_are_those_of_the_record(part):
    assert same(computed([part])[part], recorded(RECORD)[part]), RERUN


def row(ours: float, case: str = "a", reason: str = "", peer: str = "P") -> Row:
    return Row(peer=peer, case=case, unit="ms", theirs=100.0, ours=ours, reason=reason)


def test_a_record_holds_the_rows_and_gives_them_back():
    rows = {"pim": [row(101.0)], "gpu": [row(150.0, "b", "too few ranks")]}
    told = json.loads(json.dumps(document(rows)))
    assert recorded(told) == rows
    assert len(told["date"]) == 10


def test_a_record_with_an_error_and_no_reason_is_refused():
    told = document({"pim": [row(150.0, reason="why")]})
    told["parts"]["pim"][0]["reason"] = ""
    with pytest.raises(ValueError, match="has no reason"):
        recorded(told)


def test_rows_of_a_peer_stand_together_whatever_their_part():
    rows = [row(100.0, peer="P"), row(100.0, peer="Q"), row(99.0, peer="P")]
    assert {peer: len(held) for peer, held in peers(rows).items()} == {"P": 2, "Q": 1}


def test_reasons_are_told_once_with_their_cases_and_only_where_needed():
    rows = [row(150.0, "a", "why"), row(80.0, "b", "why"), row(101.0, "c", "not needed")]
    assert reasons(rows) == ["a (+50.0%); b (-20.0%): why."]


def test_a_page_counts_the_cases_and_shows_reasons_below_their_table():
    told = markdown(
        {
            "date": "2026-01-02",
            "parts": document({"x": [row(112.0, "a", "why"), row(1234.5678, "b", "far")]})["parts"],
        }
    )
    lines = told.splitlines()
    assert lines[0] == "Computed on 2026-01-02: 2 cases, 0 within 10%."
    assert "### P" in lines
    assert "| a    | ms   |    100 |   112 |   +12.0% |" in lines
    assert "| b    | ms   |    100 | 1,235 | +1134.6% |" in lines
    assert lines[-2:] == ["- a (+12.0%): why.", "- b (+1134.6%): far."]


def test_a_terminal_gets_the_same_rows():
    console = Console(width=100, file=io.StringIO(), record=True)
    for table in tables({"x": [row(112.0, "a", "why")], "y": [row(100.5, "b", peer="Q")]}):
        console.print(table)
    told = console.export_text()
    assert "a (+12.0%): why." in told
    assert "100.5" in told
    assert "+0.5%" in told
