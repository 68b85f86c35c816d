# SPDX-License-Identifier: Apache-2.0
"""Rules that the draft-length control decides: as in software, but for quantisation."""

import math

import pytest
from pydantic import TypeAdapter

from ahasd import UserError
from ahasd.rtl.configs import UNITS
from ahasd.rtl.draftctl.params import DraftctlParams
from ahasd.sim.draftctl import DraftLengthControl
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.lockstep import LockstepEngine, LockstepError
from ahasd.sim.registry import Backend, make_engine
from ahasd.system.config import load_config
from ahasd.system.drafting.base import Outcome
from ahasd.system.drafting.hardware import HardwareDrafting, in_hardware
from ahasd.system.drafting.options import RuleOptions
from ahasd.system.drafting.registry import AnyRuleOptions
from ahasd.system.drafting.saddle import Saddle
from ahasd.system.simulate import prepare, simulate
from ahasd.system.stats import metrics
from ahasd.system.workload.replay import replay

ANY = TypeAdapter(AnyRuleOptions)
PAPER = UNITS["draftctl"].configurations["paper"]


def control(backend: Backend = "golden", params=PAPER):
    return DraftLengthControl(make_engine("draftctl", params, backend), params)


def build(table, params=PAPER):
    return in_hardware(ANY.validate_python(table).build(), control(params=params))


# Decisions on the shipped trace, and how many of them differ: they go on where software stops. Both
# stand in docs/units/draftctl.md.
TABLES = [
    ({"rule": "fixed", "k": 4}, 1116, 0),
    ({"rule": "svip"}, 541, 0),
    ({"rule": "adaedl", "lambda0": 0.3}, 1141, 0),
    ({"rule": "adaedl", "lambda0": 0.7}, 519, 0),
    ({"rule": "saddle", "tau": 0.1}, 1171, 0),
    ({"rule": "saddle", "tau": 0.5}, 690, 1),
    ({"rule": "specdecpp", "h": 0.3}, 880, 1),
    ({"rule": "specdecpp", "h": 0.7}, 1272, 2),
    ({"rule": "specdecpp", "lags": False}, 698, 2),
]


@pytest.mark.parametrize("backend", ["golden", "rtl"])
@pytest.mark.parametrize(("table", "decided", "differing"), TABLES)
def test_the_unit_decides_as_software_does_but_for_a_known_few_tokens(
    table, decided, differing, backend, shipped
):
    options = ANY.validate_python(table | {"k_max": 12})
    drafting = in_hardware(options.build(), control(backend))
    found, software = replay(shipped, drafting), replay(shipped, options.build())
    assert drafting.decided == found.drafted == decided
    assert drafting.differing.total() == differing
    assert set(drafting.differing) <= {(Outcome.STOP_KEEP, Outcome.CONTINUE)}
    if differing:
        assert found != software
    else:
        assert found == software


@pytest.mark.parametrize("rule", ["svip", "adaedl", "saddle"])
@pytest.mark.parametrize("keep", [False, True])
def test_limits_of_the_length_are_those_of_software(rule, keep, shipped):
    options = ANY.validate_python(
        {"rule": rule, "k_max": 9, "min_len": 3, "keep_tripping_token": keep}
    )
    drafting = in_hardware(options.build(), control())
    found = replay(shipped, drafting)
    assert found == replay(shipped, options.build())
    assert not drafting.differing
    assert min(found.drafted_per_round) == 3
    assert max(found.drafted_per_round) == 9


def test_an_entropy_that_differs_by_less_than_a_step_does_not_trip(token):
    # 0.6 nat is 2457.6 steps of 2**-12: 0.60005 nat, 2457.8, has the same code.
    drafting = build({"rule": "svip"})
    assert drafting.observe(token(entropy_nats=0.60005)) is Outcome.CONTINUE
    assert drafting.differing == {(Outcome.STOP_KEEP, Outcome.CONTINUE): 1}
    assert drafting.observe(token(entropy_nats=0.6003)) is Outcome.STOP_KEEP
    assert drafting.differing.total() == 1
    assert drafting.decided == 2


def test_where_the_unit_ends_a_batch_early_the_rule_begins_one_with_it(token):
    # In whole bits, 0.7 has a doubt of 1 (0.51) and tau = 0.4 a limit of 1 (1.32): two such tokens
    # exceed it, although 0.49 is above 0.4.
    coarse = DraftctlParams(doubt_fraction_width=0)
    drafting = build({"rule": "saddle", "tau": 0.4}, params=coarse)
    assert drafting.observe(token(p_token=0.7)) is Outcome.CONTINUE
    assert drafting.observe(token(p_token=0.7)) is Outcome.STOP_KEEP
    assert drafting.differing == {(Outcome.CONTINUE, Outcome.STOP_KEEP): 1}
    assert drafting.observe(token(p_token=0.7)) is Outcome.CONTINUE
    assert isinstance(drafting.rule, Saddle)
    assert drafting.rule.doubt_bits == pytest.approx(-math.log2(0.7))


def test_where_the_unit_goes_on_the_rule_stays_in_the_batch(token):
    coarse = DraftctlParams(doubt_fraction_width=0)
    drafting = build({"rule": "saddle", "tau": 0.5, "k_max": 4}, params=coarse)
    calm = token(p_token=0.71)  # 0.494 bit, 0 in the unit
    outcomes = [drafting.observe(calm) for _ in range(4)]
    assert outcomes == [Outcome.CONTINUE] * 3 + [Outcome.STOP_KEEP]
    # 0.494, 0.988, 1.48, 1.98 against 1 bit: software stops at the third.
    assert drafting.differing == {(Outcome.STOP_KEEP, Outcome.CONTINUE): 1}


