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
    assert seen["refused"]


@pytest.mark.slow
def test_a_thousand_random_streams_take_the_same_cycles_and_meet_the_constraints(timing, lockstep):
    seen = many(timing, lockstep, 1000)
    assert all(seen["Op", op.name] for op in Op)
    assert seen["refused"]
    assert seen["overdue"]
    met = {each for each in Constraint if seen["Constraint", each.name]}
    assert set(Constraint) - met == hidden(timing)


def hidden(timing):
    """Return the constraints that another one always covers with this memory's values."""
    t = timing
    return {
        constraint
        for constraint, covered in (
            # The data of a write is over before that of a read could begin.
            (Constraint.CS_WTR, t.wl + t.burst + t.t_cs <= t.rl + t.command),
            (Constraint.RRD_L, t.t_rrd_l == t.t_rrd_s),
            (Constraint.RRD_S, t.t_rrd_s <= t.act_command),
            (Constraint.FAW, t.t_faw <= 4 * t.t_rrd_s),
            (Constraint.RC, t.t_rc < t.t_ras + t.t_rp),
            (Constraint.PPD, t.t_ppd <= t.command),
        )
        if covered
    }


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
