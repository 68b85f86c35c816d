# SPDX-License-Identifier: Apache-2.0
"""Prediction errors, worked out by hand."""

import pytest

from ahasd.rtl.tvc.params import Table
from ahasd.system.tvc_report import prediction_errors


def nvct(*pairs):
    return [(Table.NVCT, cycles, length) for cycles, length in pairs]


def test_a_time_of_base_and_slope_is_foretold_by_the_line_and_missed_by_the_ratio():
    # 100 + 10 a token. From 10 and 20 tokens (200, 300 cycles) to 40: the line says 500; the mean
    # of the ratios 20 and 15 says 700, 40 % too much. From 10 alone to 20, both are the ratio:
    # 400 for 300, a third too much.
    found = prediction_errors(nvct((200, 10), (300, 20), (500, 40)), 4)["nvct"]
    assert found["predictions"] == 2
    assert found["affine"]["mean"] == pytest.approx((1 / 3 + 0) / 2)
    assert found["ratio"]["mean"] == pytest.approx((1 / 3 + 0.4) / 2)
    assert found["ratio"]["p95"] == pytest.approx(0.4)


def test_only_a_full_table_is_looked_at():
    # The first measurement is wild, and gone when the fourth is foretold from the two before it.
    found = prediction_errors(nvct((9000, 1), (20, 2), (30, 3), (40, 4)), 2)["nvct"]
    assert found["ratio"]["mean"] == pytest.approx(
        ((9000 * 2 - 20) / 20 + ((9000 + 10) / 2 * 3 - 30) / 30 + 0) / 3
    )


def test_tables_are_apart_and_one_without_predictions_says_none():
    records = [(Table.PDCT, 30, 3), (Table.PDCT, 40, 4), (Table.PVCT, 7, 1)]
    found = prediction_errors(records, 4)
    assert found["pdct"]["ratio"] == {"mean": 0.0, "p95": 0.0}
    assert found["pvct"] == {
        "predictions": 0,
        "ratio": {"mean": None, "p95": None},
        "affine": {"mean": None, "p95": None},
    }
    assert found["nvct"]["predictions"] == 0


def test_the_95th_percentile_is_that_of_the_nearest_rank():
    # Ten predictions by a table of one: nine exact, the last double.
    records = nvct(*((10, 1) for _ in range(10)), (5, 1))
    found = prediction_errors(records, 1)["nvct"]["ratio"]
    assert (found["mean"], found["p95"]) == (pytest.approx(0.1), 1.0)


def test_an_error_counts_by_its_magnitude():
    found = prediction_errors(nvct((10, 1), (20, 1), (10, 1)), 1)["nvct"]["ratio"]
    assert found == {"mean": pytest.approx((0.5 + 1) / 2), "p95": 1.0}
