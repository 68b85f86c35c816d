# SPDX-License-Identifier: Apache-2.0
"""Operands are widened where their width is all that is wrong, and nowhere else."""

import pytest

from ahasd.gen.widths import pad_operands

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
        (
            ("add", 4, "\\x [3:0]", 1, "1'1", 8),
            ("add", 7, "{ 3'000 \\x [3:0] }", 7, "7'0000001", 8),
        ),
        (("eq", 3, "\\x", 1, "\\y [4]"), ("eq", 3, "\\x", 3, "{ 2'00 \\y [4] }")),
        (
            ("or", 3, "\\x", 2, "{ \\y [4] \\z [0] }", 3),
            ("or", 3, "\\x", 3, "{ 1'0 \\y [4] \\z [0] }", 3),
        ),
    ],
)
def test_a_narrow_unsigned_operand_gets_zeros(before, after):
    text = cell(*before) + cell("eq", 2, "\\p", 2, "\\q")
    assert pad_operands(text) == cell(*after) + cell("eq", 2, "\\p", 2, "\\q")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("eq", 3, "\\x", 1, "1'1", 1, 1), ("eq", 3, "\\x", 3, "3'111", 1, 1)),
        (("eq", 3, "\\x", 2, "2'01", 1, 1), ("eq", 3, "\\x", 3, "3'001", 1, 1)),
        (
            ("add", 3, "\\x [9:7]", 5, "\\y [4:0]", 5, 1),
            ("add", 5, "{ \\x [9] \\x [9] \\x [9:7] }", 5, "\\y [4:0]", 5, 1),
        ),
        (
            ("sub", 4, "\\x", 2, "{ 1'0 $1 [2] }", 4, 1),
            ("sub", 4, "\\x", 4, "{ 1'0 1'0 1'0 $1 [2] }", 4, 1),
        ),
        (
            ("sub", 4, "\\x", 2, "{ $1 [7] \\y [2] }", 4, 1),
            ("sub", 4, "\\x", 4, "{ $1 [7] $1 [7] $1 [7] \\y [2] }", 4, 1),
        ),
    ],
)
def test_a_narrow_signed_operand_gets_copies_of_its_sign(before, after):
    assert pad_operands(cell(*before)) == cell(*after)


def test_the_operand_of_a_negation_is_as_wide_as_the_result_less_a_bit():
    text = "  cell $neg $1\n    parameter \\A_SIGNED 0\n    parameter \\A_WIDTH {}\n"
    text += "    parameter \\Y_WIDTH 5\n    connect \\A {}\n    connect \\Y \\y\n  end\n"
    assert pad_operands(text.format(2, "\\x [1:0]")) == text.format(4, "{ 2'00 \\x [1:0] }")


@pytest.mark.parametrize(
    "untouched",
    [
        cell("eq", 3, "\\x", 3, "\\y", signed=1),
        cell("eq", 3, "\\x", 3, "3'001"),
        cell("shl", 8, "\\x", 1, "1'1", 8),
    ],
)
def test_everything_else_stays(untouched):
    assert pad_operands(untouched) == untouched
