# SPDX-License-Identifier: Apache-2.0
"""Entropies and probabilities of a trace as the AAU would have given them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ahasd.rtl.aau.encodings import Command, Op, constant_code, constant_value
from ahasd.rtl.aau.golden import AauGolden
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.rows import Beat
from ahasd.system.numerics.logits import Floats, Tail, TailModel, entropy_nats
from ahasd.system.workload.trace import Trace

LogitFormat = Literal["fp16", "bf16"]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Statistics:
    """Entropy [nat] and largest probability of every step of a trace, three times.

    Attributes
    ----------
    exact
        Of the logits in float64; shape (2, rows, k_max), entropy first.
    rounded
        Of the logits in their 16-bit format, in float64.
    aau
        Of the same, by the AAU.
    missed_nats
        Largest difference between the trace's entropy and that of the logits made for it.
    """

    exact: Floats
    rounded: Floats
    aau: Floats
    missed_nats: float


def encoded(logits: Floats, form: LogitFormat) -> Codes:
    """Return logits in a 16-bit format, ties to even."""
    if form == "fp16":
        return logits.astype(np.float16).view(np.uint16).astype(np.int64)
    bits = logits.astype(np.float32).view(np.uint32).astype(np.int64)
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def decoded(codes: Codes, form: LogitFormat) -> Floats:
    """Return what codes of a 16-bit format stand for."""
    if form == "fp16":
        return codes.astype(np.uint16).view(np.float16).astype(np.float64)
    return (codes << 16).astype(np.uint32).view(np.float32).astype(np.float64)


def aau_statistics(codes: Codes, form: LogitFormat, golden: AauGolden) -> tuple[float, float]:
    """Return entropy [nat] and largest probability of a row of logits, by the AAU's arithmetic."""
    command = Command(
        op=Op.STATISTICS,
        length=len(codes),
        x_format=Format.FP16 if form == "fp16" else Format.BF16,
        k0=constant_code(float(np.log2(np.e))),
    )
    zero = np.zeros_like(codes)
    summary = golden.run(command, Beat(codes, zero, zero)).summary
    assert summary is not None, "statistics are told, not exported"
    return constant_value(summary.entropy), constant_value(summary.probability)


def statistics(
    trace: Trace,
    tail: Tail,
    form: LogitFormat,
    *,
    params: AauParams | None = None,
    vocabulary: int | None = None,
    rows: npt.NDArray[np.integer[Any]] | None = None,
    seed: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> Statistics:
    """Build logits for every step of a trace and take their statistics.

    Where the largest lie in the vocabulary is drawn; the AAU sees its elements in that order.

    Parameters
    ----------
    trace
        The trace.
    tail
        How probability falls behind the second token.
    form
        Format of the logits.
    params
        The AAU; the default configuration without it.
    vocabulary
        Tokens; those of the trace without it.
    rows
        Rows of the trace to look at; all without it.
    seed
        Of the places.
    progress
        Called with the number of rows done.

    Returns
    -------
    Statistics
        Of those rows.
    """
    golden = AauGolden(params or AauParams())
    chosen = np.arange(trace.rows) if rows is None else rows
    p1, p2, wanted = (
        column[chosen].astype(np.float64) for column in (trace.p_top1, trace.p_top2, trace.h_nats)
    )
    # Rounded to float16, two probabilities can add up to more than 1.
    p2 = np.clip(np.minimum(p2, 1 - p1), 1e-9, None)
    p1 = np.minimum(p1, 1 - p2)
    model = TailModel(vocabulary or trace.vocab_size, tail)
    steepness = model.steepness(p1.ravel(), p2.ravel(), wanted.ravel()).reshape(p1.shape)
    places = np.random.default_rng(seed).permutation(model.vocabulary)
    shape = (2, *p1.shape)
    exact, rounded, aau = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for row in range(len(chosen)):
        for step in range(trace.k_max):
            at = row, step
            logits = model.logits(p1[at], p2[at], steepness[at])
            logits = np.roll(logits[places], 977 * row + 131 * step)
            codes = encoded(logits, form)
            exact[:, row, step] = entropy_nats(logits)
            rounded[:, row, step] = entropy_nats(decoded(codes, form))
            aau[:, row, step] = aau_statistics(codes, form, golden)
        progress(row + 1)
    return Statistics(exact, rounded, aau, float(np.abs(exact[0] - wanted).max()))


def with_statistics(trace: Trace, found: Floats, name: str) -> Trace:
    """Return a trace whose drafts know other entropies and probabilities.

    Probabilities of other tokens than the likeliest go with it.

    Parameters
    ----------
    trace
        The trace.
    found
        Entropy [nat] and largest probability, shape (2, rows, k_max).
    name
        What messages call it.
    """
    entropies, largest = found
    top = trace.p_top1.astype(np.float64)
    ratio = np.divide(largest, top, out=np.ones_like(top), where=top > 0)
    limit = np.log(trace.vocab_size)
    return replace(
        trace,
        h_nats=np.clip(entropies, 0, limit).astype(np.float32),
        p_top1=np.minimum(largest, 1).astype(np.float32),
        p_top2=np.minimum(trace.p_top2 * ratio, largest).astype(np.float32),
        p_tok=np.minimum(trace.p_tok * ratio, largest).astype(np.float32),
        source=name,
    )
