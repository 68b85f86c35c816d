# SPDX-License-Identifier: Apache-2.0
"""The run configuration: everything resolved, nothing unknown, every fault one line."""

import re
from importlib.resources import files

import pytest

from ahasd import UserError
from ahasd.system.config import load_config
from ahasd.system.results import config_text


def test_names_of_platform_and_models_are_written_out():
    config = load_config("default", {})
    assert config.platform.pim.ranks == 16
    assert (config.dlm.name, config.tlm.name) == ("llama2-7b", "llama2-13b")
    assert (config.scheme, config.baseline, config.backend.ahasd) == ("ahasd", "sync", "rtl")
    assert config.folder_name.startswith("llama2-7b-llama2-13b-ahasd-adaedl-")


def test_an_override_reaches_into_platform_and_models():
    config = load_config("default", {"platform.pim.bandwidth_scope": "per_rank", "dlm.layers": "8"})
    assert config.platform.pim.bandwidth_scope == "per_rank"
    assert config.dlm.layers == 8


def test_the_resolved_configuration_is_a_configuration_again(tmp_path):
    config = load_config("test", {"draft.rule": "svip", "draft.h": "0.4", "name": "mine"})
    path = tmp_path / "config.toml"
    path.write_text(config_text(config))
    assert load_config(str(path), {}) == config


def test_another_rule_drops_the_options_of_the_first(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(config_text(load_config("test", {"draft.lambda0": "0.5"})))
    config = load_config(str(path), {"draft.rule": "fixed", "draft.k": "3"})
    assert config.draft.model_dump()["k"] == 3
    kept = load_config(str(path), {"draft.rule": "adaedl"})
    assert kept.draft.model_dump()["lambda0"] == 0.5


def test_the_folder_name_tells_configurations_apart_but_not_backends():
    name = load_config("default", {}).folder_name
    assert load_config("default", {"backend.ahasd": "golden"}).folder_name == name
    assert load_config("default", {"workload.tokens": "20"}).folder_name != name
    assert load_config("default", {"name": "mine"}).folder_name == "mine"


def test_paths_in_a_file_are_relative_to_it_and_the_trace_becomes_absolute(tmp_path, monkeypatch):
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "slow.toml").write_text(
        (files("ahasd.system") / "configs/platforms/mobile-paper.toml")
        .read_text()
        .replace('name = "mobile-paper"', 'name = "slow"')
    )
    (folder / "run.toml").write_text(
        (files("ahasd.system") / "configs/runs/test.toml")
        .read_text()
        .replace('"mobile-paper"', '"./slow.toml"')
        .replace('"smollm2-rtn4"', '"../pair.npz"')
    )
    monkeypatch.chdir("/")
    config = load_config(str(folder / "run.toml"), {})
    assert config.platform.name == "slow"
    assert config.workload.trace == str(tmp_path / "pair.npz")
    own = {"draft.rule": "file", "draft.path": "../own.py", "draft.name": "Own"}
    assert load_config("test", own).draft.model_dump()["path"] == "/own.py"
    learnt = {"draft.rule": "disco-lite", "draft.fit_trace": "pair.npz"}
    assert load_config("test", learnt).draft.model_dump()["fit_trace"] == "/pair.npz"
    for name in ("smollm2-rtn4", "synthetic:chat"):
        made = learnt | {"draft.fit_trace": name}
        assert load_config("test", made).draft.model_dump()["fit_trace"] == name
    monkeypatch.chdir(folder)
    assert load_config("./run.toml", {"workload.trace": "own.npz"}).workload.trace == str(
        folder / "own.npz"
    )


def test_a_fault_in_a_platform_file_names_that_file(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text('name = "p"\n')
    with pytest.raises(UserError, match=f"platform {path}: missing keys pim, npu"):
        load_config("test", {"platform": str(path)})


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"workload.token": "4"},
            "run test: unknown key workload.token; did you mean workload.tokens?",
        ),
        ({"workload.tokens": "0"}, "run test: workload.tokens = 0: must be a whole number >= 1"),
        ({"workload.tokens": "many"}, "run test: workload.tokens = 'many': must be a whole number"),
        ({"scheme": "magic"}, "run test: scheme = 'magic': must be 'gpu-ar', 'gpu-sd', 'npu-ar',"),
        (
            {"draft.rule": "guess"},
            "run test: draft.rule = 'guess': must be one of fixed, hf-heuristic, hf-confidence",
        ),
        ({"draft": "{}"}, "run test: missing key draft.rule: must be one of fixed, hf-heuristic"),
        ({"draft": "3"}, "run test: draft = 3: must be a table"),
        ({"draft.gama": "1"}, "unknown key draft.gama; did you mean draft.gamma?"),
        ({"draft.h": "1"}, "unknown key draft.h; known here: k_max, min_len, keep_tripping_token"),
        ({"draft.lambda0": "1.5"}, "draft.lambda0 = 1.5: must be a finite number >= 0 and <= 1"),
        ({"baseline": "None"}, "baseline = 'None': must be 'gpu-ar', 'gpu-sd', 'npu-ar', 'npu-sd'"),
        ({"edc.recheck": "no"}, "edc.recheck = 'no': must be true or false"),
        ({"workload.tokens": "1.5"}, "workload.tokens = 1.5: must be a whole number >= 1"),
        ({"name": "x" * 201}, "is no folder name"),
        ({"dlm": "opt-1.3b", "tlm": "llama2-13b"}, "one vocabulary, but opt-1.3b has 50272"),
        ({"backend.lockstep": "true", "backend.ahasd": "golden"}, "lockstep compares with golden"),
        (
            {
                "scheme": "sync",
                "hardware.draftctl": "true",
                "backend.lockstep": "true",
                "backend.draftctl": "golden",
            },
            'lockstep compares with golden: choose backend.ahasd = "rtl" or "pysim", or hardware',
        ),
        (
            {
                "scheme": "npu-ar",
                "baseline": "none",
                "hardware.draftctl": "true",
                "backend.lockstep": "true",
            },
            "backend.lockstep compares hardware, and neither scheme = 'npu-ar' nor baseline",
        ),
        (
            {"hardware.configuration": "huge"},
            "ahasd has no configuration 'huge'; choose one of paper",
        ),
        ({"edc.explore": "9"}, "edc.explore = 9: must be a whole number >= 0 and <= 7"),
        ({"platform": "desktop"}, "unknown platform 'desktop': choose one of mobile-jedec"),
        ({"tlm": "gpt-9"}, "unknown model 'gpt-9': choose one of"),
        ({"platform.pim.clock_mhz": "333"}, "333 MHz is not a whole number of picoseconds"),
        ({"backend.ahasd": "fpga"}, "backend.ahasd = 'fpga': must be 'golden', 'pysim' or 'rtl'"),
    ],
)
def test_a_wrong_value_is_refused_in_one_line_that_names_it(overrides, message):
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        load_config("test", overrides)
    assert "\n" not in str(caught.value)


def test_a_missing_key_is_named(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('scheme = "sync"\nplatform = "mobile-paper"\ndlm = "opt-1.3b"\n')
    with pytest.raises(UserError, match=r"missing keys workload, draft, tlm$"):
        load_config(str(path), {})
