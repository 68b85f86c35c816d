# SPDX-License-Identifier: Apache-2.0
"""The tables and the plot of the AAU's primitives show what was measured."""

import re
from math import log10
from xml.etree import ElementTree

import pytest

from ahasd.rtl.aau.numerics import VARIANTS
from ahasd.rtl.aau.primitives.budgets import BUDGETS
from ahasd.system.numerics.primitive_plot import HEIGHT, errors_svg
from ahasd.system.numerics.primitive_tables import TABLES


def cells(name):
    header, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in TABLES[name]().splitlines()
    )
    return header, rows


def test_the_budgets_are_beside_what_every_variant_has():
    header, rows = cells("numerics-budgets")
    assert header[2:] == ["budget of `default`", *VARIANTS]
    assert [row[0] for row in rows] == [f"`{name}`" for name in BUDGETS]
    (recip,) = (row for row in rows if row[0] == "`recip`")
    assert recip[2] == "6.00e-05"
    found = [BUDGETS["recip"].measure(numerics) for numerics in VARIANTS.values()]
    assert [float(cell) for cell in recip[3:]] == pytest.approx(found, rel=5e-3)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_function_has_its_errors_in_three_conversions(variant):
    header, rows = cells(f"numerics-errors-{variant}")
    assert len(rows) == 5 * 3
    for row in rows:
        shares = [float(cell.rstrip("%")) for cell in row[header.index("to 0.5") :]]
        assert sum(shares) == pytest.approx(100, abs=0.4)  # seven rounded to a tenth
        worst_ulp, mean_ulp = float(row[3]), float(row[4])
        assert 0 < mean_ulp < worst_ulp
        assert (shares[-1] > 0) <= (worst_ulp > 4)


def test_the_variants_are_told_with_all_their_parameters():
    header, rows = cells("numerics-variants")
    assert header == ["parameter", *VARIANTS]
    assert ["`fraction_width`", "8", "10", "12"] in rows


def test_the_plot_has_a_panel_a_primitive_and_the_budget_at_its_height():
    drawing = ElementTree.fromstring(errors_svg())
    space = "{http://www.w3.org/2000/svg}"
    panels = {str(group[0].text): group for group in drawing.iter(f"{space}g")}
    assert list(panels) == list(BUDGETS)
    for name, panel in panels.items():
        assert len(panel.findall(f"{space}polyline")) == len(VARIANTS)
        limit = BUDGETS[name].limit
        dashed = [
            path for path in panel.findall(f"{space}path") if "stroke-dasharray" in path.attrib
        ]
        if limit is None:
            assert dashed == []
        else:
            (path,) = dashed
            (height,) = re.findall(r"M0 ([\d.]+)h", path.attrib["d"])
            # Five decades, from 1e-2 at the top.
            assert float(height) == pytest.approx((-2 - log10(limit)) / 5 * HEIGHT, abs=0.06)


def test_the_highest_point_of_a_curve_is_the_largest_error():
    drawing = ElementTree.fromstring(errors_svg())
    space = "{http://www.w3.org/2000/svg}"
    for group in drawing.iter(f"{space}g"):
        for curve, numerics in zip(
            group.findall(f"{space}polyline"), VARIANTS.values(), strict=True
        ):
            top = min(float(point.split(",")[1]) for point in curve.attrib["points"].split())
            largest = BUDGETS[str(group[0].text)].measure(numerics)
            assert top == pytest.approx((-2 - log10(largest)) / 5 * HEIGHT, abs=0.06)
