# SPDX-License-Identifier: Apache-2.0
"""What several commands share."""

from collections.abc import Mapping, Sequence

from cyclopts import Token

from ahasd import UserError


def assignments(texts: Sequence[str]) -> dict[str, str]:
    """Split `key=value` texts.

    Raises
    ------
    UserError
        A text has no `=`, or a key comes twice.
    """
    split: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UserError(f"--set takes key=value, not {text!r}")
        if key in split:
            raise UserError(f"--set {key} is given twice")
        split[key.strip()] = value.strip()
    return split


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
