# SPDX-License-Identifier: Apache-2.0
"""The compiled inside of the fast engine: the same rules, written out for each command.

State is four tables of int64, one row for each bank, group, rank and channel, one column for each
fact of the names below. Where one fact of a whole rank decides (the latest ACT of any bank bounds
a PREab), it is kept for the rank, so that no command but MACab walks over banks.
"""

import numpy as np

from ahasd.system.devices.dram.compiling import compiled

NEVER = -(2**40)
"""Cycle of what has not happened; far enough back to constrain nothing."""

CLOSED_ROW = -1

# Columns. Cycles in the past come first: B_TIMES, G_TIMES, R_TIMES and C_TIMES say how many.
B_ACT, B_PRE, B_RD, B_WR, B_REFPB, B_ROW = range(6)
B_TIMES = 5
G_ACT, G_RD, G_WR = range(3)
G_TIMES = 3
(
    R_ACT,
    R_ACT2,
    R_ACT3,
    R_ACT4,
    R_ACTAB,
    R_PRE,
    R_PREAB,
    R_RD,
    R_WR,
    R_MAC,
    R_REFAB,
    R_REFPB,
    R_WRB,
    R_RDB,
    R_DUE,
    R_OPEN,
    R_REFRESHED,
) = range(17)
R_TIMES = 14
C_NOW, C_ROW_BUS, C_COLUMN_BUS = range(3)
C_TIMES = 3

# Columns of the sizes that the kernel is given.
(
    S_RANKS,
    S_GROUPS,
    S_BANKS_PER_GROUP,
    S_REFRESH_STEP,
    S_COMMAND,
    S_ACT_COMMAND,
    S_SPLIT_BUS,
    S_REFI,
    S_REFI_PB,
) = range(9)

# Results below 0 are faults of a bank's state; this one is a refresh that is overdue.
OVERDUE = -100

# Numbers of `Op`, `Constraint` and `Fault`. Written out, not taken from there: the cache of
# compiled code notices changes of this file only. A test compares them. Constraints are typed
# numbers, as `_wait` would be compiled for every plain constant anew.
O_ACT, O_PRE, O_RD, O_WR, O_REFPB, O_ACTAB, O_PREAB, O_MACAB, O_REFAB, O_WRB, O_RDB = range(11)
(
    K_ORDER,
    K_COMMAND_BUS,
    K_RCD_RD,
    K_RCD_WR,
    K_RCD_AB,
    K_RAS,
    K_RC,
    K_RP,
    K_RP_AB,
    K_PPD,
    K_RTP,
    K_WR,
    K_CCD_S,
    K_CCD_L,
    K_MAC,
    K_WRB_MAC,
    K_MAC_RDB,
    K_RTW,
    K_WTR_S,
    K_WTR_L,
    K_CS_SAME,
    K_CS_RTW,
    K_CS_WTR,
    K_RRD_S,
    K_RRD_L,
    K_FAW,
    K_RFC_AB,
    K_RFC_PB,
    K_PBR_PBR,
    K_PBR_ACT,
    K_REFI,
) = np.arange(31)
F_CLOSED, F_OPEN, F_OTHER_ROW, F_REFRESHED = range(1, 5)


@compiled
def _latest(best, cycle, cause):
    """Return the later of two bounds, cycle and cause; of equal ones that with the lower cause."""
    if cycle > best[0] or (cycle == best[0] and cause < best[1]):
        return cycle, cause
    return best


@compiled
def _wait(best, since, minima, cause):
    """Return the later of a bound and the end of a constraint that began at a cycle."""
    return _latest(best, since + minima[cause], cause)


