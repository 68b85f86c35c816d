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
from typing import Any, Literal, TypeVar, get_args, get_origin

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

    Text that ends in `.toml`, in either case, or holds a slash is a path, relative to the working
    directory; anything else names a file packaged under `configs/<kind>/`. A path is not opened
    here.

    Raises
    ------
    UserError
        No packaged file has that name; the message lists those that exist.
    """
    if is_path(name_or_path):
        return Path(name_or_path)
    if name_or_path in known(kind):
        return _folder(kind) / f"{name_or_path}.toml"
    raise UserError(
        f"unknown {kind.removesuffix('s')} {name_or_path!r}: choose one of "
        f"{', '.join(known(kind))}, or give the path of a .toml file"
    )


def is_path(name_or_path: str) -> bool:
    """Tell a path from the name of a packaged file."""
    return name_or_path.lower().endswith(".toml") or "/" in name_or_path


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
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UserError(f"cannot read {what} file {path}: {reason}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{what} file {path} is not UTF-8 text: save it as UTF-8") from error
    except RecursionError as error:
        raise UserError(f"{what} file {path} is nested too deeply: use plain tables") from error
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
        told, covered = _told(model_cls, faults)
        more = f" (and {len(faults) - covered} more)" if len(faults) > covered else ""
        raise UserError(f"{source}: {told}{more}") from error


def _told(model_cls: type[BaseModel], faults: list[ErrorDetails]) -> tuple[str, int]:
    """Put the first of pydantic's errors into words, and say how many it covers."""
    fault = faults[0]
    path, fields = _place(model_cls, fault["loc"])
    key = ".".join(path)
    field = fields.get(path[-1]) if path else None
    match fault["type"]:
        case "extra_forbidden":
            close = difflib.get_close_matches(path[-1], fields, n=1)
            if close:
                nearest = ".".join((*path[:-1], close[0]))
                return f"unknown key {key}; did you mean {nearest}?", 1
            return f"unknown key {key}; known here: {', '.join(fields)}", 1
        case "missing":
            missing: dict[str, FieldInfo | None] = {}
            for each in faults:
                if each["type"] == "missing":
                    place, known = _place(model_cls, each["loc"])
                    missing[".".join(place)] = known.get(place[-1])
            given = [
                f"--set {name}={each.examples[0]}"
                for name, each in missing.items()
                if each and each.examples
            ]
            example = f"; e.g. {' '.join(given)}" if given else ""
            if len(missing) > 1:
                return f"missing keys {', '.join(missing)}{example}", len(missing)
            meaning = f" ({field.description})" if field and field.description else ""
            return f"missing key {key}{meaning}{example}", 1
        case "value_error":
            rule = str(fault.get("ctx", {}).get("error", fault["msg"]))
            return f"{key}: {rule}" if key else rule, 1
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"{key} = {reprlib.repr(fault['input'])}: must be a table", 1
        case "union_tag_invalid" | "union_tag_not_found":
            # A table that comes in several kinds, told apart by one of its keys.
            context = fault.get("ctx", {})
            place = f"{key}.{context['discriminator'].strip(chr(39))}"
            given = f"{place} = {context['tag']!r}" if "tag" in context else f"missing key {place}"
            kinds = ", ".join(_tags(field)) if field else ""
            return f"{given}: must be one of {kinds}", 1
        case "bool_type":
            return f"{key} = {reprlib.repr(fault['input'])}: must be true or false", 1
    rule = limits(field) or fault["msg"].replace("Input should be", "must be", 1)
    return f"{key} = {reprlib.repr(fault['input'])}: {rule}", 1


def _place(
    model_cls: type[BaseModel], location: tuple[int | str, ...]
) -> tuple[list[str], dict[str, FieldInfo]]:
    """Return the dotted key that a user would write, and the keys of the table that it lies in.

    Pydantic's locations also hold list indexes and the tags of unions, which name no key.
    """
    path: list[str] = []
    models = [model_cls]
    fields = dict(model_cls.model_fields)
    for i, part in enumerate(location):
        tagged = [model for model in models if tag(model) == part]
        if tagged:
            models = tagged
            continue
        fields = {name: field for model in models for name, field in model.model_fields.items()}
        path.append(str(part))
        inner = models_in(fields[part].annotation) if part in fields else []
        if inner and i + 1 < len(location):
            models = inner
    return path, fields


def _plain(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"


def is_tag(model_cls: type[BaseModel], name: str) -> bool:
    """Tell whether a field has one possible value, which tells its model from others."""
    annotation = model_cls.model_fields[name].annotation
    return get_origin(annotation) is Literal and len(get_args(annotation)) == 1


def tag(model_cls: type[BaseModel]) -> str | None:
    """Return the value that tells a model from others of its union; None without such a field."""
    for name, field in model_cls.model_fields.items():
        if is_tag(model_cls, name):
            return get_args(field.annotation)[0]
    return None


def _tags(field: FieldInfo) -> list[str]:
    return [found for model in models_in(field.annotation) if (found := tag(model)) is not None]


def limits(field: FieldInfo | None) -> str:
    """Return a number's type and whole range, where pydantic tells only the side that failed."""
    symbols = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
    bounds = [
        f"{symbol} {_plain(getattr(limit, name))}"
        for limit in (field.metadata if field else ())
        for name, symbol in symbols.items()
        if hasattr(limit, name)
    ]
    if field is None or not bounds:
        return ""
    whole = int in (field.annotation, *get_args(field.annotation))
    kind = "a whole number" if whole else "a finite number"
    return f"must be {kind} {' and '.join(bounds)}"


def models_in(annotation: object) -> list[type[BaseModel]]:
    """Return the models inside an annotation such as `Pim`, `Pim | None` or `list[Pim]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in models_in(part)]
