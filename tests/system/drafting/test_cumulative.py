# SPDX-License-Identifier: Apache-2.0
"""The rules that follow a product over the batch: SADDLE and SpecDec++."""

import dataclasses
import math
import random

import numpy as np
import pytest

from ahasd import UserError
from ahasd.system.drafting.base import Drafting
from ahasd.system.drafting.logistic import Logistic
from ahasd.system.drafting.saddle import Saddle
from ahasd.system.drafting.specdecpp import (
    SpecDecPp,
    SpecDecPpOptions,
    logistic_head,
    recorded_head,
)
from ahasd.system.workload.replay import replay


def _probabilities(count=400):
    draw = random.Random(1)
    return [draw.random() ** 0.3 for _ in range(count)]


def _stops(rule, tokens):
    """Return the lengths of batches over one stream of tokens, without any limit."""
    drafting = Drafting(rule, k_max=10**6)
    stops, length = [], 0
    for token in tokens:
        length += 1
        if drafting.observe(token).name == "STOP_KEEP":
            stops.append(length)
            length = 0
    return stops


def _expected(factors, stops_at):
    """Return the same by multiplication; stops_at decides from a batch's factors so far."""
    stops, batch = [], []
    for factor in factors:
        batch.append(factor)
        if stops_at(batch):
            stops.append(len(batch))
            batch = []
    return stops


def test_saddle_stops_below_its_threshold_as_worked_out_by_hand(token, lengths):
    # 0.9, 0.72, 0.576, 0.288; a new batch begins at 1.
    batch = [token(p_token=p, p_top1=0.99) for p in (0.9, 0.8, 0.8, 0.5, 0.9)]
    assert lengths(Drafting(Saddle(tau=0.5)), [batch, batch]) == [4, 4]
    assert lengths(Drafting(Saddle(tau=0.6)), [batch]) == [3]
    assert lengths(Drafting(Saddle(tau=0.75)), [batch]) == [2]


def test_saddle_goes_on_at_exactly_its_threshold(token, lengths):
    batch = [token(p_token=p) for p in (0.5, 0.5, 1.0, 0.5)]
    assert lengths(Drafting(Saddle(tau=0.25)), [batch]) == [4]


@pytest.mark.parametrize("tau", [0.05, 0.1, 0.2, 0.3, 0.5, 0.9])
def test_saddle_agrees_with_the_product(token, tau):
    factors = _probabilities()
    stops = _stops(Saddle(tau), [token(p_token=p) for p in factors])
    assert stops == _expected(factors, lambda batch: math.prod(batch) < tau)
    assert len(stops) > 10


def test_saddle_stops_at_a_probability_of_zero(token, lengths):
    batch = [token(p_token=p) for p in (1.0, 0.0, 1.0)]
    assert lengths(Drafting(Saddle(tau=1e-300)), [batch, batch]) == [2, 2]


def test_saddle_with_a_threshold_of_one_stops_at_the_first_doubt(token, lengths):
    batch = [token(p_token=p) for p in (1.0, 1.0, 0.999, 1.0)]
    assert lengths(Drafting(Saddle(tau=1.0)), [batch]) == [3]


def test_specdecpp_leaves_the_newest_token_out_as_the_authors_code_does(token, lengths):
    # Products behind tokens 1, 2, ...: 1, 0.8, 0.64, 0.576; more than 0.3 is lost behind token 3.
    batch = [token(a_hat=a) for a in (0.8, 0.8, 0.9, 0.1, 0.1)]
    assert lengths(Drafting(SpecDecPp(recorded_head, h=0.3)), [batch, batch]) == [3, 3]
    assert lengths(Drafting(SpecDecPp(recorded_head, h=0.4)), [batch]) == [4]
    assert lengths(Drafting(SpecDecPp(recorded_head, h=0.3, lags=False)), [batch]) == [2]


def test_specdecpp_drafts_two_tokens_at_least_where_it_lags(token, lengths):
    batch = [token(a_hat=0.0)] * 4
    assert lengths(Drafting(SpecDecPp(recorded_head, h=0.0)), [batch]) == [2]
    assert lengths(Drafting(SpecDecPp(recorded_head, h=0.0, lags=False)), [batch]) == [1]


def test_specdecpp_forgets_an_abandoned_batch(token, lengths):
    drafting = Drafting(SpecDecPp(recorded_head, h=0.3))
    assert lengths(drafting, [[token(a_hat=0.1)], [token(a_hat=0.8)] * 4]) == [1, 3]


@pytest.mark.parametrize("h", [0.1, 0.3, 0.5, 0.7])
def test_specdecpp_agrees_with_the_product(token, h):
    factors = _probabilities()
    tokens = [token(a_hat=p) for p in factors]
    stops = _stops(SpecDecPp(recorded_head, h), tokens)
    assert stops == _expected(factors, lambda batch: 1 - math.prod(batch[:-1]) > h)
    prompt = _stops(SpecDecPp(recorded_head, h, lags=False), tokens)
    assert prompt == _expected(factors, lambda batch: 1 - math.prod(batch) > h)
    assert min(len(stops), len(prompt)) > 10


def test_the_stand_in_head_knows_top_1_probability_and_root_of_the_entropy(token):
    head = logistic_head(Logistic((5.80, 0.14), -2.31))
    # logits 3.49, and 2.9 + 0.28 - 2.31 = 0.87
    assert head(token(p_top1=1.0, entropy_nats=0.0)) == pytest.approx(1 / (1 + math.exp(-3.49)))
    assert head(token(p_top1=0.5, entropy_nats=4.0)) == pytest.approx(1 / (1 + math.exp(-0.87)))


def test_the_default_head_has_the_given_weights(token):
    default = SpecDecPpOptions().build_rule().head
    assert default(token(p_top1=0.5, entropy_nats=4.0)) == pytest.approx(1 / (1 + math.exp(-0.87)))
    other = SpecDecPpOptions(p_top1_weight=1, root_entropy_weight=-1, bias=0.5).build_rule().head
    assert other(token(p_top1=0.5, entropy_nats=4.0)) == pytest.approx(1 / (1 + math.exp(1.0)))


def test_a_recorded_head_needs_the_column(token):
    rule = SpecDecPpOptions(head="a_hat").build_rule()
    with pytest.raises(UserError, match="reads the trace's column a_hat, but the trace has none"):
        rule.trips(1, token())


def test_the_column_of_a_trace_reaches_the_rule(shipped):
    heads = np.full(shipped.tok.shape, 0.8, np.float32)
    trace = dataclasses.replace(shipped, a_hat=heads)
    result = replay(trace, SpecDecPpOptions(head="a_hat", h=0.5, k_max=12).build())
    # 0.8 ** 3 is above a half, and 0.8 ** 4 below: four factors, and the token that lags
    assert set(result.drafted_per_round) == {5}
