# SPDX-License-Identifier: Apache-2.0
"""Non-linear operators: what models need, by hand and by published totals; times worked by hand."""

from collections import Counter

import pytest

from ahasd.rtl.aau.params import AauParams, Operation
from ahasd.system.devices.nonlinear import (
    aau_cycles,
    attended_by,
    on_aau,
    on_npu,
    operators,
    step_passes,
    trips,
)
from ahasd.system.model import load_model
from ahasd.system.platform import load_platform

ROUND = {"npu.round_trip_ns": "1000", "npu.vector_elements_per_cycle": "8192"}


def no_time(_: int) -> int:
    return 0


def counted(shape, attended: int) -> Counter:
    elements = Counter()
    for each in operators(shape, attended):
        elements[each.operation] += each.elements
    return elements


def aau(shape, rows=1, context=0, *, ranks=1, lanes=16, transfer_ps=no_time):
    return on_aau(
        shape,
        rows,
        context,
        params=AauParams(lanes=lanes),
        ranks=ranks,
        period_ps=1250,
        transfer_ps=transfer_ps,
    )


# Thousands of elements a token at 1024 keys: norm, softmax, activation, RoPE, residual, vocabulary.
# The published table counts two normalisations a layer for PaLM as well (266), whose layer has one.
PUBLISHED = {
    "opt-1.3b": (100, 786, 197, 0, 98, 50),
    "llama2-7b": (266, 1049, 352, 262, 262, 32),
    "palm-8b": (135, 524, 524, 139, 262, 256),
}


@pytest.mark.parametrize("model", PUBLISHED)
def test_elements_of_a_token_are_the_published_ones(model):
    elements = counted(load_model(model), 1024)
    norm = elements[Operation.LAYERNORM] + elements[Operation.RMSNORM]
    activation = elements[Operation.RELU] + elements[Operation.SILU]
    found = (
        norm,
        elements[Operation.SOFTMAX],
        activation,
        elements[Operation.ROPE],
        elements[Operation.ADD],
        elements[Operation.STATISTICS],
    )
    assert tuple(round(count / 1000) for count in found) == PUBLISHED[model]


@pytest.mark.parametrize(("model", "total"), [("opt-1.3b", "1.23"), ("llama2-7b", "2.22")])
def test_total_of_a_token_is_the_published_one(model, total):
    assert f"{counted(load_model(model), 1024).total() / 1e6:.2f}" == total


def test_a_parallel_block_has_one_normalisation_a_layer():
    palm = load_model("palm-8b")
    assert counted(palm, 1)[Operation.LAYERNORM] == 33 * 4096
    serial = load_model("palm-8b", {"parallel_block": "false"})
    assert counted(serial, 1)[Operation.LAYERNORM] == 65 * 4096


@pytest.mark.parametrize(
    ("model", "a_layer", "layers"),
    [("opt-1.3b", 4, 24), ("llama2-7b", 4, 32), ("palm-8b", 3, 32)],
)
def test_trips_are_four_a_layer_or_three_in_a_parallel_block_and_two_a_step(model, a_layer, layers):
    assert trips(load_model(model)) == a_layer * layers + 2


def test_no_packaged_model_uses_gelu_and_a_shape_may():
    shape = load_model("tiny-draft", {"activation": "gelu"})
    assert counted(shape, 1)[Operation.GELU] == 2 * 384


def test_rows_see_the_cache_and_those_up_to_their_own():
    assert attended_by(3, 100) == 101 + 102 + 103
    assert attended_by(1, 0) == 1


def test_a_token_that_sees_nothing_is_refused():
    with pytest.raises(ValueError, match="attended = 0 must be at least 1"):
        operators(load_model("tiny-draft"), 0)


# Cycles of each beat but the first, and besides: what tests/rtl/aau measures on the hardware.
NORM, SOFTMAX, ADD, SILU, ROPE, STATISTICS = (
    (3, 115), (2, 67), (1, 9), (4, 20), (2, 10), (2, 155),
)  # fmt: skip


def cycles(operation: tuple[int, int], beats: int, parts: int = 1) -> int:
    """Return the cycles of a command; a shared vector needs a second one that merges states."""
    a_beat, besides = operation
    merge = 3 if operation is STATISTICS else 2
    return a_beat * (beats - 1) + besides + (2 + merge * parts if parts > 1 else 0)


