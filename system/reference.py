# SPDX-License-Identifier: Apache-2.0
"""Every configuration key of a run, from the models that check it."""

from collections.abc import Iterator
from typing import Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from ahasd.system.config import RunConfig
from ahasd.system.devices.markdown import markdown_table
from ahasd.system.toml import is_tag, limits, models_in, tag

BY_NAME = ("platform", "dlm", "tlm")
"""Tables that a run usually names; their own keys have pages and files of their own."""


def key_table() -> str:
    """Return all keys as a Markdown table: key, values, default, meaning."""
    header = ("key", "values", "default", "meaning")
    return markdown_table(header, _rows(RunConfig, ""), text_columns=4)


def _rows(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str, str]]:
    for name, field in model.model_fields.items():
        key = prefix + name
        inner = models_in(field.annotation)
        if name in BY_NAME:
            yield f"`{key}`", "name, path or table", "needed", _meaning(name)
        elif len(inner) > 1:
            yield from _union_rows(inner, key)
        elif inner:
            yield from _rows(inner[0], f"{key}.")
        else:
            yield f"`{key}`", _values(field), _default(field), field.description or ""


def _union_rows(kinds: list[type[BaseModel]], key: str) -> Iterator[tuple[str, str, str, str]]:
    """Give the key that tells the kinds apart, then the keys of all, then those of each."""
    teller = next(name for name in kinds[0].model_fields if is_tag(kinds[0], name))
    tags = ", ".join(f"`{tag(kind)}`" for kind in kinds)
    yield f"`{key}.{teller}`", tags, "needed", f"which {teller}"
    shared = set.intersection(*(set(kind.model_fields) for kind in kinds)) - {teller}
    for row in _rows(kinds[0], f"{key}."):
        if row[0].strip("`").removeprefix(f"{key}.") in shared:
            yield row
    for kind in kinds:
        for row in _rows(kind, f"{key}."):
            if row[0].strip("`").removeprefix(f"{key}.") not in shared | {teller}:
                yield (*row[:3], f"{tag(kind)}: {row[3]}")


def _meaning(name: str) -> str:
    return {
        "platform": "the machine; keys in docs/platforms.md, changed as `platform.KEY`",
        "dlm": "draft model, likewise `dlm.KEY`",
        "tlm": "target model, likewise `tlm.KEY`",
    }[name]


def _values(field: FieldInfo) -> str:
    if get_origin(field.annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(field.annotation))
    if field.annotation is bool:
        return "`true`, `false`"
    ranges = limits(field).removeprefix("must be ")
    return ranges or "text"


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "needed"
    value = field.default
    return f"`{str(value).lower() if isinstance(value, bool) else value}`" if value != "" else ""
