# SPDX-License-Identifier: Apache-2.0
"""Records of area: merged, compared with the hardware, and turned by hardware of twice the size."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from ahasd import UserError
from ahasd.rtl import configs
from ahasd.rtl.configs import UNITS
from ahasd.rtl.draftctl.unit import DraftctlUnit
from ahasd.rtl.parts import PARTS
from ahasd.synth import record
from ahasd.synth.area import area
from ahasd.synth.history import latest
from ahasd.synth.library import load
from ahasd.synth.nodes import PAPER_MM2
from ahasd.synth.record import merge, read, record_path, stale, update, write
from ahasd.synth.silicon import NOT_ON_DIE
from ahasd.synth.tables import (
    area_table,
    boundary_table,
    die_table,
    label,
    summary_table,
    verdict_line,
)

RESULTS = Path(__file__).resolve().parents[2] / "synth" / "results"


class Twice(wiring.Component):
    """The draft-length control, and a second one that watches the same inputs."""

    latency, interval = DraftctlUnit.latency, DraftctlUnit.interval

    second: wiring.PureInterface

    def __init__(self, params) -> None:
        self.params = params
        self.one, self.other = DraftctlUnit(params), DraftctlUnit(params)
        outputs = {
            "_".join(map(str, path)): wiring.Out(member.shape)
            for path, member, _ in self.one.signature.flatten(self.one)
            if member.flow == wiring.Out
        }
        super().__init__(
            {**self.one.signature.members, "second": wiring.Out(wiring.Signature(outputs))}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.one, m.submodules.other = self.one, self.other
        for path, member, own in self.one.signature.flatten(self):
            one, other = found(self.one, path), found(self.other, path)
            if member.flow == wiring.Out:
                second = getattr(self.second, "_".join(map(str, path)))
                m.d.comb += [own.eq(one), second.eq(other)]
            else:
                m.d.comb += [one.eq(own), other.eq(own)]
        return m


def found(interface: Any, path: tuple[str | int, ...]) -> Any:
    """Return what lies at a path of names and indices."""
    for step in path:
        interface = interface[step] if isinstance(step, int) else getattr(interface, step)
    return interface


@pytest.fixture
def doubled(monkeypatch):
    """Plant hardware of twice the size in place of the draft-length control."""

    def plant() -> None:
        unit = replace(UNITS["draftctl"], hardware="ignored")
        monkeypatch.setattr(configs.Unit, "load_hardware", lambda self: Twice)
        monkeypatch.setitem(UNITS, "draftctl", unit)

    return plant


def test_a_unit_of_twice_the_size_is_seen_by_the_record_and_by_the_tables(doubled):
    before = area("draftctl", "test", load())
    assert stale([before]) == []
    doubled()
    assert stale([before]) == ["draftctl"]
    after = area("draftctl", "test", load())
    assert after["ge"] == pytest.approx(2 * before["ge"], rel=0.1)
    for table in (area_table, summary_table):
        assert table([before]).rows != table([after]).rows


def test_the_summary_says_of_which_memories_its_areas_are():
    row = area("gtsu", "test", load())
    macros = area("gtsu", "test", load(), memories="macros")
    both = summary_table([row, macros])
    assert both.header[2:4] == (
        "kGE, with latch arrays and macros",
        "mm2 of the latter, 28 nm logic, placed",
    )
    assert both.rows[0][3].split("-")[0] == f"{macros['silicon_mm2']['logic'][0]:.4f}"
    assert "flip-flops" not in both.rows[0][3]
    assert summary_table([row]).rows[0][3].endswith(" (flip-flops)")


def whole(ge: float) -> list[dict]:
    """Return the row of a top of so many gates."""
    row = area("draftctl", "test", load())
    return [row | {"unit": "ahasd", "ge": ge}]


def test_a_top_of_twice_the_size_turns_the_verdict():
    # 100 kGE at the density of a DRAM process are 1.98 % of 18 mm2; twice as much are 3.95 %.
    small, large = verdict_line(whole(100_000)), verdict_line(whole(200_000))
    assert "DRAM process: holds on every die" in small
    assert "DRAM process: fails on 18 mm2; holds on 12 Gb 1a" in large
    # The paper's own 1.34 mm2 are 2.68 % of the 50 mm2 that it implies.
    assert die_table(whole(1)).rows[3][-1] == "2.68 / 1.34"
    assert "1.98 / 0.99 holds" in die_table(whole(100_000)).rows[0]
    assert "3.95 / 1.98 fails" in die_table(whole(200_000)).rows[0]


def test_the_verdict_says_what_is_not_counted():
    assert "(ahasd, without the AAU, 100.0 kGE; memories as flops)" in verdict_line(whole(100_000))
    both = [*whole(100_000), *[row | {"unit": "aau"} for row in whole(50_000)]]
    assert "(ahasd + aau, 150.0 kGE; memories as flops)" in verdict_line(both)
    # At the density of a DRAM process, 150 kGE are 2.97 % of 18 mm2; with twice the AAU, 3.95 %.
    twice = [both[0], both[1] | {"ge": 100_000}]
    assert "2.97 / 1.48 holds" in die_table(both).rows[0]
    assert "3.95 / 1.98 fails" in die_table(twice).rows[0]
    assert "DRAM process: holds on every die" in verdict_line(both)
    assert "DRAM process: fails on 18 mm2" in verdict_line(twice)


def test_a_row_says_where_it_comes_from():
    row = area("gtsu", "test", load(), overrides={"ranks": "4"}, parts=True)
    assert row["overrides"] == {"ranks": "4"}
    assert row["parameters"]["ranks"] == 4
    assert row["library"]["sha256"] == load().sha256
    assert set(row["tools"]) == {"amaranth", "pyosys"}
    assert row["source_sha256"] == UNITS["gtsu"].source_sha256()
    assert row["ge"] == pytest.approx(row["sequential_ge"] + row["combinational_ge"])
    assert sum(row["parts"].values()) == pytest.approx(row["ge"])
    assert [memory["name"] for memory in row["memory"]] == ["draft_queue", "preverify_queue"]
    assert json.loads(json.dumps(row)) == row


def test_equal_parts_are_kept_apart_from_eight_on(monkeypatch, parts):
    def planted(count):
        boxes = {f"box_{i}": parts.parity(3) for i in range(count)}
        monkeypatch.setattr(
            configs.Unit, "load_hardware", lambda self: lambda _: parts.several(**boxes)
        )
        return area("draftctl", "test", load())

    seven, eight = planted(7), planted(8)
    assert (seven["boundaries"], seven["kept"]) == ("none", [])
    assert (eight["boundaries"], eight["kept"]) == ("repeated", ["box x 8"])
    assert eight["ge"] == pytest.approx(8 / 7 * seven["ge"])
    assert label(eight) == "draftctl (box x 8 kept apart)"
    kept = area("draftctl", "test", load(), boundaries="repeated")
    flat = area("draftctl", "test", load(), boundaries="none")
    assert merge([kept], [flat]) == [flat, kept]
    assert boundary_table([flat, kept]).rows == [
        (label(kept), f"{kept['ge'] / 1000:.2f}", f"{flat['ge'] / 1000:.2f}", "+0.0%")
    ]
    dearer = kept | {"ge": 1.5 * flat["ge"]}
    assert boundary_table([flat, dearer]).rows[0][3] == "+50.0%"


def test_a_unit_is_counted_once_without_boundaries_where_that_is_recorded():
    (top,) = whole(100_000)
    kept = top | {"boundaries": "repeated", "kept": ["lane x 8"], "ge": 200_000}
    for rows in ([top, kept], [kept, top]):
        assert "(ahasd, without the AAU, 100.0 kGE;" in verdict_line(rows)
        assert [row[1] for row in summary_table(rows).rows] == ["100.00"]
    assert "200.0 kGE" in verdict_line([kept])


def test_a_node_scales_the_cells_for_comparison(osu018):
    row = area("draftctl", "test", osu018)
    assert row["area_unit"] == "um2"
    assert row["ge"] == pytest.approx(row["area"] / 24)
    assert row["cells_um2_scaled_to_28nm"] == pytest.approx(row["area"] * 0.020)
    assert "cells_um2_scaled_to_28nm" not in area("draftctl", "test", load())


def test_rows_replace_those_of_the_same_and_leave_others(tmp_path):
    def row(unit, ge, overrides=None, memories="flops"):
        return {"unit": unit, "overrides": overrides or {}, "memories": memories, "ge": ge}

    held = [row("edc", 1), row("edc", 2, {"history": "16"}), row("edc", 3, memories="macros")]
    merged = merge(held, [row("edc", 4), row("aau", 5)])
    assert [each["ge"] for each in merged] == [5, 4, 2, 3]
    path = tmp_path / "deep" / "area-x.json"
    write(path, "area", merged)
    assert read(path, "area") == merged
    assert [each.name for each in path.parent.iterdir()] == ["area-x.json"]


def test_blocks_are_rows_by_their_names():
    held = [{"block": "b", "ge": 1}, {"block": "a", "ge": 2}]
    assert merge(held, [{"block": "b", "ge": 3}]) == [
        {"block": "a", "ge": 2},
        {"block": "b", "ge": 3},
    ]


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "ahasd-timing/1", "rows": []}', "{}"])
def test_what_is_no_record_is_not_replaced(tmp_path, text):
    path = tmp_path / "area-x.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"area-x\.json is no record of ours; choose another --out"):
        read(path, "area")


def test_a_record_that_is_not_there_has_no_rows_and_one_that_cannot_be_is_told(tmp_path):
    assert read(tmp_path / "none.json", "area") == []
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="choose another --out"):
        write(tmp_path / "file" / "area.json", "area", [])


def test_who_updates_a_record_meanwhile_waits(tmp_path):
    path = tmp_path / "area-x.json"
    inside, order = Event(), []

    def slow(held):
        inside.set()
        # Time enough for the other to read what is about to change, if it were let in.
        sleep(0.5)
        order.append("slow")
        return [*held, {"block": "a"}]

    def quick(held):
        order.append("quick")
        return [*held, {"block": "b"}]

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(update, path, "area", slow)
        assert inside.wait(10)
        update(path, "area", quick)
        first.result()
    assert order == ["slow", "quick"]
    assert read(path, "area") == [{"block": "a"}, {"block": "b"}]
    assert list(tmp_path.iterdir()) == [path]


def test_names_of_records_are_names_of_files(tmp_path):
    ugly = replace(load(), name="my lib/v1")
    assert record_path(tmp_path, "area", "paper", ugly) == tmp_path / "area-paper-my-lib-v1.json"


def test_another_amaranth_says_nothing_about_staleness(monkeypatch):
    row = area("draftctl", "test", load())
    row["design_sha256"] = "another"
    assert stale([row]) == ["draftctl"]
    monkeypatch.setattr(record, "version", lambda name: "0.0")
    assert stale([row]) == []


def test_the_papers_areas_are_those_of_its_table():
    parts = sum(mm2 for name, mm2 in PAPER_MM2.items() if name != "total")
    assert parts == pytest.approx(PAPER_MM2["total"])
    assert PAPER_MM2["total"] / 50 == pytest.approx(0.0268)


def test_a_design_of_two_clocks_is_the_same_text_under_every_hash_seed():
    script = (
        "from ahasd.rtl.configs import UNITS\n"
        "from ahasd.gen.emit import to_rtlil\n"
        "from ahasd.synth.mapping import design_sha256\n"
        "unit = UNITS['queues']\n"
        "component = unit.load_hardware()(unit.configurations['test'])\n"
        "print(design_sha256(to_rtlil(component, 'unit', unit.domains)))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("0", "2", "3")  # among these, Amaranth's own order differs
    }
    assert len(found) == 1


def test_the_history_ends_with_what_is_recorded():
    held = read(RESULTS / "history-paper-ge.json", "history")
    for row in read(RESULTS / "area-paper-ge.json", "area"):
        last = latest(held, row)
        assert last is not None
        assert (last["ge"], last["macro_bits"]) == (row["ge"], row["macro_bits"])


@pytest.mark.full
@pytest.mark.parametrize("kind", ["area", "timing"])
def test_what_is_recorded_is_of_this_hardware(kind):
    rows = [row for path in RESULTS.glob(f"{kind}-*.json") for row in read(path, kind)]
    assert rows
    assert stale(rows) == [], f"run `ahasd {kind}` for these units"


def test_every_unit_of_a_die_is_recorded():
    recorded = read(RESULTS / "area-paper-ge.json", "area")
    for memories in ("flops", "macros"):
        units = {row["unit"] for row in recorded if row["memories"] == memories}
        assert units - set(PARTS) == set(UNITS) - set(NOT_ON_DIE)
    assert {row["unit"] for row in recorded} >= set(PARTS)


def test_the_attention_unit_is_recorded_by_lanes_and_both_ways_where_that_can_be():
    rows = [r for r in read(RESULTS / "area-paper-ge.json", "area") if r["unit"] == "aau"]
    assert {row["parameters"]["lanes"] for row in rows} == {1, 2, 4, 8, 16, 32}
    compared = boundary_table(rows)
    assert len(compared.rows) == 2
    for kept, flat in ((k, f) for k in rows for f in rows if k["overrides"] == f["overrides"]):
        if kept["kept"] and not flat["kept"]:
            # Nothing is optimised across a boundary, so it is not smaller; nor much larger.
            assert flat["ge"] <= kept["ge"] < 1.05 * flat["ge"]


@pytest.mark.parametrize("unit", ["draftctl", "gtsu"])
def test_a_recorded_row_is_what_synthesis_gives(unit):
    recorded = read(RESULTS / "area-paper-ge.json", "area")
    for memories in ("flops", "macros"):
        (held,) = [r for r in recorded if (r["unit"], r["memories"]) == (unit, memories)]
        made = area(unit, "paper", load(), memories=memories)
        if made["tools"] != held["tools"]:
            pytest.skip("recorded with other tools")
        assert {key: held[key] for key in made if key != "source_sha256"} == {
            key: value for key, value in made.items() if key != "source_sha256"
        }