def test_time_on_one_aau_worked_by_hand():
    # tiny-draft: 2 layers of 128 wide, 4 heads of 32, gated 384, 1024 tokens; 9 keys are seen.
    norm = cycles(NORM, 8)
    layer = (
        2 * norm  # two normalisations of 128 elements
        + 2 * cycles(ADD, 8)
        + 4 * cycles(SOFTMAX, 1)  # 4 heads, 9 elements each
        + cycles(SILU, 24)
        + cycles(ROPE, 16)  # 4 query and 4 key heads
    )
    token = norm + cycles(STATISTICS, 64)
    task = aau(load_model("tiny-draft"), context=8)
    assert [phase.name for phase in task.phases] == ["transfer", "nonlinear"]
    assert task.phases[1].compute_ps == (2 * layer + token) * 1250
    # One rank has nothing to merge.
    assert task.events.read_bytes == task.events.write_bytes == 0
    passes = 2 * (4 * 128 + 256 + 2 * 4 * 9 + 384 + 256) + 2 * 128 + 1024
    assert passes == step_passes(load_model("tiny-draft"), 1, 8)
    assert task.events.aau_cycles == 2 * layer + token


def test_four_ranks_take_a_head_and_a_quarter_of_each_vector_and_merge_states():
    sent = []

    def transfer_ps(size: int) -> int:
        sent.append(size)
        return size * 10

    norm = cycles(NORM, 2, parts=4)
    # Two additions on four ranks are one for each pair, of half a vector.
    layer = 2 * norm + cycles(ADD, 4) + cycles(SOFTMAX, 1) + cycles(SILU, 6) + cycles(ROPE, 4)
    token = norm + cycles(STATISTICS, 16, parts=4)
    task = aau(load_model("tiny-draft"), context=8, ranks=4, transfer_ps=transfer_ps)
    assert task.phases[1].compute_ps == (2 * layer + token) * 1250
    # Five normalisations and the statistics, 32 bytes from each of four ranks, out and back.
    assert sent == [2 * 6 * 4 * 32]
    assert task.events.read_bytes == task.events.write_bytes == 6 * 4 * 32
    assert task.phases[0].memory_ps == 10 * sent[0]


def test_cycles_of_all_ranks_worked_by_hand():
    params, shape = AauParams(), load_model("tiny-draft")
    # As above: five normalisations in four parts each, the heads one to a rank.
    expected = {
        Operation.RMSNORM: 5 * 4 * cycles(NORM, 2, parts=4),
        Operation.ADD: 2 * 2 * 2 * cycles(ADD, 4),  # two vectors, each on two ranks
        Operation.SOFTMAX: 2 * 4 * cycles(SOFTMAX, 1),
        Operation.SILU: 2 * 4 * cycles(SILU, 6),
        Operation.ROPE: 2 * 4 * cycles(ROPE, 4),
        Operation.STATISTICS: 4 * cycles(STATISTICS, 16, parts=4),
    }
    assert aau_cycles(shape, 1, 8, params=params, ranks=4) == expected
    # No rank waits: together they take four times as long as one of them.
    task = aau(shape, context=8, ranks=4)
    assert sum(expected.values()) * 1250 == 4 * task.phases[1].compute_ps
    # Of three ranks, two wait while one has a second head.
    fewer = aau_cycles(shape, 1, 8, params=params, ranks=3)
    assert fewer[Operation.SOFTMAX] == expected[Operation.SOFTMAX]
    assert fewer.total() * 1250 < 3 * aau(shape, context=8, ranks=3).phases[1].compute_ps


def test_a_head_is_spread_over_ranks_where_there_are_more_ranks_than_heads():
    few = aau(load_model("tiny-draft"), context=1023, ranks=4)
    many = aau(load_model("tiny-draft"), context=1023, ranks=8)
    # 1024 scores on one rank, 512 on each of two, in each of two layers.
    softmax = 2 * (2 * 64 - 2 * 32 - (2 + 2 * 2))  # two states are merged
    # Every vector's slice is half as long, and of eight ranks there are four states more.
    norm = 3 - 2 * 4
    rest = 2 * (2 * norm + 2 + 4 * 3 + 2 * 2) + norm + (2 * 8 - 3 * 4)
    assert few.phases[1].compute_ps - many.phases[1].compute_ps == (softmax + rest) * 1250


