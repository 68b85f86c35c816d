# SPDX-License-Identifier: Apache-2.0
"""The largest elements of a row, against sorting, in parts, and at other sizes on the RTL."""

from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahasd.rtl.aau import oracle
from ahasd.rtl.aau.encodings import Command, Op
from ahasd.rtl.aau.golden import AauGolden
from ahasd.rtl.aau.numerics import CHEAP
from ahasd.rtl.aau.params import AauParams, Operation
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import ints
from ahasd.rtl.aau.rows import Beat
from ahasd.rtl.configs import UNITS
from ahasd.sim.registry import make_engine

FP16 = Format.FP16
NAN, INFINITY, MASK = 0x7E00, 0x7C00, 0xFC00
GOLDEN = AauGolden(AauParams())
CODES = st.one_of(
    st.integers(0, 0xFFFF), st.sampled_from([NAN, INFINITY, MASK, 0, 0x8000, 1, 0x3C00, 0x3C01])
)


def row(x):
    return Beat(ints(x), ints([0] * len(x)), ints([0] * len(x)))


def top(x, golden=GOLDEN, form=FP16, **fields):
    """Return the places that are told of a row."""
    command = Command(op=Op.TOP, length=len(x), x_format=form, **fields)
    return places(golden.run(command, row(x)).summaries)


def places(told):
    assert [each.empty for each in told] == sorted(each.empty for each in told), "empty ones last"
    return [each.index for each in told if not each.empty]


def sorted_places(x, count, form=FP16):
    """Return the same by sorting numbers; subnormal ones are 0, and a mask has no place."""
    with np.errstate(invalid="ignore"):  # no numbers
        values = oracle.floats(ints(x), form)
    if form.floating:
        values = np.where(np.abs(values) < 2.0 ** (1 - form.bias), 0.0, values)
    sound = [i for i, value in enumerate(values) if not np.isnan(value) and value != -np.inf]
    return sorted(sound, key=lambda i: (-values[i], i))[:count]


@settings(max_examples=150, deadline=None)
@given(st.lists(CODES, max_size=70), st.sampled_from([1, 2, 5, 8]), st.sampled_from([1, 4, 16]))
def test_they_are_those_that_sorting_finds(x, count, lanes):
    golden = AauGolden(AauParams(lanes=lanes, top_k=count))
    assert top(x, golden) == sorted_places(x, count)


@pytest.mark.parametrize("form", [Format.BF16, Format.INT8, Format.INT32])
def test_they_are_found_in_every_format(form):
    x = np.random.default_rng(1).integers(0, 1 << form.width, 300)
    assert top(x.tolist(), form=form) == sorted_places(x, 8, form)


def test_of_equals_the_first_ones_are_told_in_their_order():
    x = [0x3C00] * 100
    assert top(x, first_index=7) == list(range(7, 15))
    assert top([0, 0x8000, 1, 0x83FF]) == [0, 1, 2, 3], "all of them are zeros"


def test_a_short_or_masked_row_has_fewer():
    outcome = GOLDEN.run(Command(op=Op.TOP, length=5), row([MASK, 0x3C00, NAN, 0x4000, MASK]))
    told = outcome.summaries
    assert [(each.index, each.empty) for each in told[:3]] == [(3, 0), (1, 0), (0, 1)]
    assert [each.key for each in told[2:]] == [-(2**31)] * 6
    assert all(each.nan for each in told), "there was what is no number"
    assert top([MASK] * 40) == []
    assert top([]) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(CODES, min_size=1, max_size=80), st.lists(st.integers(0, 80), max_size=4),
       st.randoms())  # fmt: skip
def test_parts_in_any_order_are_the_whole(x, cuts, random):
    bounds = sorted({0, len(x), *(cut for cut in cuts if cut < len(x))})
    command = Command(op=Op.TOP, length=len(x))
    states = []
    for begin, end in pairwise(bounds):
        part = replace(command, exports=1, length=end - begin, first_index=begin)
        exported = GOLDEN.run(part, row(x[begin:end])).exported
        assert len(exported) == 8
        assert [state.count for state in exported] == [end - begin] + [0] * 7
        states += exported
    random.shuffle(states)
    merged = GOLDEN.run(replace(command, reduces=0), row(x), tuple(states))
    assert places(merged.summaries) == sorted_places(x, 8)
    assert merged.summaries == GOLDEN.run(command, row(x)).summaries
    assert merged.state.count == len(x)
    # What is merged may come before a row, too.
    behind = row([0x7BFF] * 3)
    both = GOLDEN.run(Command(op=Op.TOP, length=3, first_index=len(x)), behind, tuple(states))
    assert places(both.summaries) == sorted_places([*x, *[0x7BFF] * 3], 8)


def test_cycles_worked_by_hand():
    # 1000 elements on 16 lanes are 63 beats, and each takes as many cycles as there are places. The
    # last is compared from its second cycle on. A command is a cycle, every summary one.
    assert AauParams().cycles(Operation.TOP, 1000) == 1 + (62 * 8 + 1 + 8 + 1) + 8
    assert AauParams(top_k=2).cycles(Operation.TOP, 1000) == 1 + (62 * 2 + 1 + 2 + 1) + 2
    # Four ranks: each exports its places, and merges 32, eight cycles each.
    merging = 1 + 32 * 8 + 8
    assert AauParams().cycles(Operation.TOP, 1000, 4) == 1 + (62 * 8 + 10) + 8 + merging


def test_a_unit_without_them_does_nothing():
    params = AauParams(top_k=0)
    with pytest.raises(ValueError, match="top_k must be at least 1 for the largest elements"):
        params.cycles(Operation.TOP, 10)
    told = AauGolden(params).run(Command(op=Op.TOP, length=3), row([1, 2, 3])).summaries
    assert len(told) == 1
    assert (told[0].empty, told[0].index, told[0].nan) == (0, 0, 0)
    with pytest.raises(ValueError, match=r"top_k must be in 0\.\.8, not 9"):
        AauParams(top_k=9)


@pytest.mark.full
@pytest.mark.parametrize(("lanes", "count"), [(1, 2), (4, 1), (2, 8), (2, 0)])
def test_the_rtl_finds_them_at_other_sizes(lanes, count, traffic, drive):
    params = replace(UNITS["aau"].configurations["test"], lanes=lanes, top_k=count, numerics=CHEAP)
    source, rng = traffic(params, 3), Random(3)
    driver = drive(params, make_engine("aau", params, "golden"), make_engine("aau", params, "rtl"))
    for number in range(150):
        job = source.job((Op.TOP, Op.TOP, Op.MAX, Op.STATISTICS, Op.ADD)[number % 5])
        run = driver.run(job, rng.choice((0, 0.3)), rng.choice((0, 0.4)))
        source.states = [*source.states[-40:], *((job.command.op, each) for each in run.exported)]
