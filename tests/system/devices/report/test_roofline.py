# SPDX-License-Identifier: Apache-2.0
"""Rooflines by hand, and tasks below them."""

import pytest

from ahasd.system.devices.report.roofline import Roof, npu_point, pim_point
from ahasd.system.devices.work import Events, Phase, Task

pytestmark = pytest.mark.full

ROOF = Roof(device="NPU", peak_ops_s=1000.0, bytes_s=50.0)


def test_a_roof_rises_with_the_memory_to_the_ridge_and_is_flat_behind_it():
    assert ROOF.ridge == 20
    assert [ROOF.attainable(each) for each in (1, 19, 20, 400)] == [50, 950, 1000, 1000]


def test_an_npu_task_counts_what_crosses_the_channels_both_ways():
    task = Task(
        phases=(Phase(name="weights", memory_ps=2 * 10**12),),
        events=Events(npu_macs=100, read_bytes=40, write_bytes=10, pim_macs=7, pim_read_bytes=9),
    )
    point = npu_point(ROOF, "pass", task)
    # 200 operations for 50 bytes in two seconds; 4 op/B would allow 200 a second.
    assert (point.intensity, point.ops_s, point.attainable_ops_s) == (4, 100, 200)
    assert (point.share, point.time_ms) == (0.5, 2000)


def test_a_pim_task_is_shared_by_its_ranks_and_counts_what_stays_in_the_memory():
    task = Task(
        phases=(Phase(name="weights", memory_ps=10**12),),
        events=Events(pim_macs=640, pim_read_bytes=64, read_bytes=1000, npu_macs=9),
    )
    point = pim_point(ROOF, "draft step", task, 4)
    # 320 operations and 16 bytes a rank.
    assert (point.intensity, point.ops_s, point.attainable_ops_s) == (20, 320, 1000)


def test_the_roofs_are_those_of_the_paper(report):
    npu, pim = report.roofs
    # 2 x 128 x 128 cells at 1 GHz, two operations each, 51.2 GB/s; 102.4 GOPS, 16 GB/s.
    assert (npu.peak_ops_s, npu.bytes_s, npu.ridge) == (65.536e12, 51.2e9, 1280)
    assert (pim.peak_ops_s, pim.bytes_s, pim.ridge) == (102.4e9, 16e9, 6.4)


def test_no_task_is_above_its_roof_and_long_streams_come_near(report):
    assert len(report.points) == 11
    assert all(0.85 < point.share < 1 for point in report.points)


def test_weights_are_used_once_for_each_row(report):
    found = {point.task: point.intensity for point in report.points}
    # Keys and values of 256 tokens are 2 % beside the weights, and FP16 against FP16 counts more.
    for rows, name in ((1, "pass, 1 row"), (8, "pass, 8 rows"), (16, "pass, 16 rows")):
        assert found[name] == pytest.approx(2 * rows, rel=0.02)
    assert found["draft step"] == pytest.approx(2, rel=0.02)
    assert found["pre-verification, 4 rows"] == pytest.approx(8, rel=0.02)
    assert found["prefill, 128 rows"] == pytest.approx(256, rel=0.08)
