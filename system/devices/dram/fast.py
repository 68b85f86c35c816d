# SPDX-License-Identifier: Apache-2.0
"""The fast engine: the tables of the compiled kernel behind the interface of the reference."""

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from ahasd.system.devices.dram import kernel
from ahasd.system.devices.dram.commands import Command, Encoded, Op, decoded, encoded
from ahasd.system.devices.dram.engine import BankStateError, Engine, Fault
from ahasd.system.devices.dram.rules import Constraint
from ahasd.system.devices.dram.timing import Timing

# Columns of past cycles, table by table.
_TIMES = (kernel.B_TIMES, kernel.G_TIMES, kernel.R_TIMES, kernel.C_TIMES)


class FastEngine(Engine):
    """The same cycles as `ReferenceEngine`, compiled; `run_encoded` is the quick way in."""

    def __init__(self, timing: Timing) -> None:
        super().__init__(timing)
        ranks = timing.channels * timing.ranks
        self.minima_table = np.array([self.minima[each] for each in Constraint], np.int64)
        # In the order of the kernel's S_ names.
        self.sizes_table = np.array(
            [
                timing.ranks,
                timing.bank_groups,
                timing.banks_per_group,
                timing.banks // timing.banks_per_refresh,
                timing.command,
                timing.act_command,
                timing.split_bus,
                timing.t_refi,
                timing.t_refi_pb,
            ],
            np.int64,
        )
        self.tables = kernel.empty_tables(
            ranks * timing.banks,
            ranks * timing.bank_groups,
            ranks,
            timing.channels,
            timing.t_refi,
        )

    def bound(self, command: Command) -> tuple[int, Constraint]:
        """Return the latest of all bounds; see `Engine`."""
        (numbers,) = encoded(self.timing, [command])
        cycle, constraint = kernel.bound_one(
            numbers, self.minima_table, self.sizes_table, *self.tables
        )
        if cycle < 0:
            raise BankStateError(command, Fault(-cycle))
        return int(cycle), Constraint(constraint)

    def _commit(self, command: Command, cycle: int) -> None:
        (numbers,) = encoded(self.timing, [command])
        kernel.commit_one(numbers, cycle, self.sizes_table, *self.tables)

    def run(self, commands: Sequence[Command]) -> list[int]:
        """Give commands in order, each as early as legal, and return their cycles."""
        return self.run_encoded(encoded(self.timing, commands)).tolist()

    def run_encoded(self, numbers: Encoded) -> npt.NDArray[np.int64]:
        """Do as `run` with commands given as numbers."""
        self._check_numbers(numbers)
        cycles = np.empty(len(numbers), np.int64)
        given, fault = kernel.run_many(
            numbers, cycles, self.minima_table, self.sizes_table, *self.tables
        )
        if given < len(numbers):
            (command,) = decoded(numbers[given : given + 1])
            if fault != kernel.OVERDUE:
                raise BankStateError(command, Fault(-fault))
            self._check_refresh(command, self.bound(command)[0])
        return cycles

    def _check_numbers(self, numbers: Encoded) -> None:
        """Refuse numbers out of range: the kernel would follow them out of its tables."""
        t = self.timing
        limits = (len(Op), t.channels, t.ranks, t.bank_groups, t.banks_per_group, t.rows)
        if numbers.size and (numbers.min() < 0 or (numbers.max(axis=0) >= limits).any()):
            raise ValueError(f"fields of commands must be 0 to below {limits} in {t.name}")

    def now(self, channel: int) -> int:
        """Return the cycle of the channel's last command; 0 at first."""
        return int(self.tables[3][channel, kernel.C_NOW])

    def refresh_due(self, channel: int, rank: int) -> int:
        """Return the cycle at which the rank's next refresh falls due."""
        return int(self.tables[2][channel * self.timing.ranks + rank, kernel.R_DUE])

    def open_row(self, channel: int, rank: int, bank: int) -> int | None:
        """Return the open row of a bank, counted through all groups; None if it is closed."""
        index = (channel * self.timing.ranks + rank) * self.timing.banks + bank
        row = int(self.tables[0][index, kernel.B_ROW])
        return None if row == kernel.CLOSED_ROW else row

    def set_refresh_due(self, channel: int, rank: int, due: int) -> None:
        """Set the cycle at which the rank's next refresh falls due."""
        self.tables[2][channel * self.timing.ranks + rank, kernel.R_DUE] = due

    def save(self, channel: int, base_row: int) -> bytes:
        """Return the channel's state counted from `now` and `base_row`; see `Engine`."""
        now = self.now(channel)
        parts = [part.copy() for part in self._parts(channel)]
        for part, count in zip(parts, _TIMES, strict=True):
            part[:, :count] = np.maximum(part[:, :count] - now, -self.horizon)
        parts[2][:, kernel.R_DUE] = 0
        rows = parts[0][:, kernel.B_ROW]
        # Counted from the base a row may be below 0, so closed banks get a number that none has.
        parts[0][:, kernel.B_ROW] = np.where(
            rows == kernel.CLOSED_ROW, kernel.NEVER, rows - base_row
        )
        return b"".join(part.tobytes() for part in parts)

    def restore(self, channel: int, base_row: int, state: Hashable, now: int) -> None:
        """Put the channel into a saved state, at another time and another row; see `Engine`."""
        assert isinstance(state, bytes)
        numbers = np.frombuffer(state, np.int64)
        parts = self._parts(channel)
        dues = parts[2][:, kernel.R_DUE].copy()
        begin = 0
        for part, count in zip(parts, _TIMES, strict=True):
            part[:] = numbers[begin : begin + part.size].reshape(part.shape)
            part[:, :count] += now
            begin += part.size
        parts[2][:, kernel.R_DUE] = dues
        rows = parts[0][:, kernel.B_ROW]
        parts[0][:, kernel.B_ROW] = np.where(
            rows == kernel.NEVER, kernel.CLOSED_ROW, rows + base_row
        )

    def _parts(self, channel: int) -> list[np.ndarray]:
        """Return the channel's part of each table, as a view."""
        sizes = (len(table) // self.timing.channels for table in self.tables)
        return [
            table[channel * size : (channel + 1) * size]
            for table, size in zip(self.tables, sizes, strict=True)
        ]
