# SPDX-License-Identifier: Apache-2.0
"""What several commands share."""

from collections.abc import Sequence

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
