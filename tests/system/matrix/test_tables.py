# SPDX-License-Identifier: Apache-2.0
"""The tables of a matrix, of figures made up for them."""

import pytest

from ahasd.system.matrix.tables import (
    ablation_table,
    baseline_table,
    effort,
    explanations,
    mappings,
    speed_table,
)


def test_speeds_are_means_with_a_confidence_interval(found, columns):
    made = [found("sync", 10.0), found("sync", 12.0, seed=1), found("sync", 14.0, seed=2)]
    # Standard deviation 2, t of two degrees 4.303: 4.303 x 2 / sqrt 3.
    assert columns(speed_table(made, ["sync"]))["sync"] == ["12.00 ± 4.97"]
    assert columns(speed_table(made[:1], ["sync"]))["sync"] == ["10.00"]
    failed = {**made[0], "cell": {**made[0]["cell"], "configuration": "async"}}
    del failed["metrics"], failed["lossless"]
    told = columns(speed_table([*made, failed], ["sync", "async"]))
    assert told["async"] == ["-"]
    assert told["lossless"] == ["tokens, 3 of 4"]
    assert columns(speed_table(made, ["sync"]))["lossless"] == ["tokens"]
    bernoulli = found("sync", 10.0, rule="fixed", lossless="positions")
    assert columns(speed_table([*made, bernoulli], ["sync"]))["lossless"] == ["tokens", "positions"]


def test_steps_are_geometric_means_beside_the_paper(found, columns):
    made = [
        found("gpu-sd", 10.0),
        found("async", 40.0, mj=50.0, acceptance_rate=0.4),
        found("gpu-sd", 10.0, "x:y", mj=200.0),
        found("async", 10.0, "x:y", mj=50.0, acceptance_rate=0.3),
    ]
    table = columns(ablation_table(made, ["gpu-sd", "async", "+ AAU", "+ EDC", "+ TVC"]))
    assert table[""] == ["gpu-sd", "async", "+ AAU", "+ EDC", "+ TVC"]
    assert table["tokens/s"] == ["1.00", "2.00", "-", "-", "-"]
    # 100 over 50 mJ a token, and 200 over 50.
    assert table["tokens/J"][1] == table["wall"][1] == "2.83"
    # 0.4 and 0.3 of 0.5.
    assert table["accepted"][:2] == ["-", "-30.0%"]
    assert table["paper"] == ["1.0", "2.2", "2.7", "3.4", "3.8"]
    assert table["paper'"] == ["1.0", "1.9", "2.6", "4.5", "5.2"]
    assert table["paper''"] == ["-", "-25.1%", "-", "+24.6%", "-"]
    # The paper's figures are of its own ablation, and stand beside nothing else.
    assert "paper" not in columns(ablation_table(made, ["async", "gpu-sd"]))


def test_acceptance_is_compared_along_the_ablation_alone(found, columns):
    made = [found("npu-ar", 10.0), found("sync", 10.0), found("+ AAU", 1.0)]
    made.append(found("+ EDC", 1.0, acceptance_rate=0.75))
    del made[0]["metrics"]["acceptance_rate"]
    table = columns(ablation_table(made, ["npu-ar", "+ EDC", "sync", "+ AAU"]))
    assert table["accepted"] == ["-", "+50.0%", "-", "-"]


def test_the_subject_stands_over_every_other_configuration(found, columns):
    made = [found("gpu-sd", 10.0, mj=10.0), found("specpim", 40.0), found("+ TVC", 20.0)]
    made += [found("gpu-sd", 20.0, "x:y", mj=10.0), found("+ TVC", 40.0 / 9, "x:y")]
    table = columns(baseline_table(made, ["gpu-sd", "specpim", "+ TVC"], "+ TVC"))
    assert table["over"] == ["gpu-sd", "specpim"]
    # Twice, and 2/9 of: geometric mean 2/3. SpecPIM has one pair only.
    assert table["tokens/s"] == ["0.67", "0.50"]
    assert table["range"] == ["0.22-2.00", "0.50-0.50"]
    assert table["tokens/J"] == ["0.10", "1.00"]
    assert table["paper"] == ["3.8 (4.2)", "(1.5)"]
    assert table["paper'"] == ["5.2 (5.6)", "1.24"]
    other = columns(baseline_table(made, ["gpu-sd", "specpim"], "specpim"))
    assert other["paper"] == ["-"]


def test_where_a_search_put_the_operators_is_told_once(found):
    mapping = {
        "draft": {"npu": [], "pim": ["qkv", "ffn"]},
        "target": {"npu": ["attention"], "pim": ["qkv"]},
    }
    made = [found("specpim", 10.0, seed=seed, mapping=mapping) for seed in (0, 1)]
    assert mappings([*made, found("sync", 1.0)]) == [
        "tiny-draft:tiny-target, specpim, draft: nothing on the NPU, qkv, ffn in all ranks",
        "tiny-draft:tiny-target, specpim, target: attention on the NPU, qkv in all ranks",
    ]


def test_effort_counts_what_was_run_and_what_was_there(found):
    made = [found("sync", 1.0), found("sync", 1.0, seed=1)]
    made[1]["timing"]["taken_over"] = True
    made[0]["timing"] |= {"hardware_s": 0.5, "memory_s": 1.2}
    assert effort("matrix", made, 1.25) == (
        "matrix: 2 cells, 1 run, 1 taken over, in 1.2 s; of 2.0 s in all processes 0.5 s control"
        " hardware, 1.2 s memory and devices, 0.3 s the rest"
    )


def test_only_steps_of_the_ablation_are_compared_with_the_one_before(found):
    more = {
        "time_s": 10.0,
        "prefill_s": 0.0,
        "passes": 10,
        "mean_acceptance_length_tokens": 2.0,
        "npu": {"states_s": {"verifying": 9.0}},
        "delayed_s": {"npu": 0.0},
        "pim": {"busy": 0.5, "blocked": 0.0},
    }
    made = [found(name, 2.0, **more) for name in ("sync", "+ AAU", "+ EDC")]
    sync, aau, edc = explanations(made, ["sync", "+ AAU", "+ EDC"])
    assert sync.startswith("sync: the verifier binds, in passes 90.0% of the time, 100% of a pass")
    assert aau.startswith("+ AAU: the verifier binds")
    assert edc.startswith("+ EDC: x1.00 over + AAU; the verifier binds")
    assert explanations([], ["sync"]) == []
    # A pair that has one of both steps alone is no comparison.
    alone = found("+ EDC", 4.0, "x:y", **more)
    assert explanations([*made, alone], ["+ AAU", "+ EDC"])[1] == edc
    with pytest.raises(KeyError):
        explanations([found("sync", 1.0)], ["sync"])
