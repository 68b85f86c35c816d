# SPDX-License-Identifier: Apache-2.0
import json
import math
import os

import numpy as np
import pytest

from ahasd import UserError
from ahasd.system.workload.trace import Trace, load_trace


def _set(columns, name, where, value):
    columns[name][where] = value


def _zero_rows(columns):
    for name in columns:
        columns[name] = columns[name][:0]


def _break_shift(columns):
    # Row 212 is on path for 7 steps; row 213 gets another rollout and a run that agrees with it.
    columns["tok"][213, 2] += 1
    columns["run"][213] = 2


# What is broken -> the whole message after the file's name.
BROKEN_HEADERS = {
    "future schema": (
        lambda h: h.update(schema="sd-anchored/2"),
        (
            "schema must be 'sd-anchored/1', but it is 'sd-anchored/2'; dump the trace in that "
            "schema, or use a version of ahasd that knows the other"
        ),
    ),
    "no schema": (
        lambda h: h.pop("schema"),
        (
            "schema must be 'sd-anchored/1', but it is None; dump the trace in that "
            "schema, or use a version of ahasd that knows the other"
        ),
    ),
    "no vocab_size": (
        lambda h: h.pop("vocab_size"),
        "the header lacks vocab_size; add the tokenizer's number of ids",
    ),
    "vocab_size is true": (
        lambda h: h.update(vocab_size=True),
        (
            "vocab_size must be an integer in 2..2147483647, but it is True; "
            "write the tokenizer's number of ids"
        ),
    ),
    "no k_max": (
        lambda h: h.pop("k_max"),
        "the header lacks k_max; add the number of steps in a rollout",
    ),
    "k_max 256": (
        lambda h: h.update(k_max=256),
        "k_max must be an integer in 1..255, but it is 256; write the number of steps in a rollout",
    ),
    "k_max is true": (
        lambda h: h.update(k_max=True),
        (
            "k_max must be an integer in 1..255, but it is True; "
            "write the number of steps in a rollout"
        ),
    ),
    "coupling": (
        lambda h: h.update(coupling="lucky"),
        (
            "coupling must be one of greedy, gumbel, maximal, bernoulli, but it is 'lucky'; "
            "state how draft tokens were judged"
        ),
    ),
    "bits": (
        lambda h: h.update(log="2"),
        "entropies must be in nats (log 'e'), but log is '2'; multiply bits by ln 2 and write 'e'",
    ),
    "short prompt_len": (
        lambda h: h.update(prompt_len=[3]),
        (
            "prompt_len must list one value for each of 12 requests, but it is [3]; "
            "complete it or leave it out"
        ),
    ),
    "negative prompt_len": (
        lambda h: h.update(prompt_len=[1, -5, *[1] * 10]),
        (
            "prompt_len must hold integers of at least 1, but request 1 has -5; "
            "write the prompt's number of tokens, that of its beginning included"
        ),
    ),
    "empty prompt": (
        lambda h: h.update(prompt_len=[*[1] * 11, 0]),
        (
            "prompt_len must hold integers of at least 1, but request 11 has 0; "
            "write the prompt's number of tokens, that of its beginning included"
        ),
    ),
    "category": (
        lambda h: h.update(category=["chat", *[None] * 11]),
        "category must hold strings, but request 1 has None; write the name of the kind of prompt",
    ),
}

