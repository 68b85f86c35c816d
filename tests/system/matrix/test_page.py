# SPDX-License-Identifier: Apache-2.0
"""What a matrix shows, and that what is kept for a page shows the same."""

import io
import json

from rich.console import Console

from ahasd.system.matrix.lengths import Fixed
from ahasd.system.matrix.page import compact, of_page, shown


def printed(tables, lines):
    text = io.StringIO()
    console = Console(file=text, width=100)
    for table in tables:
        console.print(table)
    return text.getvalue() + "\n".join(lines)


def full(found, name, **more):
    """Return a cell with all that is shown, and more than that."""
    figures = {
        "time_s": 10.0,
        "prefill_s": 1.0,
        "passes": 10,
        "mean_acceptance_length_tokens": 2.5,
        "npu": {"busy": 0.9, "states_s": {"verifying": 8.0, "prefilling": 1.0}},
        "delayed_s": {"npu": 0.5, "pim": 0.25},
        "pim": {"busy": 0.5, "blocked": 0.125, "states_s": {"drafting": 5.0}},
        "drafted_per_token": 2.0,
        "flushed_per_token": 1.0,
        "counts": {"drafted_tokens": 7},
    }
    return found(name, **{"speed": 2.0, **figures, **more})


def test_what_is_kept_shows_the_same(found):
    mapping = {"draft": {"npu": [], "pim": ["qkv"]}, "target": {"npu": ["head"], "pim": []}}
    made = [
        full(found, "specpim", mapping=mapping),
        full(found, "+ AAU", acceptance_rate=0.25),
        full(found, "+ EDC", speed=1.5),
        full(found, "+ EDC", pair="x:y"),
    ]
    made[3] = {"cell": made[3]["cell"], "error": "why", "timing": made[3]["timing"]}
    tried = full(found, "sync")
    tried["cell"]["k"] = 8
    fixed = Fixed(pair="a:b", configuration="sync", speeds={3: 6.5, 8: 5.25}, cells=[])
    told = {
        "schema": "ahasd-matrix/2",
        "base": "test",
        "settings": {},
        "cells": [*made, tried],
        "fixed_lengths": [
            {
                "pair": "a:b",
                "configuration": "sync",
                "best": 3,
                "throughput_tokens_s": {"3": 6.5, "8": 5.25},
            }
        ],
        "wall_s": 3.0,
        "provenance": {"finished": "today"},
    }
    kept = json.loads(json.dumps(compact(told)))
    assert "counts" not in json.dumps(kept)
    assert kept["provenance"] == told["provenance"]
    assert len(kept["cells"]) == 4
    before = printed(*shown(made, ["specpim", "+ AAU", "+ EDC"], [fixed]))
    assert printed(*of_page(kept)) == before
    for words in ("+ EDC over others", "head on the NPU", "x0.75 over + AAU", "best fixed k = 3"):
        assert words in before


def test_many_configurations_have_tables_of_their_own(found):
    names = ["gpu-sd", "npu-sd", "pim-sd", "specpim", "sync", "amusd", "+ TVC"]
    tables, _ = shown([full(found, name) for name in names], names, [])
    assert [[column.header for column in table.columns] for table in tables[:2]] == [
        ["pair", "rule", *names[:5], "lossless"],
        ["pair", "rule", *names[5:], "lossless"],
    ]


def test_without_a_baseline_nothing_stands_over_others(found):
    tables, lines = shown([full(found, "+ AAU")], ["+ AAU"], [])
    assert len(tables) == 2
    assert len(lines) == 1
