# SPDX-License-Identifier: Apache-2.0
"""What a memory controller is given, how it decides, and what it reports.

A controller serves reads and writes of one burst on one channel. Requests come in order, at most
one a cycle, when their queue has room. In each cycle the first of these that is legal is given:

1. What a refresh that is due needs: the banks closed, then the refresh. Until then the banks that
   it takes get no new row.
2. The access of a request that a row was opened for.
3. The next command of the oldest waiting request, of those that are legal now (first ready, first
   come): its access if its row is open, ACT if its bank is closed, else PRE.

PRE is only given for the oldest request of its bank. A read of a burst that a waiting write will
change is answered from the write queue; a write waits for older reads of its burst.

`controller_reference` has this cycle by cycle; `controller_fast` compiled, cycles in which nothing
can happen left out.
"""

from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.dram.controller_mapping import ROW_BANK_RANK_COLUMN, Mapping
from ahasd.system.devices.dram.timing import Timing

Cycles = npt.NDArray[np.int64]
"""A cycle for each request."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a controller decides.

    Parameters
    ----------
    mapping
        Where an address lies.
    read_depth, write_depth
        Requests that the two queues hold. A request leaves its queue when a row is opened for it or
        when it is accessed.
    drain_from, drain_to
        Writes are served once `drain_from` of them wait or no read does; then until `drain_to` or
        fewer wait and a read does.
    bank_depth
        Requests of each bank's own queue, 0 for none. If there are, one request a cycle goes from
        the queues above to its bank's, where reads and writes are served alike; after each command
        the next bank's come first, and a request leaves when it is accessed.
    hits_cap
        A row that waiting requests want is closed for an older request of its bank only after this
        many accesses. Further ones may come until closing it is legal, and put that off.
    hits_limit
        After this many accesses they wait for the older request; 0: never.
    page
        `closed`: an open row that no waiting request wants is closed when nothing else can be done.
    refresh
        REFab or REFpb when due, the ranks in turns; or none.

    Raises
    ------
    ValueError
        A value is out of range; the message names it.
    """

    mapping: Mapping = ROW_BANK_RANK_COLUMN
    read_depth: int = 32
    write_depth: int = 32
    drain_from: int = 26
    drain_to: int = 6
    bank_depth: int = 0
    hits_cap: int = 4
    hits_limit: int = 16
    page: Literal["open", "closed"] = "open"
    refresh: Literal["all-bank", "per-bank", "none"] = "all-bank"

    def __post_init__(self) -> None:
        for name, low in (("read_depth", 1), ("write_depth", 1), ("bank_depth", 0)):
            if getattr(self, name) < low:
                raise ValueError(f"{name} = {getattr(self, name)} must be at least {low}")
        if self.hits_cap < 0 or (self.hits_limit and self.hits_limit < max(1, self.hits_cap)):
            raise ValueError(
                f"hits_cap = {self.hits_cap} must be at least 0, and hits_limit = "
                f"{self.hits_limit} 0 or at least as much"
            )
        if not 0 <= self.drain_to < self.drain_from <= self.write_depth:
            raise ValueError(
                f"drain_to = {self.drain_to} and drain_from = {self.drain_from} must rise from 0 "
                f"to write_depth = {self.write_depth}"
            )
        for name, known in (
            ("page", ("open", "closed")),
            ("refresh", ("all-bank", "per-bank", "none")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} = {getattr(self, name)!r} must be one of {known}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Requests:
    """Requests in the order in which they come.

    Parameters
    ----------
    addresses
        First bytes of the bursts, counted within the channel.
    writes
        Which of them write.
    arrivals
        Cycles from which on they want to enter, none earlier than the one before; all 0 if left
        out, so that the queues are always full.
    gaps
        Cycles by which each comes at least later than the one before entered, for a source that
        does not catch up when it was held up; all 0 if left out.

    Raises
    ------
    ValueError
        There are none, the lengths differ, a number is below 0 or an arrival earlier than the one
        before.
    """

    addresses: npt.NDArray[np.int64]
    writes: npt.NDArray[np.bool_]
    arrivals: Cycles = field(default_factory=lambda: np.zeros(0, np.int64))
    gaps: Cycles = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        for name in ("arrivals", "gaps"):
            if not len(getattr(self, name)):
                object.__setattr__(self, name, np.zeros(len(self.addresses), np.int64))
        lengths = {each.name: len(getattr(self, each.name)) for each in fields(self)}
        if len(set(lengths.values())) != 1 or not len(self.addresses):
            raise ValueError(f"lengths {lengths} must be equal and at least 1")
        if self.arrivals[0] < 0 or (np.diff(self.arrivals) < 0).any():
            raise ValueError("arrivals must begin at 0 or later and not fall")
        if self.gaps.min() < 0:
            raise ValueError(f"gaps must be at least 0, one is {self.gaps.min()}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Served:
    """What became of requests; cycles count from 0.

    Parameters
    ----------
    timing
        The memory.
    writes
        Which requests write.
    entered
        Cycle at which each entered the controller.
    done
        Cycle after its last data.
    forwarded
        Reads answered from the write queue.
    commands
        How many commands were given of each kind.
    """

    timing: Timing
    writes: npt.NDArray[np.bool_]
    entered: Cycles
    done: Cycles
    forwarded: int
    commands: dict[Op, int]

    @property
    def cycles(self) -> int:
        """Cycles until the last data."""
        return int(self.done.max())

    @property
    def bytes(self) -> int:
        """Bytes read and written, those answered from the write queue among them."""
        return len(self.done) * self.timing.burst_bytes

    @property
    def bytes_s(self) -> Fraction:
        """Rate of all requests, bytes a second."""
        return self.bytes * 10**12 / (self.cycles * self.timing.period_ps)

    @property
    def bus_share(self) -> float:
        """Share of the time in which the data bus carries data, 0 to 1."""
        bursts = self.commands[Op.RD] + self.commands[Op.WR]
        return bursts * self.timing.burst / self.cycles

    @property
    def row_hits(self) -> float:
        """Share of the accesses to a row that was not opened for them, 0 to 1."""
        accesses = self.commands[Op.RD] + self.commands[Op.WR]
        return 1 - self.commands[Op.ACT] / max(1, accesses)

    def read_latencies(self) -> Cycles:
        """Return the cycles of each read from its entry to its last data."""
        reads = ~self.writes
        return (self.done - self.entered)[reads]
