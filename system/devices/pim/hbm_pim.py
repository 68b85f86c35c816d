# SPDX-License-Identifier: Apache-2.0
"""Kernels of HBM-PIM on one pseudo-channel: GEMV and elementwise operations, FP16.

The machine is that of Lee et al. (ISCA 2021): a block of 16 lanes for every two banks, an even and
an odd one, with registers GRF_A and GRF_B of eight bursts each. In all-bank mode a column command
to bank 0 goes to all even banks and one to bank 1 to all odd ones, and every block works on what
its bank delivers; rows behind the last of the matrix are registers. The host gives plain reads and
writes. It orders them by a barrier after every eight, as the registers are counted through in
order, and opens a row only for commands before the next barrier, closing the others.

A GEMV tile is 128 inputs: eight bursts of them to GRF_A, then 64 reads that multiply a burst of
weights each into GRF_B. Inputs of even tiles meet even banks, those of odd ones odd banks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ahasd.system.devices.dram.commands import FIELDS, Encoded, Op, decoded
from ahasd.system.devices.dram.engine import Engine
from ahasd.system.devices.dram.timing import Timing

LANES = 16
"""FP16 elements of a burst."""

REGISTERS = 8
"""Bursts of GRF_A, and of GRF_B."""

CHANNELS = 64
"""Pseudo-channels of the four stacks of the published figures."""

# Rows that are no cells: where mode changes go, where the units' registers are.
_PARKED, _ENTER, _LEAVE, _UNITS = 0x1000, 0x17FF, 0x1FFF, 0x3FFF
_RESULTS = 0x0800  # rows of results, away from those of operands
_EVEN, _ODD = 0, 1


@dataclass(frozen=True, kw_only=True)
class KernelRun:
    """What a kernel took on every channel: clock cycles, commands and refreshes of one."""

    cycles: int
    commands: int
    refreshes: int


class _Host:
    """Gives groups of accesses between barriers, in order, with the row commands they need."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._open: dict[int, int] = {}
        self._commands = self._refreshes = 0

    def access(self, op: Op, places: Sequence[tuple[int, int]]) -> None:
        """Read or write at (bank, row) one after another, then a barrier."""
        engine = self._engine
        given: list[tuple[Op, int, int]] = []
        if engine.now(0) >= engine.refresh_due(0, 0):
            given += [(Op.PREAB, 0, 0), (Op.REFAB, 0, 0)]
            self._open.clear()
            self._refreshes += 1
        wanted = dict(places)
        for bank, row in wanted.items():
            if self._open.get(bank, row) != row:
                given.append((Op.PRE, bank, 0))
        given += [
            (Op.ACT, bank, row) for bank, row in wanted.items() if self._open.get(bank) != row
        ]
        self._give([*given, (op, *places[0])])
        rest = [(op, bank, row) for bank, row in places[1:]]
        # Rows that are not wanted are closed as soon as they may be, between accesses.
        for bank in self._open:
            if bank not in wanted:
                (close,) = decoded(self._numbers([(Op.PRE, bank, 0)]))
                wait = engine.earliest(close) - engine.now(0)
                rest.insert(wait // engine.timing.t_ccd_l, (Op.PRE, bank, 0))
        self._give(rest)
        self._open = wanted

    def _give(self, commands: list[tuple[Op, int, int]]) -> None:
        self._engine.run_encoded(self._numbers(commands))
        self._commands += len(commands)

    def _numbers(self, commands: list[tuple[Op, int, int]]) -> Encoded:
        per_group = self._engine.timing.banks_per_group
        numbers = [
            (op, 0, 0, bank // per_group, bank % per_group, row) for op, bank, row in commands
        ]
        return np.array(numbers, np.int64).reshape(-1, FIELDS)

    def enter(self) -> None:
        """Park every bank at a row, go to all-bank mode, write the units' program."""
        timing = self._engine.timing
        per_group = timing.banks_per_group
        order = [g * per_group + b for b in range(per_group) for g in range(timing.bank_groups)]
        self.access(Op.RD, [(bank, _PARKED) for bank in order])
        # Two banks in each of two groups.
        second = timing.banks // 2
        self.access(Op.WR, [(bank + each, _ENTER) for bank in (0, second) for each in (0, 1)])
        self.access(Op.WR, [(_ODD, _UNITS)])

    def switch_units(self) -> None:
        """Turn the units on or off."""
        self.access(Op.WR, [(_EVEN, _UNITS)])

    def leave(self) -> KernelRun:
        """Return to single banks, and what it all took until the last data."""
        self.access(Op.WR, [(_EVEN, _LEAVE), (_ODD, _LEAVE)])
        self.access(Op.RD, [(_EVEN, _PARKED), (_ODD, _PARKED)])
        timing = self._engine.timing
        return KernelRun(
            cycles=self._engine.now(0) + timing.rl + timing.burst,
            commands=self._commands,
            refreshes=self._refreshes,
        )


def gemv(
    engine: Engine, outputs: int, inputs: int, *, batch: int = 1, channels: int = CHANNELS
) -> KernelRun:
    """Multiply a matrix by vectors, one vector after another.

    Parameters
    ----------
    engine
        A memory to which nothing has been given.
    outputs, inputs, batch
        Rows of the matrix, its columns, and vectors; at least 1. Outputs are spread over the
        blocks of all channels, eight to each at a time.
    channels
        Pseudo-channels that work at the same time, at least 1.

    Raises
    ------
    ValueError
        A number is out of range, or a bank has not the rows for its part of the matrix.
    """
    timing = _checked(engine, outputs=outputs, inputs=inputs, batch=batch, channels=channels)
    tiles = -(-inputs // (REGISTERS * LANES))
    rounds = -(-outputs // (timing.banks // 2 * REGISTERS * channels))
    columns = REGISTERS * REGISTERS
    # A bank, even or odd, holds half the tiles of every round.
    _check_rows(-(-rounds * -(-tiles // 2) * columns // timing.bursts_per_row))
    host = _Host(engine)
    host.enter()
    for each in range(rounds):
        for _ in range(batch):
            host.switch_units()
            for bank in (_EVEN, _ODD):
                for tile in range(bank, tiles, 2):
                    first = columns * (tile // 2 + each * tiles // 2)
                    _multiply(host, timing, bank, first, columns)
            host.access(Op.WR, [(_ODD, _RESULTS)] * REGISTERS)
            host.switch_units()
    return host.leave()


def _multiply(host: _Host, timing: Timing, bank: int, first: int, columns: int) -> None:
    """Load the inputs of a tile and read its weights, which begin at a column of the bank."""
    host.access(Op.WR, [(_ODD, _UNITS)] * REGISTERS)
    for column in range(first, first + columns, REGISTERS):
        row = column // timing.bursts_per_row
        host.access(Op.RD, [(bank, row)] * REGISTERS)


def elementwise(
    engine: Engine, elements: int, *, operands: int, channels: int = CHANNELS
) -> KernelRun:
    """Add or multiply two vectors (`operands` 2), or rectify one (1).

    Parameters
    ----------
    engine
        A memory to which nothing has been given.
    elements
        Length of a vector, at least 1; spread over the banks of all channels.
    operands
        Vectors that are read, 1 or 2.
    channels
        Pseudo-channels that work at the same time, at least 1.

    Raises
    ------
    ValueError
        A number is out of range, or a bank has not the rows for its part of a vector.
    """
    timing = _checked(engine, elements=elements, channels=channels)
    if operands not in (1, 2):
        raise ValueError(f"operands = {operands} must be 1 or 2")
    tiles = -(-elements // (LANES * REGISTERS * timing.banks * channels))
    _check_rows(operands * -(-tiles * REGISTERS // timing.bursts_per_row))
    host = _Host(engine)
    host.enter()
    host.switch_units()
    for tile in range(tiles):
        row = tile * REGISTERS // timing.bursts_per_row
        for bank in (_EVEN, _ODD):
            for operand in range(operands):
                # Operands lie in rows of their own, one behind the other.
                host.access(Op.RD, [(bank, operands * row + operand)] * REGISTERS)
            host.access(Op.WR, [(bank, _RESULTS + row)] * REGISTERS)
        # The units' program ends with a command of its own.
        host.access(Op.WR, [(_ODD, _RESULTS + row)])
    host.switch_units()
    return host.leave()


def _checked(engine: Engine, **numbers: int) -> Timing:
    for name, value in numbers.items():
        if value < 1:
            raise ValueError(f"{name} = {value} must be at least 1")
    if engine.timing.rows <= _UNITS:
        raise ValueError(
            f"{engine.timing.name} has {engine.timing.rows} rows, HBM-PIM's registers lie in row "
            f"{_UNITS}"
        )
    return engine.timing


def _check_rows(rows: int) -> None:
    if rows > _RESULTS:
        raise ValueError(
            f"{rows} rows of a bank are needed, {_RESULTS} are there: use more channels"
        )
