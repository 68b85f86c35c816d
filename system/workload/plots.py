# SPDX-License-Identifier: Apache-2.0
"""A summary as a figure. Needs matplotlib: the extra `plot`."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ahasd import UserError, install_hint
from ahasd.system.workload.summary import ENTROPY_EDGES_NATS, Summary
from ahasd.system.workload.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".svg", ".png")


def write_plot(trace: Trace, summary: Summary, path: Path) -> None:
    """Write four panels: acceptance by step, runs, entropies, acceptance by entropy.

    Raises
    ------
    UserError
        Matplotlib is missing, or the file cannot be written.
    """
    if find_spec("matplotlib") is None:
        raise UserError(f"plots need matplotlib, which is missing: {install_hint('plot')}")
    if path.suffix not in FORMATS:
        raise UserError(f"{path}: a plot's name must end in {' or '.join(FORMATS)}")
    # Here: matplotlib takes as long to load as all the rest, and need not be there.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Equal traces give equal files.
    with rc_context({"svg.hashsalt": "ahasd"}):
        figure = Figure(figsize=(10, 7), layout="constrained")
        figure.suptitle(trace.source)
        steps, runs, entropies, bins = figure.subplots(2, 2).flat
        _steps(summary, steps)
        _runs(summary, runs)
        _entropies(trace, entropies)
        _bins(summary, bins)
        try:
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror or error}") from error


def _steps(summary: Summary, axes: "Axes") -> None:
    reached = len(summary.run_shares) - 1
    place = np.arange(1, reached + 1)
    axes.plot(place, np.array(summary.conditional[:reached]), "o-", label="right if tested")
    axes.plot(place, np.array(summary.survival[:reached]), "o-", label="all right so far")
    axes.set_xlabel("step of the draft")
    axes.set_ylabel("share")
    axes.set_ylim(0, 1.02)
    axes.legend()


def _runs(summary: Summary, axes: "Axes") -> None:
    axes.bar(np.arange(len(summary.run_shares)), summary.run_shares)
    axes.set_xlabel("leading right tokens (last: or more)")
    axes.set_ylabel("share of rollouts")


def _entropies(trace: Trace, axes: "Axes") -> None:
    first, right = trace.h_nats[:, 0].astype(np.float64), trace.run > 0
    edges = np.linspace(0, max(float(first.max()), 1e-3), 41)
    axes.hist(
        [first[right], first[~right]], bins=list(edges), histtype="step", label=["right", "wrong"]
    )
    axes.set_yscale("symlog", linthresh=1)  # empty bins stay on the axis
    axes.set_xlabel("entropy of the draft, nat")
    axes.set_ylabel("first tokens")
    axes.legend()


def _bins(summary: Summary, axes: "Axes") -> None:
    names = [f"{edge:g}" for edge in ENTROPY_EDGES_NATS]
    shares = [0 if right is None else right for _, right in summary.by_entropy]
    axes.bar(names, shares)
    axes.set_xlabel("entropy of the draft from here on, nat")
    axes.set_ylabel("right, of tested tokens")
    axes.set_ylim(0, 1.02)