@compiled
def bound_one(command, minima, sizes, banks, groups, ranks, channels):
    """Return the first cycle of one command, or a fault below 0, and the constraint's number."""
    op, c, group, row = command[0], command[1], command[3], command[5]
    place = c * sizes[S_RANKS] + command[2]
    bank = group * sizes[S_BANKS_PER_GROUP] + command[4]
    per_rank = sizes[S_GROUPS] * sizes[S_BANKS_PER_GROUP]
    first = place * per_rank
    b = first + bank
    g = place * sizes[S_GROUPS] + group

    column = op in (O_RD, O_WR, O_MACAB, O_WRB, O_RDB)
    best = channels[c, C_NOW], K_ORDER
    on_columns = column and sizes[S_SPLIT_BUS] != 0
    free = channels[c, C_COLUMN_BUS] if on_columns else channels[c, C_ROW_BUS]
    best = _wait(best, free, minima, K_COMMAND_BUS)

    if op in (O_RD, O_WR):
        if banks[b, B_ROW] == CLOSED_ROW:
            return -F_CLOSED, 0
        if banks[b, B_ROW] != row:
            return -F_OTHER_ROW, 0
        best = _wait(best, ranks[place, R_ACTAB], minima, K_RCD_AB)
        best = _wait(best, ranks[place, R_MAC], minima, K_CCD_L)
        if op == O_RD:
            best = _wait(best, banks[b, B_ACT], minima, K_RCD_RD)
            best = _wait(best, groups[g, G_RD], minima, K_CCD_L)
            best = _wait(best, groups[g, G_WR], minima, K_WTR_L)
        else:
            best = _wait(best, banks[b, B_ACT], minima, K_RCD_WR)
            best = _wait(best, groups[g, G_WR], minima, K_CCD_L)
    if op in (O_RD, O_WR, O_RDB, O_WRB):
        # The data bus, for bursts of banks and of PIM units alike.
        if op in (O_RDB, O_WRB):
            best = _wait(best, ranks[place, R_REFAB], minima, K_RFC_AB)
        if op == O_RDB:
            best = _wait(best, ranks[place, R_MAC], minima, K_MAC_RDB)
        reads = op in (O_RD, O_RDB)
        for other in range(c * sizes[S_RANKS], (c + 1) * sizes[S_RANKS]):
            read = max(ranks[other, R_RD], ranks[other, R_RDB])
            write = max(ranks[other, R_WR], ranks[other, R_WRB])
            alike, unlike = (read, write) if reads else (write, read)
            if other != place:
                best = _wait(best, alike, minima, K_CS_SAME)
                best = _wait(best, unlike, minima, K_CS_WTR if reads else K_CS_RTW)
            else:
                best = _wait(best, alike, minima, K_CCD_S)
                best = _wait(best, unlike, minima, K_WTR_S if reads else K_RTW)
    elif op == O_MACAB:
        if ranks[place, R_OPEN] != per_rank:
            return -F_CLOSED, 0
        for each in range(first, first + per_rank):
            if banks[each, B_ROW] != row:
                return -F_OTHER_ROW, 0
        best = _wait(best, ranks[place, R_ACT], minima, K_RCD_AB)
        best = _wait(best, ranks[place, R_ACTAB], minima, K_RCD_AB)
        best = _wait(best, ranks[place, R_MAC], minima, K_MAC)
        best = _wait(best, ranks[place, R_WRB], minima, K_WRB_MAC)
        best = _wait(best, ranks[place, R_RD], minima, K_CCD_L)
        best = _wait(best, ranks[place, R_WR], minima, K_WTR_L)
    elif op in (O_PRE, O_PREAB):
        # All banks of the rank together, or one bank.
        act, read, write = ranks[place, R_ACT], ranks[place, R_RD], ranks[place, R_WR]
        if op == O_PRE:
            if banks[b, B_ROW] == CLOSED_ROW:
                return -F_CLOSED, 0
            act, read, write = banks[b, B_ACT], banks[b, B_RD], banks[b, B_WR]
        else:
            best = _wait(best, ranks[place, R_REFAB], minima, K_RFC_AB)
            best = _wait(best, ranks[place, R_REFPB], minima, K_RFC_PB)
        best = _wait(best, max(act, ranks[place, R_ACTAB]), minima, K_RAS)
        best = _wait(best, max(read, ranks[place, R_MAC]), minima, K_RTP)
        best = _wait(best, write, minima, K_WR)
        best = _wait(best, max(ranks[place, R_PRE], ranks[place, R_PREAB]), minima, K_PPD)
    else:
        act, precharge, refresh = ranks[place, R_ACT], ranks[place, R_PRE], ranks[place, R_REFPB]
        if op == O_ACT:
            if banks[b, B_ROW] != CLOSED_ROW:
                return -F_OPEN, 0
            act, precharge, refresh = banks[b, B_ACT], banks[b, B_PRE], banks[b, B_REFPB]
            best = _wait(best, ranks[place, R_ACT], minima, K_RRD_S)
            best = _wait(best, groups[g, G_ACT], minima, K_RRD_L)
            best = _wait(best, ranks[place, R_ACT4], minima, K_FAW)
            best = _wait(best, ranks[place, R_REFPB], minima, K_PBR_ACT)
        elif op == O_REFPB:
            act, precharge, refresh = NEVER, NEVER, NEVER
            for each in range(bank % sizes[S_REFRESH_STEP], per_rank, sizes[S_REFRESH_STEP]):
                other = first + each
                if banks[other, B_ROW] != CLOSED_ROW:
                    return -F_OPEN, 0
                act = max(act, banks[other, B_ACT])
                precharge = max(precharge, banks[other, B_PRE])
                refresh = max(refresh, banks[other, B_REFPB])
            if (ranks[place, R_REFRESHED] >> (bank % sizes[S_REFRESH_STEP])) & 1:
                return -F_REFRESHED, 0
            best = _wait(best, ranks[place, R_ACT], minima, K_RRD_S)
            best = _wait(best, ranks[place, R_REFPB], minima, K_PBR_PBR)
        elif ranks[place, R_OPEN] != 0:
            return -F_OPEN, 0
        best = _wait(best, max(act, ranks[place, R_ACTAB]), minima, K_RC)
        best = _wait(best, precharge, minima, K_RP)
        best = _wait(best, ranks[place, R_PREAB], minima, K_RP_AB)
        best = _wait(best, ranks[place, R_REFAB], minima, K_RFC_AB)
        best = _wait(best, refresh, minima, K_RFC_PB)
        if op in (O_REFAB, O_REFPB):
            best = _latest(best, ranks[place, R_DUE] - minima[K_REFI], K_REFI)
    return best


