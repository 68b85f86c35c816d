# SPDX-License-Identifier: Apache-2.0
"""The table that a run prints: scales that follow values, and devices by their names."""

import io

import pytest
from rich.console import Console

from ahasd.system.config import load_config
from ahasd.system.report import devices, memory_line, scaled, table, uncounted_lines
from ahasd.system.results import document
from ahasd.system.simulate import prepare, simulate


@pytest.mark.parametrize(
    ("values", "unit", "text"),
    [
        ([0.752], "s", "752 ms"),
        ([1.0], "s", "1.00 s"),
        ([0.9994], "s", "999 ms"),
        ([0.9996], "s", "1.00 s"),
        ([0.0000082381], "s", "8.24 us"),
        ([3e-12], "s", "3.00 ps"),
        ([3e-14], "s", "0.0300 ps"),
        ([0.0], "s", "0.00 s"),
        ([12345.0], "s", "12.3 ks"),
        ([0.415, 0.641, 1.161], "J/token", "0.415 / 0.641 / 1.16 J/token"),
        ([0.000034, 0.000464, 0.0], "J/token", "34.0 / 464 / 0.00 uJ/token"),
    ],
)
def test_the_scale_follows_the_largest_value(values, unit, text):
    assert scaled(values, unit) == text


@pytest.mark.parametrize(
    ("scheme", "names"),
    [
        ("gpu-ar", "GPU / -"),
        ("gpu-sd", "GPU / GPU"),
        ("npu-sd", "NPU / NPU"),
        ("pim-ar", "PIM / -"),
        ("pim-sd", "PIM / PIM"),
        ("specpim", "NPU + PIM / NPU + PIM"),
        ("sync", "NPU / PIM"),
        ("ahasd", "NPU / PIM"),
    ],
)
def test_every_scheme_says_which_device_verifies_and_drafts(scheme, names):
    assert devices(scheme) == names


def shown(*schemes):
    """Return the printed rows of tiny runs by label, and all of the text in one line."""
    outcomes, traces = [], []
    for scheme in schemes:
        settings = {"workload.tokens": 24, "dlm": "tiny-draft", "tlm": "tiny-target"}
        config = load_config("default", settings | {"scheme": scheme, "backend.ahasd": "golden"})
        trace, ranks = prepare(config)
        outcomes.append(simulate(config, trace, ranks))
        traces.append(trace)
    results = document(outcomes[0].config, traces[0], outcomes, [0.0] * len(outcomes))
    text = io.StringIO()
    Console(file=text, width=200).print(table(results))
    rows = [line.strip("│").split("│") for line in text.getvalue().splitlines() if "│" in line]
    cells = {label.strip(): [cell.strip() for cell in found] for label, *found in rows}
    return results, cells, " ".join(text.getvalue().split())


@pytest.mark.parametrize("scheme", ["gpu-ar", "gpu-sd", "npu-ar", "pim-sd"])
def test_one_device_waits_for_no_other_and_is_called_by_its_name(scheme):
    results, cells, text = shown(scheme)
    assert not [label for label in cells if "delayed" in label]
    assert not [label for label in cells if label.startswith(("NPU", "PIM"))]
    assert cells["verifier / drafter"][0].split(" / ")[0] == scheme[:3].upper()
    assert ("AAU" in text) == scheme.startswith("pim")
    # Of tiny models, nothing is 0 that is not.
    for label in ("time to first token", "DRAM-read floor", "energy, devices, low / mid / high"):
        assert float(cells[label][0].split()[0]) > 0
    us = results["runs"][0]["ttft_s"] * 1e6
    assert float(cells["time to first token"][0].removesuffix(" us")) == pytest.approx(us, rel=5e-3)
    mid_uj = results["runs"][0]["energy"]["mid"]["device"]["mj_per_token"] * 1e3
    *levels, unit = cells["energy, devices, low / mid / high"][0].replace(" / ", " ").split()
    assert unit == "uJ/token"
    assert float(levels[1]) == pytest.approx(mid_uj, rel=5e-3)


def test_two_devices_delay_each_other():
    _, cells, text = shown("async", "npu-ar")
    for role in ("verifier", "drafter"):
        delayed, none = cells[f"{role} delayed by the other"]
        assert float(delayed.split()[0]) >= 0
        assert none == "-"
    assert cells["verifier / drafter"] == ["NPU / PIM", "NPU / -"]
    assert "AAU: " in text


@pytest.mark.parametrize(("ran", "simulated"), [(1714802, 5367244), (40201092, 798809)])
def test_what_is_said_of_the_memory_holds_whichever_count_is_larger(ran, simulated):
    line = memory_line({"all": ran, "simulated": simulated})
    assert line.startswith(f"memory: {ran:,} commands in all; {simulated:,} were simulated")
    assert "the others" not in line, "there may be none"
    assert "\n" not in line


def test_hardware_that_no_energy_is_counted_of_is_told():
    hardware = {
        "ahasd": {"instances": 1, "counted": True},
        "aau": {"instances": 16, "counted": False, "why": "no record"},
    }
    run = {"scheme": "ahasd", "energy": {"hardware": hardware}}
    assert uncounted_lines(run) == ["ahasd: energy without aau, 16 of them: no record"]
