# SPDX-License-Identifier: Apache-2.0
"""The record of what the AAU's arithmetic changes."""

import json
from pathlib import Path

import pytest

from ahasd.system.numerics import effect
from ahasd.system.numerics.effect import effect_table, measure, probe
from ahasd.system.workload.source import open_trace

RECORD = Path(__file__).parents[3] / "docs" / "aau_decisions.json"


def test_a_small_trace_is_measured_for_every_tail_format_and_rule(build_trace):
    trace = build_trace(
        [([1, 2, 3, 4], [[1, 2], [2, 3], [3, 9], [4, 1]])],
        entropies=[[0.9, 1.2], [1.5, 2.5], [1.9, 3.0], [1.1, 0.9]],
        vocab_size=512,
    )
    found = measure(trace, 2)
    assert (found["rows"], found["steps"], found["vocabulary"]) == (2, 4, 512)
    assert {(case["tail"], case["format"]) for case in found["cases"]} == {
        (tail, form) for tail in ("power", "exponential") for form in ("fp16", "bf16")
    }
    for case in found["cases"]:
        assert set(case["rules"]) == set(effect.RULES)
        assert 0 < case["aau_entropy_error_nats"] < 0.01
        assert case["format_entropy_error_nats"] > 0
    assert len(effect_table(found).splitlines()) == 2 + 4 * len(effect.RULES)


def test_the_recorded_changes_are_within_what_is_allowed():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    for case in record["cases"]:
        assert case["aau_entropy_error_nats"] <= 0.01
        for rule, found in case["rules"].items():
            told = f"{case['tail']}, {case['format']}, {rule}"
            change = found["aau"]["mean_length"] / found["aau"]["mean_length_reference"] - 1
            assert max(found["aau"]["bucket_flips"].values()) < effect.FLIPS_ALLOWED, told
            assert abs(change) < effect.LENGTHS_ALLOWED, told


def test_the_record_is_of_this_arithmetic():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    trace = open_trace(record["trace"], seed=0)
    assert record["probe"] == probe(trace), "run `python benchmarks/aau_decisions.py`"


@pytest.mark.parametrize("part", ["fp16", "bf16"])
def test_a_worse_entropy_shows(build_trace, monkeypatch, part):
    def coarse(codes, form, golden):
        return 0.0, 0.5

    monkeypatch.setattr("ahasd.system.numerics.statistics.aau_statistics", coarse)
    monkeypatch.setattr(effect, "FORMATS", (part,))
    trace = build_trace([([1, 2], [[1, 2], [2, 3]])], entropies=[[0.9, 1.2], [1.5, 2.5]])
    (case, *_) = measure(trace, 1)["cases"]
    assert case["rules"]["svip"]["aau"]["bucket_flips"]["sqrt4"] == 1
    assert case["rules"]["svip"]["aau"]["lengths_changed"] == 1
