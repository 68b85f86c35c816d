# SPDX-License-Identifier: Apache-2.0
import re

import pytest

from ahasd import UserError
from ahasd.system.workload.presets import PRESETS
from ahasd.system.workload.source import is_made, open_trace
from ahasd.system.workload.synthetic import Size
from ahasd.system.workload.trace import save_trace

SMALL = Size(requests=2, tokens=5, k_max=3, prompt_len=9)


@pytest.mark.parametrize(
    "name",
    [
        "synthetic:chat",
        "synthetic:chat@0.7",
        "synthetic:.2/1/.4",
        "iid:0.5",
        "mix:.9/.5/12/4",
        "length:2.5",
    ],
)
def test_a_made_trace_says_where_it_comes_from_and_survives_a_file(name, tmp_path):
    trace = open_trace(name, seed=4, size=SMALL)
    assert (trace.rows, trace.k_max, trace.source) == (10, 3, name)
    assert trace.header["provenance"] == f"ahasd trace synth {name} --seed 4"
    assert trace.header["seed"] == 4
    assert trace.header["prompt_len"] == [9, 9]
    assert "ahasd" in trace.header["versions"]
    save_trace(trace, tmp_path / "made.npz")
    read = open_trace(str(tmp_path / "made.npz"))
    assert read.header == trace.header
    for column, values in trace.columns().items():
        assert (read.columns()[column] == values).all()


def test_other_names_are_packaged_traces_and_files(tmp_path, monkeypatch):
    assert open_trace("smollm2-rtn4").rows == 781
    monkeypatch.chdir(tmp_path)
    save_trace(open_trace("iid:1", size=SMALL), "iid:1")
    assert open_trace("./iid:1").source == "./iid:1"
    assert not is_made("./iid:1")
    assert not is_made("iid")
    assert not is_made("C:/traces/own.npz")
    assert is_made("synthetic:")
    with pytest.raises(UserError, match="there is no such file and no packaged trace"):
        open_trace("other:0.5")


def test_another_acceptance_moves_the_mean_entropy_only():
    preset = PRESETS["opt-1.3b-6.7b-qa"]
    model = preset.with_alpha(0.73)
    assert model.alpha == pytest.approx(0.73)
    assert (model.certain, model.kappa_per_nat) == (0.3, 0.4)
    trace = open_trace("synthetic:opt-1.3b-6.7b-qa@0.73", size=Size(requests=100, k_max=1))
    assert (trace.run > 0).mean() == pytest.approx(0.73, abs=0.01)
    assert trace.header["evidence"] == "acceptance was asked for"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("synthetic:", "there is no preset ''; choose from chat, code, maths, "),
        ("synthetic:chatt", "there is no preset 'chatt'"),
        ("synthetic:chat@", "synthetic:chat@: '' is no number; e.g. synthetic:chat@0.8"),
        ("synthetic:chat@much", "'much' is no number"),
        ("synthetic:chat@0.1", "acceptance 0.1 needs to lie between the share of certain tokens"),
        ("synthetic:chat@1.5", "acceptance 1.5 needs to lie between"),
        ("synthetic:0.2/1", "synthetic:0.2/1: three parameters are needed, PI0/M/KAPPA, not 2"),
        ("synthetic:0.2/1/x", "'x' is no number"),
        ("synthetic:0.2/-1/1", "the mean entropy must be above 0 nat, not -1.0"),
        ("iid:", "iid:: '' is no number"),
        ("iid:nan", "'nan' is no number"),
        ("iid:inf", "'inf' is no number"),
        ("iid:1.2", "iid:1.2: acceptance must lie in 0..1, not 1.2; e.g. iid:0.8"),
        ("mix:0.9/0.5", "four parameters are needed, EASY/HARD/TOKENS/TOKENS, not 2"),
        ("mix:0.9/x/12/4", "'x' is no number"),
        ("mix:1.1/0.5/12/4", "mix:1.1/0.5/12/4: acceptance must lie in 0..1, not 1.1"),
        ("mix:0.9/-0.5/12/4", "acceptance must lie in 0..1, not -0.5"),
        ("mix:0.9/0.5/0.5/4", "a stretch has at least 1 token in the mean, not 0.5"),
        (
            "length:0.5",
            "length:0.5: acceptance length must lie in 1..256, not 0.5; it counts the bonus token",
        ),
    ],
)
def test_a_name_that_means_nothing_is_refused(name, told):
    with pytest.raises(UserError, match=re.escape(told)):
        open_trace(name, size=SMALL)


@pytest.mark.parametrize("kind", ["synthetic", "iid", "mix", "length"])
def test_the_example_in_a_message_is_right(kind):
    with pytest.raises(UserError, match=rf"; e\.g\. {kind}:") as refused:
        open_trace(f"{kind}:no", size=SMALL)
    example = str(refused.value).rpartition("e.g. ")[2]
    assert open_trace(example, size=SMALL).source == example


def test_a_negative_seed_is_refused():
    with pytest.raises(UserError, match="seed must not be negative, but it is -1"):
        open_trace("iid:0.5", seed=-1, size=SMALL)
