# SPDX-License-Identifier: Apache-2.0
import dataclasses
import io

import numpy as np
import pytest
from rich.console import Console

from ahasd.system.workload.presets import PRESETS
from ahasd.system.workload.source import open_trace
from ahasd.system.workload.summary import summarise
from ahasd.system.workload.summary_text import preset_table, tables
from ahasd.system.workload.synthetic import Size


def _printed(parts):
    console = Console(width=200, record=True, file=io.StringIO())
    for part in parts:
        console.print(part)
    return console.export_text()


def test_figures_of_the_shipped_trace_are_the_published_ones(shipped):
    """Measured elsewhere on the same trace: signals, and entropies of right, wrong and later."""
    summary = summarise(shipped)
    assert summary.auc["p_top1"] == pytest.approx(0.852, abs=5e-4)
    assert summary.auc["margin"] == pytest.approx(0.853, abs=5e-4)
    assert summary.auc["entropy"] == pytest.approx(0.817, abs=5e-4)
    assert summary.entropy_nats["right"] == pytest.approx(1.13, abs=5e-3)
    assert summary.entropy_nats["wrong"] == pytest.approx(2.51, abs=5e-3)
    assert summary.entropy_nats["behind"] == pytest.approx(1.89, abs=0.015)
    assert summary.lag_one == pytest.approx(0.23, abs=0.03)
    # Their survival leaves out the requests' ends, ours counts them as far as they go.
    published = [0.73, 0.54, 0.41, 0.32, 0.25, 0.20, 0.15, 0.13, 0.11, 0.09, 0.08, 0.07]
    assert summary.survival == pytest.approx(published, abs=0.02)
    oracle = [0.275, 0.185, 0.130, 0.094, 0.069, 0.052, 0.041, 0.027, 0.020, 0.017, 0.014, 0.008]
    assert summary.run_shares == pytest.approx([*oracle, 0.068], abs=0.013)


@pytest.mark.parametrize(
    ("limit_nats", "share", "below", "above"),
    [
        (0.3, "25", "1.000", "0.674"),
        (0.6, "33", "0.994", "0.642"),
        (1.0, "43", "0.959", "0.602"),
        (1.5, "59", "0.903", "0.550"),
    ],
)
def test_acceptance_below_and_above_an_entropy_is_the_published_one(
    shipped, limit_nats, share, below, above
):
    """Of the tokens that are tested in some rollout, all within their request."""
    entropy, right = [], []
    for request in shipped.requests:
        for t in range(request.length):
            row = request.first_row + t
            reached = min(int(shipped.run[row]) + 1, shipped.k_max, request.length - t)
            entropy += shipped.h_nats[row, :reached].tolist()
            right += [step < shipped.run[row] for step in range(reached)]
    is_low = np.array(entropy) <= limit_nats
    judged = np.array(right)
    assert f"{is_low.mean():.0%}" == f"{share}%"
    assert f"{judged[is_low].mean():.3f}" == below
    assert f"{judged[~is_low].mean():.3f}" == above


def test_a_trace_by_hand(micro_trace):
    """Runs: 1, 0, 1 of a request of three, 1, 0 of two; the third cannot be tested further."""
    summary = summarise(micro_trace)
    assert summary.tested == (5, 2, 0)
    assert summary.conditional == (3 / 5, 0, None)
    assert summary.survival == (3 / 5, 0, None)
    assert summary.run_shares == pytest.approx((2 / 5, 3 / 5, 0))
    assert summary.alpha == 3 / 5
    half = [float(np.float16(nat)) for nat in (0.0, 0.1, 2.0, 3.0, 4.0, 0.1, 3.1)]
    first, later = half[:5], half[5:]
    assert summary.entropy_nats["mean"] == pytest.approx(np.mean(first))
    assert summary.entropy_nats["median"] == 2
    assert summary.entropy_nats["right"] == pytest.approx((0 + 2 + 3) / 3)
    assert summary.entropy_nats["wrong"] == pytest.approx((first[1] + 4 + sum(later)) / 4)
    behind = [0.2, 0.2, 1.2, 2.2, 3.2, 4.1, 4.2]
    # the last row of the first request was right; what follows it is past its end
    assert summary.entropy_nats["behind"] == pytest.approx(np.mean(behind), abs=0.01)
    assert summary.certain == 1 / 5
    assert summary.by_entropy == ((3, 1 / 3), (0, None), (0, None), (0, None), (3, 2 / 3), (1, 0))
    # right 0, 2, 3 against wrong 0.1, 4, 0.1, 3.1: lower in 4 + 2 + 2 of 12 pairs
    assert summary.auc["entropy"] == pytest.approx(8 / 12)
    assert summary.auc["p_top1"] == 0.5


def test_a_pair_that_never_agrees_has_no_figures_where_there_are_none(build_trace):
    summary = summarise(build_trace([([1], [[2, 3]]), ([1], [[2, 3]])]))
    assert summary.conditional == (0, None)
    assert summary.entropy_nats["right"] is None
    assert summary.lag_one is None
    assert set(summary.auc.values()) == {None}
    assert "-" in _printed(tables(open_trace("iid:0"), summarise(open_trace("iid:0"))))


def test_a_pair_that_always_agrees(build_trace):
    summary = summarise(open_trace("iid:1", size=Size(requests=2, tokens=9, k_max=4)))
    assert summary.conditional == (1, 1, 1, 1)
    assert summary.run_shares == (0, 0, 0, 0, 1)
    assert summary.entropy_nats["behind"] is None


def test_independent_acceptance_cannot_be_told_and_a_preset_s_can():
    size = Size(requests=40, k_max=2)
    auc = summarise(open_trace("iid:0.7", size=size)).auc
    assert [auc["entropy"], auc["p_top1"]] == pytest.approx([0.5, 0.5], abs=0.02)
    told = summarise(open_trace("synthetic:chat", size=size)).auc["entropy"]
    assert told is not None
    assert told > 0.75


def test_tables_tell_what_the_summary_holds(shipped):
    text = _printed(tables(shipped, summarise(shipped)))
    for words in (
        "SmolLM2-135M-Instruct, Q4_1 weights",
        "12 (chat, math, story, sum, code)",
        "781 target tokens, rollouts of 12 steps",
        "0.722",
        "0.852",
        "0.5 to 1",
    ):
        assert words in text
    wide = open_trace("synthetic:chat", size=Size(requests=2, tokens=60, k_max=40))
    assert "24 more steps: see --json" in _printed(tables(wide, summarise(wide)))
    with_heads = dataclasses.replace(shipped, a_hat=shipped.p_tok)
    assert "a_hat" in _printed(tables(with_heads, summarise(with_heads)))


def test_every_preset_stands_in_the_list_with_its_evidence_and_its_band():
    text = _printed([preset_table()])
    for each in PRESETS.values():
        (line,) = (line for line in text.splitlines() if line.split()[:1] == [each.name])
        assert each.evidence in line
        assert f"{each.model.alpha:.3f}" in line
        assert each.note in " ".join(text.split())
    # chat, alpha 0.735: 1 + a + a^2 + a^3 + a^4 of 0.685, 0.735, 0.785
    assert "2.70-2.96-3.27" in text
    narrow = Console(width=80, record=True, file=io.StringIO())
    narrow.print(preset_table())
    assert "…" not in narrow.export_text()