def test_adaedl_writes_its_limit_anew_after_a_verdict(token, judged):
    # gamma 1, steps of 0.5 and no memory: lambda 0.5 becomes 0 where the rate is enough (0.25 nat
    # and then 1 nat), as 1 of 1 is below the cap.
    drafting = build(
        {"rule": "adaedl", "lambda0": 0.5, "gamma": 1.0, "beta1": 0.0, "beta2": 0.0, "eps": 0.5}
    )
    half = token(entropy_nats=0.5)
    assert drafting.observe(half) is Outcome.STOP_KEEP
    drafting.feedback(judged(1, 1))
    assert drafting.observe(half) is Outcome.CONTINUE
    assert not drafting.differing


def test_a_batch_that_was_abandoned_is_forgotten(token):
    drafting = build({"rule": "saddle", "tau": 0.3})  # 1.74 bit
    assert drafting.observe(token(p_token=0.5)) is Outcome.CONTINUE
    drafting.begin_batch()
    assert drafting.observe(token(p_token=0.5)) is Outcome.CONTINUE
    assert drafting.observe(token(p_token=0.5)) is Outcome.STOP_KEEP
    drafting.begin_request()
    assert drafting.observe(token(p_token=0.5)) is Outcome.CONTINUE


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        # Half precision rounds the least probabilities to 0, which no threshold survives.
        ({"rule": "saddle", "tau": 1e-300}, Outcome.STOP_KEEP),
        # 1 - 0 > 1 is never true.
        ({"rule": "specdecpp", "h": 1.0, "head": "a_hat", "lags": False}, Outcome.CONTINUE),
    ],
)
def test_a_probability_of_0_is_as_in_software(table, expected, token):
    drafting = build(table)
    assert drafting.observe(token(p_token=0.0, a_hat=0.0)) is expected
    assert not drafting.differing


def test_a_rule_that_the_unit_lacks_is_refused():
    with pytest.raises(
        UserError, match=r"no rule 'hf-confidence': choose draft\.rule from fixed, "
    ):
        build({"rule": "hf-confidence"})


def test_a_batch_longer_than_the_unit_counts_is_refused():
    small = DraftctlParams(length_width=3)
    assert build({"rule": "svip", "k_max": 7}, params=small).k_max == 7
    with pytest.raises(UserError, match=r"k_max = 8 is longer .* 7 tokens: lower it"):
        build({"rule": "svip", "k_max": 8}, params=small)


class InHardware:
    """Options of a rule that the unit decides."""

    def __init__(self, options: RuleOptions, backend: Backend) -> None:
        self.k_max = options.k_max
        self.built: list[HardwareDrafting] = []
        self._options = options
        self._backend: Backend = backend

    def build(self, seed: int) -> HardwareDrafting:
        self.built.append(in_hardware(self._options.build(seed), control(self._backend)))
        return self.built[-1]


@pytest.mark.full
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("rule", ["fixed", "adaedl", "specdecpp"])
def test_whole_runs_are_equal_on_golden_and_rtl_and_on_software_where_no_decision_differs(
    rule, keep
):
    overrides = {"draft.rule": rule, "draft.keep_tripping_token": keep}
    config = load_config("test", {"memory.fidelity": "analytic", **overrides})
    trace, ranks = prepare(config)
    found = []
    for backend in ("golden", "rtl"):
        options = InHardware(config.draft, backend)
        run = simulate(config.model_copy(update={"draft": options}), trace, ranks)
        (drafting,) = options.built
        # A token that was dropped is decided on twice.
        assert drafting.decided >= run.ledger.drafted
        figures = metrics(run)
        assert figures.pop("draft_control") == {
            "decisions": drafting.decided,
            "differing_from_software": drafting.differing.total(),
        }
        found.append((figures, drafting.decided, drafting.differing))
    golden, rtl = found
    assert golden == rtl
    figures, _, differing = golden
    assert differing or figures == metrics(simulate(config, trace, ranks))


ALONE = {
    "scheme": "sync",
    "baseline": "none",
    "memory.fidelity": "analytic",
    "hardware.draftctl": True,
    "backend.lockstep": True,
}


@pytest.mark.parametrize("overrides", [{}, {"scheme": "async", "backend.ahasd": "golden"}], ids=str)
def test_the_unit_alone_runs_in_lockstep_with_its_golden_model(monkeypatch, overrides):
    stepped = []
    plain = LockstepEngine.step

    def step(self, pins, clocks, time_ps):
        stepped.append(self._name)
        return plain(self, pins, clocks, time_ps)

    monkeypatch.setattr(LockstepEngine, "step", step)
    config = load_config("test", ALONE | overrides)
    outcome = simulate(config, *prepare(config))
    assert outcome.draft_control
    # Two edges a decision; what is golden itself is not compared.
    assert stepped == ["draftctl"] * (2 * outcome.draft_control[0])
    plain_run = load_config("test", ALONE | overrides | {"backend.lockstep": False})
    assert metrics(outcome) == metrics(simulate(plain_run, *prepare(plain_run)))


def test_a_unit_that_differs_from_its_golden_model_stops_the_run(monkeypatch, tmp_path):
    engines = []
    plain = GoldenEngine.step

    def step(self, pins, clocks, time_ps):
        found = plain(self, pins, clocks, time_ps)
        engines.append(self)
        if len(engines) == 9:
            found["decision__payload"] ^= 1
        return found

    monkeypatch.setattr(GoldenEngine, "step", step)
    config = load_config("test", ALONE)
    with pytest.raises(LockstepError, match="draftctl"):
        simulate(config, *prepare(config), lockstep_folder=tmp_path)
    assert list(tmp_path.iterdir()), "a waveform"
