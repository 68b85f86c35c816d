# SPDX-License-Identifier: Apache-2.0
"""The rules that every trace in schema `sd-anchored/1` obeys, each with its own message."""

import math
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ahasd import UserError
from ahasd.system.workload.header import check_header, check_request_lists
from ahasd.system.workload.schema import COLUMNS, SCHEMA

ENTROPY_SLACK = 2.0**-10
"""Relative slack of the rule h_nats <= ln(vocab_size).

Rounding to float16 raises a value by at most 2^-11 of itself; as much again is left for the
arithmetic that made it. The rule 0 <= h_nats has no slack: drafting rules take the square root.
"""

_PROBABILITIES = ("p_tok", "p_top1", "p_top2", "beta", "p_tgt", "a_hat")

Columns = Mapping[str, npt.NDArray[Any]]


def validate(source: str, header: object, columns: Columns) -> None:
    """Check a trace against every rule of its schema.

    Parameters
    ----------
    source : str
        File or name that messages begin with.
    header : object
        The decoded JSON header; anything but a mapping is refused.
    columns : mapping of str to numpy.ndarray
        The arrays of the file without `header`.

    Raises
    ------
    UserError
        At the first broken rule, with the first offending row and step (both 0-based).
    """
    for problem in problems(source, header, columns):
        raise UserError(problem)


def problems(source: str, header: object, columns: Columns) -> Iterator[str]:
    """Yield every broken rule in one line each, with the first offending row and step.

    Rules that rest on broken ones are not tried: first the header and the columns' names, then
    types and shapes, then all values, and last what run and tokens say about each other.
    """
    try:
        checked = check_schema(source, header, columns)
    except UserError as fault:
        yield str(fault)
        return
    for stage in (_layout, _values, _run):
        broken = list(stage(source, checked, columns))
        yield from broken
        if broken:
            return


def check_schema(source: str, header: object, names: Iterable[str]) -> Mapping[str, Any]:
    """Check the header's own fields and the names of the columns; return the header.

    Raises
    ------
    UserError
        At the first broken rule. The schema comes first: another one may have other columns.
    """
    checked = check_header(source, header)
    present = tuple(names)
    for name in present:
        if name not in COLUMNS:
            raise UserError(
                f"{source}: {SCHEMA} has no column {reprlib.repr(name)}; "
                f"remove it, or rename it to one of {', '.join(COLUMNS)}"
            )
    for name, column in COLUMNS.items():
        if column.required and name not in present:
            raise UserError(f"{source}: column {name} is missing; dump it as docs/trace.md says")
    return checked


def _layout(source: str, header: Mapping[str, Any], columns: Columns) -> Iterator[str]:
    k_max = header["k_max"]
    rows = columns["seq"].size
    if rows == 0:
        yield f"{source}: the trace has no rows; dump at least one anchor"
    for name, values in columns.items():
        column = COLUMNS[name]
        if values.dtype not in column.dtypes:
            yield (
                f"{source}: column {name} must be {' or '.join(map(str, column.dtypes))}, "
                f"but it is {values.dtype}; convert it with astype"
            )
        shape = (rows, k_max) if column.per_step else (rows,)
        if values.shape != shape:
            yield (
                f"{source}: column {name} must have shape {shape} (rows of seq, k_max), but it has "
                f"{values.shape}; give every anchor one row of k_max steps"
            )


def _values(source: str, header: Mapping[str, Any], columns: Columns) -> Iterator[str]:
    placed = list(_order(source, columns))
    yield from placed
    if not placed:
        try:
            check_request_lists(source, header, requests=int(columns["seq"][-1]) + 1)
        except UserError as fault:
            yield str(fault)
    ranged = list(_ranges(source, header["vocab_size"], columns))
    yield from ranged
    if not ranged:
        yield from _top_probabilities(source, columns)


def _order(source: str, columns: Columns) -> Iterator[str]:
    seq = columns["seq"].astype(np.int64)
    step = np.diff(seq, prepend=-1)
    misplaced = (step != 0) & (step != 1)
    misplaced[0] = seq[0] != 0
    yield from _first_problem(
        source,
        misplaced,
        "seq must count requests 0, 1, 2, ... with the rows of each together",
        "seq",
        seq,
        "sort the rows by request and number the requests from 0",
    )
    t = columns["t"].astype(np.int64)
    follows = np.concatenate(([-1], t[:-1]))
    yield from _first_problem(
        source,
        t != np.where(step == 1, 0, follows + 1),
        "t must count 0, 1, 2, ... inside each request",
        "t",
        t,
        "give every target position its own anchor, in order",
    )


