# SPDX-License-Identifier: Apache-2.0
"""The plot of `docs/numerics.md`: errors of the AAU's primitives over their operands, as SVG.

Drawn here, not by matplotlib, so that the text is the same with every version of it.
"""

import math

import numpy as np

from ahasd.rtl.aau.numerics import VARIANTS
from ahasd.rtl.aau.primitives.budgets import BUDGETS, Errors

COLOURS = {"cheap": "#c44", "default": "#06c", "accurate": "#292"}
SPANS = {"sigmoid": (-12.0, 12.0)}
"""Where a panel shows less than all operands."""
WIDTH, HEIGHT, LEFT, TOP = 230, 170, 50, 34
"""Size of a panel's axes, and the margins before them [px]."""
COLUMNS = 3
DECADES = (-7, -2)
BINS = 115


def errors_svg() -> str:
    """Return a panel a primitive, with the largest error in every stretch of operands."""
    rows = -(-len(BUDGETS) // COLUMNS)
    width, height = COLUMNS * (WIDTH + LEFT) + 20, rows * (HEIGHT + TOP + 26) + 10
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="11"',
        f'viewBox="0 0 {width} {height}">',
        "<title>Errors of the primitives of the AAU over their operands</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for i, name in enumerate(BUDGETS):
        x = i % COLUMNS * (WIDTH + LEFT) + LEFT
        y = i // COLUMNS * (HEIGHT + TOP + 26) + TOP
        parts += [f'<g transform="translate({x} {y})">', *_panel(name), "</g>"]
    place = len(BUDGETS)
    x = place % COLUMNS * (WIDTH + LEFT) + LEFT
    y = place // COLUMNS * (HEIGHT + TOP + 26) + TOP
    for i, (variant, colour) in enumerate(COLOURS.items()):
        at = y + 20 * i
        parts += [
            f'<path d="M{x} {at}h30" stroke="{colour}" stroke-width="1.5"/>',
            f'<text x="{x + 36}" y="{at + 4}">{variant}</text>',
        ]
    parts += [
        f'<path d="M{x} {y + 60}h30" stroke="black" stroke-dasharray="4 3"/>',
        f'<text x="{x + 36}" y="{y + 64}">budget of default</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _panel(name: str) -> list[str]:
    budget = BUDGETS[name]
    found = {variant: budget.errors(numerics) for variant, numerics in VARIANTS.items()}
    operands = found["default"][0]
    low, high = SPANS.get(name, (math.floor(operands[0]), math.ceil(operands[-1])))
    parts = [
        f'<text x="0" y="-8" font-weight="bold">{name}</text>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>',
        f'<text y="{HEIGHT + 14}">{low:g}</text>',
        f'<text x="{WIDTH}" y="{HEIGHT + 14}" text-anchor="end">{high:g}</text>',
    ]
    for decade in range(DECADES[0], DECADES[1] + 1):
        at = _height(10.0**decade)
        parts += [
            f'<path d="M0 {at}h{WIDTH}" stroke="#ddd"/>',
            f'<text x="-5" y="{at + 4:.1f}" text-anchor="end">1e{decade}</text>',
        ]
    if budget.limit:
        parts.append(
            f'<path d="M0 {_height(budget.limit)}h{WIDTH}" stroke="black" stroke-dasharray="4 3"/>'
        )
    for variant, errors in found.items():
        points = " ".join(f"{x:g},{_height(error)}" for x, error in _envelope(errors, low, high))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[variant]}"/>')
    return parts


def _height(error: float) -> float:
    """Return the place of an error on the logarithmic axis [px]; smaller ones are at its foot."""
    decade = max(math.log10(error), DECADES[0]) if error else DECADES[0]
    return round((DECADES[1] - decade) / (DECADES[1] - DECADES[0]) * HEIGHT, 1)


def _envelope(errors: Errors, low: float, high: float) -> list[tuple[float, float]]:
    """Return the middle [px] and the largest error of every stretch of operands."""
    operands, sizes = errors
    bins = np.floor((operands - low) / (high - low) * BINS).astype(int)
    largest = np.zeros(BINS)
    inside = (bins >= 0) & (bins < BINS)
    np.maximum.at(largest, bins[inside], sizes[inside])
    return [((i + 0.5) * WIDTH / BINS, float(error)) for i, error in enumerate(largest)]
