# SPDX-License-Identifier: Apache-2.0
"""The report as JSON, as tables and as plots."""

import io
import json
from xml.etree import ElementTree

import pytest
from rich.console import Console

from ahasd import UserError
from ahasd.system.devices.report import build as building
from ahasd.system.devices.report.plots import PLOTS, write_plots
from ahasd.system.devices.report.text import tables

pytestmark = pytest.mark.full


def test_the_document_is_json_and_holds_every_figure(report):
    told = json.loads(json.dumps(report.document(), allow_nan=False))
    assert [each["binds"] for each in told["rates"]] == ["file", "commands"]
    assert told["rates"][0]["limits_bytes_s"]["compute"] == 51.2e9
    for key, held in (
        ("points", report.points),
        ("phases", report.phases),
        ("beside", report.besides),
        ("products", report.products),
        ("accesses", report.accesses),
    ):
        assert len(told[key]) == len(held) > 0
    assert told["points"][0]["share"] == pytest.approx(report.points[0].share)


def test_all_tables_are_printed_without_a_cell_cut_off(report):
    console = Console(width=120, file=io.StringIO(), record=True)
    for table in tables(report):
        console.print(table)
    told = console.export_text()
    for words in (
        "Rates of mobile-paper",
        "opt-1.3b drafts, opt-6.7b verifies, context 256",
        "pre-verification, 8 rows",
        "PIM beside a pass of the NPU",
        "opt-6.7b: vocabulary",
        "stride 4096",
        "groups-interleaved",
    ):
        assert words in told
    assert "…" not in told


def test_without_contention_there_is_no_table_of_it(report, report_of, monkeypatch):
    monkeypatch.setattr(building, "bandwidth_table", lambda timing: report.accesses)
    monkeypatch.setattr(building, "square_products", lambda platform, timing: report.products)
    alone = report_of("mobile-paper", "tiny-draft", "tiny-target", contention=False)
    assert alone.besides == ()
    assert len(tables(alone)) == len(tables(report)) - 1


@pytest.mark.slow
def test_plots_are_drawings_with_their_labels_and_the_same_each_time(report, tmp_path):
    paths = write_plots(report, tmp_path)
    assert [path.name for path in paths] == [f"{name}.svg" for name in PLOTS]
    first = [path.read_bytes() for path in paths]
    for path in paths:
        drawn = ElementTree.parse(path)
        marks = [each for each in drawn.iter() if each.tag.endswith(("}path", "}use"))]
        assert len(marks) > 50
    texts = b"".join(first)
    for label in (b"groups-interleaved", b"operations per byte", b"pass, 16 rows", b"whole"):
        assert label in texts
    assert [path.read_bytes() for path in write_plots(report, tmp_path)] == first


def test_plots_that_cannot_be_written_are_told(report, tmp_path):
    with pytest.raises(UserError, match=r"cannot write .*roofline\.svg"):
        write_plots(report, tmp_path / "missing")


def test_a_unit_that_outlasts_the_refresh_is_told(report_of):
    with pytest.raises(UserError, match=r"stays open beyond the refresh .*platform.pim.gops = 1.0"):
        report_of("mobile-paper", "tiny-draft", "tiny-target", **{"pim.gops": 1.0})
