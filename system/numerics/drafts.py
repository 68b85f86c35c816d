# SPDX-License-Identifier: Apache-2.0
"""Drafts that know what the AAU tells of them, in place of what the trace holds."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np

from ahasd import UserError
from ahasd.rtl.aau.params import AauParams
from ahasd.sim.rtl.build import cache_folder
from ahasd.system.numerics import logits, statistics
from ahasd.system.numerics.logits import Floats, Tail
from ahasd.system.numerics.statistics import LogitFormat, with_statistics
from ahasd.system.workload.trace import Trace


def through_aau(
    trace: Trace,
    tail: Tail,
    form: LogitFormat,
    params: AauParams,
    *,
    progress: Callable[[int], None] = lambda done: None,
) -> Trace:
    """Return a trace whose entropies and probabilities are the AAU's.

    Logits are built for every step (see `ahasd.system.numerics.logits`), and go through the golden
    model. That takes minutes, so that what was found is kept in the cache.

    Parameters
    ----------
    trace
        The trace.
    tail, form
        Of the logits.
    params
        The AAU.
    progress
        Called with the number of rows done.

    Raises
    ------
    UserError
        The cache cannot be written.
    """
    path = _kept(trace, tail, form, params)
    found = _read(path, (2, *trace.tok.shape))
    if found is None:
        made = statistics.statistics(trace, tail, form, params=params, progress=progress)
        found = made.aau
        _write(path, found)
    return with_statistics(trace, found, f"{trace.source}, by the AAU")


def _kept(trace: Trace, tail: Tail, form: LogitFormat, params: AauParams) -> Path:
    """Return the file that belongs to these inputs and these sources."""
    digest = hashlib.sha256()
    told = {"tail": tail, "form": form, "params": asdict(params), "vocab": trace.vocab_size}
    digest.update(json.dumps(told, sort_keys=True).encode())
    for column in (trace.h_nats, trace.p_top1, trace.p_top2):
        digest.update(np.ascontiguousarray(column).tobytes())
    rtl = Path(logits.__file__).resolve().parents[2] / "rtl" / "aau"
    sources = [Path(logits.__file__), Path(statistics.__file__), *sorted(rtl.rglob("*.py"))]
    for source in sources:
        digest.update(source.read_bytes())
    return cache_folder() / "statistics" / f"{digest.hexdigest()[:32]}.npy"


def _read(path: Path, shape: tuple[int, ...]) -> Floats | None:
    """Return what is kept; None if nothing is, or it is damaged."""
    try:
        found = np.load(path)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None
    return found if found.shape == shape else None


def _write(path: Path, found: Floats) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Two processes may find the same at once: each writes a file of its own.
        with NamedTemporaryFile(dir=path.parent, suffix=".npy", delete=False) as work:
            np.save(work, found)
        Path(work.name).replace(path)
    except OSError as error:
        raise UserError(
            f"cannot keep statistics in {path.parent}: {error.strerror or error};"
            " choose another place with AHASD_CACHE"
        ) from error
