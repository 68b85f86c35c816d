# SPDX-License-Identifier: Apache-2.0
import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.draftctl.params import Decision, DraftctlParams, Outcome, Rule, Token
from ahasd.sim.draftctl import DraftLengthControl
from ahasd.sim.lockstep import LockstepError
from ahasd.sim.registry import make_engine


@pytest.mark.parametrize("backend", ["golden", "rtl", "pysim"])
def test_a_token_is_decided_on_in_two_edges_under_the_registers_of_the_moment(backend):
    params = UNITS["draftctl"].configurations["paper"]
    control = DraftLengthControl(make_engine("draftctl", params, backend), params)
    control.write(rule=Rule.ENTROPY, entropy_limit=100, k_max=3, min_len=1, keep_tripping_token=1)
    calm, wild = Token(False, 100, 0), Token(False, 101, 0)
    assert control.decide(calm) == Decision(Outcome.CONTINUE, 1)
    assert control.decide(wild) == Decision(Outcome.KEEP, 2)
    control.write(entropy_limit=101)
    assert control.decide(wild) == Decision(Outcome.CONTINUE, 1)
    assert control.decide(wild._replace(first=True)) == Decision(Outcome.CONTINUE, 1)
    assert control.decide(wild) == Decision(Outcome.CONTINUE, 2)
    assert control.decide(wild) == Decision(Outcome.KEEP, 3)
    assert control.edges == 12


class Faulty:
    """A unit whose pins are as told, whatever comes."""

    changed = None

    def __init__(self, **outputs: int) -> None:
        self.outputs = {"token__ready": 1, "decision__valid": 1, "decision__payload": 4} | outputs

    def step(self, pins, clocks, time_ps):
        return self.outputs

    def run(self, pins, grid):
        raise NotImplementedError

    def advance(self, pins, grid, watch):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("outputs", "message"),
    [({"token__ready": 0}, "not taken"), ({"decision__valid": 0}, "not answered")],
)
def test_a_unit_that_breaks_its_contract_is_noticed(outputs, message):
    params = DraftctlParams()
    assert DraftLengthControl(Faulty(), params).decide(Token(True, 0, 0)).place == 1
    with pytest.raises(AssertionError, match=message):
        DraftLengthControl(Faulty(**outputs), params).decide(Token(True, 0, 0))


def test_a_register_that_is_none_is_refused():
    params = DraftctlParams()
    control = DraftLengthControl(make_engine("draftctl", params, "golden"), params)
    with pytest.raises(AssertionError):
        control.write(limit=1)


def test_in_lockstep_a_fault_of_the_golden_model_is_told_with_a_waveform(monkeypatch, tmp_path):
    params = UNITS["draftctl"].configurations["test"]
    engine = make_engine("draftctl", params, "rtl", lockstep=tmp_path)
    control = DraftLengthControl(engine, params)
    control.write(k_max=7)
    assert control.decide(Token(True, 0, 0)).place == 1
    golden = UNITS["draftctl"].load_golden()
    good = golden.token
    monkeypatch.setattr(golden, "token", lambda self, token: good(self, token._replace(first=True)))
    with pytest.raises(LockstepError, match="draftctl differs from its golden model"):
        control.decide(Token(False, 0, 0))
    assert list(tmp_path.glob("*.vcd"))
