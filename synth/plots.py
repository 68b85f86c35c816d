# SPDX-License-Identifier: Apache-2.0
"""Plots of areas as SVG: a map of parts, and curves.

Drawn here, not by matplotlib, so that the text is the same with every version of it.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, TOP = 420, 240, 60, 34
"""Size of a plot's axes, and the margins before them [px]."""
COLOURS = ("#06c", "#c44", "#292", "#a60", "#739")


class Series(NamedTuple):
    """A curve; each point may have a label of its own."""

    name: str
    points: Sequence[tuple[float, float]]
    labels: Sequence[str] = ()


class Part(NamedTuple):
    """A part of a whole."""

    group: str
    name: str
    size: float


class Box(NamedTuple):
    """A rectangle [px]."""

    x: float
    y: float
    width: float
    height: float


def tree_map(title: str, parts: Iterable[Part], unit: str) -> str:
    """Return parts as rectangles, as large as they are, those of a group in one of its own."""
    groups: dict[str, list[Part]] = {}
    for part in sorted(parts, key=lambda part: -part.size):
        groups.setdefault(part.group, []).append(part)
    sizes = {group: sum(part.size for part in held) for group, held in groups.items()}
    order = sorted(groups, key=lambda group: -sizes[group])
    whole = Box(10, TOP, 2 * WIDTH, 1.5 * HEIGHT)
    shapes = []
    for i, (group, outer) in enumerate(
        zip(order, tiles([sizes[group] for group in order], whole), strict=True)
    ):
        colour = COLOURS[i % len(COLOURS)]
        held = groups[group]
        for part, box in zip(held, tiles([part.size for part in held], outer), strict=True):
            told = f"{group}: {part.name}, {part.size:.1f} {unit}"
            shapes.append(
                f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}"'
                f' height="{box.height:.1f}" fill="{colour}" fill-opacity="0.25" stroke="{colour}">'
                f"<title>{escape(told)}</title></rect>"
            )
            if box.width > 7 * len(part.name) and box.height > 30:
                shapes += [
                    _text(box.x + 5, box.y + 15, part.name),
                    _text(box.x + 5, box.y + 28, f"{part.size:.1f}"),
                ]
        frame = f'<rect x="{outer.x:.1f}" y="{outer.y:.1f}" width="{outer.width:.1f}"'
        shapes.append(f'{frame} height="{outer.height:.1f}" fill="none" stroke="black"/>')
    legend = ", ".join(f"{group} {sizes[group]:.1f}" for group in order)
    shapes.append(_text(10, whole.y + whole.height + 18, f"{unit}: {legend}"))
    return _svg(title, shapes, whole.width + 20, whole.y + whole.height + 30)


def tiles(sizes: Sequence[float], box: Box) -> list[Box]:
    """Divide a rectangle by sizes, the largest first, each next to halves of the rest.

    The larger side is cut, where the two sides are most nearly equal in size.
    """
    if len(sizes) == 1:
        return [box]
    total = sum(sizes)
    cut = min(range(1, len(sizes)), key=lambda n: abs(total / 2 - sum(sizes[:n])))
    share = sum(sizes[:cut]) / total if total else cut / len(sizes)
    x, y, width, height = box
    if width >= height:
        one, other = (
            Box(x, y, width * share, height),
            Box(x + width * share, y, width * (1 - share), height),
        )
    else:
        one, other = (
            Box(x, y, width, height * share),
            Box(x, y + height * share, width, height * (1 - share)),
        )
    return [*tiles(sizes[:cut], one), *tiles(sizes[cut:], other)]


def curves(title: str, x_label: str, y_label: str, series: Sequence[Series]) -> str:
    """Return curves over two logarithmic axes."""
    points = [point for each in series for point in each.points]
    x_span, y_span = (_span([point[axis] for point in points]) for axis in (0, 1))

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + WIDTH * _share(x, x_span),
            TOP + HEIGHT * (1 - _share(y, y_span)),
        )

    shapes = [
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>',
        _text(LEFT + WIDTH / 2, TOP + HEIGHT + 32, x_label, "middle"),
        _text(LEFT, TOP - 6, y_label),
    ]
    for x in _ticks(x_span):
        place = at(x, y_span[0])[0]
        shapes += [
            f'<path d="M{place:.1f} {TOP}v{HEIGHT}" stroke="#ddd"/>',
            _text(place, TOP + HEIGHT + 15, f"{x:g}", "middle"),
        ]
    for y in _ticks(y_span):
        place = at(x_span[0], y)[1]
        shapes += [
            f'<path d="M{LEFT} {place:.1f}h{WIDTH}" stroke="#ddd"/>',
            _text(LEFT - 5, place + 4, f"{y:g}", "end"),
        ]
    for i, each in enumerate(series):
        colour = COLOURS[i % len(COLOURS)]
        places = [at(*point) for point in each.points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        shapes.append(f'<polyline points="{line}" fill="none" stroke="{colour}"/>')
        shapes += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in places
        ]
        shapes += [
            _text(x + 5, y - 5, label) for (x, y), label in zip(places, each.labels, strict=False)
        ]
        key = TOP + 16 * i + 14
        shapes += [
            f'<path d="M{LEFT + WIDTH + 12} {key - 4}h20" stroke="{colour}" stroke-width="2"/>',
            _text(LEFT + WIDTH + 37, key, each.name),
        ]
    return _svg(title, shapes, LEFT + WIDTH + 190, TOP + HEIGHT + 42)


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return low / 1.15, high * 1.15


def _share(value: float, span: tuple[float, float]) -> float:
    return math.log(value / span[0]) / math.log(span[1] / span[0])


def _ticks(span: tuple[float, float]) -> list[float]:
    """Return round figures within a span: 1, 2 and 5 of each decade."""
    decades = range(math.floor(math.log10(span[0])), math.ceil(math.log10(span[1])) + 1)
    found = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    return [value for value in found if span[0] <= value <= span[1]]


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(title: str, shapes: Sequence[str], width: float, height: float) -> str:
    head = [
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="11"',
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
        f'<text x="10" y="16" font-weight="bold">{escape(title)}</text>',
    ]
    return "\n".join([*head, *shapes, "</svg>"]) + "\n"