BROKEN_COLUMNS = {
    "missing column": (
        lambda c: c.pop("p_top2"),
        "column p_top2 is missing; dump it as docs/trace.md says",
    ),
    "unknown column": (
        lambda c: c.update(p_target=c["p_tok"]),
        (
            "sd-anchored/1 has no column 'p_target'; remove it, or rename it to one of seq, t, y, "
            "tok, h_nats, p_tok, p_top1, p_top2, run, beta, p_tgt, a_hat"
        ),
    ),
    "wrong dtype": (
        lambda c: c.update(tok=c["tok"].astype(np.int64)),
        "column tok must be int32, but it is int64; convert it with astype",
    ),
    "wrong float dtype": (
        lambda c: c.update(h_nats=c["h_nats"].astype(np.float64)),
        "column h_nats must be float16 or float32, but it is float64; convert it with astype",
    ),
    "wrong shape": (
        lambda c: c.update(tok=c["tok"][:, :11]),
        (
            "column tok must have shape (781, 12) (rows of seq, k_max), but it has (781, 11); "
            "give every anchor one row of k_max steps"
        ),
    ),
    "zero rows": (_zero_rows, "the trace has no rows; dump at least one anchor"),
    "first request is 1": (
        lambda c: _set(c, "seq", slice(None), c["seq"] + 1),
        (
            "seq must count requests 0, 1, 2, ... with the rows of each together, but seq is 1 at "
            "row 0; sort the rows by request and number the requests from 0"
        ),
    ),
    "scattered request": (
        lambda c: _set(c, "seq", 60, 0),
        (
            "seq must count requests 0, 1, 2, ... with the rows of each together, but seq is 0 at "
            "row 60; sort the rows by request and number the requests from 0"
        ),
    ),
    "gap in t": (
        lambda c: _set(c, "t", 5, 6),
        (
            "t must count 0, 1, 2, ... inside each request, but t is 6 at row 5; "
            "give every target position its own anchor, in order"
        ),
    ),
    "t does not restart": (
        lambda c: _set(c, "t", 51, 51),
        (
            "t must count 0, 1, 2, ... inside each request, but t is 51 at row 51; "
            "give every target position its own anchor, in order"
        ),
    ),
    "token beyond the vocabulary": (
        lambda c: _set(c, "tok", (7, 3), 49152),
        (
            "token ids must lie in 0..49151 (vocab_size - 1), but tok is 49152 at row 7 step 3; "
            "correct vocab_size in the header, or dump ids of the target's tokenizer"
        ),
    ),
    "negative token": (
        lambda c: _set(c, "y", 9, -1),
        (
            "token ids must lie in 0..49151 (vocab_size - 1), but y is -1 at row 9; "
            "correct vocab_size in the header, or dump ids of the target's tokenizer"
        ),
    ),
    "NaN entropy": (
        lambda c: _set(c, "h_nats", (4, 2), math.nan),
        (
            "every number must be finite, but h_nats is nan at row 4 step 2; "
            "compute log-softmax in float32 and take 0 ln 0 as 0"
        ),
    ),
    "infinite probability": (
        lambda c: _set(c, "p_tok", (4, 2), math.inf),
        (
            "every number must be finite, but p_tok is inf at row 4 step 2; "
            "compute log-softmax in float32 and take 0 ln 0 as 0"
        ),
    ),
    "negative entropy": (
        lambda c: _set(c, "h_nats", (3, 0), -0.5),
        (
            "entropy must not be negative, but h_nats is -0.5 at row 3 step 0; "
            "clamp rounding noise at 0"
        ),
    ),
    "entropy above ln V": (
        lambda c: _set(c, "h_nats", (3, 11), 11),
        (
            "entropy must not exceed ln(vocab_size) = 10.8027 nat, but h_nats is 11 at row 3 "
            "step 11; use the natural logarithm, and the vocab_size of the logits"
        ),
    ),
    "probability above 1": (
        lambda c: _set(c, "p_top1", (2, 1), 1.5),
        (
            "probabilities must lie in 0..1, but p_top1 is 1.5 at row 2 step 1; "
            "dump probabilities, not logits or their logarithms"
        ),
    ),
    "negative optional probability": (
        lambda c: c.update(a_hat=-c["p_tok"]),
        (
            "probabilities must lie in 0..1, but a_hat is -0.401123 at row 0 step 0; "
            "dump probabilities, not logits or their logarithms"
        ),
    ),
    "p_top2 above p_top1": (
        lambda c: _set(c, "p_top2", (0, 0), 0.75),
        (
            "p_top2 must not exceed p_top1, but p_top2 is 0.75 at row 0 step 0; "
            "take both from the same softmax"
        ),
    ),
    "p_tok above p_top1": (
        lambda c: _set(c, "p_tok", (0, 0), 0.75),
        (
            "p_tok must not exceed p_top1, but p_tok is 0.75 at row 0 step 0; "
            "take both from the same softmax"
        ),
    ),
    "run above k_max": (
        lambda c: _set(c, "run", 8, 13),
        (
            "run must not exceed k_max = 12, but run is 13 at row 8; "
            "count only the steps of the rollout"
        ),
    ),
    "run beyond the request": (
        lambda c: _set(c, "run", 50, 2),
        (
            "run must count the leading rollout tokens that equal y of this and the next rows, but "
            "run is 2 at row 50; recount it from tok and y"
        ),
    ),
    "run too short": (
        lambda c: _set(c, "run", 212, 0),
        (
            "run must count the leading rollout tokens that equal y of this and the next rows, but "
            "run is 0 at row 212; recount it from tok and y"
        ),
    ),
    "shift": (
        _break_shift,
        (
            "accepted rollout tokens must recur, one step earlier, in the next row, but tok is 28 "
            "at row 212 step 3; roll every anchor out with the same weights, arithmetic and seed"
        ),
    ),
}


