# SPDX-License-Identifier: Apache-2.0
"""Records of synthesis: a file for a configuration and library, a row for each unit.

Records are kept under version control, so that a change of area shows in review. Nothing in them
depends on when or where they were made.
"""

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ahasd import UserError
from ahasd.gen.emit import to_rtlil
from ahasd.gen.manifest import find
from ahasd.synth.library import Library
from ahasd.synth.mapping import design_sha256

FOLDER = Path("synth/results")
"""Where a checkout keeps its records."""


def record_path(folder: Path, kind: str, configuration: str, library: Library) -> Path:
    """Return the file of a record; `kind` is `area`, `history`, `timing` or `blocks`."""
    label = re.sub(r"[^A-Za-z0-9._+-]", "-", library.name)[:100]
    return folder / f"{kind}-{configuration}-{label}.json"


def read(path: Path, kind: str) -> list[dict[str, Any]]:
    """Return the rows of a record, none if there is no file.

    Raises
    ------
    UserError
        The file is no such record.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if told["schema"] != _schema(kind):
            raise ValueError("schema")
        return list(told["rows"])
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{path} is no record of ours; choose another --out") from None


def merge(held: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in order, by what they are of; new ones in place of held ones."""
    rows = {_key(row): row for row in (*held, *new)}
    return [rows[key] for key in sorted(rows)]


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    if "block" in row:
        return (row["block"],)
    # What was changed comes behind what was not.
    changes = row["overrides"]
    kept = row.get("boundaries", "")
    return row["unit"], row["memories"], len(changes), json.dumps(changes), kept


def write(path: Path, kind: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write a record in one go, its folder included.

    Raises
    ------
    UserError
        It cannot be written.
    """
    told = {"schema": _schema(kind), "rows": list(rows)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.{os.getpid()}")
        aside.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; choose another --out") from error


def update(
    path: Path, kind: str, change: Callable[[list[dict[str, Any]]], Sequence[dict[str, Any]]]
) -> None:
    """Read a record, change its rows and write it; commands that share a folder take turns.

    Raises
    ------
    UserError
        As `read` and `write`.
    """
    with _alone(path.parent):
        write(path, kind, change(read(path, kind)))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep others that update records out of a folder, by a lock on itself: it leaves no file."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}; choose another --out") from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _schema(kind: str) -> str:
    return f"ahasd-{kind}/1"


def stale(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Name the units whose hardware is not what it was when their row was recorded.

    It is compared as RTLIL, so that a comment changes nothing. With another version of Amaranth,
    which may write other RTLIL, nothing can be said.
    """
    changed = []
    for row in rows:
        if row["tools"]["amaranth"] != version("amaranth"):
            continue
        unit, params = find(row["unit"], row["configuration"], row["overrides"])
        module = f"ahasd_{unit.name}"
        text = to_rtlil(unit.load_hardware()(params), module, unit.domains)
        if design_sha256(text) != row["design_sha256"]:
            changed.append(unit.name)
    return changed
