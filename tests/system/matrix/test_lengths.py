# SPDX-License-Identifier: Apache-2.0
"""The search for the best fixed draft length, beside trying all of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahasd.system.matrix import record
from ahasd.system.matrix.cells import cells
from ahasd.system.matrix.lengths import Fixed, best_length, search, search_all, untried
from ahasd.system.matrix.run import run_matrix

PAIR = "tiny-draft:tiny-target"


def searched(speeds, longest=16):
    """Return the best length by the search, and how many it tried."""
    known = {}
    while wanted := untried(known, longest):
        assert not set(wanted) & set(known)
        known |= {k: speeds[k] for k in wanted}
    return best_length(known), len(known)


@given(
    longest=st.integers(1, 32),
    peak=st.integers(1, 32),
    up=st.lists(st.floats(0.01, 1), min_size=32, max_size=32),
)
def test_the_one_maximum_is_found_with_few_runs(longest, peak, up):
    peak = min(peak, longest)
    speeds = {peak: 100.0}
    for k in range(peak - 1, 0, -1):
        speeds[k] = speeds[k + 1] - up[k - 1]
    for k in range(peak + 1, longest + 1):
        speeds[k] = speeds[k - 1] - up[k - 1]
    found, tried = searched(speeds, longest)
    assert found == peak
    assert tried <= min(longest, 5 + 2 * longest.bit_length())
    if longest == 16:
        assert tried <= 11


def test_the_papers_length_is_always_tried_and_the_shortest_of_equals_is_best():
    assert 8 in untried({})
    assert untried({}, 6) == [1, 2, 4, 6]
    assert untried({}, 1) == [1]
    assert best_length({1: 2.0, 2: 3.0, 4: 3.0}) == 2
    assert untried({1: 1.0, 2: 3.0, 4: 2.0}) == [3]
    assert untried({1: 1.0, 2: 2.0, 3: 3.0, 4: 2.0}) == []


@pytest.mark.parametrize("configuration", ["sync", "pim-sd"])
def test_the_search_finds_what_trying_all_finds(tmp_path, configuration):
    settings = {"workload.tokens": 64, "memory.fidelity": "analytic"}
    ran = []

    def run(wanted):
        ran.extend(each.k for each in wanted)
        return run_matrix(wanted, "test", settings, tmp_path, jobs=1)

    found = search(PAIR, configuration, [0], run)
    every = {}
    for k in range(1, 17):
        (cell,) = run_matrix(
            cells([PAIR], ["fixed"], [configuration], [0]),
            "test",
            {**settings, "draft.rule": "fixed", "draft.k": k},
            tmp_path / "all",
            jobs=1,
        )
        every[k] = cell["metrics"]["throughput_tokens_s"]
    assert found.best == best_length(every)
    assert found.speeds == {k: every[k] for k in found.speeds}
    assert len(set(ran)) == len(ran) < 10


@pytest.mark.full
def test_every_pair_and_configuration_is_searched_in_parallel(tmp_path):
    settings = {"workload.tokens": 8, "memory.fidelity": "analytic"}
    done = []
    both = ["sync", "pim-sd"]
    found = search_all([PAIR], both, [0], "test", settings, tmp_path, jobs=2, progress=done.append)
    assert [each.configuration for each in found] == both
    assert done == [1, 2]
    again = search_all([PAIR], both, [0], "test", settings, tmp_path, jobs=1)
    assert [each.speeds for each in again] == [each.speeds for each in found]
    assert all(cell["timing"]["taken_over"] for each in again for cell in each.cells)


def test_seeds_are_averaged_and_what_failed_is_not_the_best():
    def run(wanted):
        return [
            {"metrics": {"throughput_tokens_s": 10.0 * each.k + each.seed}}
            if each.k < 4
            else {"error": "no"}
            for each in wanted
        ]

    found = search("a:b", "sync", [0, 1], run)
    assert found.best == 3
    assert found.speeds[3] == 30.5
    assert found.speeds[8] == 0
    assert found.told() == "a:b, sync: best fixed k = 3: 30.50 tokens/s"
    failed = search("a:b", "sync", [0], lambda wanted: [{"error": "no"}] * len(wanted))
    assert failed.told() == "a:b, sync: no fixed length has a result"
    assert len(failed.cells) == len(failed.speeds)


def test_the_best_stands_beside_the_papers():
    fixed = Fixed(pair="a:b", configuration="sync", speeds={3: 6.5, 8: 5.25}, cells=[])
    assert fixed.told() == "a:b, sync: best fixed k = 3: 6.50 tokens/s; k = 8: 5.25"


def test_a_matrix_leaves_json_and_csv(tmp_path, found):
    made = [found("sync", 10.0), {**found("async", 1.0), "error": "why, though"}]
    del made[1]["metrics"], made[1]["lossless"]
    fixed = [Fixed(pair="a:b", configuration="sync", speeds={3: 6.5, 8: 5.25}, cells=[])]
    record.write(tmp_path / "m", {"seeds": [0]}, "test", {"workload.tokens": 9}, made, fixed, 1.5)
    told = json.loads((tmp_path / "m/matrix.json").read_text())
    assert told["schema"] == "ahasd-matrix/2"
    assert told["settings"] == {"workload.tokens": 9}
    assert told["cells"] == made
    assert told["fixed_lengths"] == [
        {
            "pair": "a:b",
            "configuration": "sync",
            "best": 3,
            "throughput_tokens_s": {"3": 6.5, "8": 5.25},
        }
    ]
    assert set(told["provenance"]) >= {"finished", "git", "versions"}
    header, first, second = (tmp_path / "m/matrix.csv").read_text().splitlines()
    rows = [dict(zip(header.split(","), line.split(","), strict=False)) for line in (first, second)]
    assert rows[0]["throughput_tokens_s"] == "10.0"
    assert rows[0]["energy.mid.device.mj_per_token"] == "100.0"
    assert (rows[0]["k"], rows[0]["error"], rows[0]["lossless"]) == ("", "", "tokens")
    assert second.endswith('"why, though"')
    assert rows[1]["throughput_tokens_s"] == ""
