# SPDX-License-Identifier: Apache-2.0
"""Both engines on the same random commands: same cycles, same constraints, same refusals."""

from collections import Counter
from dataclasses import replace

import pytest

from ahasd.system.devices.dram.commands import Op, encoded
from ahasd.system.devices.dram.engine import IllegalCommandError, RefreshOverdueError
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.reference import ReferenceEngine
from ahasd.system.devices.dram.rules import Constraint

COMMANDS = 40


def outcome(act, *arguments):
    """Return what a call returns, or what it raises with all it says."""
    try:
        return act(*arguments)
    except IllegalCommandError as error:
        return type(error), str(error)


def lockstep(timing, traffic, seen):
    """Give both engines one stream command by command, then the accepted ones as a whole."""
    reference, fast = ReferenceEngine(timing), FastEngine(timing)
    accepted = []
    for _ in range(COMMANDS):
        command = traffic.command()
        bound = outcome(reference.bound, command)
        assert outcome(fast.bound, command) == bound
        earliest = outcome(reference.earliest, command)
        assert outcome(fast.earliest, command) == earliest
        if not isinstance(bound[0], int):
            seen[bound[0].__name__] += 1
            continue
        seen[bound[1]] += 1
        if not isinstance(earliest, int):
            seen[RefreshOverdueError.__name__] += 1
            continue
        early = outcome(reference.issue, command, earliest - 1)
        assert outcome(fast.issue, command, earliest - 1) == early
        assert early is not None
        cycle = earliest + traffic.wait()
        issued = outcome(reference.issue, command, cycle)
        assert outcome(fast.issue, command, cycle) == issued
        if issued is None:
            traffic.accepted(command)
            accepted.append(command)
            seen[command.op] += 1
    for channel in range(timing.channels):
        assert fast.now(channel) == reference.now(channel)
        for rank in range(timing.ranks):
            assert fast.refresh_due(channel, rank) == reference.refresh_due(channel, rank)
            for bank in range(timing.banks):
                assert fast.open_row(channel, rank, bank) == reference.open_row(channel, rank, bank)
    cycles = ReferenceEngine(timing).run(accepted)
    assert FastEngine(timing).run(accepted) == cycles
    assert FastEngine(timing).run_encoded(encoded(timing, accepted)).tolist() == cycles


def many(timing, make_traffic, streams):
    seen = Counter()
    for seed in range(streams):
        # Two of each, so that every rule has something to apply to.
        small = replace(timing, channels=2, ranks=2, refresh_slack=1 + seed % 8)
        lockstep(small, make_traffic(small, seed), seen)
    return seen


def test_a_hundred_random_streams_take_the_same_cycles(timing, make_traffic):
    seen = many(timing, make_traffic, 100)
    assert all(seen[op] for op in Op)
    assert seen["BankStateError"]


@pytest.mark.slow
def test_a_thousand_random_streams_take_the_same_cycles_and_meet_every_constraint(
    timing, make_traffic
):
    seen = many(timing, make_traffic, 1000)
    assert all(seen[op] for op in Op)
    assert seen["BankStateError"]
    assert seen["RefreshOverdueError"]
    print(timing.name, sum(seen[each] for each in Constraint), "bounds", seen)


def test_a_saved_state_goes_on_as_the_original_at_another_time_and_row(
    timing, make_engine, make_traffic
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
