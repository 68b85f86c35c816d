# SPDX-License-Identifier: Apache-2.0
"""Constants are padded where their width is all that is wrong, and nowhere else."""

import pytest

from ahasd.gen.widths import pad_constants

CELL = """  cell ${kind} $1
    parameter \\A_SIGNED {signed}
    parameter \\B_SIGNED {signed}
    parameter \\A_WIDTH {a_width}
    parameter \\B_WIDTH {b_width}
    parameter \\Y_WIDTH {y_width}
    connect \\A {a}
    connect \\B {b}
    connect \\Y \\y
  end
"""


def cell(kind, a_width, a, b_width, b, y_width=1, signed=0):
    return CELL.format(**locals())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("eq", 3, "\\x", 1, "1'1"), ("eq", 3, "\\x", 3, "3'001")),
        (("ne", 4, "\\x", 0, "{  }"), ("ne", 4, "\\x", 4, "4'0000")),
        (("ge", 2, "2'10", 5, "\\x"), ("ge", 5, "5'00010", 5, "\\x")),
        (("sub", 4, "4'1000", 5, "\\x", 6), ("sub", 5, "5'01000", 5, "\\x", 6)),
        (("add", 4, "\\x", 1, "1'1", 8), ("add", 4, "\\x", 7, "7'0000001", 8)),
    ],
)
def test_a_narrow_unsigned_constant_is_padded(before, after):
    text = cell(*before) + cell("eq", 2, "\\p", 2, "\\q")
    assert pad_constants(text) == cell(*after) + cell("eq", 2, "\\p", 2, "\\q")


@pytest.mark.parametrize(
    "untouched",
    [
        cell("eq", 3, "\\x", 1, "1'1", signed=1),
        cell("eq", 3, "\\x", 1, "\\y"),
        cell("eq", 3, "\\x", 3, "3'001"),
        cell("eq", 1, "\\x", 3, "3'001"),
        cell("shl", 8, "\\x", 1, "1'1", 8),
    ],
)
def test_everything_else_stays(untouched):
    assert pad_constants(untouched) == untouched
