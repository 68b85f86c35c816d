# SPDX-License-Identifier: Apache-2.0
"""The compiled inside of the fast controller: the rule of `controller` on flat arrays.

Requests are numbers, `waiting` has those within the controller by age. A bound is computed once for
each bank and kind of command until the next command changes the channel. Cycles in which nothing
can enter, move or be given are left out.
"""

import numpy as np

from ahasd.system.devices.dram.compiling import compiled
from ahasd.system.devices.dram.kernel import (
    B_ROW,
    CLOSED_ROW,
    O_ACT,
    O_PRE,
    O_PREAB,
    O_RD,
    O_REFAB,
    O_REFPB,
    O_WR,
    R_DUE,
    S_BANKS_PER_GROUP,
    S_GROUPS,
    S_RANKS,
    S_REFRESH_STEP,
    bound_one,
    commit_one,
)

# Columns of the options.
(
    READ_DEPTH,
    WRITE_DEPTH,
    DRAIN_FROM,
    DRAIN_TO,
    BANK_DEPTH,
    HITS_CAP,
    HITS_LIMIT,
    CLOSED_PAGE,
    REFRESH,
    READ_CYCLES,
    WRITE_CYCLES,
) = range(11)
NO_REFRESH, REFRESH_ALL, REFRESH_PER_BANK = range(3)

# Columns of the state that is not of a request or a bank: the next to come; how many wait, and how
# many of them in the read and the write queue; whether writes are served; the bank that was served
# last; reads answered from the write queue; commands given; banks of all ranks.
COMING, WAITS, READS, WRITES, DRAINING, LAST_BANK, FORWARDED, SERIAL, BANKS = range(9)
STATES = 9

_FAR = 2**62
"""A cycle, or a place in the order of choice, after all others."""


# Columns of the queue, one row for each request. Q_BANK counts through all ranks; Q_ARRIVAL is put
# off to Q_GAP after the request before, when that enters; Q_DONE is below 0 until the access is
# given; Q_OPENED: a row was opened for it; Q_AT_BANK: it is in its bank's queue; Q_WAITS_FOR: for a
# write the youngest older read of its burst, else below 0; Q_HOLDS_UP: a write waits for it.
(
    Q_BANK,
    Q_ROW,
    Q_COLUMN,
    Q_WRITE,
    Q_ARRIVAL,
    Q_GAP,
    Q_ENTERED,
    Q_DONE,
    Q_OPENED,
    Q_AT_BANK,
    Q_WAITS_FOR,
    Q_HOLDS_UP,
) = range(12)

# Columns of the banks: accesses since the row was opened; requests in the bank's queue; the request
# that the row was opened for, until it is accessed, else below 0.
K_ACCESSES, K_FILLED, K_OPENED_FOR = range(3)
# Found anew for each choice: the oldest request that may be served, else below 0; whether one that
# may be served, and one that waits, wants the open row.
K_OLDEST, K_HIT, K_WANTED = range(3, 6)
# First cycles of ACT, PRE, RD and WR, which are the first numbers of `Op`, and how many commands
# had been given when each was computed.
K_BOUND, K_KNOWN, BANK_FIELDS = 6, 10, 14


@compiled
def _set(command, op, bank, row, sizes):
    """Write the fields of a command; the bank is counted through all ranks."""
    per_group = sizes[S_BANKS_PER_GROUP]
    groups = sizes[S_GROUPS]
    command[0] = op
    command[2] = bank // (per_group * groups)
    command[3] = bank // per_group % groups
    command[4] = bank % per_group
    command[5] = row


@compiled
def _choose_direction(state, options):
    """Begin or end serving writes."""
    reads, writes = state[READS], state[WRITES]
    if state[DRAINING] == 0:
        if writes >= options[DRAIN_FROM] or (reads == 0 and writes > 0):
            state[DRAINING] = 1
    elif writes == 0 or (reads > 0 and writes <= options[DRAIN_TO]):
        state[DRAINING] = 0


@compiled
def _in_turn(i, queue, draining):
    """Return whether a request of the upper queues is of the direction that is served now."""
    if queue[i, Q_WAITS_FOR] >= 0 and queue[queue[i, Q_WAITS_FOR], Q_DONE] < 0:
        return False
    return queue[i, Q_WRITE] == draining or (queue[i, Q_HOLDS_UP] and draining != 0)


@compiled
def _servable(i, queue, draining, bank_depth):
    """Return whether the scheduler sees a waiting request."""
    if bank_depth > 0:
        return queue[i, Q_AT_BANK]
    return queue[i, Q_OPENED] or _in_turn(i, queue, draining)


