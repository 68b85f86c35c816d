# SPDX-License-Identifier: Apache-2.0
"""Configuration from TOML: find a file, read it, override keys, check it against a model.

Everything that can be wrong with a user's file ends in one `UserError` line that names the file,
the key, the value and what is allowed.
"""

import copy
import difflib
import reprlib
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from ahasd import UserError


class TomlModel(BaseModel):
    """Base of every model read from TOML: frozen, no unknown keys, no silent conversions.

    Strict types, because `ranks = "16"` or `kv_bytes = true` is a slip and not a number. Whole
    numbers are accepted where a float is declared; infinities and NaN are not.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


ModelT = TypeVar("ModelT", bound=BaseModel)


def load(
    model_cls: type[ModelT],
    kind: str,
    name_or_path: str,
    overrides: Mapping[str, object] | None = None,
) -> ModelT:
    """Find, read, override and validate one configuration.

    Parameters
    ----------
    model_cls
        The pydantic model that describes the file.
    kind
        Folder under `configs/`, in the plural: `platforms`, `models`.
    name_or_path
        As for `find`.
    overrides
        As for `with_overrides`; none by default.

    Raises
    ------
    UserError
        The file is unknown, unreadable, malformed or breaks a rule of the model.
    """
    what = kind.removesuffix("s")
    data = with_overrides(read_toml(find(kind, name_or_path), what), overrides or {})
    return validated(model_cls, data, f"{what} {name_or_path}")


def find(kind: str, name_or_path: str) -> Traversable:
    """Return the file behind a name such as `mobile-paper`, or behind a path.

    Text that ends in `.toml` or holds a slash is a path, relative to the working directory;
    anything else names a file packaged under `configs/<kind>/`. A path is not opened here.

    Raises
    ------
    UserError
        No packaged file has that name; the message lists those that exist.
    """
    if name_or_path.endswith(".toml") or "/" in name_or_path:
        return Path(name_or_path)
    if name_or_path in known(kind):
        return _folder(kind) / f"{name_or_path}.toml"
    raise UserError(
        f"unknown {kind.removesuffix('s')} {name_or_path!r}: choose one of "
        f"{', '.join(known(kind))}, or give the path of a .toml file"
    )


def known(kind: str) -> list[str]:
    """Return the sorted names of the files packaged under `configs/<kind>/`."""
    names = (entry.name for entry in _folder(kind).iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def _folder(kind: str) -> Traversable:
    return files("ahasd.system") / "configs" / kind


def read_toml(path: Traversable, what: str) -> dict[str, Any]:
    """Read one TOML file.

    Parameters
    ----------
    path
        The file, on disk or inside the package.
    what
        Its role in error messages: `platform`, `model`.

    Raises
    ------
    UserError
        The file cannot be read, is not UTF-8 or is not TOML (with line and column).
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UserError(f"cannot read {what} file {path}: {reason}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{what} file {path} is not UTF-8 text: save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{what} file {path} is not valid TOML: {error}") from error


def with_overrides(data: Mapping[str, Any], overrides: Mapping[str, object]) -> dict[str, Any]:
    """Return a copy of `data` with dotted keys replaced or added.

    A string value is read as TOML (`"0.5"` becomes a number, `"true"` a boolean) and stays a
    string where that fails (`"per_rank"`); any other value is taken as it is. Whether a key
    exists is decided by `validated`, which knows the names.

    Raises
    ------
    UserError
        A key has an empty part, or leads through something that is not a table.
    """
    changed = copy.deepcopy(dict(data))
    for key, value in overrides.items():
        parts = key.split(".")
        if not all(parts):
            raise UserError(f"override key {key!r} has an empty part: write it as table.key")
        table = changed
        for depth, part in enumerate(parts[:-1], start=1):
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise UserError(
                    f"override key {key!r} is impossible: {'.'.join(parts[:depth])} is a value, "
                    "not a table"
                )
        table[parts[-1]] = _parsed(value) if isinstance(value, str) else value
    return changed


def _parsed(text: str) -> object:
    try:
        document = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    # A line break in the text could smuggle in a second key.
    return document["value"] if len(document) == 1 else text


def validated(model_cls: type[ModelT], data: Mapping[str, Any], source: str) -> ModelT:
    """Build the model, or say in one line what is wrong with the data.

    Parameters
    ----------
    model_cls
        The pydantic model to build.
    data
        Nested mappings as `read_toml` returns them.
    source
        Where the data came from, at the head of the message.

    Raises
    ------
    UserError
        A key is unknown or missing, or a value has the wrong type or range. Of several faults
        the first is told, and how many more there are.
    """
    try:
        return model_cls.model_validate(data)
    except ValidationError as error:
        # A misspelt key is both "missing" and "unknown"; only the latter tells what to mend.
        faults = sorted(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise UserError(f"{source}: {_told(model_cls, faults[0])}{more}") from error


def _told(model_cls: type[BaseModel], fault: ErrorDetails) -> str:
    """Put one of pydantic's errors into words."""
    *path, last = fault["loc"] or ("",)
    key = ".".join(str(part) for part in fault["loc"])
    fields = _fields_at(model_cls, path)
    field = fields.get(str(last))
    match fault["type"]:
        case "extra_forbidden":
            close = difflib.get_close_matches(str(last), fields, n=1)
            if close:
                nearest = ".".join(str(part) for part in (*path, close[0]))
                return f"unknown key {key}; did you mean {nearest}?"
            return f"unknown key {key}; known here: {', '.join(fields)}"
        case "missing":
            meaning = f" ({field.description})" if field and field.description else ""
            return f"missing key {key}{meaning}"
        case "value_error":
            rule = str(fault.get("ctx", {}).get("error", fault["msg"]))
            return f"{key}: {rule}" if key else rule
        case "model_type" | "dict_type":
            return f"{key} = {reprlib.repr(fault['input'])}: must be a table"
    rule = _limits(field) or fault["msg"].replace("Input should be", "must be", 1)
    return f"{key} = {reprlib.repr(fault['input'])}: {rule}"


def _limits(field: FieldInfo | None) -> str:
    """Return a number's type and whole range, where pydantic tells only the side that failed."""
    symbols = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
    bounds = [
        f"{symbol} {getattr(limit, name):g}"
        for limit in (field.metadata if field else ())
        for name, symbol in symbols.items()
        if hasattr(limit, name)
    ]
    if field is None or not bounds:
        return ""
    whole = int in (field.annotation, *get_args(field.annotation))
    kind = "a whole number" if whole else "a finite number"
    return f"must be {kind} {' and '.join(bounds)}"


def _fields_at(model_cls: type[BaseModel], path: list[int | str]) -> dict[str, FieldInfo]:
    """Return the keys allowed in the table at `path`.

    List indexes and union tags, which pydantic puts into its paths, lead to no other model.
    """
    models = [model_cls]
    for part in path:
        inner = [
            found
            for model in models
            if part in model.model_fields
            for found in _models_in(model.model_fields[str(part)].annotation)
        ]
        models = inner or models
    return {name: field for model in models for name, field in model.model_fields.items()}


def _models_in(annotation: object) -> list[type[BaseModel]]:
    """Return the models inside an annotation such as `Pim`, `Pim | None` or `list[Pim]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]
