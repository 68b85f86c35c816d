# SPDX-License-Identifier: Apache-2.0
"""Traces of a target and its draft model: the object, its reader and its writer."""

import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ahasd import UserError
from ahasd.system.workload.schema import COLUMNS
from ahasd.system.workload.validate import check_schema, validate

Integers = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can state


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a trace.

    Attributes
    ----------
    number : int
        Value of `seq`, from 0.
    first_row : int
        Row of its anchor t = 0.
    length : int
        Target tokens, and so rows; at least 1.
    prompt_len : int or None
        Prompt tokens, at least 1; None where the header does not say.
    category : str or None
        Kind of prompt, None where the header does not say.
    """

    number: int
    first_row: int
    length: int
    prompt_len: int | None
    category: str | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """A valid trace in schema `sd-anchored/1`; building one checks every rule of the schema.

    Row r is one anchor: a target position and the draft's rollout of `k_max` steps from the
    committed prefix before that position. docs/trace.md describes each column.

    Attributes
    ----------
    header : mapping
        Decoded JSON header; `schema`, `coupling`, `k_max` and `vocab_size` are always there.
    seq, t, y, run : numpy.ndarray, shape (rows,)
        Request, position in it, the target's token there, leading rollout tokens that are right.
    tok : numpy.ndarray, shape (rows, k_max)
        Draft rollout, token ids.
    h_nats : numpy.ndarray, shape (rows, k_max)
        Entropy of the draft's distribution over the full vocabulary, nat.
    p_tok, p_top1, p_top2 : numpy.ndarray, shape (rows, k_max)
        Draft probability of `tok` and of its two likeliest tokens.
    beta, p_tgt, a_hat : numpy.ndarray, shape (rows, k_max), or None
        Optional: sum of min(p, q), target probability of `tok`, output of an acceptance head.
    source : str
        What messages call the trace: a file or a packaged name.

    Raises
    ------
    UserError
        If a rule of the schema is broken.
    """

    header: Mapping[str, Any]
    seq: Integers
    t: Integers
    y: Integers
    tok: Integers
    h_nats: Floats
    p_tok: Floats
    p_top1: Floats
    p_top2: Floats
    run: Integers
    beta: Floats | None = None
    p_tgt: Floats | None = None
    a_hat: Floats | None = None
    source: str = "trace"

    def __post_init__(self) -> None:
        validate(self.source, self.header, self.columns())

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns that are present, by name, in the order of the schema."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        return {name: values for name, values in columns.items() if values is not None}

    @property
    def rows(self) -> int:
        """Number of anchors, which is the number of target positions."""
        return self.seq.size

    @property
    def k_max(self) -> int:
        """Steps of each rollout, 1..255."""
        return self.header["k_max"]

    @property
    def vocab_size(self) -> int:
        """Number of token ids, at least 2."""
        return self.header["vocab_size"]

    @property
    def coupling(self) -> str:
        """How draft tokens were judged: greedy, gumbel or bernoulli."""
        return self.header["coupling"]

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        """The requests in row order; request n has number n."""
        first_rows = np.flatnonzero(self.t == 0).tolist()
        ends = [*first_rows[1:], self.rows]
        prompts = self.header.get("prompt_len", [None] * len(first_rows))
        categories = self.header.get("category", [None] * len(first_rows))
        return tuple(
            Request(number, first, end - first, prompts[number], categories[number])
            for number, (first, end) in enumerate(zip(first_rows, ends, strict=True))
        )


def packaged_traces() -> tuple[str, ...]:
    """Return the names of the traces that come with the package, sorted."""
    names = (entry.name for entry in _data().iterdir())
    return tuple(sorted(name.removesuffix(".npz") for name in names if name.endswith(".npz")))


def load_trace(path_or_name: str | os.PathLike[str]) -> Trace:
    """Read and check a trace.

    Parameters
    ----------
    path_or_name : str or path
        Name of a packaged trace, such as `smollm2-rtn4`, or else a file. A file whose bare name
        is a packaged one is reached as `./name`.

    Returns
    -------
    Trace
        Its `source` is the argument.

    Raises
    ------
    UserError
        If the file cannot be read, is no archive of plain arrays, or breaks a rule of the schema.
    """
    source = os.fspath(path_or_name)
    header, members = read_parts(source)
    return Trace(header=check_schema(source, header, members), source=source, **members)


def read_parts(source: str) -> tuple[object, dict[str, npt.NDArray[Any]]]:
    """Return the decoded header and the columns of a trace by name or file, whatever they hold.

    Raises
    ------
    UserError
        If the file cannot be read, or is no archive of plain arrays and a JSON header.
    """
    if source in packaged_traces():
        content = _data().joinpath(f"{source}.npz").read_bytes()
    else:
        content = _read_file(source)
    members = _unpack(source, content)
    return _decode_header(source, members), members


def save_trace(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace as a compressed npz file, replacing what is there.

    Equal traces give equal bytes: no time, user or platform enters the file. (Another version of
    zlib may compress differently; the arrays inside stay equal.)

    Raises
    ------
    UserError
        If the file cannot be written.
    """
    header = json.dumps(dict(trace.header), ensure_ascii=False).encode()
    members = {"header": np.frombuffer(header, dtype=np.uint8), **trace.columns()}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, values in members.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, on every platform
            entry.external_attr = 0o644 << 16
            data = io.BytesIO()
            np.lib.format.write_array(
                data, np.ascontiguousarray(values), version=(1, 0), allow_pickle=False
            )
            archive.writestr(entry, data.getvalue(), compresslevel=9)
    try:
        Path(path).write_bytes(content.getvalue())
    except OSError as fault:
        raise UserError(
            f"{os.fspath(path)}: the trace cannot be written: {fault.strerror}; "
            "choose another place"
        ) from fault


