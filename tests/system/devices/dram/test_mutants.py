# SPDX-License-Identifier: Apache-2.0
"""Hand-made faults in both engines and in the skipping, each caught by comparison."""

import sys
from collections import Counter
from importlib.resources import files
from types import ModuleType

import pytest

from ahasd.system.devices.dram import fast, reference
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.rules import RULES
from ahasd.system.devices.dram.stream import AllBankMac, SequentialRead, play

STREAMS = 300

# LPDDR5 with values at which every rule is sometimes the last to end.
STRESS = {
    "channels": 2,
    "ranks": 2,
    "refresh_slack": 2,
    "t_rc": 90,
    "t_rcd_ab": 25,
    "t_ppd": 9,
    "t_ccd_l": 7,
    "t_mac": 11,
    "t_cs": 15,
    "t_wtr_l": 25,
    "t_rrd_s": 6,
    "t_rrd_l": 11,
    "t_faw": 60,
    "t_pbr_pbr": 30,
    "t_pbr_act": 40,
}

# before, after
KERNEL_MUTANTS = {
    "reads of one group are as close as of two": (
        "groups[g, G_RD], minima, K_CCD_L",
        "groups[g, G_RD], minima, K_CCD_S",
    ),
    "a window of three activates": ("ranks[place, R_ACT4], minima", "ranks[place, R_ACT3], minima"),
    "precharge of all banks forgets writes": (
        "ranks[place, R_RD], ranks[place, R_WR]\n",
        "ranks[place, R_RD], NEVER\n",
    ),
    "a refresh leaves the partner bank free": (
        "banks[first + each, B_REFPB] = at",
        "banks[first + bank, B_REFPB] = at",
    ),
    "a MAC takes any open row": ("if banks[each, B_ROW] != row:", "if banks[each, B_ROW] < 0:"),
    "a refresh is due as before": (
        "ranks[place, R_DUE] += sizes[S_REFI]\n",
        "ranks[place, R_DUE] += 0\n",
    ),
    "other ranks share the data bus as the own one": ("if other != place:", "if other < 0:"),
    "a MAC waits for no inputs": ("ranks[place, R_WRB], minima, K_WRB_MAC", "NEVER, minima, K_MAC"),
    "results are there at once": ("R_MAC], minima, K_MAC_RDB", "R_MAC], minima, K_CCD_S"),
    "results of a unit cross no bus": ("ranks[place, R_RDB] = at", "ranks[place, R_RDB] = NEVER"),
    "a bank may be refreshed twice in a round": (
        "ranks[place, R_REFRESHED] |= 1 << (bank % step)",
        "ranks[place, R_REFRESHED] |= 0",
    ),
    "of equal bounds the wrong one is told": ("cause < best[1]", "cause > best[1]"),
    "activates take one command cycle": ("if activates else", "if not activates else"),
}
STREAM_MUTANTS = {
    "the phase of the refreshes is ignored": ("self._due - self._now\n", "0\n"),
    "the state of the banks is ignored": (", self.index == 0, self._state", ", False, 0"),
    "a known segment forgets the refresh before it": (
        "key = self._pattern.kind(self.index), refreshes,",
        "key = self._pattern.kind(self.index), 0,",
    ),
    "a period too many is skipped": (") // segments", ") // segments + 1"),
    "skipped periods take no time": ("self._now += times * cycles", "self._now += 0 * cycles"),
    "an engine that lags is not brought along": (
        "if not self._engine_follows:",
        "if not self._engine_follows and index < 0:",
    ),
}


def mutant(monkeypatch, name, before, after):
    """Return a module of the package with one change, not compiled."""
    package = "ahasd.system.devices.dram"
    source = (files(package) / f"{name}.py").read_text(encoding="utf-8")
    assert source.count(before) >= 1
    source = source.replace(before, after).replace(
        "from ahasd.system.devices.dram.compiling import compiled",
        "compiled = lambda function: function",
    )
    module = ModuleType(f"mutant_of_{name}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(source, f"{name}.py", "exec"), module.__dict__)
    return module


def differ(load, lockstep):
    """Return whether the engines differ on any of many streams."""
    timing = load("lpddr5-6400", **STRESS)
    try:
        for seed in range(STREAMS):
            lockstep(timing, seed, Counter())
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("name", KERNEL_MUTANTS)
def test_a_fault_in_the_kernel_is_caught(monkeypatch, load, lockstep, name):
    monkeypatch.setattr(fast, "kernel", mutant(monkeypatch, "kernel", *KERNEL_MUTANTS[name]))
    assert differ(load, lockstep)


def test_the_kernel_is_the_same_when_not_compiled(monkeypatch, load, lockstep):
    monkeypatch.setattr(fast, "kernel", mutant(monkeypatch, "kernel", "def ", "def "))
    timing = load("lpddr5-6400", **STRESS)
    for seed in range(5):
        lockstep(timing, seed, Counter())


@pytest.mark.parametrize("number", range(len(RULES)))
def test_no_rule_of_the_table_is_idle(monkeypatch, load, lockstep, number):
    monkeypatch.setattr(reference, "RULES", RULES[:number] + RULES[number + 1 :])
    assert differ(load, lockstep)


def skipping_is_exact(timing, module):
    for pattern in (
        SequentialRead(timing, 250_000),
        AllBankMac(timing, 3000),
    ):
        whole = play(FastEngine(timing), pattern, skip=False)
        skipped = module.play(FastEngine(timing), pattern)
        total = skipped.simulated_commands + skipped.skipped_commands
        if (skipped.cycles, skipped.refreshes, total) != (
            whole.cycles,
            whole.refreshes,
            whole.simulated_commands,
        ):
            return False
    return True


@pytest.mark.parametrize("name", STREAM_MUTANTS)
def test_a_fault_in_the_skipping_is_caught(monkeypatch, load, name):
    module = mutant(monkeypatch, "stream", *STREAM_MUTANTS[name])
    try:
        exact = skipping_is_exact(load("lpddr5-6400", channels=1), module)
    except ValueError:
        exact = False
    assert not exact
