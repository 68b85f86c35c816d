# SPDX-License-Identifier: Apache-2.0
"""What hardware takes, by records worked out by hand, and by those of the package."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.ahasd.params import AhasdParams
from ahasd.rtl.draftctl.params import DraftctlParams
from ahasd.system.aau_work import worked
from ahasd.system.accounting import energy, parts
from ahasd.system.config import load_config
from ahasd.system.energy import hardware
from ahasd.system.energy.hardware import Part, hardware_of, measured
from ahasd.system.energy.table import LEVELS, Range
from ahasd.system.simulate import prepare, simulate


def row(unit: str, params: Any, library: str, idle: tuple[float, float], extra: float) -> Any:
    """Return a record of a unit that takes `extra` mW more when busy."""
    return {
        "unit": unit,
        "parameters": json.loads(json.dumps(asdict(params))),
        "library": {"name": library, "node_nm": 180, "sha256": "l" * 64},
        "periods_ps": {"pim": 1250, "npu": 1000},
        "scaled_mw": {"idle": [*idle], "busy": [each + extra for each in idle]},
        "assumed_leakage_mw": [0.5, 1.0],
        "activity": {
            "sha256": "a" * 64,
            # 100 us of the PIM's clock, 120 us of the NPU's.
            "stepped": {"pim": 80_000, "npu": 120_000},
            "run": {"config_sha256": "c" * 64, "draft_steps": 300},
        },
        "design_sha256": f"{unit} by {library}",
    }


RECORDS = [
    row("aau", AauParams(), "big", (10.0, 12.0), 40.0),
    row("aau", AauParams(), "small", (4.0, 5.0), 20.0),
    row("ahasd", AhasdParams(), "big", (30.0, 31.0), 3.0),
    row("draftctl", DraftctlParams(), "big", (1.0, 2.0), 6.0),
]


def values(range_: Range) -> list[float]:
    return [getattr(range_, level) for level in LEVELS]


def test_levels_are_the_ends_of_all_libraries_and_their_mean():
    found = measured("aau", AauParams(), RECORDS)
    assert found
    # Clock and leakage: 4 + 0.5 to 12 + 1.0 mW, of 10.5, 13, 4.5 and 6.
    assert values(found.idle_w) == pytest.approx([0.0045, 0.0085, 0.013])
    # 20 mW in 1250 ps are 25 pJ, 40 mW 50 pJ.
    assert values(found.busy_pj) == pytest.approx([25, 37.5, 50])
    assert found.records["small"]["design_sha256"] == "aau by small"
    assert found.records.keys() == {"big", "small"}


def test_control_takes_the_time_of_its_record_over_the_draft_steps_in_it():
    found = measured("ahasd", AhasdParams(), RECORDS)
    assert found
    # 3 mW in 120 us are 360,000 pJ, of 300 steps.
    assert values(found.busy_pj) == pytest.approx([1200, 1200, 1200])


def test_units_of_a_run_add_up():
    found = hardware_of(
        [
            Part("ahasd", AhasdParams(), 1),
            Part("draftctl", DraftctlParams(), 1),
            Part("aau", AauParams(), 16),
        ],
        RECORDS,
    )
    assert values(found.rows["control_idle_w"]) == pytest.approx([0.032, 0.0335, 0.035])
    assert values(found.rows["control_pj_per_step"]) == pytest.approx([3600] * 3)
    assert values(found.rows["aau_idle_w"]) == pytest.approx([0.072, 0.136, 0.208])
    assert values(found.rows["aau_pj_per_cycle"]) == pytest.approx([25, 37.5, 50])
    assert found.told["aau"]["instances"] == 16
    assert found.told["aau"]["idle_w"]["low"] == pytest.approx(0.0045)
    assert all(each["counted"] for each in found.told.values())


def test_hardware_of_which_there_is_no_record_counts_as_nothing_and_that_is_told():
    other = replace(AauParams(), lanes=8)
    found = hardware_of([Part("aau", other, 16), Part("ahasd", AhasdParams(), 1)], RECORDS)
    assert values(found.rows["aau_pj_per_cycle"]) == values(found.rows["aau_idle_w"]) == [0, 0, 0]
    assert found.told["aau"]["counted"] is False
    assert "no record" in found.told["aau"]["why"]
    assert found.told["ahasd"]["counted"] is True
    assert found.rows["control_idle_w"].low > 0


@pytest.mark.parametrize(
    ("scheme", "changes", "expected"),
    [
        ("ahasd", {}, {"ahasd": 1, "aau": 16}),
        ("async", {"hardware.draftctl": True}, {"ahasd": 1, "draftctl": 1, "aau": 16}),
        ("sync", {"hardware.draftctl": True}, {"draftctl": 1, "aau": 16}),
        ("amusd", {"hardware.draftctl": True}, {"aau": 16}),
        ("ahasd", {"nonlinear.unit": "npu"}, {"ahasd": 1}),
        ("ahasd", {"memory.fidelity": "analytic"}, {"ahasd": 1}),
        ("npu-sd", {}, {}),
        ("gpu-ar", {}, {}),
        ("pim-ar", {}, {"aau": 16}),
    ],
)
def test_a_run_has_the_units_of_its_scheme(scheme, changes, expected):
    config = load_config("default", {"scheme": scheme, **changes})
    found = parts(config)
    assert {part.unit: part.instances for part in found} == expected


@pytest.mark.full
def test_the_package_has_records_of_the_default_run():
    config = load_config("default", {"hardware.draftctl": True})
    for part in parts(config):
        found = measured(part.unit, part.params)
        assert found, part.unit
        assert len(found.records) == 2
        assert all(value > 0 for value in values(found.idle_w))


def test_a_run_has_its_control_by_draft_steps_and_their_fate(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hardware, "_packaged", lambda: RECORDS)
    keys = {"scheme": "ahasd", "backend.ahasd": "golden", "hardware.draftctl": True}
    config = load_config("test", {**keys, "backend.draftctl": "golden"})
    outcome = simulate(config, *prepare(config))
    found = energy(outcome)
    steps = {
        name.removeprefix("control."): each["control_steps"]
        for name, each in found["events"].items()
        if "control_steps" in each
    }
    assert sum(steps.values()) == outcome.ledger.draft_steps.total() > 0
    assert steps["committed"] == outcome.ledger.accepted_steps.total()
    told = found["hardware"]
    assert told.keys() == {"ahasd", "draftctl", "aau"}
    mid = found["mid"]["wall"]
    pj = sum(told[unit]["busy_pj"]["mid"] for unit in ("ahasd", "draftctl"))
    assert mid["by_component_mj"]["control"] == pytest.approx(sum(steps.values()) * pj / 1e9)
    watts = sum(each["instances"] * each["idle_w"]["mid"] for each in told.values())
    idle = sum(mid["by_component_mj"][name] for name in ("aau_idle", "control_idle"))
    assert idle == pytest.approx(watts * found["time_s"] * 1000)
    cycles = sum(each.get("aau_cycles", 0) for each in found["events"].values())
    expected = cycles * told["aau"]["busy_pj"]["mid"] / 1e9
    assert mid["by_component_mj"]["aau"] == pytest.approx(expected)
    # All cycles that a step has are those that the record is weighed by, but for abandoned steps.
    assert cycles >= worked(outcome).total() > 0
