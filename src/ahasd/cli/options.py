# SPDX-License-Identifier: Apache-2.0
"""What several commands share."""

from collections.abc import Mapping, Sequence

from cyclopts import Token

from ahasd import UserError


def assignments(texts: Sequence[str], option: str = "--set") -> dict[str, str]:
    """Split `key=value` texts of an option.

    Raises
    ------
    UserError
        A text has no `=`, or a key comes twice.
    """
    split: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UserError(f"{option} takes key=value, not {text!r}")
        if key in split:
            raise UserError(f"{option} {key} is given twice")
        split[key.strip()] = value.strip()
    return split


def swept(texts: Sequence[str]) -> list[dict[str, str]]:
    """Split `key=value,value,...` texts, whose keys go through their values together.

    Returns
    -------
    list
        A mapping for each step; one, which is empty, if there are no texts.

    Raises
    ------
    UserError
        As `assignments`; a key has another number of values than the first.
    """
    lists = {
        key: [value.strip() for value in values.split(",")]
        for key, values in assignments(texts, "--sweep").items()
    }
    counts = {key: len(values) for key, values in lists.items()}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{key} {count}" for key, count in counts.items())
        raise UserError(f"values of --sweep go together, so their number must be equal, not {told}")
    return [dict(zip(lists, step, strict=True)) for step in zip(*lists.values(), strict=True)] or [
        {}
    ]


def merged(options: Mapping[str, object], settings: Mapping[str, str]) -> dict[str, object]:
    """Return options and settings as one mapping from configuration keys.

    Raises
    ------
    UserError
        A key comes as an option and as a setting.
    """
    for key in settings:
        if key in options:
            raise UserError(f"{key} is given by an option and by --set; choose one")
    return {**options, **settings}


def whole(kind: object, tokens: Sequence[Token]) -> int:
    """Convert an option's text to an integer; `1.5` is none.

    Raises
    ------
    ValueError
        The text is no whole number.
    """
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"{tokens[0].value!r} is no whole number") from None
