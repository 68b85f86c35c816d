# SPDX-License-Identifier: Apache-2.0
"""The tables of `docs/numerics.md`: sizes, budgets and errors of the AAU's primitives."""

from collections.abc import Sequence
from dataclasses import fields
from functools import partial

from ahasd.rtl.aau.numerics import VARIANTS, Numerics
from ahasd.rtl.aau.primitives.budgets import BUDGETS
from ahasd.rtl.aau.primitives.errors import EDGES, ErrorReport
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.unary import UNARY, assess
from ahasd.system.devices.markdown import markdown_table

CONVERSIONS = (
    (Format.FP16, Format.FP16),
    (Format.BF16, Format.BF16),
    (Format.INT8, Format.FP16),
)
"""Formats of operands and results."""


def variants_table() -> str:
    """Return the parameters of every variant."""
    rows = [
        (f"`{field.name}`", *(str(getattr(each, field.name)) for each in VARIANTS.values()))
        for field in fields(Numerics)
    ]
    return markdown_table(("parameter", *VARIANTS), rows)


def budgets_table() -> str:
    """Return the largest error of every primitive over all operands, beside what it may be."""
    rows = [
        (
            f"`{name}`",
            budget.quantity,
            f"{budget.limit:.2e}" if budget.limit else "-",
            *(f"{budget.measure(numerics):.2e}" for numerics in VARIANTS.values()),
        )
        for name, budget in BUDGETS.items()
    ]
    return markdown_table(
        ("primitive", "error", "budget of `default`", *VARIANTS), rows, text_columns=2
    )


def report_row(label: str, source: Format, form: Format, found: ErrorReport) -> tuple[str, ...]:
    """Return a row of a table of errors."""
    return (
        label,
        f"{source.name} to {form.name}",
        str(found.count),
        f"{found.max_ulp:.3f}",
        f"{found.mean_ulp:.3f}",
        f"{found.worst:.6g}",
        f"{found.max_absolute:.1e}",
        *(f"{count / found.count:.1%}" for count in found.histogram),
    )


def report_table(what: str, rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table of errors, from format to format."""
    bins = (*(f"to {edge:g}" for edge in EDGES), f"above {EDGES[-1]:g}")
    columns = ("formats", "operands", "max ULP", "mean ULP", "worst operand", "max absolute")
    return markdown_table((what, *columns, *bins), rows, text_columns=2)


def errors_table(variant: str) -> str:
    """Return the errors of every function, from format to format, over all codes."""
    rows = [
        report_row(f"`{name}`", source, form, assess(name, source, form, VARIANTS[variant]))
        for name in UNARY
        for source, form in CONVERSIONS
    ]
    return report_table("function", rows)


TABLES = {
    "numerics-variants": variants_table,
    "numerics-budgets": budgets_table,
    **{f"numerics-errors-{name}": partial(errors_table, name) for name in VARIANTS},
}
