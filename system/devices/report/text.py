# SPDX-License-Identifier: Apache-2.0
"""The tables of a report, for a terminal."""

from collections.abc import Iterable, Sequence

from rich.table import Table

from ahasd.system.devices.report.build import Report
from ahasd.system.devices.report.products import Product

NONE = "-"
_TOLD_FROM = 0.0005
"""Share of a task from which on a phase has a column: what is told as 0.1 % or more."""


def tables(report: Report) -> list[Table]:
    """Return all tables, in the order of the questions that they answer."""
    made = [_rates(report), _roofline(report), _phases(report)]
    if report.besides:
        made.append(_beside(report))
    return [*made, _products(report), _accesses(report)]


def tokens_name(tokens: int) -> str:
    """Return a number of tokens in words."""
    return f"{tokens} token{'s' if tokens > 1 else ''}"


def by_matrix(products: Iterable[Product]) -> dict[tuple[str, int, int, int], list[Product]]:
    """Return products by matrix, outputs, inputs and ranks, each with all its tokens."""
    found: dict[tuple[str, int, int, int], list[Product]] = {}
    for each in products:
        found.setdefault((each.matrix, each.outputs, each.inputs, each.ranks), []).append(each)
    return found


def _table(title: str, caption: str, header: Sequence[str], *, text_columns: int = 1) -> Table:
    made = Table(title=title, caption=caption)
    for number, name in enumerate(header):
        made.add_column(name, justify="left" if number < text_columns else "right")
    return made


def _rates(report: Report) -> Table:
    units = list(dict.fromkeys(name for each in report.rates for name in each.units))
    made = _table(
        f"Rates of {report.platform}, GB/s",
        "What binds is the lowest of commands (of the memory), file (as printed) and what stands"
        " between that and `long stream`: limits of the units, at weights of one byte used once. A"
        " long stream pays for row changes and refresh: by the commands alone, then within the"
        " limits. The last column is the file's figure with its efficiency, as analytic times use"
        " it.",
        ("", "binds", "commands", "file", *units, "long stream", "within limits", "derated"),
        text_columns=2,
    )
    for each in report.rates:
        limits = [each.limits.get(name) for name in ("commands", "file", *units)]
        rates = [*limits, each.streamed, each.attained, each.derated]
        for label, times in (
            (f"one {each.each}", 1),
            (f"all {each.count} {each.each}s", each.count),
        ):
            told = (NONE if rate is None else f"{float(rate * times) / 1e9:.1f}" for rate in rates)
            made.add_row(label, each.binds, *told)
    return made


def _roofline(report: Report) -> Table:
    roofs = "; ".join(
        f"{roof.device}: {roof.peak_ops_s / 1e9:,.1f} Gop/s and {roof.bytes_s / 1e9:.1f} GB/s,"
        f" which meet at {roof.ridge:.1f} op/B"
        for roof in report.roofs
    )
    made = _table(
        f"Roofline: {report.draft} drafts, {report.target} verifies, context {report.context}",
        f"{roofs}. Two operations are an INT8 multiply-accumulate, times are alone on the memory.",
        ("device", "task", "op/B", "Gop/s", "of the roof", "ms"),
        text_columns=2,
    )
    for each in report.points:
        made.add_row(
            each.device,
            each.task,
            f"{each.intensity:.1f}",
            f"{each.ops_s / 1e9:,.1f}",
            f"{each.share:.1%}",
            f"{each.time_ms:,.2f}",
        )
    return made


def _phases(report: Report) -> Table:
    told = {each.phase: None for each in report.phases if each.share >= _TOLD_FROM}
    made = _table(
        "Where the time goes",
        "Bound is what the longest phase waits for: memory or compute; for MACs of the PIM the"
        " memory's t_mac, the printed bandwidth or the unit's compute.",
        ("device", "task", *told, "other", "bound"),
        text_columns=2,
    )
    for task in dict.fromkeys((each.device, each.task) for each in report.phases):
        held = {each.phase: each for each in report.phases if (each.device, each.task) == task}
        longest = max(held.values(), key=lambda each: each.share)
        cells = (f"{held[name].share:.1%}" if name in held else NONE for name in told)
        other = sum(each.share for name, each in held.items() if name not in told)
        made.add_row(*task, *cells, f"{other:.1%}", longest.bound)
    return made


def _beside(report: Report) -> Table:
    made = _table(
        "PIM beside a pass of the NPU",
        "How fast each gets on, as a share of its rate alone.",
        ("PIM task", "phase", "NPU", "PIM"),
        text_columns=2,
    )
    for each in report.besides:
        made.add_row(each.task, each.phase, f"{each.npu_rate:.1%}", f"{each.pim_rate:.1%}")
    return made


def _products(report: Report) -> Table:
    grouped = by_matrix(report.products)
    tokens = [each.tokens for each in next(iter(grouped.values()))]
    made = _table(
        "GEMV on PIM ranks, microseconds (share of the rate of its MACs)",
        "Inputs there, results back, refresh in between; several tokens share the weights.",
        ("matrix", "outputs x inputs", "ranks", *(tokens_name(n) for n in tokens)),
        text_columns=2,
    )
    for (matrix, outputs, inputs, ranks), products in grouped.items():
        cells = (f"{_time(each.time_us)} ({each.share:.0%})" for each in products)
        made.add_row(matrix, f"{outputs} x {inputs}", str(ranks), *cells)
    return made


def _accesses(report: Report) -> Table:
    mappings = list(dict.fromkeys(each.mapping for each in report.accesses))
    made = _table(
        f"One channel of {report.dram}, GB/s (share of the time of its bus), by address mapping",
        "A controller with queues of 32, first ready first come; bursts that all wait from the"
        " begin. Strides are bytes.",
        ("pattern", "reads", *mappings),
    )
    held = {(each.pattern, each.read_share, each.mapping): each for each in report.accesses}
    for pattern, reads in dict.fromkeys(key[:2] for key in held):
        cells = (held.get((pattern, reads, mapping)) for mapping in mappings)
        told = (f"{each.gb_s:.2f} ({each.bus_share:.0%})" if each else NONE for each in cells)
        made.add_row(pattern, f"{reads:.0%}", *told)
    return made


def _time(time_us: float) -> str:
    return f"{time_us:.0f}" if time_us >= 1000 else f"{time_us:.1f}"
