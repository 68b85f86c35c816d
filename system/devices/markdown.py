# SPDX-License-Identifier: Apache-2.0
"""Tables that read well both in a terminal and on a page."""

from collections.abc import Iterable, Sequence


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1
) -> str:
    """Return a Markdown table with padded cells: text columns, then numbers set to the right.

    Raises
    ------
    ValueError
        A row has another number of cells than the header.
    """
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    is_text = [column < text_columns for column in range(len(widths))]
    rule = [
        "-" * width if text else "-" * (width - 1) + ":"
        for width, text in zip(widths, is_text, strict=True)
    ]
    padded = [
        [
            cell.ljust(width) if text else cell.rjust(width)
            for cell, width, text in zip(line, widths, is_text, strict=True)
        ]
        for line in lines
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (padded[0], rule, *padded[1:]))
