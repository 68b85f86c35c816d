# SPDX-License-Identifier: Apache-2.0
"""Every switch, cycle by cycle, at the corners of the legal values of the CSRs."""

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.gtsu.params import (
    DRAIN_LIMIT_CYCLES,
    OVERHEAD_CYCLES,
    PIM_PERIOD_PS,
    SWITCH_LIMIT_CYCLES,
    WORST_SWITCH_CYCLES,
    WORST_SWITCH_PS,
    Issue,
    Kind,
    State,
)

SWITCHES = (0, 1, 2, 44, SWITCH_LIMIT_CYCLES)
BUDGETS = (0, 1, 400, DRAIN_LIMIT_CYCLES, 641, 1023)


@pytest.fixture
def preempted(make_gtsu):
    """Start a unit whose draft task yields; step to the first cycle that grants nothing."""

    def make(switch_cycles, drain_max_cycles, *, transfer):
        gtsu = make_gtsu("paper")
        gtsu.pins |= {"switch_cycles": switch_cycles, "drain_max_cycles": drain_max_cycles}
        gtsu.run(Kind.DRAFT, 1)
        if transfer == "preempt":
            gtsu.pins["layer_boundary"] = 1
            gtsu.preverify(2)
        else:
            gtsu.done(1)
            gtsu.edges(5)
            gtsu.preverify(2)
        gtsu.edge()  # decides
        return gtsu

    return make


def drains(budget):
    """Return drain times at once, at the limit and beyond."""
    limit = min(budget, DRAIN_LIMIT_CYCLES)
    return sorted({0, max(limit - 1, 0), limit, limit + 1})


@pytest.mark.parametrize("make_gtsu", ["golden", "rtl"], indirect=True)
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_takes_its_drain_its_gap_and_the_overhead_or_times_out(preempted, switch, budget):
    limit = min(budget, DRAIN_LIMIT_CYCLES)
    for drain in drains(budget):
        for transfer in ("preempt", "done"):
            gtsu = preempted(switch, budget, transfer=transfer)
            found = []
            cycles = 2  # since the transfer: its own cycle and the deciding one
            while True:
                seen = gtsu.edge(drained=int(cycles - 2 >= drain))
                if seen["issue__valid"] or seen["timeout"]:
                    break
                assert not seen["compute_grant"]
                found.append((State(seen["state"]), seen["mask"]))
                cycles += 1
            if drain > limit:
                assert seen["timeout"]
                assert found == (limit + 1) * [(State.DRAINING, gtsu.dlm)]
                assert cycles == limit + OVERHEAD_CYCLES
                assert not seen["mask"]
            else:
                gap = max(switch, 1)
                assert found == (drain + 1) * [(State.DRAINING, gtsu.dlm)] + gap * [
                    (State.SWITCHING, 0)
                ]
                assert cycles == drain + gap + OVERHEAD_CYCLES
                assert seen["mask"] == gtsu.tlm
                issue = Issue.unpack(seen["issue__payload"])
                assert (issue.kind, issue.id) == (Kind.PREVERIFY, 2)
            assert cycles <= WORST_SWITCH_CYCLES
            assert cycles * PIM_PERIOD_PS <= WORST_SWITCH_PS < 1_000_000


def test_the_longest_legal_switch_takes_the_cycles_that_are_named(preempted):
    gtsu = preempted(127, 1023, transfer="done")
    cycles = 2
    while not gtsu.edge(drained=int(cycles >= 2 + DRAIN_LIMIT_CYCLES))["issue__valid"]:
        cycles += 1
    assert cycles == WORST_SWITCH_CYCLES == 770


def test_latency_and_interval_are_those_of_the_class(make_gtsu):
    hardware = UNITS["gtsu"].load_hardware()
    assert (hardware.latency, hardware.interval) == (2, 1)
    golden = UNITS["gtsu"].load_golden()
    assert (golden.latency, golden.interval) == (2, 1)
    gtsu = make_gtsu()
    gtsu.run(Kind.PREVERIFY, 1)
    gtsu.done(1)
    gtsu.edges(3)
    gtsu.preverify(2)
    gtsu.preverify(3)  # one cycle after the other: the interval
    assert gtsu.until(issue__valid=1) == hardware.latency - 2
