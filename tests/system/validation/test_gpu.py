# SPDX-License-Identifier: Apache-2.0
"""Our graphics processors beside AttAcc's."""

import pytest

from ahasd.system.devices.gpu import load_gpu
from ahasd.system.model import load_model
from ahasd.system.validation import gpu


def test_every_row_is_within_three_percent():
    rows = gpu.rows()
    assert len(rows) == 5
    assert {row.peer for row in rows} == {"AttAcc"}
    assert all(abs(row.error) < 0.03 for row in rows)


def test_the_middle_token_is_the_mean_of_all():
    shape, chip = load_model("opt-66b"), load_gpu("a100a-attacc")
    passes = [
        chip.forward(shape, 1, 100 + n - 1, weight_bytes_per_parameter=2) for n in range(1, 8)
    ]
    mean = sum(made.total_ps for made in passes) / 7
    assert gpu.mean_pass("opt-66b", 1, 100, 8).total_ps == pytest.approx(mean, abs=10)


def test_a_step_leaves_the_output_projection_out():
    made = gpu.mean_pass("opt-66b", 1, 2048, 4)
    assert made.vocabulary_ps > 0
    assert gpu.step_ms("opt-66b", 1, 2048, 4) * 1e9 == pytest.approx(
        made.total_ps - made.vocabulary_ps
    )


def test_most_of_the_attention_is_heads_that_do_not_fill_the_chip():
    # One thing changed: 12 heads of a device on 12 multiprocessors instead of 108.
    filled = load_gpu("a100a-attacc", {"kernels.multiprocessors": "12"})
    shape = load_model("gpt-175b")
    made = filled.forward(shape, 1, 2049, weight_bytes_per_parameter=2)
    assert gpu.mean_pass("gpt-175b", 1, 2048, 4).attention_ps == pytest.approx(
        9 * made.attention_ps, rel=1e-6
    )


def test_the_links_fixed_time_is_a_quarter_of_a_step_of_one_sequence():
    made = gpu.mean_pass("gpt-175b", 1, 2048, 128)
    hops = 96 * 2 * 7 * 6_060_000
    assert hops < made.link_ps < 1.01 * hops
    assert 0.25 < made.link_ps / made.total_ps < 0.28
