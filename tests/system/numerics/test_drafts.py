# SPDX-License-Identifier: Apache-2.0
"""Drafts that know what the AAU tells of them."""

import numpy as np
import pytest

from ahasd import UserError
from ahasd.rtl.aau.params import AauParams
from ahasd.system import simulate
from ahasd.system.config import load_config
from ahasd.system.numerics import drafts
from ahasd.system.numerics.drafts import through_aau


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AHASD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "statistics"


@pytest.fixture
def trace(build_trace):
    return build_trace(
        [([1, 2], [[1, 2], [2, 9]])], entropies=[[1.2, 1.5], [2.0, 2.5]], vocab_size=512
    )


def test_entropies_are_near_the_traces_and_not_the_same(trace):
    found = through_aau(trace, "power", "fp16", AauParams())
    assert np.abs(found.h_nats - trace.h_nats).max() < 0.02
    assert (found.h_nats != trace.h_nats).all()
    assert np.abs(found.p_top1 / trace.p_top1 - 1).max() < 0.02
    assert (found.tok == trace.tok).all()


def test_what_was_found_is_kept(trace, cache, monkeypatch):
    first = through_aau(trace, "power", "fp16", AauParams())
    (kept,) = cache.iterdir()

    def never(*arguments, **options):
        raise AssertionError("statistics are there already")

    monkeypatch.setattr(drafts.statistics, "statistics", never)
    again = through_aau(trace, "power", "fp16", AauParams())
    assert (again.h_nats == first.h_nats).all()
    with pytest.raises(AssertionError, match="there already"):
        through_aau(trace, "exponential", "fp16", AauParams())
    with pytest.raises(AssertionError, match="there already"):
        through_aau(trace, "power", "bf16", AauParams())
    kept.write_bytes(kept.read_bytes()[:40])
    with pytest.raises(AssertionError, match="there already"):
        through_aau(trace, "power", "fp16", AauParams())


def test_a_damaged_file_is_made_anew(trace, cache):
    first = through_aau(trace, "power", "fp16", AauParams())
    (kept,) = cache.iterdir()
    for damage in (b"", b"\x93NUMPY", kept.read_bytes()[:-8]):
        kept.write_bytes(damage)
        again = through_aau(trace, "power", "fp16", AauParams())
        assert (again.h_nats == first.h_nats).all()


def test_a_cache_that_cannot_be_written_is_told(trace, tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(UserError, match="AHASD_CACHE"):
        through_aau(trace, "power", "fp16", AauParams())


def test_a_run_asks_for_what_its_keys_say(monkeypatch):
    asked = []

    def told(trace, *arguments, progress):
        asked.append(arguments)
        progress(3)
        return trace

    monkeypatch.setattr(simulate, "through_aau", told)
    done = []
    simulate.prepare(load_config("test", {}), done.append)
    assert (asked, done) == ([], [])
    keys = {"statistics": "aau", "tail": "exponential", "logits": "bf16", "lanes": 4}
    config = load_config("test", {f"nonlinear.{key}": value for key, value in keys.items()})
    simulate.prepare(config, done.append)
    assert asked == [("exponential", "bf16", AauParams(lanes=4))]
    assert done == [3]
