# SPDX-License-Identifier: Apache-2.0
"""The interface of both engines, and what they raise on an illegal command."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from ahasd.system.devices.dram.commands import UNIT, Command, Encoded, Op, decoded
from ahasd.system.devices.dram.rules import Constraint, minima
from ahasd.system.devices.dram.timing import Timing

NEEDS_REFRESHED = frozenset({Op.ACT, Op.ACTAB, Op.RD, Op.WR, Op.MACAB, *UNIT})
"""Commands that a rank refuses while its refreshes are too far behind."""


class Fault(IntEnum):
    """Why the state of a bank forbids a command, at any time."""

    CLOSED = 1
    OPEN = 2
    OTHER_ROW = 3
    REFRESHED = 4


_FAULTS = {
    Fault.CLOSED: "a bank is closed",
    Fault.OPEN: "a bank is open",
    Fault.OTHER_ROW: "another row is open",
    Fault.REFRESHED: "the bank was refreshed in this round already",
}


class IllegalCommandError(ValueError):
    """A command that the memory must not be given now."""


class BankStateError(IllegalCommandError):
    """The state of a bank forbids the command, whenever it comes.

    Parameters
    ----------
    command
        The command.
    fault
        Why.
    """

    def __init__(self, command: Command, fault: Fault) -> None:
        super().__init__(f"{command}: {_FAULTS[fault]}")
        self.fault = fault


class TooEarlyError(IllegalCommandError):
    """The command comes before a constraint has passed.

    Parameters
    ----------
    command
        The command.
    cycle
        When it was tried.
    constraint
        The constraint that ends last.
    minimum
        Its value in cycles; 0 if it has none of its own.
    earliest
        First legal cycle.
    """

    def __init__(
        self, command: Command, cycle: int, constraint: Constraint, minimum: int, earliest: int
    ) -> None:
        super().__init__(
            f"{command} at cycle {cycle}: {constraint.name} = {minimum} cycles, "
            f"legal from cycle {earliest}"
        )
        self.constraint = constraint
        self.minimum = minimum
        self.earliest = earliest


class RefreshOverdueError(IllegalCommandError):
    """The rank is more refreshes behind than may be postponed.

    Parameters
    ----------
    command
        The command.
    cycle
        When it was tried.
    latest
        Last cycle at which it was legal.
    """

    def __init__(self, command: Command, cycle: int, latest: int) -> None:
        super().__init__(
            f"{command} at cycle {cycle}: REFI, refresh the rank first; legal up to cycle {latest}"
        )
        self.latest = latest


class Engine(ABC):
    """Banks, ranks and channels of one memory; every time is a whole clock cycle, from 0.

    Channels are independent; within a channel commands are given in order of time. All banks begin
    closed and every rank's first refresh falls due after one interval.

    Parameters
    ----------
    timing
        The memory.
    """

    def __init__(self, timing: Timing) -> None:
        self.timing = timing
        self.minima = minima(timing)
        # A command older than this constrains nothing any more.
        self.horizon = max(
            value for name, value in self.minima.items() if name is not Constraint.REFI
        )

    def earliest(self, command: Command) -> int:
        """Return the first cycle at which the command is legal.

        Raises
        ------
        ValueError
            The memory has no such place.
        BankStateError
            A bank's state forbids it.
        RefreshOverdueError
            It would come too late for the rank's refreshes.
        """
        cycle, _ = self.bound(command)
        self._check_refresh(command, cycle)
        return cycle

    def issue(self, command: Command, cycle: int) -> None:
        """Give the command at a cycle.

        Raises
        ------
        ValueError
            As `earliest`; `TooEarlyError` besides.
        """
        earliest, constraint = self.bound(command)
        if cycle < earliest:
            raise TooEarlyError(command, cycle, constraint, self.minima[constraint], earliest)
        self._check_refresh(command, cycle)
        self._commit(command, cycle)

    def run(self, commands: Sequence[Command]) -> list[int]:
        """Give commands in order, each as early as legal, and return their cycles.

        Raises
        ------
        ValueError
            As `earliest`; the commands before have been given.
        """
        cycles = []
        for command in commands:
            cycles.append(self.earliest(command))
            self._commit(command, cycles[-1])
        return cycles

    def run_encoded(self, numbers: Encoded) -> npt.NDArray[np.int64]:
        """Do as `run` with commands given as numbers."""
        return np.array(self.run(decoded(numbers)), np.int64)

    def _check_refresh(self, command: Command, cycle: int) -> None:
        if command.op in NEEDS_REFRESHED:
            latest = self.refresh_due(command.channel, command.rank) + self.minima[Constraint.REFI]
            if cycle > latest:
                raise RefreshOverdueError(command, cycle, latest)

    @abstractmethod
    def bound(self, command: Command) -> tuple[int, Constraint]:
        """Return the first cycle that no minimum forbids, and the constraint that ends there.

        Raises
        ------
        ValueError
            As `earliest`, but for refreshes that are overdue.
        """

    @abstractmethod
    def _commit(self, command: Command, cycle: int) -> None:
        """Change the state as the command does; it is legal at this cycle."""

    @abstractmethod
    def now(self, channel: int) -> int:
        """Return the cycle of the channel's last command; 0 at first."""

    @abstractmethod
    def refresh_due(self, channel: int, rank: int) -> int:
        """Return the cycle at which the rank's next refresh falls due."""

    @abstractmethod
    def open_row(self, channel: int, rank: int, bank: int) -> int | None:
        """Return the open row of a bank, counted through all groups; None if it is closed."""

    @abstractmethod
    def set_refresh_due(self, channel: int, rank: int, due: int) -> None:
        """Set the cycle at which the rank's next refresh falls due."""

    @abstractmethod
    def save(self, channel: int, base_row: int) -> Hashable:
        """Return the channel's state with cycles counted from `now` and rows from `base_row`.

        Cycles are cut where they constrain nothing any more, and `refresh_due` is left out. Two
        equal states of one engine mean that the same commands, in rows equally far from the base,
        take the same cycles, refreshes aside: the engine compares rows with each other and cycles
        with `now`, and knows nothing else.
        """

    @abstractmethod
    def restore(self, channel: int, base_row: int, state: Hashable, now: int) -> None:
        """Put the channel into a saved state, at another time and another row.

        `state` is from `save` of this engine.
        """