@compiled
def _leave_queue(i, queue, state):
    """Count a request out of the read queue or the write queue."""
    state[WRITES if queue[i, Q_WRITE] else READS] -= 1


@compiled
def _same_burst(i, other, queue):
    """Return whether two requests are for the same burst."""
    return (
        queue[i, Q_BANK] == queue[other, Q_BANK]
        and queue[i, Q_ROW] == queue[other, Q_ROW]
        and queue[i, Q_COLUMN] == queue[other, Q_COLUMN]
    )


@compiled
def _has_room(i, queue, state, options):
    """Return whether the queue of a request has room for it."""
    if queue[i, Q_WRITE]:
        return state[WRITES] < options[WRITE_DEPTH]
    return state[READS] < options[READ_DEPTH]


@compiled
def _enter(now, queue, waiting, state, options):
    """Let the next request in, or answer it from the write queue; return whether one came in."""
    i = state[COMING]
    youngest_read = -1
    behind_write = False
    for position in range(state[WAITS]):
        other = waiting[position]
        if _same_burst(i, other, queue):
            if queue[other, Q_WRITE]:
                behind_write = True
            else:
                youngest_read = other
    if behind_write and not queue[i, Q_WRITE]:
        queue[i, Q_DONE] = now + 1
        state[FORWARDED] += 1
    elif _has_room(i, queue, state, options):
        if queue[i, Q_WRITE] and youngest_read >= 0:
            queue[i, Q_WAITS_FOR] = youngest_read
            for position in range(state[WAITS]):
                other = waiting[position]
                if _same_burst(i, other, queue):
                    queue[other, Q_HOLDS_UP] = True
        waiting[state[WAITS]] = i
        state[WAITS] += 1
        state[WRITES if queue[i, Q_WRITE] else READS] += 1
    else:
        return False
    queue[i, Q_ENTERED] = now
    state[COMING] += 1
    if i + 1 < len(queue):
        queue[i + 1, Q_ARRIVAL] = max(queue[i + 1, Q_ARRIVAL], now + queue[i + 1, Q_GAP])
    return True


@compiled
def _move_to_bank(queue, waiting, banks, state, options):
    """Let one request into its bank's queue; return whether one went."""
    for position in range(state[WAITS]):
        i = waiting[position]
        if (
            not queue[i, Q_AT_BANK]
            and banks[queue[i, Q_BANK], K_FILLED] < options[BANK_DEPTH]
            and _in_turn(i, queue, state[DRAINING])
        ):
            queue[i, Q_AT_BANK] = True
            banks[queue[i, Q_BANK], K_FILLED] += 1
            _leave_queue(i, queue, state)
            return True
    return False


@compiled
def _better(cycle, key, best_cycle, best_key):
    """Return whether a choice comes before the best one yet."""
    return cycle < best_cycle or (cycle == best_cycle and key < best_key)


@compiled
def _choose_refresh(
    now, next_set, banks, options, best, command, minima, sizes, rows, groups, ranks, channels
):
    """Return cycle and key of the first command for a refresh that is due, and the next due cycle.

    Its fields go to `best`. Keys are below 0, as refreshes come first.
    """
    per_rank = sizes[S_GROUPS] * sizes[S_BANKS_PER_GROUP]
    sets = sizes[S_REFRESH_STEP]
    best_cycle, best_key, due = _FAR, _FAR, _FAR
    for rank in range(sizes[S_RANKS]):
        if ranks[rank, R_DUE] > now:
            due = min(due, ranks[rank, R_DUE])
            continue
        begin, end = rank * per_rank, (rank + 1) * per_rank
        first, step = (
            (begin, 1)
            if options[REFRESH] == REFRESH_ALL
            else (
                begin + next_set[rank],
                sets,
            )
        )
        any_open = any_kept = False
        for bank in range(first, end, step):
            is_open = rows[bank, B_ROW] != CLOSED_ROW
            kept = banks[bank, K_OPENED_FOR] >= 0
            any_open, any_kept = any_open or is_open, any_kept or kept
            if options[REFRESH] == REFRESH_PER_BANK and is_open and not kept:
                _set(command, O_PRE, bank, 0, sizes)
                cycle, _ = bound_one(command, minima, sizes, rows, groups, ranks, channels)
                cycle = max(cycle, now)
                if _better(cycle, bank - _FAR, best_cycle, best_key):
                    best_cycle, best_key = cycle, bank - _FAR
                    best[:] = command
        if options[REFRESH] == REFRESH_ALL and not any_kept:
            _set(command, O_PREAB if any_open else O_REFAB, begin, 0, sizes)
        elif options[REFRESH] == REFRESH_PER_BANK and not any_open:
            _set(command, O_REFPB, first, 0, sizes)
        else:
            continue
        cycle, _ = bound_one(command, minima, sizes, rows, groups, ranks, channels)
        cycle = max(cycle, now)
        if _better(cycle, begin - _FAR, best_cycle, best_key):
            best_cycle, best_key = cycle, begin - _FAR
            best[:] = command
    return best_cycle, best_key, due


