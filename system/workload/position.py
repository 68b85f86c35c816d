# SPDX-License-Identifier: Apache-2.0
"""A trace whose acceptance was sampled, as one in which tokens say what was accepted."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from ahasd.system.workload.anchored import rollouts, runs
from ahasd.system.workload.trace import Trace


def by_position(trace: Trace) -> Trace:
    """Return the trace with draft tokens that equal the target's where they were accepted.

    What the draft proposes first after each committed prefix was accepted if the row's `run` is
    not 0; then it becomes the target's token, else another one. Statistics stay with their rows.
    So positions can be accounted for in a timed run, and nothing else: the text is none that the
    pair would have written, since a real acceptance changes what follows.

    Parameters
    ----------
    trace : Trace
        Coupling bernoulli.

    Returns
    -------
    Trace
        Its header says coupling greedy, of which it obeys every rule.
    """
    columns = trace.columns()
    right = trace.run > 0
    elsewhere = np.where(
        trace.tok[:, 0] == trace.y, (trace.y + 1) % trace.vocab_size, trace.tok[:, 0]
    )
    columns["tok"] = trace.tok.copy()
    columns["tok"][:, 0] = np.where(right, trace.y, elsewhere)
    parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in columns}
    for request in trace.requests:
        rows = slice(request.first_row, request.first_row + request.length)
        # Behind the end nothing is right; a timed chain never goes there.
        behind = (0, trace.k_max - 1)
        run = runs(np.pad(right[rows], behind)[None], trace.k_max)
        for name, values in columns.items():
            if values.ndim == 1:
                parts[name].append(values[rows])
            else:
                padded = np.pad(values[rows], (behind, (0, 0)), mode="edge")
                parts[name].append(rollouts(padded[None], run)[0])
        parts["run"][-1] = run[0].astype(np.uint8)
    joined = {name: np.concatenate(each) for name, each in parts.items()}
    return dataclasses.replace(trace, header={**trace.header, "coupling": "greedy"}, **joined)
