# SPDX-License-Identifier: Apache-2.0
"""The table of `docs/numerics.md` of the AAU's operations on single elements, over every code."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ahasd.rtl.aau import oracle
from ahasd.rtl.aau.encodings import Command, Op, constant_code
from ahasd.rtl.aau.golden import AauGolden
from ahasd.rtl.aau.numerics import VARIANTS, Numerics
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.errors import ErrorReport, report, value
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import ints
from ahasd.rtl.aau.primitives.unary import INT8_POINT
from ahasd.rtl.aau.rows import Beat
from ahasd.system.numerics.primitive_tables import CONVERSIONS, report_row, report_table

LOG2_E = math.log2(math.e)
GELU_SCALE = 2 * math.sqrt(2 / math.pi) * LOG2_E


class Operation(NamedTuple):
    """An operation of one operand.

    Attributes
    ----------
    op
        What the AAU calls it.
    constants
        k0, k1 and k2 by the scale s of x, so that s x is what goes in.
    truth
        The function in float64.
    """

    op: Op
    constants: Callable[[float], tuple[float, float, float]]
    truth: Callable[[oracle.Floats], oracle.Floats]


def _relu(x: oracle.Floats) -> oracle.Floats:
    return np.maximum(x, 0.0)


OPERATIONS = {
    "relu": Operation(Op.RELU, lambda s: (s, 0.0, 0.0), _relu),
    "silu": Operation(Op.SILU, lambda s: (s * LOG2_E, s, 0.0), oracle.silu),
    "gelu": Operation(
        Op.GELU, lambda s: (0.044715 * GELU_SCALE * s**3, s, GELU_SCALE * s), oracle.gelu
    ),
}
"""Operations by name."""


def assess(name: str, source: Format, form: Format, numerics: Numerics) -> ErrorReport:
    """Return the errors of an operation over every finite code.

    Parameters
    ----------
    name
        Of `OPERATIONS`.
    source
        Format of the elements: FP16, BF16, or INT8 with `INT8_POINT` bits behind the point.
    form
        Format of the results, FP16 or BF16.
    numerics
        Widths.
    """
    codes = ints(np.arange(1 << source.width))
    scale = 1.0
    if source is Format.INT8:
        scale = 2.0**-INT8_POINT
        operands = scale * oracle.floats(codes, source)
    else:
        operands = value(codes, source)
    taken = np.isfinite(operands)
    codes, operands = codes[taken], operands[taken]
    operation = OPERATIONS[name]
    k0, k1, k2 = (constant_code(constant) for constant in operation.constants(scale))
    command = Command(
        op=operation.op,
        length=len(codes),
        x_format=source,
        result_format=form,
        k0=k0,
        k1=k1,
        k2=k2,
    )
    golden = AauGolden(AauParams(numerics=numerics))
    results = golden.run(command, Beat(codes, 0 * codes, 0 * codes)).results
    with np.errstate(over="ignore"):  # x^3, far from 0
        exact = operation.truth(operands)
    return report(operands, value(results, form), exact, form)


def operations_table() -> str:
    """Return the errors of every operation and variant, from format to format, over all codes."""
    rows = [
        report_row(f"`{name}`, {variant}", source, form, assess(name, source, form, numerics))
        for name in OPERATIONS
        for variant, numerics in VARIANTS.items()
        for source, form in CONVERSIONS
    ]
    return report_table("operation", rows)


TABLES = {"numerics-operations": operations_table}
