# SPDX-License-Identifier: Apache-2.0
"""Entropies and probabilities of a trace as the AAU would have given them."""

import struct

import numpy as np
import pytest

from ahasd.rtl.aau.golden import AauGolden
from ahasd.rtl.aau.params import AauParams
from ahasd.system.numerics.logits import TAILS
from ahasd.system.numerics.statistics import (
    aau_statistics,
    decoded,
    encoded,
    statistics,
    with_statistics,
)


@pytest.fixture
def trace(build_trace):
    entropies = [[0.2, 1.0], [1.5, 2.5], [0.7, 4.0]]
    return build_trace(
        [([1, 2, 3], [[1, 2], [2, 9], [3, 1]])], entropies=entropies, vocab_size=2048
    )


@pytest.mark.parametrize("value", [0.0, 1.0, -2.5, 20.0, 19.96875, 0.1, -13.37, 1.00390625])
def test_formats_are_those_of_ieee(value):
    half = struct.unpack("<H", struct.pack("<e", value))[0]
    assert encoded(np.array([value]), "fp16").tolist() == [half]
    single = struct.unpack("<I", struct.pack("<f", value))[0]
    lower, rest = single >> 16, single & 0xFFFF
    up = rest > 0x8000 or (rest == 0x8000 and lower & 1)
    assert encoded(np.array([value]), "bf16").tolist() == [lower + up]
    assert decoded(np.array([half]), "fp16")[0] == struct.unpack("<e", struct.pack("<H", half))[0]
    assert decoded(np.array([lower]), "bf16")[0] == pytest.approx(value, rel=2**-7)


def test_entropy_and_probability_of_a_row_by_hand():
    golden = AauGolden(AauParams())
    flat = encoded(np.full(1024, 3.0), "fp16")
    entropy, probability = aau_statistics(flat, "fp16", golden)
    assert entropy == pytest.approx(np.log(1024), abs=1e-3)
    assert probability == pytest.approx(1 / 1024, rel=1e-3)


@pytest.mark.parametrize("form", ["fp16", "bf16"])
@pytest.mark.parametrize("tail", TAILS)
def test_the_aau_is_within_its_budget_of_the_same_logits(trace, tail, form):
    found = statistics(trace, tail, form)
    assert found.exact.shape == (2, 3, 2)
    # Of 0.5 and 0.25 the trace's rows of small entropy have no tail: those are met nearest.
    assert np.abs(found.aau - found.rounded)[0].max() <= 0.01
    assert np.abs(found.aau / found.rounded - 1)[1].max() <= 1e-3
    # A logit of 20 has 2^-6 between neighbours in FP16, 2^-3 in BF16.
    step = {"fp16": 2**-7, "bf16": 2**-4}[form]
    assert np.abs(found.rounded / found.exact - 1)[1].max() <= 2 * step


def test_only_the_rows_that_are_asked_for(trace):
    done = []
    some = statistics(trace, "power", "fp16", rows=np.array([2]), progress=done.append)
    whole = statistics(trace, "power", "fp16")
    assert some.exact.shape == (2, 1, 2)
    assert done == [1]
    assert some.exact[0, 0] == pytest.approx(whole.exact[0, 2], abs=1e-9)


def test_a_trace_with_other_numbers_is_the_same_otherwise(trace):
    found = np.array([[[0.5, 1.0], [1.5, 99.0], [0.7, 3.0]], [[0.5, 0.25], [0.5, 0.5], [1.0, 0.5]]])
    other = with_statistics(trace, found, "changed")
    assert other.h_nats.tolist()[0] == [0.5, 1.0]
    assert other.h_nats[1, 1] == pytest.approx(np.log(2048))  # no more than the vocabulary allows
    # 0.5 became 0.25: what goes with it halves.
    assert (other.p_top1[0, 1], other.p_top2[0, 1], other.p_tok[0, 1]) == (0.25, 0.125, 0.25)
    assert (other.tok == trace.tok).all()
    assert (other.run == trace.run).all()
    assert other.source == "changed"
