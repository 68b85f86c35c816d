# SPDX-License-Identifier: Apache-2.0
"""Parameters of the GTSU, the encodings of its ports and the bound on a switch."""

import enum
from dataclasses import dataclass
from typing import NamedTuple

PIM_PERIOD_PS = 1250
"""Cycle at which the bound in time is stated: 800 MHz."""

SWITCH_WIDTH = 7
"""Bits of the CSR `switch_cycles`."""

SWITCH_LIMIT_CYCLES = (1 << SWITCH_WIDTH) - 1
"""Largest `switch_cycles`: every value is legal, 0 acts as 1."""

SWITCH_DEFAULT_CYCLES = 44
"""55 ns, of the class of tRCD and of the exit from power-down by CKE."""

DRAIN_WIDTH = 10
"""Bits of the CSR `drain_max_cycles`."""

DRAIN_LIMIT_CYCLES = 640
"""Largest effective `drain_max_cycles`; values above act as this."""

DRAIN_DEFAULT_CYCLES = 400
"""500 ns: an all-bank refresh in progress and a precharge of all banks end within it."""

OVERHEAD_CYCLES = 3
"""What a switch takes besides draining and waiting: one cycle each to queue the task, to decide
that a switch is needed, and to see that the ranks are drained."""

WORST_SWITCH_CYCLES = DRAIN_LIMIT_CYCLES + SWITCH_LIMIT_CYCLES + OVERHEAD_CYCLES
"""Longest switch, from the transfer on `task` to `issue` valid or to `timeout`: 770 cycles.

A cycle of a switch either finds commands in flight, of which the drain budget allows
`drain_max_cycles`, or counts down `switch_cycles`, or is one of the overhead.
"""

WORST_SWITCH_PS = WORST_SWITCH_CYCLES * PIM_PERIOD_PS
"""The same in time: 962.5 ns, within the 1 us that AHASD states."""


class Kind(enum.IntEnum):
    """Kind of a task, and whose ranks it computes in."""

    DRAFT = 0
    """Drafting, in the ranks that hold the draft model."""
    PREVERIFY = 1
    """Pre-verification, in the ranks that hold the target model."""


class Command(enum.IntEnum):
    """Payload of the `command` stream."""

    CLEAR_ERRORS = 0
    """Clear the sticky errors; tasks are issued again."""
    FLUSH = 1
    """Drop every queued task and stop the running one; errors stay."""


class State(enum.IntEnum):
    """What the unit is doing."""

    IDLE = 0
    """No mask is up."""
    DRAFT = 1
    """The mask of the draft ranks is up; a task may be running or not."""
    PREVERIFY = 2
    """The mask of the target ranks is up; a task may be running or not."""
    DRAINING = 3
    """Nothing is granted until no command is in flight; the old mask is still up."""
    SWITCHING = 4
    """No mask is up while the ranks are switched."""


class Task(NamedTuple):
    """Payload of the `task` stream: bit 0 `kind`, above it `id`."""

    kind: Kind
    id: int

    def pack(self) -> int:
        """Return the payload as the integer on the wires."""
        return self.kind | self.id << 1

    @classmethod
    def unpack(cls, payload: int) -> "Task":
        """Read a payload from the wires."""
        return cls(Kind(payload & 1), payload >> 1)


class Issue(NamedTuple):
    """Payload of the `issue` stream: bit 0 `kind`, bit 1 `resumed`, above them `id`."""

    kind: Kind
    resumed: bool
    id: int

    def pack(self) -> int:
        """Return the payload as the integer on the wires."""
        return self.kind | self.resumed << 1 | self.id << 2

    @classmethod
    def unpack(cls, payload: int) -> "Issue":
        """Read a payload from the wires."""
        return cls(Kind(payload & 1), bool(payload & 2), payload >> 2)


@dataclass(frozen=True, kw_only=True)
class GtsuParams:
    """Sizes of the GTSU. The defaults are those of AHASD.

    Parameters
    ----------
    ranks
        PIM ranks, each with a bit in every mask.
    task_entries
        Tasks that can be queued, of both kinds together; a power of two. A suspended task has a
        place of its own.
    id_width
        Bits of a task's number.

    Raises
    ------
    ValueError
        A value is outside its range; the message names the rule and the value.
    """

    ranks: int = 16
    task_entries: int = 8
    id_width: int = 4

    def __post_init__(self) -> None:
        for name, low, high in (
            ("ranks", 2, 64),
            ("task_entries", 2, 64),
            ("id_width", 1, 16),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be in {low}..{high}, not {value}")
        if self.task_entries & (self.task_entries - 1):
            raise ValueError(f"task_entries must be a power of two, not {self.task_entries}")

    @property
    def pointer_width(self) -> int:
        """Bits of a position in a queue."""
        return self.task_entries.bit_length() - 1

    @property
    def pending_max(self) -> int:
        """Most tasks that wait at a time: all entries, and a suspended task."""
        return self.task_entries + 1

    @property
    def pending_width(self) -> int:
        """Bits of the count of waiting tasks."""
        return self.pending_max.bit_length()

    switch_width = SWITCH_WIDTH
    """Bits of the CSR `switch_cycles`."""

    drain_width = DRAIN_WIDTH
    """Bits of the CSR `drain_max_cycles`."""
