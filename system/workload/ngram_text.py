# SPDX-License-Identifier: Apache-2.0
"""Text that comes with Python, as tokens: for a pair of models without a download."""

import re
import sysconfig
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ahasd import UserError

WORDS = 4000
"""Words of the vocabulary, the most frequent ones; single characters spell the others."""

_TOKEN = re.compile(r"[A-Za-z]+|\s+|.", re.DOTALL)
_DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Text:
    """Tokens of one kind of text.

    Attributes
    ----------
    category : str
        What it is.
    ids : numpy.ndarray of int64
        Token ids, in order.
    """

    category: str
    ids: npt.NDArray[np.int64]


def read_texts() -> tuple[tuple[Text, ...], int]:
    """Return the texts and the size of their common vocabulary.

    They are Python's reference manual, as `help()` shows it, and the documentation inside the
    modules of its library. Both change with Python's version.

    Raises
    ------
    UserError
        This Python comes without them.
    """
    plain = {"manual": _manual(), "docstrings": _docstrings()}
    split = {name: _TOKEN.findall(text) for name, text in plain.items()}
    counts = Counter(token for tokens in split.values() for token in tokens)
    by_rank = sorted(counts, key=lambda token: (-counts[token], token))
    known = set(by_rank[:WORDS]) | {each for text in plain.values() for each in text}
    ids = {token: number for number, token in enumerate(sorted(known))}
    texts = tuple(
        Text(name, np.fromiter(_encode(tokens, ids), np.int64)) for name, tokens in split.items()
    )
    return texts, len(ids)


def _encode(tokens: list[str], ids: dict[str, int]) -> Iterator[int]:
    """Spell tokens that the vocabulary lacks."""
    for token in tokens:
        if token in ids:
            yield ids[token]
        else:
            yield from (ids[character] for character in token)


def _manual() -> str:
    try:
        from pydoc_data.topics import topics
    except ImportError as fault:
        raise UserError(
            "the n-gram pair is trained on Python's own manual, but this Python has no module"
            " pydoc_data.topics; use another Python, or another trace"
        ) from fault
    return "\n".join(topics[name] for name in sorted(topics))


def _docstrings() -> str:
    """Return what stands between triple quotes in the modules at the top of the library."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    try:
        sources = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))]
    except (OSError, ValueError) as fault:
        raise UserError(f"the library of this Python cannot be read: {fault}") from fault
    text = "\n".join(part for source in sources for part in _DOCSTRING.findall(source))
    if not text:
        raise UserError(
            f"the n-gram pair is trained on the library's sources, but {folder} has none; use"
            " another Python, or another trace"
        )
    return text
