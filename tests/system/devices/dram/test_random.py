# SPDX-License-Identifier: Apache-2.0
"""Both engines on the same random commands: same cycles, same constraints, same refusals."""

from collections import Counter
from dataclasses import replace

import pytest

from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.dram.rules import Constraint


def many(timing, lockstep, streams):
    seen = Counter()
    for seed in range(streams):
        # Two of each, so that every rule has something to apply to.
        small = replace(timing, channels=2, ranks=2, refresh_slack=1 + seed % 8)
        lockstep(small, seed, seen)
    return seen


def test_a_hundred_random_streams_take_the_same_cycles(timing, lockstep):
    seen = many(timing, lockstep, 100)
    assert all(seen["Op", op.name] for op in Op)
    assert seen["BankStateError"]


@pytest.mark.slow
def test_a_thousand_random_streams_take_the_same_cycles_and_meet_the_constraints(timing, lockstep):
    seen = many(timing, lockstep, 1000)
    assert all(seen["Op", op.name] for op in Op)
    assert seen["BankStateError"]
    assert seen["RefreshOverdueError"]
    unmet = {each.name for each in Constraint if not seen["Constraint", each.name]}
    # Data of a write and of a read in another rank never meet while RL is that long.
    assert unmet <= {"CS_WTR"}


def test_a_saved_state_goes_on_as_the_original_at_another_time_and_row(
    timing, make_engine, make_traffic, outcome
):
    small = replace(timing, channels=2, ranks=2)
    shift, rows = 777, 40
    for seed in range(20):
        original, traffic = make_engine(small), make_traffic(small, seed)
        copy = make_engine(small)
        for step in range(40):
            command = traffic.command()
            if step == 20:
                for channel in range(2):
                    # Something old in the copy, which the restored state must not keep.
                    copy.run([replace(command, op=Op.REFAB, channel=channel)])
                    state = original.save(channel, 0)
                    copy.restore(channel, rows, state, original.now(channel) + shift)
                    assert copy.save(channel, rows) == state
                    for rank in range(2):
                        due = original.refresh_due(channel, rank) + shift
                        copy.set_refresh_due(channel, rank, due)
            shifted = replace(command, row=command.row + rows)
            legal = outcome(original.bound, command)
            if step >= 20:
                other = outcome(copy.bound, shifted)
                assert other[1] == legal[1] or not isinstance(legal[0], int)
                assert moved(other[0], -shift) == legal[0]
            earliest = outcome(original.earliest, command)
            if isinstance(earliest, int):
                original.run([command])
                if step >= 20:
                    copy.run([shifted])
                traffic.accepted(command)


def moved(cycle, shift):
    """Return the cycle that much later; leave an error's type alone."""
    return cycle + shift if isinstance(cycle, int) else cycle
