# SPDX-License-Identifier: Apache-2.0
"""Language models that count: interpolated n-grams with absolute discount."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

DISCOUNT = 0.75
"""Taken from every count and given to the next lower order (Ney, Essen and Kneser 1994)."""

_ABSENT = -1


class NGram:
    """Counts of all n-grams of a text up to an order, and the distributions that follow.

    Each n-gram is stored under one integer, that of its first n - 1 tokens times the size of the
    vocabulary plus its last token. The integers of one order are sorted, so that all tokens seen
    after a context stand together.

    Parameters
    ----------
    ids : numpy.ndarray of int64, shape (tokens,)
        The text, at least `order` tokens, values 0..vocab_size-1.
    order : int
        Longest n-gram, at least 1.
    vocab_size : int
        Number of token ids, below 2^31.
    """

    def __init__(self, ids: npt.NDArray[np.int64], order: int, vocab_size: int) -> None:
        self.order = order
        self.vocab_size = vocab_size
        self._keys: list[npt.NDArray[np.int64]] = []
        self._counts: list[npt.NDArray[np.int64]] = []
        code = np.zeros(ids.size + 1, np.int64)  # the empty context, before each token
        for n in range(1, order + 1):
            keys, code, counts = np.unique(
                code[: ids.size - n + 1] * vocab_size + ids[n - 1 :],
                return_inverse=True,
                return_counts=True,
            )
            self._keys.append(keys)
            self._counts.append(counts)
        self._find = lru_cache(maxsize=1 << 16)(self._find_unhurried)

    def distribution(self, context: Sequence[int], order: int) -> npt.NDArray[np.float64]:
        """Return the probability of each token after a context, shape (vocab_size,); none is 0.

        Parameters
        ----------
        context : sequence of int
            Tokens before; the last `order` - 1 matter, and fewer than these may be there.
        order : int
            Longest n-gram to use, 1..`self.order`.
        """
        p = np.full(self.vocab_size, 1 / self.vocab_size)
        for n in range(1, min(order, len(context) + 1) + 1):
            known = self._find(tuple(context[len(context) - n + 1 :]))
            if known == _ABSENT:
                break  # then no longer context was seen either
            keys, counts = self._keys[n - 1], self._counts[n - 1]
            first, last = np.searchsorted(
                keys, (known * self.vocab_size, (known + 1) * self.vocab_size)
            )
            if first == last:
                break  # seen at the end of the text only
            seen, total = counts[first:last], counts[first:last].sum()
            p *= DISCOUNT * seen.size / total
            p[keys[first:last] - known * self.vocab_size] += (seen - DISCOUNT) / total
        return p

    def _find_unhurried(self, gram: tuple[int, ...]) -> int:
        """Return the rank of an n-gram among those of its order, or `_ABSENT`."""
        if not gram:
            return 0
        before = self._find(gram[:-1])
        if before == _ABSENT:
            return _ABSENT
        keys = self._keys[len(gram) - 1]
        key = before * self.vocab_size + gram[-1]
        rank = int(np.searchsorted(keys, key))
        return rank if rank < keys.size and keys[rank] == key else _ABSENT


def tempered(p: npt.NDArray[np.float64], temperature: float) -> npt.NDArray[np.float64]:
    """Return a distribution at a temperature above 0."""
    if temperature == 1:
        return p
    powered = p ** (1 / temperature)
    return powered / powered.sum()
