# SPDX-License-Identifier: Apache-2.0
import dataclasses

import numpy as np
import pytest

from ahasd import UserError
from ahasd.system.drafting.base import DraftToken
from ahasd.system.workload.playback import DraftChain, TargetStream
from ahasd.system.workload.trace import Trace


def _drafted(stream, pos, count):
    chain = DraftChain(stream, pos)
    return [chain.next() for _ in range(count)], chain


def _tokens(drafts):
    return [draft.token for draft in drafts]


@pytest.fixture
def long_trace(build_trace):
    """One request of 8 tokens, k_max 3; the draft is right except at t = 2 and t = 6."""
    truth = [1, 2, 3, 4, 5, 6, 7, 8]
    return build_trace(
        [
            (
                truth,
                [
                    [1, 2, 30],
                    [2, 30, 31],
                    [30, 31, 32],
                    [4, 5, 6],
                    [5, 6, 70],
                    [6, 70, 71],
                    [70, 71, 72],
                    [8, 90, 91],
                ],
            )
        ],
        entropies=[[t + step / 4 for step in range(3)] for t in range(8)],
        vocab_size=10**6,
    )


def test_the_target_is_the_trace_cycled_to_the_asked_length(micro_trace):
    stream = TargetStream(micro_trace, 12, "stream")
    assert stream.length == 12
    truth = [10, 11, 12, 20, 21]
    assert [stream.target(pos) for pos in range(12)] == truth + truth + truth[:2]


def test_segments_end_with_their_instance_and_with_the_run(micro_trace):
    stream = TargetStream(micro_trace, 12, "requests")
    ends = [stream.segment_end(pos) for pos in range(12)]
    assert ends == [3, 3, 3, 5, 5, 8, 8, 8, 10, 10, 12, 12]


def test_instances_count_on_while_requests_recur(micro_trace):
    stream = TargetStream(micro_trace, 12, "stream")
    assert [stream.instance(pos) for pos in range(12)] == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4]
    assert [stream.request(pos).number for pos in (0, 3, 5, 8)] == [0, 1, 0, 1]
    assert stream.request(9).category == "code"


def test_context_of_one_long_sequence_grows_with_the_position(micro_trace):
    stream = TargetStream(micro_trace, 12, "stream")
    assert [stream.context(pos) for pos in range(12)] == list(range(7, 19))


def test_context_of_single_requests_restarts_from_each_prompt(micro_trace):
    stream = TargetStream(micro_trace, 12, "requests")
    expected = [7, 8, 9, 9, 10, 7, 8, 9, 9, 10, 7, 8]
    assert [stream.context(pos) for pos in range(12)] == expected


def test_a_prompt_of_unknown_length_counts_as_128_tokens(long_trace):
    assert TargetStream(long_trace, 8, "stream").context(3) == 131
    assert TargetStream(long_trace, 16, "requests").context(9) == 129


def test_a_chain_on_path_uses_the_first_step_of_each_row(long_trace):
    drafts, chain = _drafted(TargetStream(long_trace, 8, "stream"), 0, 2)
    assert _tokens(drafts) == [1, 2]
    assert [draft.entropy_nats for draft in drafts] == [0, 1]
    assert chain.on_path
    assert chain.position == 2


def test_a_chain_on_path_is_exact_beyond_k_max(build_trace):
    truth = list(range(10))
    rollouts = [[t, (t + 1) % 10] for t in range(10)]
    trace = build_trace([(truth, rollouts)])
    drafts, chain = _drafted(TargetStream(trace, 10, "stream"), 0, 10)
    assert _tokens(drafts) == truth
    assert not any(draft.off_trace for draft in drafts)
    assert chain.on_path
    assert chain.at_end


def test_a_chain_off_path_follows_the_row_of_the_first_mismatch(long_trace):
    drafts, chain = _drafted(TargetStream(long_trace, 8, "stream"), 1, 4)
    assert _tokens(drafts) == [2, 30, 31, 32]
    assert [draft.entropy_nats for draft in drafts] == [1, 2, 2.25, 2.5]
    assert not any(draft.off_trace for draft in drafts)
    assert not chain.on_path


