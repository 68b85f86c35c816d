# SPDX-License-Identifier: Apache-2.0
import math
from collections import Counter

import numpy as np
import pytest

from ahasd.system.workload.ngram import NGram, tempered

TEXT = np.array([0, 1, 0, 1, 2, 0, 1, 0, 2, 2])
"""Of a vocabulary of four, whose last token never comes."""


def _by_counting(context, order, vocab_size=4, discount=0.75):
    """The same law from its definition, n-gram by n-gram."""
    p = [1 / vocab_size] * vocab_size
    text = TEXT.tolist()
    for n in range(1, order + 1):
        before = tuple(context[len(context) - n + 1 :]) if n > 1 else ()
        if len(before) < n - 1:
            break
        after = Counter(
            text[i + n - 1]
            for i in range(len(text) - n + 1)
            if tuple(text[i : i + n - 1]) == before
        )
        if not after:
            break
        total = sum(after.values())
        p = [
            (max(after[w] - discount, 0) + discount * len(after) * p[w]) / total
            for w in range(vocab_size)
        ]
    return p


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "context", [[], [0], [1], [2], [3], [0, 1], [1, 0], [2, 2], [3, 0], [0, 1, 0], [9 % 4, 2, 0, 1]]
)
def test_distributions_are_those_of_the_definition(context, order):
    model = NGram(TEXT, 4, 4)
    p = model.distribution(context, order)
    assert p == pytest.approx(_by_counting(context, order), rel=1e-12)
    assert p.sum() == pytest.approx(1, rel=1e-12)
    assert (p > 0).all()


def test_one_order_by_hand():
    """0 four times, 1 three, 2 three, of ten; 0.75 off each, 2.25 / 10 spread over four."""
    p = NGram(TEXT, 1, 4).distribution([], 1)
    assert p == pytest.approx([0.38125, 0.28125, 0.28125, 0.05625])


def test_a_context_that_ends_the_text_falls_back():
    model = NGram(np.array([0, 1, 2]), 2, 3)
    assert model.distribution([2], 2) == pytest.approx(model.distribution([], 1))


def test_a_model_takes_the_last_tokens_of_a_long_context():
    model = NGram(TEXT, 3, 4)
    assert (model.distribution([2, 2, 2, 0, 1], 3) == model.distribution([0, 1], 3)).all()
    assert (model.distribution([0, 1], 3) != model.distribution([1], 3)).any()


def test_temperatures():
    p = np.array([0.5, 0.25, 0.25])
    assert tempered(p, 1) is p
    assert tempered(p, 0.5) == pytest.approx([4 / 6, 1 / 6, 1 / 6])
    assert tempered(p, 2) == pytest.approx(np.sqrt(p) / np.sqrt(p).sum())
    assert math.isclose(tempered(p, 0.01)[0], 1)