def _data() -> Any:
    return files("ahasd.system.workload").joinpath("data")


def _read_file(source: str) -> bytes:
    path = Path(source)
    try:
        if path.is_dir():
            raise UserError(f"{source}: a trace is one npz file, but this is a folder; name a file")
        if not path.exists():
            raise UserError(
                f"{source}: there is no such file and no packaged trace of that name; "
                f"correct the path, or choose from {', '.join(packaged_traces())}"
            )
        if not path.is_file():
            # reading a device or a pipe might never end
            raise UserError(f"{source}: a trace must be a regular file; copy it to one")
        return path.read_bytes()
    except OSError as fault:
        raise UserError(
            f"{source}: the trace cannot be read: {fault.strerror}; check path and permissions"
        ) from fault


def _unpack(source: str, content: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return every array of an npz archive by name, the header among them."""
    if not content.startswith(b"PK"):
        raise UserError(
            f"{source}: a trace must be an npz archive, but the file does not begin with 'PK'; "
            "write it with save_trace or numpy.savez_compressed"
        )
    members = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry in archive.infolist():
                name = entry.filename.removesuffix(".npy")
                if name in members:
                    raise UserError(
                        f"{source}: the archive holds {name} twice; dump the trace again"
                    )
                with archive.open(entry) as stream:
                    members[name] = _read_array(source, name, stream)
    except UserError:
        raise
    # zipfile, zlib, struct and numpy raise a dozen unrelated types for damaged bytes, MemoryError
    # for a false length among them; nothing but the content of the file is at work here.
    except Exception as fault:
        raise UserError(
            f"{source}: the archive is truncated or damaged ({str(fault)[:100]!r}); "
            "copy or dump the trace again"
        ) from fault
    return members


def _read_array(source: str, name: str, stream: Any) -> npt.NDArray[Any]:
    """Decode one array in npy format 1.0, the one that numpy writes for plain types."""
    magic = np.lib.format.read_magic(stream)
    if magic != (1, 0):
        raise ValueError(f"npy format {magic}")
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject:
        raise UserError(
            f"{source}: column {name} holds pickled Python objects, which are never loaded; "
            "save it as a plain numeric array"
        )
    values = np.frombuffer(stream.read(), dtype=dtype)
    return values.reshape(shape, order="F" if fortran_order else "C")


def _decode_header(source: str, members: dict[str, npt.NDArray[Any]]) -> object:
    """Take the header out of the members and decode it."""
    if "header" not in members:
        raise UserError(
            f"{source}: the array header is missing; add the JSON header as a uint8 array"
        )
    header = members.pop("header")
    if header.dtype != np.uint8 or header.ndim != 1:
        raise UserError(
            f"{source}: header must be a uint8 array of one axis, but it is {header.dtype} of "
            f"shape {header.shape}; use numpy.frombuffer(json_text.encode(), numpy.uint8)"
        )
    try:
        return json.loads(header.tobytes().decode())
    except (ValueError, RecursionError) as fault:
        raise UserError(
            f"{source}: the header is not JSON in UTF-8 ({type(fault).__name__}); "
            "write it with json.dumps"
        ) from fault