def test_beyond_the_row_the_last_entry_is_repeated_and_marked(long_trace):
    drafts, chain = _drafted(TargetStream(long_trace, 8, "stream"), 2, 6)
    assert _tokens(drafts) == [30, 31, 32, 32, 32, 32]
    assert [draft.off_trace for draft in drafts] == [False, False, False, True, True, True]
    assert drafts[-1].entropy_nats == 2.5
    assert chain.at_end


def test_a_chain_stays_off_path_even_where_its_token_happens_to_be_right(build_trace):
    trace = build_trace([([1, 2, 3], [[9, 2, 3], [2, 3, 4], [3, 4, 5]])])
    drafts, chain = _drafted(TargetStream(trace, 3, "stream"), 0, 3)
    assert _tokens(drafts) == [9, 2, 3]
    assert not chain.on_path


def test_with_single_step_rows_a_chain_is_off_trace_right_after_a_mismatch(build_trace):
    trace = build_trace([([1, 2, 3], [[9], [2], [3]])])
    drafts, _ = _drafted(TargetStream(trace, 3, "stream"), 0, 3)
    assert _tokens(drafts) == [9, 9, 9]
    assert [draft.off_trace for draft in drafts] == [False, True, True]


def test_a_drafted_token_carries_every_statistic_of_its_entry(micro_trace):
    drafts, _ = _drafted(TargetStream(micro_trace, 5, "stream"), 1, 2)
    assert drafts == [
        DraftToken(91, float(np.float16(0.1)), 0.5, 0.625, 0.25, next_right=False),
        DraftToken(92, float(np.float16(0.2)), 0.5, 0.625, 0.25, next_right=False),
    ]


def test_a_drafted_token_carries_the_output_of_a_head_where_the_trace_has_one(micro_trace):
    heads = np.arange(15, dtype=np.float16).reshape(5, 3) / 16
    trace = dataclasses.replace(micro_trace, a_hat=heads)
    drafts, _ = _drafted(TargetStream(trace, 5, "stream"), 1, 2)
    assert [draft.a_hat for draft in drafts] == [3 / 16, 4 / 16]


@pytest.mark.parametrize("k_max", [1, 2, 3, 5])
def test_a_drafted_token_knows_whether_the_next_one_is_right(build_trace, k_max):
    # Right at 0 to 4 and 6, wrong at 5: rollouts are too short to tell the last token's successor.
    targets = list(range(10, 17))
    rollouts = [
        [99 if t <= 5 <= t + i else targets[min(t + i, 6)] for i in range(k_max)] for t in range(7)
    ]
    trace = build_trace([(targets, rollouts)])
    stream = TargetStream(trace, 7, "stream")
    known = [DraftChain(stream, pos).next().next_right for pos in range(5)]
    assert known == [True, True, True, True, False]
    drafts, _ = _drafted(stream, 3, 4)
    assert [draft.next_right for draft in drafts] == [True, False, False, False]


@pytest.mark.parametrize("playback", ["stream", "requests"])
def test_a_chain_never_crosses_a_seam(micro_trace, playback):
    stream = TargetStream(micro_trace, 12, playback)
    chain = DraftChain(stream, 2)
    assert not chain.at_end
    assert chain.next().token == 12
    assert chain.at_end
    assert chain.on_path
    with pytest.raises(IndexError, match="the request ends at position 3"):
        chain.next()


def test_a_chain_behind_the_last_token_of_its_request_has_nothing_to_draft(micro_trace):
    stream = TargetStream(micro_trace, 12, "stream")
    assert not DraftChain(stream, 3).at_end
    chain = DraftChain(stream, 3, stream.segment_end(2))
    assert chain.at_end
    with pytest.raises(IndexError, match="the request ends at position 3"):
        chain.next()


def test_a_chain_knows_whether_what_comes_next_is_right(long_trace):
    stream = TargetStream(long_trace, 8, "stream")
    assert [DraftChain(stream, pos).next_right for pos in range(8)] == [
        True,
        True,
        False,
        True,
        True,
        True,
        False,
        True,
    ]
    chain = DraftChain(stream, 2)
    chain.next()
    assert not chain.next_right, "nothing behind a wrong token is right"


