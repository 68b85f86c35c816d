# SPDX-License-Identifier: Apache-2.0
"""Which rows of a record become which plot."""

import re

from ahasd.cli.area_plots import plots
from ahasd.system.devices.aau_tables import lanes_us


def row(unit, ge, overrides=None, *, memories="flops", boundaries="none", **more):
    return {
        "unit": unit,
        "overrides": overrides or {},
        "memories": memories,
        "boundaries": boundaries,
        "ge": ge,
        "silicon_mm2": {"logic": [ge / 1e9, ge / 5e8]},
        **more,
    }


def points(svg):
    return [line.split() for line in re.findall(r'polyline points="(.*?)"', svg)]


def test_nothing_recorded_draws_nothing():
    assert plots([]) == {}
    assert plots([row("aau", 1, parameters={"lanes": 1})]) == {}


def test_lanes_are_drawn_once_each_with_their_boundaries_kept(monkeypatch):
    rows = [
        row("aau", 60_000, {"lanes": "1"}, parameters={"lanes": 1}),
        row("aau", 120_000, {"lanes": "4"}, parameters={"lanes": 4}),
        row("aau", 125_000, {"lanes": "4"}, boundaries="repeated", parameters={"lanes": 4}),
        row("aau", 9_000, {"length_width": "9", "lanes": "1"}, parameters={"lanes": 1}),
        row("aau", 1, {"lanes": "2"}, memories="macros", parameters={"lanes": 2}),
    ]
    svg = plots(rows)["area-lanes"]
    assert [len(line) for line in points(svg)] == [2] * len(lanes_us(1))
    assert svg == plots([rows[0], rows[2]])["area-lanes"]
    assert svg != plots(rows[:2])["area-lanes"]


def test_tables_and_queues_are_drawn_by_their_size_for_each_kind_of_memory():
    def edc(ge, buckets, llr, **more):
        changes = {"bucket_width": f"{buckets}", "llr_width": f"{llr}"}
        sizes = {"bucket_width": buckets, "llr_width": llr}
        return row("edc", ge, changes, parameters=sizes, **more)

    drawn = plots([edc(9, 3, 3), edc(5, 2, 2), edc(7, 2, 3, memories="macros")])
    assert set(drawn) == {"area-pht"}
    assert [len(line) for line in points(drawn["area-pht"])] == [2, 2]  # low and high
    assert "flip-flops, low" in drawn["area-pht"]
    assert "macros, low" not in drawn["area-pht"]

    queues = [row("queues", n, parameters={"draft_batches": n}, memories="macros") for n in (8, 64)]
    queues[0]["overrides"] = {"draft_batches": "8", "feedback_entries": "4"}
    assert set(plots(queues)) == {"area-queues"}


def test_parts_are_drawn_if_both_units_have_them_of_one_kind_of_memory():
    top = row("ahasd", 3, parts={"edc": 1000.0, "own": 2000.0}, memories="macros")
    attention = row(
        "aau", 4, parts={"lane x 4": 4000.0}, memories="macros", parameters={"lanes": 4}
    )
    assert "area-parts" not in plots([top])
    assert "area-parts" not in plots([top, attention | {"memories": "flops"}])
    drawn = plots([top, attention])["area-parts"]
    assert "aau: lane x 4, 4.0 kGE" in drawn
    assert "memories as macros" in drawn
