# SPDX-License-Identifier: Apache-2.0
"""The operators of models on the AAU itself, beside what the model counts."""

from typing import cast

import numpy as np
import pytest

from ahasd.rtl.aau.params import AauParams, Operation
from ahasd.rtl.aau.rows import Beat
from ahasd.sim.aau import AttentionUnit
from ahasd.sim.ports import Engine
from ahasd.sim.registry import make_engine
from ahasd.system.config import load_config
from ahasd.system.devices import aau_check
from ahasd.system.devices.aau_check import ContractError, check
from ahasd.system.model import load_model
from ahasd.system.simulate import prepare, simulate
from ahasd.system.stats import metrics

PARAMS = AauParams(lanes=2)


class Slow:
    """An engine that takes a cycle more before it takes a command."""

    def __init__(self, engine):
        self.engine, self.waited = engine, False

    def step(self, pins, clocks, time_ps):
        if pins["command__valid"] and not self.waited:
            self.waited = True
            return self.engine.step(pins, 0, time_ps) | {"command__ready": 0}
        return self.engine.step(pins, clocks, time_ps)


class Wrong:
    """An engine whose results have another lowest bit."""

    def __init__(self, engine):
        self.engine = engine

    def step(self, pins, clocks, time_ps):
        seen = self.engine.step(pins, clocks, time_ps)
        return seen | {"result__payload": seen["result__payload"] ^ 1}


def unit(wrap=lambda engine: engine):
    return AttentionUnit(cast(Engine, wrap(make_engine("aau", PARAMS, "golden"))), PARAMS)


def shape(**changes):
    return load_model("tiny-draft", {"vocab": "64", "ffn_dim": "48", **changes})


def test_every_operator_takes_what_the_model_counts():
    found = check(unit(), {"draft": shape()}, 4, {"draft": 1}, seed=1)
    assert {each.operation for each in found} == {
        Operation.RMSNORM,
        Operation.ADD,
        Operation.SOFTMAX,
        Operation.SILU,
        Operation.ROPE,
        Operation.STATISTICS,
    }
    # Five keys on two lanes are three beats: 2*(3 - 1) and 67 besides, by hand.
    (softmax,) = (each for each in found if each.operation is Operation.SOFTMAX)
    assert (softmax.length, softmax.parts, softmax.cycles) == (5, 1, 71)


def test_parts_of_a_vector_are_merged():
    found = check(unit(), {"draft": shape()}, 4, {"draft": 4}, seed=2)
    (norm,) = (each for each in found if each.operation is Operation.RMSNORM)
    # 128 elements on four ranks are 16 beats each; a command and four states more,
    # each of two cycles.
    assert (norm.length, norm.parts, norm.cycles) == (32, 4, 3 * 15 + 115 + 2 + 4 * 2)


@pytest.mark.parametrize("wrap", [Slow, Wrong])
def test_hardware_that_is_slower_or_wrong_is_found_out(wrap):
    with pytest.raises(ContractError):
        check(unit(wrap), {"draft": shape()}, 4, {"draft": 1}, seed=1)


def test_a_model_that_counts_otherwise_is_found_out(monkeypatch):
    counted = AauParams.cycles
    monkeypatch.setattr(
        AauParams, "cycles", lambda self, *of: counted(self, *of) + (of[0] is Operation.ROPE)
    )
    with pytest.raises(ContractError, match=r"for rope of 256 elements.* the model counts"):
        check(unit(), {"draft": shape()}, 4, {"draft": 1}, seed=1)


def test_every_operation_has_a_command():
    for operation in Operation:
        assert aau_check.command(operation, 8, 8).length == 8


def test_a_unit_that_never_ends_is_told():
    class Dead:
        def step(self, pins, clocks, time_ps):
            names = ("command__ready", "state_in__ready", "beat__ready")
            ends = ("result__valid", "state_out__valid", "summary__valid")
            return dict.fromkeys((*names, *ends), 0)

    row = Beat(*(np.zeros(4, dtype=np.int64) for _ in range(3)))
    dead = AttentionUnit(cast(Engine, Dead()), PARAMS)
    with pytest.raises(AssertionError, match="does not end"):
        dead.run(aau_check.command(Operation.ADD, 4, 4), row)


def test_gelu_and_layernorm():
    asked = shape(activation="gelu", norm="layernorm")
    found = check(unit(), {"draft": asked}, 4, {"draft": 1}, seed=3)
    assert {Operation.GELU, Operation.LAYERNORM} <= {each.operation for each in found}


@pytest.mark.full  # compiles an AAU
def test_a_run_checks_its_operators_on_the_compiled_rtl():
    keys = {"backend.aau": "rtl", "nonlinear.lanes": 2, "backend.ahasd": "golden"}
    config = load_config("test", {**keys, "workload.tokens": 12})
    found = metrics(simulate(config, *prepare(config)))["aau_commands"]
    assert {each["model"] for each in found} == {"draft", "target"}
    assert all(each["cycles"] > 0 for each in found)
    alone = config.with_scheme("npu-ar")
    assert "aau_commands" not in metrics(simulate(alone, *prepare(alone)))
