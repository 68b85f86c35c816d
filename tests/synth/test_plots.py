# SPDX-License-Identifier: Apache-2.0
"""Plots: rectangles as large as what they show, points where their values are."""

import re
from xml.etree import ElementTree

import pytest

from ahasd.synth.plots import HEIGHT, LEFT, TOP, WIDTH, Box, Part, Series, curves, tiles, tree_map

SVG = "{http://www.w3.org/2000/svg}"


def test_tiles_are_as_large_as_their_sizes_and_fill_the_box():
    sizes = [50, 20, 15, 10, 4, 1]
    box = Box(10, 20, 300, 100)
    found = tiles(sizes, box)
    for size, tile in zip(sizes, found, strict=True):
        assert tile.width * tile.height == pytest.approx(300 * size)
        assert box.x <= tile.x <= tile.x + tile.width <= box.x + box.width + 1e-9
        assert box.y <= tile.y <= tile.y + tile.height <= box.y + box.height + 1e-9
    for i, one in enumerate(found):
        for other in found[i + 1 :]:
            apart_x = one.x + one.width <= other.x + 1e-9 or other.x + other.width <= one.x + 1e-9
            apart_y = one.y + one.height <= other.y + 1e-9 or other.y + other.height <= one.y + 1e-9
            assert apart_x or apart_y


def test_tiles_are_cut_across_their_longer_side():
    squares = tiles([1, 1, 1, 1], Box(0, 0, 8, 8))
    assert {(tile.width, tile.height) for tile in squares} == {(4, 4)}
    assert [tile.x for tile in tiles([1, 1], Box(0, 0, 4, 2))] == [0, 2]
    assert [tile.y for tile in tiles([1, 1], Box(0, 0, 2, 4))] == [0, 2]


def test_parts_of_nothing_have_a_place_too():
    assert tiles([0, 0], Box(0, 0, 10, 4)) == [Box(0, 0, 5, 4), Box(5, 0, 5, 4)]


def test_a_map_shows_each_part_with_its_size_in_its_group():
    parts = [Part("a<b", "left", 3), Part("a<b", "right", 1), Part("c", "own", 4)]
    root = ElementTree.fromstring(tree_map("What & how", parts, "kGE"))
    shown = {
        each.findtext(f"{SVG}title"): float(each.get("width", 0)) * float(each.get("height", 0))
        for each in root.iter(f"{SVG}rect")
        if each.find(f"{SVG}title") is not None
    }
    whole = 2 * WIDTH * 1.5 * HEIGHT
    assert shown == {
        "a<b: left, 3.0 kGE": pytest.approx(whole * 3 / 8, rel=1e-3),
        "a<b: right, 1.0 kGE": pytest.approx(whole * 1 / 8, rel=1e-3),
        "c: own, 4.0 kGE": pytest.approx(whole * 4 / 8, rel=1e-3),
    }


def test_equal_ratios_are_equal_distances_on_a_curve():
    text = curves("t", "x", "y", [Series("one", [(1, 1), (10, 10), (100, 1000)], ["a", "b", "c"])])
    line = re.findall(r'polyline points="(.*?)"', text)[0]
    (x0, y0), (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in line.split())
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y1 - y2 == pytest.approx(2 * (y0 - y1), abs=0.2)
    assert LEFT < x0 < x2 < LEFT + WIDTH
    assert TOP < y2 < y0 < TOP + HEIGHT
    assert [each for each in ("a", "b", "c", "one") if f">{each}</text>" not in text] == []
    ElementTree.fromstring(text)


def test_a_plot_is_the_same_text_whatever_the_order_of_parts():
    parts = [Part("a", "x", 2), Part("b", "y", 3), Part("a", "z", 1)]
    assert tree_map("t", parts, "u") == tree_map("t", parts[::-1], "u")
