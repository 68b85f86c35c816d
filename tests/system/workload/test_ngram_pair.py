# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
import sysconfig

import numpy as np
import pytest

from ahasd import UserError
from ahasd.system.workload import ngram_text
from ahasd.system.workload.coupling import COUPLINGS
from ahasd.system.workload.ngram import tempered
from ahasd.system.workload.ngram_pair import DRAFT_ORDER, TARGET_ORDER, TEMPERATURE, trained
from ahasd.system.workload.playback import DraftChain, TargetStream
from ahasd.system.workload.source import open_trace
from ahasd.system.workload.synthetic import Size

SIZE = Size(requests=8, tokens=50, k_max=4)


@pytest.fixture(scope="module")
def traces():
    return {name: open_trace(f"ngram:{name}", size=SIZE) for name in COUPLINGS}


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_a_trace_of_the_pair_is_valid_and_says_what_it_is(traces, coupling):
    trace = traces[coupling]
    assert (trace.rows, trace.k_max, trace.coupling) == (400, 4, coupling)
    assert trace.header["category"] == ["manual", "docstrings"] * 4
    assert trace.header["provenance"] == f"ahasd trace ngram --coupling {coupling} --seed 0"
    assert trace.header["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert trace.header["entropy"] == (
        "raw_softmax_T1" if coupling == "greedy" else "sampling_dist"
    )
    assert 0.6 < (trace.run > 0).mean() < 0.9


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_rows_hold_what_the_models_say(traces, coupling):
    """Each statistic of a whole rollout anew from the models, along the tokens of the trace."""
    trace, model = traces[coupling], trained().model
    temperature = 1 if coupling == "greedy" else TEMPERATURE
    for row in (60, 111, 247, 399):
        t = int(trace.t[row])
        context = trace.y[row - min(t, DRAFT_ORDER) : row].tolist()
        assert len(context) >= DRAFT_ORDER - 1, "a row too near its prompt tests nothing"
        for step in range(4):
            q = tempered(model.distribution(context, DRAFT_ORDER), temperature)
            token = trace.tok[row, step]
            assert trace.h_nats[row, step] == pytest.approx(
                -(q * np.log(q)).sum(), rel=2e-3, abs=1e-7
            )
            assert trace.p_tok[row, step] == pytest.approx(q[token], rel=2e-3, abs=1e-6)
            assert trace.p_top1[row, step] == pytest.approx(np.sort(q)[-1], rel=2e-3)
            assert trace.p_top2[row, step] == pytest.approx(np.sort(q)[-2], rel=2e-3, abs=1e-7)
            context.append(int(token))


def test_greedy_tokens_are_the_likeliest_of_each_model(traces):
    trace, model = traces["greedy"], trained().model
    for row in range(20, 50):
        context = trace.y[row - TARGET_ORDER : row].tolist()
        assert trace.y[row] == model.distribution(context, TARGET_ORDER).argmax()
        assert trace.tok[row, 0] == model.distribution(context, DRAFT_ORDER).argmax()
    assert (trace.p_tok == trace.p_top1).all()


def test_sampled_pairs_agree_as_often_as_their_laws_allow(traces):
    """Mean of sum min(p, q) over the same prefixes; 400 tokens, so 4 x 0.022 of slack."""
    model = trained().model
    for coupling in ("gumbel", "maximal"):
        trace, overlap, agreed = traces[coupling], [], []
        for row in range(400):
            if trace.t[row] >= TARGET_ORDER:
                context = trace.y[row - TARGET_ORDER : row].tolist()
                p = tempered(model.distribution(context, TARGET_ORDER), TEMPERATURE)
                q = tempered(model.distribution(context, DRAFT_ORDER), TEMPERATURE)
                overlap.append(np.minimum(p, q).sum())
                agreed.append(trace.run[row] > 0)
        assert np.mean(agreed) == pytest.approx(np.mean(overlap), abs=0.09)