def _ranges(source: str, vocab_size: int, columns: Columns) -> Iterator[str]:
    for name in ("y", "tok"):
        yield from _first_problem(
            source,
            (columns[name] < 0) | (columns[name] >= vocab_size),
            f"token ids must lie in 0..{vocab_size - 1} (vocab_size - 1)",
            name,
            columns[name],
            "correct vocab_size in the header, or dump ids of the target's tokenizer",
        )
    for name, values in columns.items():
        if values.dtype.kind == "f":
            yield from _first_problem(
                source,
                ~np.isfinite(values),
                "every number must be finite",
                name,
                values,
                "compute log-softmax in float32 and take 0 ln 0 as 0",
            )
    limit = math.log(vocab_size)
    entropy = columns["h_nats"].astype(np.float64)
    yield from _first_problem(
        source,
        entropy < 0,
        "entropy must not be negative",
        "h_nats",
        entropy,
        "clamp rounding noise at 0",
    )
    yield from _first_problem(
        source,
        entropy > limit * (1 + ENTROPY_SLACK),
        f"entropy must not exceed ln(vocab_size) = {limit:.4f} nat",
        "h_nats",
        entropy,
        "use the natural logarithm, and the vocab_size of the logits",
    )
    for name in _PROBABILITIES:
        if name in columns:
            yield from _first_problem(
                source,
                (columns[name] < 0) | (columns[name] > 1),
                "probabilities must lie in 0..1",
                name,
                columns[name],
                "dump probabilities, not logits or their logarithms",
            )


def _top_probabilities(source: str, columns: Columns) -> Iterator[str]:
    for name in ("p_top2", "p_tok"):
        values, top = columns[name], columns["p_top1"]
        # Rounding is monotonic: values of one softmax keep their order in the narrower type.
        narrow = min(values.dtype, top.dtype, key=lambda dtype: dtype.itemsize)
        yield from _first_problem(
            source,
            values.astype(narrow) > top.astype(narrow),
            f"{name} must not exceed p_top1",
            name,
            values,
            "take both from the same softmax",
        )


def _run(source: str, header: Mapping[str, Any], columns: Columns) -> Iterator[str]:
    k_max = header["k_max"]
    tok, run = columns["tok"], columns["run"].astype(np.int64)
    yield from _first_problem(
        source,
        run > k_max,
        f"run must not exceed k_max = {k_max}",
        "run",
        run,
        "count only the steps of the rollout",
    )
    if header["coupling"] == "bernoulli":
        return  # there `run` is sampled, and each rollout is a draw of its own
    rows_left = _rows_left(columns["seq"])
    known = np.minimum(run, rows_left)  # a dump may count on where the trace holds no y any more
    yield from _first_problem(
        source,
        known != _leading_matches(columns["y"], tok, rows_left),
        "run must count the leading rollout tokens that equal y of this and the next rows",
        "run",
        run,
        "recount it from tok and y",
    )
    # While a rollout is on path, the next anchor starts from the same prefix and must go on alike.
    steps = np.arange(1, k_max)
    differs = np.zeros(tok.shape, dtype=bool)
    differs[:-1, 1:] = (tok[:-1, 1:] != tok[1:, :-1]) & (steps < known[:-1, None])
    yield from _first_problem(
        source,
        differs,
        "accepted rollout tokens must recur, one step earlier, in the next row",
        "tok",
        tok,
        "roll every anchor out with the same weights, arithmetic and seed",
    )


def _rows_left(seq: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return how many rows of its request each row still has, itself included."""
    rows = np.arange(seq.size)
    ends = np.append(np.flatnonzero(np.diff(seq)) + 1, seq.size)
    return ends[np.searchsorted(ends, rows, side="right")] - rows


def _leading_matches(
    y: npt.NDArray[Any], tok: npt.NDArray[Any], rows_left: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return how many leading tokens of each rollout equal the target's own, shape (rows,)."""
    rows, k_max = tok.shape
    steps = np.arange(k_max)
    ahead = np.minimum(np.arange(rows)[:, None] + steps, rows - 1)
    matches = (tok == y[ahead]) & (steps < rows_left[:, None])
    return np.logical_and.accumulate(matches, axis=1).sum(axis=1)


def _first_problem(
    source: str,
    bad: npt.NDArray[np.bool_],
    rule: str,
    name: str,
    values: npt.NDArray[Any],
    remedy: str,
) -> Iterator[str]:
    """Yield a line for the first true element of `bad`, if any; `values` has the same shape."""
    if not bad.any():
        return
    where = tuple(int(index) for index in np.argwhere(bad)[0])
    place = " ".join(f"{axis} {index}" for axis, index in zip(("row", "step"), where, strict=False))
    value = values[where].item()
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    yield f"{source}: {rule}, but {name} is {shown} at {place}; {remedy}"