@compiled
def commit_one(command, at, sizes, banks, groups, ranks, channels):
    """Change the state as one legal command at a cycle does."""
    op, c, group, row = command[0], command[1], command[3], command[5]
    place = c * sizes[S_RANKS] + command[2]
    bank = group * sizes[S_BANKS_PER_GROUP] + command[4]
    per_rank = sizes[S_GROUPS] * sizes[S_BANKS_PER_GROUP]
    first = place * per_rank
    b = first + bank
    g = place * sizes[S_GROUPS] + group

    activates = op in (O_ACT, O_ACTAB)
    free = at + (sizes[S_ACT_COMMAND] if activates else sizes[S_COMMAND])
    channels[c, C_NOW] = at
    if sizes[S_SPLIT_BUS] != 0 and op in (O_RD, O_WR, O_MACAB, O_WRB, O_RDB):
        channels[c, C_COLUMN_BUS] = free
    else:
        channels[c, C_ROW_BUS] = free

    if op == O_RD:
        banks[b, B_RD] = groups[g, G_RD] = ranks[place, R_RD] = at
    elif op == O_WR:
        banks[b, B_WR] = groups[g, G_WR] = ranks[place, R_WR] = at
    elif op == O_MACAB:
        ranks[place, R_MAC] = at
    elif op == O_WRB:
        ranks[place, R_WRB] = at
    elif op == O_RDB:
        ranks[place, R_RDB] = at
    elif op == O_ACT:
        banks[b, B_ROW] = row
        banks[b, B_ACT] = groups[g, G_ACT] = at
        ranks[place, R_ACT4], ranks[place, R_ACT3], ranks[place, R_ACT2], ranks[place, R_ACT] = (
            ranks[place, R_ACT3],
            ranks[place, R_ACT2],
            ranks[place, R_ACT],
            at,
        )
        ranks[place, R_OPEN] += 1
    elif op == O_PRE:
        banks[b, B_ROW] = CLOSED_ROW
        banks[b, B_PRE] = ranks[place, R_PRE] = at
        ranks[place, R_OPEN] -= 1
    elif op == O_ACTAB:
        ranks[place, R_ACTAB] = at
        ranks[place, R_OPEN] = per_rank
        banks[first : first + per_rank, B_ROW] = row
    elif op == O_PREAB:
        ranks[place, R_PREAB] = at
        ranks[place, R_OPEN] = 0
        banks[first : first + per_rank, B_ROW] = CLOSED_ROW
    elif op == O_REFAB:
        ranks[place, R_REFAB] = at
        ranks[place, R_REFRESHED] = 0
        ranks[place, R_DUE] += sizes[S_REFI]
    else:
        ranks[place, R_REFPB] = at
        step = sizes[S_REFRESH_STEP]
        for each in range(bank % step, per_rank, step):
            banks[first + each, B_REFPB] = at
        ranks[place, R_REFRESHED] |= 1 << (bank % step)
        if ranks[place, R_REFRESHED] == (1 << step) - 1:
            ranks[place, R_REFRESHED] = 0
        ranks[place, R_DUE] += sizes[S_REFI_PB]


@compiled
def run_many(commands, cycles, minima, sizes, banks, groups, ranks, channels):
    """Give commands in order, each as early as legal, and write their cycles.

    Returns how many were given and, if that is not all, the fault of the next.
    """
    for i in range(len(commands)):
        command = commands[i]
        cycle, _ = bound_one(command, minima, sizes, banks, groups, ranks, channels)
        if cycle < 0:
            return i, cycle
        op, place = command[0], command[1] * sizes[S_RANKS] + command[2]
        passive = op in (O_PRE, O_PREAB, O_REFAB, O_REFPB)
        if not passive and cycle > ranks[place, R_DUE] + minima[K_REFI]:
            return i, OVERDUE
        commit_one(command, cycle, sizes, banks, groups, ranks, channels)
        cycles[i] = cycle
    return len(commands), 0


def empty_tables(
    banks: int, groups: int, ranks: int, channels: int, first_due: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the tables of a memory in which nothing has happened."""
    bank_table = np.full((banks, B_ROW + 1), NEVER, np.int64)
    bank_table[:, B_ROW] = CLOSED_ROW
    group_table = np.full((groups, G_TIMES), NEVER, np.int64)
    rank_table = np.full((ranks, R_REFRESHED + 1), NEVER, np.int64)
    rank_table[:, R_DUE] = first_due
    rank_table[:, R_OPEN] = rank_table[:, R_REFRESHED] = 0
    return bank_table, group_table, rank_table, np.zeros((channels, C_TIMES), np.int64)