@pytest.mark.parametrize("kind", BROKEN_HEADERS)
def test_a_broken_header_is_refused_with_its_own_message(kind, parts, pack, tmp_path):
    header, columns = parts
    damage, message = BROKEN_HEADERS[kind]
    damage(header)
    path = pack(tmp_path / "user.npz", header, columns)
    with pytest.raises(UserError) as refusal:
        load_trace(path)
    assert str(refusal.value) == f"{path}: {message}"


@pytest.mark.parametrize("kind", BROKEN_COLUMNS)
def test_a_broken_column_is_refused_with_its_own_message(kind, parts, pack, tmp_path):
    header, columns = parts
    damage, message = BROKEN_COLUMNS[kind]
    damage(columns)
    path = pack(tmp_path / "user.npz", header, columns)
    with pytest.raises(UserError) as refusal:
        load_trace(path)
    assert str(refusal.value) == f"{path}: {message}"


def _write(path, content):
    path.write_bytes(content)
    return path


# Kind of file -> (how to make it, the whole message after its name).
BROKEN_FILES = {
    "missing": (
        lambda path, good: path,
        (
            "there is no such file and no packaged trace of that name; "
            "correct the path, or choose from smollm2-rtn4"
        ),
    ),
    "a folder": (
        lambda path, good: path.mkdir() or path,
        "a trace is one npz file, but this is a folder; name a file",
    ),
    "a pipe": (
        lambda path, good: os.mkfifo(path) or path,
        "a trace must be a regular file; copy it to one",
    ),
    "text": (
        lambda path, good: _write(path, b"seq,t,y\n0,0,5\n"),
        (
            "a trace must be an npz archive, but the file does not begin with 'PK'; "
            "write it with save_trace or numpy.savez_compressed"
        ),
    ),
    "nothing": (
        lambda path, good: _write(path, b""),
        (
            "a trace must be an npz archive, but the file does not begin with 'PK'; "
            "write it with save_trace or numpy.savez_compressed"
        ),
    ),
    "truncated": (
        lambda path, good: _write(path, good[: len(good) // 2]),
        (
            "the archive is truncated or damaged ('File is not a zip file'); "
            "copy or dump the trace again"
        ),
    ),
    "a flipped bit": (
        lambda path, good: _write(path, good[:20000] + bytes([good[20000] ^ 1]) + good[20001:]),
        (
            "the archive is truncated or damaged (\"Bad CRC-32 for file 'tok.npy'\"); "
            "copy or dump the trace again"
        ),
    ),
}


@pytest.mark.parametrize("kind", BROKEN_FILES)
def test_a_broken_file_is_refused_with_its_own_message(kind, parts, pack, tmp_path):
    good = pack(tmp_path / "good.npz", *parts).read_bytes()
    make, message = BROKEN_FILES[kind]
    path = make(tmp_path / "user.npz", good)
    with pytest.raises(UserError) as refusal:
        load_trace(path)
    assert str(refusal.value) == f"{path}: {message}"


def test_pickled_objects_are_refused_unread(parts, pack, tmp_path):
    header, columns = parts
    columns["tok"] = columns["tok"].astype(object)
    with pytest.raises(UserError, match="column tok holds pickled Python objects"):
        load_trace(pack(tmp_path / "user.npz", header, columns))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"schema: sd-anchored/1", r"the header is not JSON in UTF-8 \(JSONDecodeError\)"),
        (b"\xff\xfe", r"the header is not JSON in UTF-8 \(UnicodeDecodeError\)"),
        (b"[" * 100_000, r"the header is not JSON in UTF-8 \(RecursionError\)"),
        (b"[1, 2]", r"the header must be a JSON object, but it is \[1, 2\]"),
    ],
)
def test_a_header_that_is_no_json_object_is_refused(header, message, parts, pack, tmp_path):
    with pytest.raises(UserError, match=message):
        load_trace(pack(tmp_path / "user.npz", header, parts[1]))