@compiled
def _held(bank, now, next_set, options, sizes, ranks):
    """Return whether a bank gets no new row because its refresh is due."""
    if options[REFRESH] == NO_REFRESH:
        return False
    per_rank = sizes[S_GROUPS] * sizes[S_BANKS_PER_GROUP]
    rank = bank // per_rank
    if ranks[rank, R_DUE] > now:
        return False
    if options[REFRESH] == REFRESH_ALL:
        return True
    return bank % per_rank % sizes[S_REFRESH_STEP] == next_set[rank]


@compiled
def _look_at_banks(queue, waiting, banks, state, options, rows):
    """Find what each bank is wanted for."""
    banks[:, K_OLDEST] = -1
    banks[:, K_HIT] = False
    banks[:, K_WANTED] = False
    for position in range(state[WAITS]):
        i = waiting[position]
        bank = queue[i, Q_BANK]
        hit = rows[bank, B_ROW] == queue[i, Q_ROW]
        banks[bank, K_WANTED] = banks[bank, K_WANTED] or hit
        if _servable(i, queue, state[DRAINING], options[BANK_DEPTH]):
            banks[bank, K_HIT] = banks[bank, K_HIT] or hit
            if banks[bank, K_OLDEST] < 0:
                banks[bank, K_OLDEST] = i


@compiled
def _next_op(i, queue, banks, options, rows):
    """Return the command that a request needs next, below 0 if it must not have it."""
    bank = queue[i, Q_BANK]
    row = rows[bank, B_ROW]
    if row == CLOSED_ROW:
        return O_ACT
    oldest, accesses = banks[bank, K_OLDEST], banks[bank, K_ACCESSES]
    if row == queue[i, Q_ROW]:
        limit = options[HITS_LIMIT]
        at_limit = limit > 0 and accesses >= limit
        if at_limit and queue[oldest, Q_ROW] != row and not queue[i, Q_OPENED]:
            return -1
        return O_WR if queue[i, Q_WRITE] else O_RD
    if i != oldest or banks[bank, K_OPENED_FOR] >= 0:
        return -1
    if banks[bank, K_HIT] and accesses < options[HITS_CAP]:
        return -1
    return O_PRE


@compiled
def _key(i, queue, state, options):
    """Return the place of a request in the order of choice."""
    count, banks = len(queue), state[BANKS]
    if options[BANK_DEPTH] > 0:
        return (queue[i, Q_BANK] - state[LAST_BANK] - 1) % banks * count + i
    return i if queue[i, Q_OPENED] else count + i


@compiled
def _choose(
    now,
    queue,
    waiting,
    banks,
    next_set,
    state,
    options,
    best,
    command,
    minima,
    sizes,
    rows,
    groups,
    ranks,
    channels,
):
    """Return the first cycle at which something may be given, for which request, and the next due.

    Of what may be given then, the fields of the first in the order of choice go to `best`; a
    request below 0 is a refresh or a row that nobody wants.
    """
    best_cycle, best_key, due = _FAR, _FAR, _FAR
    chosen = -1
    if options[REFRESH] != NO_REFRESH:
        best_cycle, best_key, due = _choose_refresh(
            now,
            next_set,
            banks,
            options,
            best,
            command,
            minima,
            sizes,
            rows,
            groups,
            ranks,
            channels,
        )
    _look_at_banks(queue, waiting, banks, state, options, rows)
    for position in range(state[WAITS]):
        i = waiting[position]
        bank = queue[i, Q_BANK]
        if not _servable(i, queue, state[DRAINING], options[BANK_DEPTH]):
            continue
        if not queue[i, Q_OPENED] and _held(bank, now, next_set, options, sizes, ranks):
            continue
        op = _next_op(i, queue, banks, options, rows)
        if op < 0:
            continue
        row = 0 if op == O_PRE else queue[i, Q_ROW]
        if banks[bank, K_KNOWN + op] != state[SERIAL]:
            banks[bank, K_KNOWN + op] = state[SERIAL]
            _set(command, op, bank, row, sizes)
            banks[bank, K_BOUND + op], _ = bound_one(
                command, minima, sizes, rows, groups, ranks, channels
            )
        cycle = max(banks[bank, K_BOUND + op], now)
        if cycle > best_cycle:
            continue
        key = _key(i, queue, state, options)
        if _better(cycle, key, best_cycle, best_key):
            best_cycle, best_key, chosen = cycle, key, i
            _set(best, op, bank, row, sizes)
    if options[CLOSED_PAGE] != 0:
        for bank in range(state[BANKS]):
            if banks[bank, K_WANTED] or rows[bank, B_ROW] == CLOSED_ROW:
                continue
            _set(command, O_PRE, bank, 0, sizes)
            cycle, _ = bound_one(command, minima, sizes, rows, groups, ranks, channels)
            cycle = max(cycle, now)
            if _better(cycle, _FAR - state[BANKS] + bank, best_cycle, best_key):
                best_cycle, best_key, chosen = cycle, _FAR - state[BANKS] + bank, -1
                best[:] = command
    return best_cycle, chosen, due


