# SPDX-License-Identifier: Apache-2.0
"""The compiled inside of `FastSharer`."""

import numpy as np

from ahasd.system.devices.dram.compiling import compiled
from ahasd.system.devices.dram.kernel import (
    C_NOW,
    O_ACT,
    O_ACTAB,
    O_PREAB,
    O_RD,
    O_RDB,
    O_REFAB,
    O_WR,
    O_WRB,
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
SEGMENT, START, AT, END, OFFSET, PRECHARGE, REFRESHES, HELD, SINCE, SERVED, OWNS, READY = range(
    9, 21
)
# and what it did.
FINISHED, FIELDS = 21, 22

LEADER, SLOT, PATIENCE, TURN, FAVOURED, UNTIL = range(6)
"""Numbers beside the table: the leading lane; cycles of a slot, 0 without slots; of patience, 0
where nobody is favoured; of a turn of the data bus; the lane that is favoured, -1 for none, and
until when."""

NEVER_CYCLES = 2**50
"""Refresh interval of a memory that is not refreshed."""

UNKNOWN = -1
NEVER = 2**62


@compiled
def _begin(lane, closed, switched, now, due, interval, bounds):
    """Begin a segment: behind the refreshes that are due, and a precharge if banks are open."""
    refreshes = max(0, (now - due) // interval + 1)
    lane[REFRESHES] = refreshes
    lane[PRECHARGE] = 1 if switched or refreshes > 0 else 0
    fresh = 1 if closed or lane[PRECHARGE] else 0
    which = lane[BOUNDS] + 2 * lane[SEGMENT] + fresh
    lane[START], lane[END] = bounds[which, 0], bounds[which, 1]
    lane[AT] = lane[START]
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
def _is_burst(op):
    """Tell whether a command moves a burst over the data bus."""
    return op in (O_RD, O_WR, O_RDB, O_WRB)


@compiled
def _favoured(table, heads, cycles, numbers):
    """Return the lane that goes before the others because it was put off, -1 if there is none."""
    favoured = numbers[FAVOURED]
    if favoured >= 0:
        ended = not table[favoured, OWNS] or not _is_burst(heads[favoured, 0])
        if ended or cycles[favoured] > numbers[UNTIL]:
            favoured = -1
    if favoured < 0:
        longest = NEVER
        for i in range(len(table)):
            lane = table[i]
            late = cycles[i] - lane[READY] >= numbers[PATIENCE]
            if lane[OWNS] and late and lane[READY] < longest:
                favoured, longest = i, lane[READY]
                numbers[UNTIL] = cycles[i] + numbers[PATIENCE]
    numbers[FAVOURED] = favoured
    return favoured


@compiled
def _chosen(table, heads, cycles, favoured, turn, sizes):
    """Return the lane whose command is next."""
    if favoured >= 0 and not _is_burst(heads[favoured, 0]):
        return favoured
    first = second = -1
    first_burst = NEVER
    for i in range(len(table)):
        if table[i, OWNS] and table[i, PRIORITY] == 0 and _is_burst(heads[i, 0]):
            first_burst = min(first_burst, cycles[i])
    for i in range(len(table)):
        lane = table[i]
        if not lane[OWNS] or (favoured >= 0 and i != favoured and _is_burst(heads[i, 0])):
            continue
        if lane[PRIORITY] and _is_burst(heads[i, 0]) and cycles[i] + turn > first_burst:
            continue
        best = first if lane[PRIORITY] == 0 else second
        if (
            best < 0
            or cycles[i] < cycles[best]
            or (cycles[i] == cycles[best] and lane[SERVED] < table[best, SERVED])
        ):
            if lane[PRIORITY] == 0:
                first = i
            else:
                second = i
    if first < 0:
        return second
    if second >= 0:
        opens = heads[second, 0] == O_ACT or heads[second, 0] == O_ACTAB
        length = sizes[S_ACT_COMMAND] if opens else sizes[S_COMMAND]
        if cycles[second] + length <= cycles[first]:
            return second
    return first


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
    """Give commands until a refresh of the leading lane's rank has been given; return how many.

    In a memory that is not refreshed, until the leading lane has passed a period.
    """
    count = len(table)
    heads = np.zeros((count, templates.shape[1]), np.int64)
    serial = table[:, SERVED].max()
    cycles = np.zeros(count, np.int64)
    leader, slot = numbers[LEADER], numbers[SLOT]
    for given in range(1, max_commands + 1):
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
            refreshes = head[0] == O_PREAB or head[0] == O_REFAB
            if lane[IS_SLOTTED] and not refreshes and (cycle // slot) % 2 != lane[IS_PIM]:
                cycle = (cycle // slot + 1) * slot
            if lane[READY] == UNKNOWN:
                lane[READY] = cycle
            cycles[i] = cycle
        favoured = -1
        if numbers[PATIENCE] > 0:
            favoured = _favoured(table, heads, cycles, numbers)
        chosen = _chosen(table, heads, cycles, favoured, numbers[TURN], sizes)
        cycle = cycles[chosen]
        commit_one(heads[chosen], cycle, sizes, banks, groups, ranks, channels)
        serial += 1
        lane = table[chosen]
        lane[SERVED] = serial
        lane[READY] = UNKNOWN
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
                if chosen == leader and not lane[SEGMENT] and sizes[S_REFI] == NEVER_CYCLES:
                    return given
    return max_commands
