# SPDX-License-Identifier: Apache-2.0
"""The compiled inside of `FastSharer`."""

import numpy as np

from ahasd.system.devices.dram.compiling import compiled
from ahasd.system.devices.dram.kernel import (
    C_NOW,
    O_ACT,
    O_ACTAB,
    O_PREAB,
    O_REFAB,
    R_DUE,
    S_ACT_COMMAND,
    S_COMMAND,
    S_REFI,
    bound_one,
    commit_one,
)

# Columns of the table of lanes: what a lane is,
RANK, PRIORITY, IS_PIM, RIVAL, IS_SLOTTED, BOUNDS, PERIOD, ROW_STEP, ROW_MODULUS = range(9)
CONSTANTS = 9
# where it stands, as `sharing._Position` says,
SEGMENT, AT, END, OFFSET, PRECHARGE, REFRESHES, HELD, SINCE, SERVED, OWNS = range(9, 19)
# and what it did.
FINISHED, FIELDS = 19, 20

LEADER, SLOT = 0, 1
"""Numbers beside the table: the leading lane; cycles of a slot, 0 without slots."""

_NEVER = 2**62


@compiled
def _begin(lane, closed, switched, now, due, interval, bounds):
    """Begin a segment: behind the refreshes that are due, and a precharge if banks are open."""
    refreshes = max(0, (now - due) // interval + 1)
    lane[REFRESHES] = refreshes
    lane[PRECHARGE] = 1 if switched or refreshes > 0 else 0
    fresh = 1 if closed or lane[PRECHARGE] else 0
    which = lane[BOUNDS] + 2 * lane[SEGMENT] + fresh
    lane[AT], lane[END] = bounds[which, 0], bounds[which, 1]
    lane[SINCE] = now
    lane[OWNS] = 1


def begin(table, bounds, interval, tables):
    """Let every rank's first owner begin."""
    ranks = tables[2]
    for i, lane in enumerate(table):
        rival = lane[RIVAL]
        if rival < 0 or (lane[PRIORITY], i) < (table[rival][PRIORITY], rival):
            _begin(lane, True, False, 0, ranks[lane[RANK], R_DUE], interval, bounds)


@compiled
def _finish(i, table, bounds, now, slot, interval, ranks):
    """End a segment, and begin the next of the lane that has the rank then."""
    lane = table[i]
    lane[FINISHED] += 1
    lane[SEGMENT] += 1
    if lane[SEGMENT] == lane[PERIOD]:
        lane[SEGMENT] = 0
        lane[OFFSET] = (lane[OFFSET] + lane[ROW_STEP]) % lane[ROW_MODULUS]
    lane[HELD] += now - lane[SINCE]
    owner, rival = i, lane[RIVAL]
    if rival >= 0:
        other = table[rival]
        if slot > 0:
            if lane[IS_PIM] != (now // slot) % 2:
                owner = rival
        elif lane[PRIORITY] != other[PRIORITY]:
            if other[PRIORITY] < lane[PRIORITY]:
                owner = rival
        elif lane[HELD] >= other[HELD]:
            owner = rival
    lane[OWNS] = 0
    due = ranks[lane[RANK], R_DUE]
    _begin(table[owner], False, owner != i, now, due, interval, bounds)


@compiled
def run(
    max_commands,
    templates,
    bounds,
    table,
    numbers,
    minima,
    sizes,
    banks,
    groups,
    ranks,
    channels,
):
    """Give commands until a refresh of the leading lane's rank has been given; return how many."""
    count = len(table)
    heads = np.zeros((count, templates.shape[1]), np.int64)
    serial = table[:, SERVED].max()
    leader, slot = numbers[LEADER], numbers[SLOT]
    for given in range(1, max_commands + 1):
        first = second = -1
        first_cycle = second_cycle = _NEVER
        for i in range(count):
            lane = table[i]
            if not lane[OWNS]:
                continue
            head = heads[i]
            if lane[PRECHARGE] or lane[REFRESHES]:
                head[:] = 0
                head[0] = O_PREAB if lane[PRECHARGE] else O_REFAB
                head[2] = lane[RANK]
            else:
                head[:] = templates[lane[AT]]
                head[5] = (head[5] + lane[OFFSET]) % lane[ROW_MODULUS]
            cycle, _ = bound_one(head, minima, sizes, banks, groups, ranks, channels)
            if cycle < 0:
                return cycle
            if lane[IS_SLOTTED] and head[0] != O_PREAB and head[0] != O_REFAB:
                if (cycle // slot) % 2 != lane[IS_PIM]:
                    cycle = (cycle // slot + 1) * slot
            if lane[PRIORITY] == 0:
                if cycle < first_cycle or (
                    cycle == first_cycle and lane[SERVED] < table[first, SERVED]
                ):
                    first, first_cycle = i, cycle
            elif cycle < second_cycle or (
                cycle == second_cycle and lane[SERVED] < table[second, SERVED]
            ):
                second, second_cycle = i, cycle
        chosen, cycle = first, first_cycle
        if second >= 0:
            opens = heads[second, 0] == O_ACT or heads[second, 0] == O_ACTAB
            length = sizes[S_ACT_COMMAND] if opens else sizes[S_COMMAND]
            if first < 0 or second_cycle + length <= first_cycle:
                chosen, cycle = second, second_cycle
        commit_one(heads[chosen], cycle, sizes, banks, groups, ranks, channels)
        serial += 1
        lane = table[chosen]
        lane[SERVED] = serial
        if lane[PRECHARGE]:
            lane[PRECHARGE] = 0
        elif lane[REFRESHES]:
            lane[REFRESHES] -= 1
            if chosen == leader and not lane[REFRESHES]:
                return given
        else:
            lane[AT] += 1
            if lane[AT] == lane[END]:
                _finish(chosen, table, bounds, channels[0, C_NOW], slot, sizes[S_REFI], ranks)
    return max_commands
