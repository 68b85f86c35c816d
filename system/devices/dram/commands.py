# SPDX-License-Identifier: Apache-2.0
"""Commands of a memory controller, and which banks each one touches."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from ahasd.system.devices.dram.timing import Timing

Encoded = npt.NDArray[np.int64]
"""Commands as rows of the fields of `Command`, in their order."""


class Op(IntEnum):
    """What a command does. `ab`: to all banks of a rank. MACab reads a column into the PIM unit.

    WRB writes a burst into the input buffer of a rank's PIM unit, RDB reads a burst of its results;
    neither touches a bank.
    """

    ACT = 0
    PRE = 1
    RD = 2
    WR = 3
    REFPB = 4
    ACTAB = 5
    PREAB = 6
    MACAB = 7
    REFAB = 8
    WRB = 9
    RDB = 10


ALL_BANK = frozenset({Op.ACTAB, Op.PREAB, Op.MACAB, Op.REFAB})
UNIT = frozenset({Op.WRB, Op.RDB})
COLUMN = frozenset({Op.RD, Op.WR, Op.MACAB}) | UNIT


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """One command. Those of all banks or of none leave out group and bank; without a row, row.

    Parameters
    ----------
    op
        What to do.
    channel, rank, group, bank
        Where: bank within its group within its rank within its channel.
    row
        Row to open, or the open row to access.
    """

    op: Op
    channel: int = 0
    rank: int = 0
    group: int = 0
    bank: int = 0
    row: int = 0


FIELDS = 6
"""Columns of `Encoded`."""


def touched_banks(timing: Timing, command: Command) -> tuple[int, ...]:
    """Return the banks of the rank that a command acts on, counted through all groups."""
    if command.op in ALL_BANK:
        return tuple(range(timing.banks))
    if command.op in UNIT:
        return ()
    bank = command.group * timing.banks_per_group + command.bank
    if command.op is Op.REFPB:
        step = timing.banks // timing.banks_per_refresh
        return tuple(range(bank % step, timing.banks, step))
    return (bank,)


def checked(timing: Timing, command: Command) -> Command:
    """Return the command if the memory has that place.

    Raises
    ------
    ValueError
        A number is out of range.
    """
    for name, value, limit in (
        ("channel", command.channel, timing.channels),
        ("rank", command.rank, timing.ranks),
        ("group", command.group, timing.bank_groups),
        ("bank", command.bank, timing.banks_per_group),
        ("row", command.row, timing.rows),
    ):
        if not 0 <= value < limit:
            raise ValueError(f"{name} = {value} must be 0 to {limit - 1} in {timing.name}")
    return command


def encoded(timing: Timing, commands: Sequence[Command]) -> Encoded:
    """Return commands as numbers, for engines that take many at once.

    Raises
    ------
    ValueError
        As `checked`.
    """
    rows = [
        (each.op, each.channel, each.rank, each.group, each.bank, each.row)
        for each in commands
        if checked(timing, each)
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, FIELDS)


def decoded(numbers: Encoded) -> list[Command]:
    """Return the commands that `encoded` turned into numbers."""
    return [
        Command(op=Op(op), channel=channel, rank=rank, group=group, bank=bank, row=row)
        for op, channel, rank, group, bank, row in numbers.tolist()
    ]