def test_rows_follow_one_another_and_each_sees_one_key_more():
    shape = load_model("llama2-7b")
    both = aau(shape, rows=2, context=100, ranks=12)
    single = [aau(shape, context=context, ranks=12) for context in (100, 101)]
    assert both.alone_ps == sum(task.alone_ps for task in single)
    assert both.events == single[0].events + single[1].events
    found = aau_cycles(shape, 2, 100, params=AauParams(), ranks=12)
    assert both.events.aau_cycles == found.total()


def test_beats_of_a_draft_token_take_the_published_time_and_the_hardware_takes_longer():
    # Published for the three draft models at 1024 keys: 10 to 19 us on 16 AAUs of 16 lanes.
    for model in PUBLISHED:
        shape = load_model(model)
        beats_us = step_passes(shape, 1, 1023) / (16 * 16 * 800)
        assert 10 < beats_us < 19
        task = aau(shape, context=1023, ranks=16)
        assert 16 * task.events.aau_cycles > step_passes(shape, 1, 1023)  # an element a lane
        assert task.alone_ps / 1e6 > beats_us  # norms, RoPE and activations use a lane repeatedly


def test_a_trip_to_the_npu_worked_by_hand():
    npu = load_platform("mobile-paper", ROUND).npu
    sent = []

    def transfer_ps(size: int) -> int:
        sent.append(size)
        return 3 * size

    task = on_npu(load_model("tiny-draft"), 1, 8, npu=npu, transfer_ps=transfer_ps)
    # Two layers, two bytes, four heads with nine keys each; all else travels with the products.
    scores = 2 * 2 * 4 * 9
    assert (task.events.read_bytes, task.events.write_bytes) == (scores, scores)
    assert sent == [2 * scores]
    assert task.phases[0].memory_ps == 3 * 2 * scores
    # Ten trips of 1 us; 4,240 element passes fit one line of the vector unit.
    assert task.phases[1].compute_ps == 10 * 1_000_000 + 1000
    assert task.events.vector_ops == 4240
    # One after the other: transfers do not overlap with waiting.
    assert task.alone_ps == task.phases[0].memory_ps + task.phases[1].compute_ps


def test_a_parallel_block_makes_one_trip_fewer_a_layer():
    npu = load_platform("mobile-paper", ROUND).npu
    shape = load_model("tiny-draft", {"parallel_block": "true"})
    task = on_npu(shape, 1, 8, npu=npu, transfer_ps=no_time)
    assert task.phases[1].compute_ps == 8 * 1_000_000 + 1000


def test_trips_add_the_published_shares_to_a_draft_step():
    # 1 us a trip adds 6 % to 1.72 ms of OPT-1.3B, 2 % to 8.39 ms of LLaMA2-7B.
    for model, step_ms, share in (("opt-1.3b", 1.72, 6), ("llama2-7b", 8.39, 2)):
        assert round(trips(load_model(model)) * 1e-3 / step_ms * 100) == share


def test_all_rows_of_a_step_share_its_trips():
    npu = load_platform("mobile-paper", ROUND).npu
    shape = load_model("llama2-7b")
    one, four = (on_npu(shape, rows, 100, npu=npu, transfer_ps=no_time) for rows in (1, 4))
    waiting = 130 * 1_000_000
    assert one.phases[1].compute_ps > waiting
    assert four.phases[1].compute_ps - waiting < 4 * (one.phases[1].compute_ps - waiting) + 4000
    assert four.events.vector_ops == step_passes(shape, 4, 100)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": 0}, "rows = 0 must be at least 1"),
        ({"context": -1}, "context = -1 must not be negative"),
        ({"ranks": 0}, "ranks = 0 must be at least 1"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        aau(load_model("tiny-draft"), **arguments)


def test_a_step_of_the_npu_without_rows_or_with_a_negative_context_is_refused():
    npu = load_platform("mobile-paper").npu
    shape = load_model("tiny-draft")
    with pytest.raises(ValueError, match="rows = 0 must be at least 1"):
        on_npu(shape, 0, 0, npu=npu, transfer_ps=no_time)
    with pytest.raises(ValueError, match="context = -1 must not be negative"):
        step_passes(shape, 1, -1)