def test_a_header_kept_as_text_is_refused(parts, tmp_path):
    header, columns = parts
    path = tmp_path / "user.npz"
    np.savez(path, allow_pickle=False, header=np.array(json.dumps(header)), **columns)
    with pytest.raises(UserError, match="header must be a uint8 array of one axis"):
        load_trace(path)


def test_a_trace_without_header_is_refused(parts, tmp_path):
    path = tmp_path / "user.npz"
    np.savez(path, allow_pickle=False, **parts[1])
    with pytest.raises(UserError, match="the array header is missing"):
        load_trace(path)


@pytest.mark.parametrize("name", ["no\0name", "x" * 5000])
def test_an_impossible_file_name_is_refused(name):
    with pytest.raises(UserError, match=r"no such file|cannot be read"):
        load_trace(name)


def test_every_kind_of_damage_has_its_own_message():
    cases = {**BROKEN_HEADERS, **BROKEN_COLUMNS, **BROKEN_FILES}
    messages = {message for _, message in cases.values()}
    assert len(messages) >= len(cases) - 1  # text and an empty file are one kind
    assert not any("\n" in message for message in messages)


def test_rules_hold_for_a_trace_built_in_memory(parts):
    header, columns = parts
    columns["run"][0] = 13
    with pytest.raises(UserError, match=r"^trace: run must not exceed k_max = 12"):
        Trace(header=header, **columns)


def test_a_uniform_distribution_rounded_to_half_precision_passes(parts):
    header, columns = parts
    # float16(ln V) may lie above ln V by half a unit in its last place
    for vocab_size in range(49152, 49192):
        header["vocab_size"] = vocab_size
        columns["h_nats"][0, 0] = math.log(vocab_size)
        Trace(header=header, **columns)


def test_an_entropy_just_beyond_the_slack_is_refused(parts):
    header, columns = parts
    columns["h_nats"] = columns["h_nats"].astype(np.float32)
    limit = math.log(header["vocab_size"]) * (1 + 2**-10)
    columns["h_nats"][3, 4] = limit - 1e-5
    Trace(header=header, **columns)
    columns["h_nats"][3, 4] = limit + 1e-5
    with pytest.raises(UserError, match="at row 3 step 4"):
        Trace(header=header, **columns)


def test_probabilities_of_two_precisions_may_differ_by_their_rounding(parts):
    header, columns = parts
    columns["p_tok"] = columns["p_tok"].astype(np.float32)
    columns["p_tok"][0, 0] = float(columns["p_top1"][0, 0]) + 1e-6
    Trace(header=header, **columns)


def test_run_is_cut_where_a_rollout_happens_to_go_on_into_the_next_request(build_trace):
    trace = build_trace([([1], [[1, 5]]), ([5, 6], [[5, 7], [6, 8]])])
    assert trace.run.tolist() == [1, 1, 1]


def test_run_may_count_on_beyond_the_last_token_that_the_trace_holds(build_trace):
    trace = build_trace([([1, 2], [[1, 2, 3], [2, 3, 4]]), ([5], [[6, 7, 8]])])
    assert trace.run.tolist() == [2, 1, 0]
    columns = trace.columns() | {"run": np.array([3, 3, 0], np.uint8)}
    assert Trace(header=trace.header, **columns).run.tolist() == [3, 3, 0]


def test_a_bernoulli_trace_samples_run_and_needs_no_shift(parts):
    header, columns = parts
    header["coupling"] = "bernoulli"
    columns["run"][212] = 0
    _break_shift(columns)
    assert Trace(header=header, **columns).coupling == "bernoulli"


def test_header_fields_beyond_the_four_are_optional(parts):
    header, columns = parts
    needed = {name: header[name] for name in ("schema", "coupling", "k_max", "vocab_size")}
    request = Trace(header=needed, **columns).requests[3]
    assert (request.prompt_len, request.category) == (None, None)