@compiled
def _give(now, op, i, queue, waiting, banks, state, options):
    """Change the queues as a command for a request does."""
    bank = queue[i, Q_BANK]
    state[LAST_BANK] = bank
    if op == O_ACT:
        queue[i, Q_OPENED] = True
        banks[bank, K_OPENED_FOR] = i
        banks[bank, K_ACCESSES] = 0
        if options[BANK_DEPTH] == 0:
            _leave_queue(i, queue, state)
    elif op in (O_RD, O_WR):
        banks[bank, K_ACCESSES] += 1
        queue[i, Q_DONE] = now + options[WRITE_CYCLES if queue[i, Q_WRITE] else READ_CYCLES]
        if banks[bank, K_OPENED_FOR] == i:
            banks[bank, K_OPENED_FOR] = -1
        if options[BANK_DEPTH] > 0:
            banks[bank, K_FILLED] -= 1
        elif not queue[i, Q_OPENED]:
            _leave_queue(i, queue, state)
        state[WAITS] -= 1
        position = 0
        while waiting[position] != i:
            position += 1
        for later in range(position, state[WAITS]):
            waiting[later] = waiting[later + 1]


@compiled
def serve_all(
    queue,
    waiting,
    banks,
    next_set,
    state,
    commands,
    options,
    minima,
    sizes,
    rows,
    groups,
    ranks,
    channels,
):
    """Serve all requests: write when each entered and was done, and count the commands."""
    command, best = np.zeros(6, np.int64), np.zeros(6, np.int64)
    count = len(queue)
    now = 0
    # Whether the next request has not been refused for want of room, and whether something has
    # changed since no request could move to its bank: else there is no need to try again.
    untried = movable = True
    at_begin = True
    while state[COMING] < count or state[WAITS] > 0:
        if at_begin:
            coming = state[COMING]
            if coming < count and queue[coming, Q_ARRIVAL] <= now:
                untried = _enter(now, queue, waiting, state, options)
                movable = movable or untried
            _choose_direction(state, options)
            if options[BANK_DEPTH] > 0:
                movable = _move_to_bank(queue, waiting, banks, state, options)
            at_begin = False
        cycle, chosen, due = _choose(
            now,
            queue,
            waiting,
            banks,
            next_set,
            state,
            options,
            best,
            command,
            minima,
            sizes,
            rows,
            groups,
            ranks,
            channels,
        )
        if cycle > now:
            event = due
            coming = state[COMING]
            if coming < count and (untried or _has_room(coming, queue, state, options)):
                event = min(event, max(now + 1, queue[coming, Q_ARRIVAL]))
            if movable and options[BANK_DEPTH] > 0 and state[READS] + state[WRITES] > 0:
                event = now + 1
            if event <= cycle:
                now = event
                at_begin = True
                continue
            now = cycle
        op = best[0]
        commit_one(best, now, sizes, rows, groups, ranks, channels)
        commands[op] += 1
        state[SERIAL] += 1
        movable = True
        if op == O_REFPB:
            next_set[best[2]] = (next_set[best[2]] + 1) % sizes[S_REFRESH_STEP]
        if chosen >= 0:
            _give(now, op, chosen, queue, waiting, banks, state, options)
        _choose_direction(state, options)