def test_the_pair_is_like_the_measured_one(traces):
    """Overlap of the two at T 0.6 by the draft's entropy; measured on another draw of text.

    Bins 0, 0.25, 0.5, 1, 2 nat: 0.98, 0.85, 0.65, 0.51, 0.40 with another selection of text; four
    standard errors of 400 tokens' bins are 0.05 to 0.2.
    """
    trace = traces["maximal"]
    entropy, right = trace.h_nats[:, 0].astype(np.float64), trace.run > 0
    assert right[entropy < 0.25].mean() == pytest.approx(0.98, abs=0.05)
    assert right[(entropy >= 0.5) & (entropy < 2)].mean() == pytest.approx(0.58, abs=0.2)
    assert np.corrcoef(entropy, right)[0, 1] < -0.4
    assert right.mean() == pytest.approx(0.738, abs=0.1)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_the_pair_is_played_without_loss(traces, coupling):
    trace = traces[coupling]
    stream = TargetStream(trace, trace.rows, "requests")
    assert stream.tokens_are_real
    for pos in range(0, trace.rows, 5):
        chain = DraftChain(stream, pos)
        right = 0
        while not chain.at_end and chain.on_path and right < trace.k_max:
            chain.next()
            right += chain.on_path
        assert right == min(trace.run[pos], stream.segment_end(pos) - pos)


def test_smaller_traces_are_the_beginning_of_larger_ones(traces):
    small = open_trace("ngram:gumbel", size=Size(requests=2, tokens=20, k_max=3))
    large = traces["gumbel"]
    rows = (large.seq < 2) & (large.t < 20)
    assert (small.tok == large.tok[rows][:, :3]).all()
    assert (small.h_nats == large.h_nats[rows][:, :3]).all()


def test_seeds_give_other_prompts_and_other_samples():
    size = Size(requests=2, tokens=20, k_max=2)
    for coupling in COUPLINGS:
        first, other = (open_trace(f"ngram:{coupling}", seed=seed, size=size) for seed in (0, 1))
        assert (first.y != other.y).any()
        assert other.header["seed"] == 1


def test_the_pair_is_the_same_in_every_process(traces):
    code = (
        "from ahasd.system.workload.source import open_trace;"
        "from ahasd.system.workload.synthetic import Size;"
        "trace = open_trace('ngram:gumbel', size=Size(requests=2, tokens=10, k_max=4));"
        "print(trace.tok.tolist())"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7"},
    )
    held = traces["gumbel"]
    rows = (held.seq < 2) & (held.t < 10)
    assert told.stdout.strip() == str(held.tok[rows].tolist())


def test_prompts_are_not_in_the_training_text():
    pair = trained()
    longest = pair.prompts[0].ids[:200].tolist()
    absent = sum(
        pair.model.distribution(longest[: n - 1], TARGET_ORDER)[longest[n - 1]] < 0.5
        for n in range(TARGET_ORDER, 200)
    )
    assert absent > 60, "a text that was seen is nearly certain to a 6-gram"


def test_an_unknown_coupling_is_refused():
    with pytest.raises(UserError, match=r"ngram:best: .* one of greedy, gumbel, maximal"):
        open_trace("ngram:best")


def test_a_python_without_its_manual_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(UserError, match=r"this Python has no module pydoc_data\.topics"):
        ngram_text.read_texts()


def test_a_python_without_sources_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    with pytest.raises(UserError, match=r"trained on the library's sources, but .* has none"):
        ngram_text.read_texts()
    (tmp_path / "bad.py").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="the library of this Python cannot be read"):
        ngram_text.read_texts()


def test_text_is_spelled_where_words_are_rare(monkeypatch):
    monkeypatch.setattr(ngram_text, "WORDS", 2)
    monkeypatch.setattr(ngram_text, "_manual", lambda: "ab ab\n ab")
    monkeypatch.setattr(ngram_text, "_docstrings", lambda: "cd!ab")
    (manual, docstrings), size = ngram_text.read_texts()
    # most frequent: ab, then of those that come once the first; characters: a b c d ! space newline
    known = sorted({"ab", "\n ", "a", "b", "c", "d", "!", " ", "\n"})
    assert size == len(known)
    assert [known[n] for n in manual.ids] == ["ab", " ", "ab", "\n ", "ab"]
    assert [known[n] for n in docstrings.ids] == ["c", "d", "!", "ab"]
