# SPDX-License-Identifier: Apache-2.0
"""Plots of a report, as SVG. Needs matplotlib: the extra `plot`."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ahasd import UserError
from ahasd.system.devices.report.build import Report
from ahasd.system.devices.report.products import SIZES, TOKENS
from ahasd.system.devices.report.text import tokens_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def available() -> bool:
    """Tell whether plots can be made."""
    return find_spec("matplotlib") is not None


def write_plots(report: Report, folder: Path) -> list[Path]:
    """Write all plots into a folder that exists, and return their paths.

    Raises
    ------
    UserError
        They cannot be written.
    """
    # Here: matplotlib takes as long to load as all the rest, and need not be there.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    paths = []
    # Equal reports give equal files.
    with rc_context({"svg.hashsalt": "ahasd"}):
        for name, draw in PLOTS.items():
            figure = Figure(figsize=(9, 5), layout="constrained")
            draw(report, figure)
            path = folder / f"{name}.svg"
            try:
                figure.savefig(path, metadata={"Date": None})
            except OSError as error:
                raise UserError(f"cannot write {path}: {error.strerror or error}") from error
            paths.append(path)
    return paths


def _roofline(report: Report, figure: "Figure") -> None:
    for number, roof in enumerate(report.roofs, start=1):
        axes = figure.add_subplot(1, len(report.roofs), number)
        points = [each for each in report.points if each.device == roof.device]
        ends = [1.0, max(roof.ridge, *(each.intensity for each in points)) * 4]
        shape = [ends[0], roof.ridge, ends[1]]
        axes.loglog(shape, [roof.attainable(each) / 1e9 for each in shape], color="black")
        for each in points:
            axes.loglog([each.intensity], [each.ops_s / 1e9], "o", label=each.task)
        axes.set_title(f"{roof.device} of {report.platform}")
        axes.set_xlabel("operations per byte")
        axes.set_ylabel("Gop/s")
        axes.legend(fontsize="small", loc="lower right")
        axes.grid(visible=True, alpha=0.3)


def _access(report: Report, figure: "Figure") -> None:
    patterns, mixes = figure.subplots(1, 2)
    for mapping in dict.fromkeys(each.mapping for each in report.accesses):
        held = [e for e in report.accesses if e.mapping == mapping and e.read_share == 1]
        # The mixes begin with the same reads once more.
        rates = {each.pattern: each.gb_s for each in held}
        patterns.plot(list(rates), list(rates.values()), "o-", label=mapping)
    mixed = [each for each in report.accesses if each.read_share < 1]
    for pattern, mapping in dict.fromkeys((each.pattern, each.mapping) for each in mixed):
        line = {
            each.read_share: each.gb_s
            for each in report.accesses
            if (each.pattern, each.mapping) == (pattern, mapping)
        }
        shares = sorted(line)
        rates = [line[share] for share in shares]
        mixes.plot(shares, rates, "o-", label=f"{pattern}, {mapping}")
    patterns.tick_params("x", rotation=60)
    patterns.set_title(f"reads, one channel of {report.dram}")
    patterns.set_ylabel("GB/s")
    mixes.set_title("reads and writes")
    mixes.set_xlabel("share of reads")
    for axes in (patterns, mixes):
        axes.set_ylim(bottom=0)
        axes.legend(fontsize="small")
        axes.grid(visible=True, alpha=0.3)


def _gemv(report: Report, figure: "Figure") -> None:
    times, shares = figure.subplots(1, 2)
    for tokens in TOKENS:
        held = [each for each in report.products if each.tokens == tokens]
        square = [each for each in held if each.matrix == "square"]
        label = tokens_name(tokens)
        sizes = [each.outputs for each in square]
        (line,) = times.loglog(sizes, [each.time_us for each in square], "o-", label=label)
        shares.plot(
            [each.outputs * each.inputs / each.ranks for each in held],
            [each.share for each in held],
            "o",
            color=line.get_color(),
            label=label,
        )
    times.set_title("square matrix on one rank")
    times.set_xlabel("outputs = inputs")
    times.set_xticks(SIZES, [str(each) for each in SIZES], minor=False)
    times.minorticks_off()
    times.set_ylabel("microseconds")
    shares.set_title("all matrices")
    shares.set_xlabel("weights of a rank")
    shares.set_xscale("log")
    shares.set_ylabel("share of the rate of its MACs")
    shares.set_ylim(0, 1)
    for axes in (times, shares):
        axes.legend(fontsize="small")
        axes.grid(visible=True, alpha=0.3)


def _utilisation(report: Report, figure: "Figure") -> None:
    split, rates = figure.subplots(1, 2)
    tasks = list(dict.fromkeys((each.device, each.task) for each in report.phases))
    names = [f"{device}: {task}" for device, task in tasks]
    begins = [0.0] * len(tasks)
    for phase in dict.fromkeys(each.phase for each in report.phases):
        shares = [
            sum(
                each.share
                for each in report.phases
                if (each.device, each.task) == task and each.phase == phase
            )
            for task in tasks
        ]
        split.barh(names, shares, left=begins, label=phase)
        begins = [begin + share for begin, share in zip(begins, shares, strict=True)]
    split.invert_yaxis()
    split.set_title("where the time goes")
    split.set_xlabel("share of the task alone")
    figure.legend(*split.get_legend_handles_labels(), loc="outside lower left", ncols=7)
    rows = range(len(report.besides))
    rates.barh([row - 0.2 for row in rows], [b.npu_rate for b in report.besides], 0.4, label="NPU")
    rates.barh([row + 0.2 for row in rows], [b.pim_rate for b in report.besides], 0.4, label="PIM")
    rates.set_yticks(list(rows), [f"{each.task}: {each.phase}" for each in report.besides])
    rates.invert_yaxis()
    rates.set_xlim(0, 1)
    rates.set_title("PIM beside a pass of the NPU")
    rates.set_xlabel("rate, 1 as alone")
    rates.legend(fontsize="small")


PLOTS: dict[str, Callable[[Report, "Figure"], None]] = {
    "roofline": _roofline,
    "access": _access,
    "gemv": _gemv,
    "utilisation": _utilisation,
}
"""What draws each plot, by file name."""