def test_a_chain_in_a_later_cycle_drafts_as_in_the_first(long_trace):
    stream = TargetStream(long_trace, 80, "stream")
    for pos in range(8):
        first, _ = _drafted(stream, pos, 8 - pos)
        later, _ = _drafted(stream, pos + 72, 8 - pos)
        assert first == later


def test_a_chain_at_the_end_of_the_run_has_nothing_to_draft(micro_trace):
    chain = DraftChain(TargetStream(micro_trace, 4, "stream"), 4)
    assert chain.at_end
    assert chain.position == 4


def test_the_last_segment_is_cut_at_the_length_of_the_run(micro_trace):
    stream = TargetStream(micro_trace, 4, "stream")
    drafts, chain = _drafted(stream, 3, 1)
    assert _tokens(drafts) == [20]
    assert chain.at_end


@pytest.mark.parametrize("method", ["target", "segment_end", "request", "instance", "context"])
@pytest.mark.parametrize("pos", [-1, 12])
def test_positions_outside_the_run_are_refused(micro_trace, method, pos):
    stream = TargetStream(micro_trace, 12, "stream")
    with pytest.raises(IndexError, match=rf"position must lie in 0\.\.11, but it is {pos}"):
        getattr(stream, method)(pos)


def test_a_run_of_no_tokens_is_refused(micro_trace):
    with pytest.raises(UserError, match="tokens must be at least 1, but it is 0"):
        TargetStream(micro_trace, 0, "stream")


@pytest.mark.parametrize("playback", ["loop", ""])
def test_an_unknown_playback_is_refused(micro_trace, playback):
    with pytest.raises(UserError, match=f"must be stream or requests, but it is '{playback}'"):
        TargetStream(micro_trace, 1, playback)


def test_of_a_bernoulli_trace_positions_are_played(parts):
    """Right exactly where `run` says so, also where a rejected token equals the target's."""
    header, columns = parts
    header["coupling"] = "bernoulli"
    columns["run"] = (columns["seq"] + columns["t"]) % 3
    columns["run"] = columns["run"].astype(np.uint8)
    trace = Trace(header=header, **columns)
    stream = TargetStream(trace, trace.rows, "requests")
    assert not stream.tokens_are_real
    assert [stream.target(pos) for pos in range(trace.rows)] == trace.y.tolist()
    for pos in range(trace.rows):
        chain = DraftChain(stream, pos)
        token = chain.next()
        assert chain.on_path == (trace.run[pos] > 0)
        assert token.entropy_nats == trace.h_nats[pos, 0]
        if not chain.on_path and not chain.at_end:
            assert chain.next().entropy_nats == trace.h_nats[pos, 1]


def test_of_a_bernoulli_trace_chains_end_where_a_position_was_rejected(build_trace):
    trace = build_trace(
        [([1, 2, 3, 4], [[7, 7], [2, 7], [7, 7], [7, 7]])], coupling="bernoulli", vocab_size=8
    )
    trace = dataclasses.replace(trace, run=np.array([1, 2, 0, 1], np.uint8))
    drafts, chain = _drafted(TargetStream(trace, 4, "stream"), 0, 4)
    assert _tokens(drafts) == [1, 2, 7, 7]
    assert not chain.on_path
    rejected = dataclasses.replace(trace, run=np.zeros(4, np.uint8))
    drafts, _ = _drafted(TargetStream(rejected, 4, "stream"), 1, 1)
    assert _tokens(drafts) == [3], "not the target's 2, though the rollout says so"


@pytest.mark.parametrize("coupling", ["greedy", "gumbel", "maximal"])
def test_other_couplings_are_played_as_they_are(build_trace, coupling):
    stream = TargetStream(build_trace([([1], [[1]])], coupling=coupling), 1, "stream")
    assert stream.tokens_are_real


@pytest.mark.parametrize("length", [780, 781, 2000])
def test_every_chain_on_the_shipped_trace_accepts_as_many_tokens_as_run_says(shipped, length):
    stream = TargetStream(shipped, length, "stream")
    for pos in range(length):
        chain = DraftChain(stream, pos)
        right = 0
        while not chain.at_end and right < shipped.k_max:
            chain.next()
            if not chain.on_path:
                break
            right += 1
        assert right == min(shipped.run[pos % 781], stream.segment_end(pos) - pos)
