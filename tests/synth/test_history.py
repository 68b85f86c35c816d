# SPDX-License-Identifier: Apache-2.0
"""The history of areas: a line where a figure changes, none elsewhere."""

import pytest

from ahasd.synth.history import changes, extended, latest
from ahasd.synth.tables import history_table


def row(ge, unit="edc", *, memories="flops", overrides=None, boundaries="none", macro_bits=0):
    return {
        "unit": unit,
        "overrides": overrides or {},
        "memories": memories,
        "boundaries": boundaries,
        "kept": [],
        "ge": ge,
        "macro_bits": macro_bits,
        "design_sha256": "d",
        "tools": {"pyosys": "1"},
        "parameters": {"not": "kept"},
    }


def told(*rows):
    held = []
    for day, each in enumerate(rows, start=1):
        held = extended(held, each, version="0.2.0", date=f"2026-12-{day:02}")
    return held


def test_the_same_figure_again_adds_nothing_and_another_adds_a_line():
    held = told(row(1000), row(1000), row(1250), row(1250))
    assert [(line["date"], line["ge"]) for line in held] == [
        ("2026-12-01", 1000),
        ("2026-12-03", 1250),
    ]
    assert "parameters" not in held[0]
    assert held[0]["tools"] == {"pyosys": "1"}


@pytest.mark.parametrize(
    "other",
    [
        {"unit": "tvc"},
        {"memories": "macros"},
        {"overrides": {"history": "4"}},
        {"boundaries": "repeated"},
    ],
)
def test_lines_of_something_else_are_not_compared(other):
    held = told(row(1000), row(2000, **other), row(1000))
    assert [line["ge"] for line in held] == [1000, 2000]
    assert changes(held) == []
    assert latest(held, row(1, **other)) == held[1]


def test_macros_that_grow_are_a_change():
    held = told(row(1000, macro_bits=64), row(1000, macro_bits=96))
    assert history_table(held).rows == [
        ("2026-12-02", "0.2.0", "edc", "1.00", "1.00", "+0.0%", "+32")
    ]


def test_changes_are_shown_with_what_was_before_the_newest_first():
    held = told(row(1000), row(2000, "tvc"), row(1500), row(1200))
    assert [line[0::3] for line in history_table(held).rows] == [
        ("2026-12-04", "1.50", "+0"),
        ("2026-12-03", "1.00", "+0"),
    ]
    assert [line[4:6] for line in history_table(held).rows] == [
        ("1.20", "-20.0%"),
        ("1.50", "+50.0%"),
    ]


def test_a_figure_that_comes_back_is_a_change_too():
    assert [line["ge"] for line in told(row(1), row(2), row(1))] == [1, 2, 1]
