# SPDX-License-Identifier: Apache-2.0
"""Two devices that change at given times."""

from ahasd.system.metrics.split import Split
from ahasd.system.schemes.activity import Activity
from ahasd.system.schemes.npu import NPU_STATES
from ahasd.system.schemes.pim import PIM_STATES


def played(npu_changes, pim_changes, end):
    npu, pim = Activity(NPU_STATES, "starved"), Activity(PIM_STATES, "waiting")
    split = Split(npu, pim if pim_changes is not None else None)
    changes = [(at, 0, state) for at, state in npu_changes]
    changes += [(at, 1, state) for at, state in pim_changes or ()]
    for at, which, state in sorted(changes):
        (npu, pim)[which].enter(state, at)
    npu.enter(npu.state, end)
    return {part: ps for part, ps in split.parts_ps.items() if ps}


def test_every_part_of_a_run_is_told_apart():
    npu = [(0, "prefilling"), (10, "starved"), (30, "verifying"), (100, "starved")]
    pim = [
        (0, "prefilling"),
        (10, "drafting"),
        (50, "stopped"),
        (60, "preverifying"),
        (105, "drafting"),
        (106, "waiting"),
    ]
    assert played(npu, pim, 120) == {
        "prefill": 10,
        "draft_only": 20 + 1,
        "draft_and_verify": 20,
        "verify_only": 10,
        "preverify_and_verify": 40,
        "preverify_only": 5,
        "neither": 14,
    }


def test_an_npu_alone_verifies_or_does_nothing():
    assert played([(5, "verifying"), (25, "starved")], None, 30) == {
        "verify_only": 20,
        "neither": 10,
    }
