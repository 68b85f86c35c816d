# SPDX-License-Identifier: Apache-2.0
"""Balanced trees of operators."""

from collections.abc import Sequence

from amaranth.hdl import Const, Value


def sum_tree(values: Sequence[Value]) -> Value:
    """Add unsigned values of one width in a balanced tree.

    Every adder has operands of equal width and a result one bit wider, so no level widens an
    operand silently.

    Parameters
    ----------
    values
        At least one value, all of the same width.

    Returns
    -------
    Value
        The sum, `ceil(log2(len(values)))` bits wider than a value.
    """
    level = list(values)
    while len(level) > 1:
        if len(level) % 2:
            level.append(Const(0, len(level[0])))
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=True)]
    return level[0]
