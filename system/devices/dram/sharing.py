# SPDX-License-Identifier: Apache-2.0
"""Several streams on one channel: whose command is next, and how fast each gets on.

Every stream is a pattern that repeats for ever (a *lane*). The arbiter gives one command at a time;
all of them pass the engine, so that no lane gets a bus, a bank or a refresh that another has.
Lanes on one rank take turns, a segment at a time, since a rank whose banks compute answers no
reads. A rank is refreshed when it is due, at the next boundary of the segments of its lane.

What follows depends only on the state of the channel and on where each lane stands. Once both have
been seen before, everything since then repeats, and the rates of the lanes are exact. Long patterns
hardly ever come to that in reasonable time; then the rates are means over many refreshes.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from ahasd.system.devices.dram import sharing_kernel
from ahasd.system.devices.dram.commands import Command, Encoded, Op, decoded
from ahasd.system.devices.dram.engine import Engine
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.stream import Pattern

Policy = Literal["fair", "npu-first", "pim-first", "slots"]
User = Literal["npu", "pim"]

MAX_REFRESHES = 256
"""Refreshes of the first lane after which a search for a period ends."""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A stream on the channel.

    Parameters
    ----------
    user
        Who wants it.
    pattern
        What it does, again and again; not shorter than a period.
    rank
        Where, whatever the pattern's own place.
    """

    user: User
    pattern: Pattern
    rank: int


@dataclass(frozen=True, kw_only=True)
class Arbiter:
    """Who goes first.

    Parameters
    ----------
    policy
        `npu-first`, `pim-first`: the other's command may go only where it takes the command bus
        from none of the first's, and the data bus from no burst of theirs; a rank that both want
        is the first's for ever. `fair`: the command that is legal first goes, of several that
        lane's which has waited longest; one that the others' commands have put off too long goes
        before them, and so do further bursts of its lane for as long; a rank goes to the lane that
        had it for the shorter time. `slots`: time is cut into slots that belong to both by turns,
        and so does a rank that both want, from one segment to the next; refreshes need no slot.
    slot_cycles
        Length of a slot, clock cycles; at least 1.
    patience_cycles
        With `fair`, by how much a command may be put off; at least 1.

    Raises
    ------
    ValueError
        A number is below 1.
    """

    policy: Policy = "fair"
    slot_cycles: int = 4096
    patience_cycles: int = 64

    def __post_init__(self) -> None:
        for name in ("slot_cycles", "patience_cycles"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} must be at least 1")

    def priority(self, user: User) -> int:
        """Return 0 for whom the policy puts first, else 1; where it puts none first, 0."""
        return int(self.policy.endswith("first") and not self.policy.startswith(user))


@dataclass(frozen=True, kw_only=True)
class Shared:
    """How the lanes got on in a stretch of time.

    Parameters
    ----------
    cycles
        Its length, clock cycles.
    segments
        Segments that each lane passed, a begun one by its share of commands.
    commands
        Commands simulated in all, those before the stretch included.
    is_period
        The state at its end was that at its begin; else it is at least half of what was simulated,
        its begin left out: lanes take a while to find their step.
    """

    cycles: int
    segments: tuple[float, ...]
    commands: int
    is_period: bool


@dataclass(frozen=True)
class Templates:
    """The commands of a pattern's period.

    Parameters
    ----------
    commands
        All templates, one behind the other; rows count from the begin of the period.
    bounds
        Begin and end of each in there: [segment, banks are closed before it, begin or end].
    row_step
        Rows by which a period lies behind the one before.
    """

    commands: Encoded
    bounds: npt.NDArray[np.int64]
    row_step: int

    @classmethod
    def of(cls, lane: Lane) -> "Templates":
        """Write the period of a lane's pattern out.

        Raises
        ------
        ValueError
            The pattern is shorter than a period.
        """
        pattern = lane.pattern
        if pattern.segments < pattern.period:
            raise ValueError(
                f"{pattern.segments} segments are no whole period, which has {pattern.period}"
            )
        base = pattern.base_row(0)
        found: list[Encoded] = []
        bounds = np.zeros((pattern.period, 2, 2), np.int64)
        end = 0
        for index in range(pattern.period):
            for fresh in (False, True):
                commands = pattern.segment(index, fresh=fresh, last=False)
                commands[:, 1:3] = 0, lane.rank
                commands[:, -1] -= base
                found.append(commands)
                bounds[index, int(fresh)] = end, end + len(commands)
                end += len(commands)
        step = pattern.base_row(pattern.period) - base
        return cls(np.concatenate(found), bounds, step)

    @property
    def row_modulus(self) -> int:
        """Rows after which rows are used again: two periods, so that every row change is one."""
        return max(2, 2 * self.row_step)


class Sharer(ABC):
    """The channel with its lanes, from closed banks on.

    Parameters
    ----------
    engine
        The memory, nothing given yet.
    lanes
        The lanes, all on channel 0.
    arbiter
        Who goes first.

    Raises
    ------
    ValueError
        There is no lane, or more than two want one rank.
    """

    def __init__(self, engine: Engine, lanes: Sequence[Lane], arbiter: Arbiter) -> None:
        ranks = [lane.rank for lane in lanes]
        if not lanes or max(map(ranks.count, ranks)) > 2:
            raise ValueError(f"lanes on ranks {ranks}: there must be some, at most two on a rank")
        self.lanes = tuple(lanes)
        self.arbiter = arbiter
        self._engine = engine
        self._templates = [Templates.of(lane) for lane in lanes]
        self._priority = [arbiter.priority(lane.user) for lane in lanes]
        # The lane whose refreshes mark the places where states are compared: never a starved one.
        self._leader = min(range(len(lanes)), key=lambda i: self._priority[i])

        timing = engine.timing
        # From a burst to any of another rank: what turns the data bus round takes longest.
        self._turn_cycles = (
            timing.rl - timing.wl + timing.burst + max(timing.t_cs, timing.t_rtw_gap)
        )
        users = {lane.user for lane in lanes}
        self._has_slots = arbiter.policy == "slots" and len(users) > 1
        # Where two have one rank, the slots decide whose it is, and not about single commands.
        self._slotted = {
            i for i, rank in enumerate(ranks) if self._has_slots and ranks.count(rank) == 1
        }

    def now(self) -> int:
        """Return the cycle of the last command."""
        return self._engine.now(0)

    @abstractmethod
    def run(self, max_commands: int) -> int:
        """Give commands until a refresh of the leading lane's rank has been given.

        In a memory that is not refreshed, until that lane has passed a period. Returns their
        number, `max_commands` if that came first.
        """

    @abstractmethod
    def segments(self) -> tuple[float, ...]:
        """Return the segments that each lane has passed, a begun one by its share of commands."""

    @abstractmethod
    def position(self) -> Hashable:
        """Return a part of the state that is quick to tell: where each lane stands."""

    @abstractmethod
    def state(self) -> Hashable:
        """Return all that the future depends on, cycles counted from now."""


def share(sharer: Sharer, *, max_refreshes: int = MAX_REFRESHES) -> Shared:
    """Let lanes get on together until their state repeats.

    Parameters
    ----------
    sharer
        The channel.
    max_refreshes
        Refreshes of the leading lane's rank after which to give up; its periods, in a memory that
        is not refreshed.
    """
    commands = sharer.run(_MAX_COMMANDS)
    before = here = there = sharer.now(), sharer.segments()
    position, state = sharer.position(), sharer.state()
    age, span = 0, 1
    for _ in range(1, max_refreshes):
        commands += sharer.run(_MAX_COMMANDS)
        here = sharer.now(), sharer.segments()
        age += 1
        # The position is quick to tell, and hardly ever is that of the mark.
        if sharer.position() == position and sharer.state() == state:
            return _stretch(there, here, commands, is_period=True)
        if age == span:  # a mark twice as far on finds any period in the end (Brent)
            before, there = there, here
            position, state = sharer.position(), sharer.state()
            age, span = 0, 2 * span
    return _stretch(before, here, commands, is_period=False)


_MAX_COMMANDS = 2**14  # more than come between two refreshes, unless there are none


def _stretch(
    there: tuple[int, tuple[float, ...]],
    here: tuple[int, tuple[float, ...]],
    commands: int,
    *,
    is_period: bool,
) -> Shared:
    return Shared(
        cycles=here[0] - there[0],
        segments=tuple(b - a for a, b in zip(there[1], here[1], strict=True)),
        commands=commands,
        is_period=is_period,
    )


_UNKNOWN = -1


@dataclass
class _Position:
    """Where a lane stands."""

    segment: int = 0  # of the period
    start: int = 0  # of its template
    at: int = 0  # next command of that
    end: int = 1
    offset: int = 0  # rows that the period lies behind the first
    precharge: bool = False  # first
    refreshes: int = 0  # then
    held: int = 0  # cycles for which the rank was this lane's
    since: int = 0  # begin of the segment
    served: int = 0  # serial number of its last command
    ready: int = _UNKNOWN  # when its next command was legal before others went first
    finished: int = 0  # segments


_BURSTS = (Op.RD, Op.WR, Op.RDB, Op.WRB)
"""Commands that move a burst over the data bus."""

_Head = tuple[int, int, int, Command]
"""Cycle at which the next command of a lane is legal; serial number of its last; lane; command."""


class ReferenceSharer(Sharer):
    """The lanes one command at a time, on any engine."""

    def __init__(self, engine: Engine, lanes: Sequence[Lane], arbiter: Arbiter) -> None:
        super().__init__(engine, lanes, arbiter)
        self._at = [_Position() for _ in lanes]
        self._serial = 0
        self._favoured: int | None = None  # a lane that was put off
        self._favoured_until = 0  # it may have the data bus
        self._owner: dict[int, int] = {}  # of a rank
        for i in sorted(range(len(lanes)), key=lambda i: self._priority[i]):
            self._owner.setdefault(lanes[i].rank, i)
        for i in self._owner.values():
            self._begin(i, closed=True, switched=False)

    def segments(self) -> tuple[float, ...]:
        """Return the segments that each lane has passed; see `Sharer`."""
        return tuple(
            each.finished + (each.at - each.start) / (each.end - each.start) for each in self._at
        )

    def position(self) -> Hashable:
        """Return where each lane stands."""
        return tuple((each.segment, each.at, each.offset) for each in self._at)

    def state(self) -> Hashable:
        """Return all that the future depends on; see `Sharer`."""
        now = self.now()
        lanes = tuple(
            (
                each.segment,
                each.at,
                each.end,
                each.offset,
                each.precharge,
                each.refreshes,
                each.held - min(other.held for other in self._at),
                now - each.since if self._owner[lane.rank] == i else 0,
                sum(other.served < each.served for other in self._at),
                None if each.ready == _UNKNOWN else each.ready - now,
                self._engine.refresh_due(0, lane.rank) - now,
            )
            for i, (each, lane) in enumerate(zip(self._at, self.lanes, strict=True))
        )
        slot = now % (2 * self.arbiter.slot_cycles) if self._has_slots else 0
        favour = None if self._favoured is None else (self._favoured, self._favoured_until - now)
        return lanes, tuple(self._owner.items()), favour, slot, self._engine.save(0, 0)

    def run(self, max_commands: int) -> int:
        """Give commands until a refresh of the leading lane's rank has been given."""
        for given in range(1, max_commands + 1):
            if self._give_one():
                return given
        return max_commands

    def _give_one(self) -> bool:
        """Give the next command; return whether it was the last before `run` returns."""
        chosen, command, cycle = self._choose()
        self._engine.issue(command, cycle)
        self._serial += 1
        position = self._at[chosen]
        position.served = self._serial
        position.ready = _UNKNOWN
        if position.precharge:
            position.precharge = False
        elif position.refreshes:
            position.refreshes -= 1
            return chosen == self._leader and not position.refreshes
        else:
            position.at += 1
            if position.at == position.end:
                self._finish(chosen)
                passed = chosen == self._leader and not position.segment
                return passed and self._engine.timing.t_refi == sharing_kernel.NEVER_CYCLES
        return False

    def _choose(self) -> tuple[int, Command, int]:
        """Return whose command is next, the command, and its cycle."""
        heads: list[_Head] = []
        for i in self._owner.values():
            command = self._head(i)
            cycle = self._engine.bound(command)[0]
            if i in self._slotted and command.op not in (Op.PREAB, Op.REFAB):
                cycle = self._in_slot(i, cycle)
            if self._at[i].ready == _UNKNOWN:
                self._at[i].ready = cycle
            heads.append((cycle, self._at[i].served, i, command))
        if self.arbiter.policy == "fair":
            heads = self._fair(heads)
        bursts = [
            each[0] for each in heads if each[3].op in _BURSTS and not self._priority[each[2]]
        ]
        if bursts:
            heads = [
                each
                for each in heads
                if not self._priority[each[2]]
                or each[3].op not in _BURSTS
                or each[0] + self._turn_cycles <= min(bursts)
            ]
        best = {
            priority: min(each for each in heads if self._priority[each[2]] == priority)
            for priority in {self._priority[each[2]] for each in heads}
        }
        cycle, _, i, command = best[min(best)]
        if len(best) == 2:
            other_cycle, _, other, other_command = best[1]
            timing = self._engine.timing
            opens = other_command.op in (Op.ACT, Op.ACTAB)
            if other_cycle + (timing.act_command if opens else timing.command) <= cycle:
                return other, other_command, other_cycle
        return i, command, cycle

    def _fair(self, heads: list["_Head"]) -> list["_Head"]:
        """Return the commands that may go, those held back for a lane that was put off left out."""
        patience = self.arbiter.patience_cycles
        if self._favoured is not None:
            head = next((each for each in heads if each[2] == self._favoured), None)
            if head is None or head[3].op not in _BURSTS or head[0] > self._favoured_until:
                self._favoured = None
        if self._favoured is None:
            put_off = [each for each in heads if each[0] - self._at[each[2]].ready >= patience]
            if not put_off:
                return heads
            head = min(put_off, key=lambda each: (self._at[each[2]].ready, each[2]))
            self._favoured, self._favoured_until = head[2], head[0] + patience
        (favoured,) = (each for each in heads if each[2] == self._favoured)
        if favoured[3].op not in _BURSTS:
            return [favoured]
        return [each for each in heads if each is favoured or each[3].op not in _BURSTS]

    def _in_slot(self, i: int, cycle: int) -> int:
        """Return the first cycle from one on that lies in a slot of the lane's user."""
        length = self.arbiter.slot_cycles
        slot = cycle // length
        return cycle if slot % 2 == (self.lanes[i].user == "pim") else (slot + 1) * length

    def _head(self, i: int) -> Command:
        """Return the next command of a lane."""
        position, rank = self._at[i], self.lanes[i].rank
        if position.precharge:
            return Command(op=Op.PREAB, rank=rank)
        if position.refreshes:
            return Command(op=Op.REFAB, rank=rank)
        templates = self._templates[i]
        (command,) = decoded(templates.commands[position.at : position.at + 1])
        row = (command.row + position.offset) % templates.row_modulus
        return replace(command, row=row)

    def _finish(self, i: int) -> None:
        """End a segment, and begin the next of the lane that has the rank then."""
        position, templates = self._at[i], self._templates[i]
        position.finished += 1
        position.segment += 1
        if position.segment == len(templates.bounds):
            position.segment = 0
            position.offset = (position.offset + templates.row_step) % templates.row_modulus
        position.held += self.now() - position.since
        rank = self.lanes[i].rank
        rivals = [j for j, lane in enumerate(self.lanes) if lane.rank == rank and j != i]
        owner = self._next_owner(i, rivals[0]) if rivals else i
        self._owner[rank] = owner
        self._begin(owner, closed=False, switched=owner != i)

    def _next_owner(self, i: int, rival: int) -> int:
        if self._has_slots:
            turn = "pim" if self.now() // self.arbiter.slot_cycles % 2 else "npu"
            return i if self.lanes[i].user == turn else rival
        if self._priority[i] != self._priority[rival]:
            return min(i, rival, key=lambda j: self._priority[j])
        return i if self._at[i].held < self._at[rival].held else rival

    def _begin(self, i: int, *, closed: bool, switched: bool) -> None:
        """Begin a segment: behind the refreshes that are due, and a precharge if banks are open."""
        position, rank, now = self._at[i], self.lanes[i].rank, self.now()
        overdue = now - self._engine.refresh_due(0, rank)
        position.refreshes = max(0, overdue // self._engine.timing.t_refi + 1)
        position.precharge = switched or position.refreshes > 0
        fresh = int(closed or position.precharge)
        position.start, position.end = self._templates[i].bounds[position.segment, fresh].tolist()
        position.at = position.start
        position.since = now


class FastSharer(Sharer):
    """The same, compiled."""

    def __init__(self, engine: FastEngine, lanes: Sequence[Lane], arbiter: Arbiter) -> None:
        super().__init__(engine, lanes, arbiter)
        self._fast = engine
        sizes = [len(templates.commands) for templates in self._templates]
        starts = np.cumsum([0, *sizes[:-1]])
        bounds = [
            templates.bounds.reshape(-1, 2) + start
            for templates, start in zip(self._templates, starts, strict=True)
        ]
        first_bounds = np.cumsum([0, *(len(each) for each in bounds[:-1])])
        self._commands = np.concatenate([templates.commands for templates in self._templates])
        self._bounds = np.concatenate(bounds)
        self._table = np.zeros((len(lanes), sharing_kernel.FIELDS), np.int64)
        for i, (lane, templates) in enumerate(zip(lanes, self._templates, strict=True)):
            rank = lane.rank
            rivals = [j for j in range(len(lanes)) if lanes[j].rank == rank and j != i]
            self._table[i, : sharing_kernel.CONSTANTS] = (
                rank,
                self._priority[i],
                lane.user == "pim",
                rivals[0] if rivals else -1,
                i in self._slotted,
                first_bounds[i],
                len(templates.bounds),
                templates.row_step,
                templates.row_modulus,
            )
        slot = arbiter.slot_cycles if self._has_slots else 0
        patience = arbiter.patience_cycles if arbiter.policy == "fair" else 0
        self._table[:, sharing_kernel.END] = 1
        self._table[:, sharing_kernel.READY] = sharing_kernel.UNKNOWN
        # In the order of the kernel's names.
        self._numbers = np.array([self._leader, slot, patience, self._turn_cycles, -1, 0], np.int64)
        sharing_kernel.begin(self._table, self._bounds, engine.timing.t_refi, engine.tables)

    def segments(self) -> tuple[float, ...]:
        """Return the segments that each lane has passed; see `Sharer`."""
        finished, start, at, end = (
            self._table[:, each]
            for each in (
                sharing_kernel.FINISHED,
                sharing_kernel.START,
                sharing_kernel.AT,
                sharing_kernel.END,
            )
        )
        return tuple((finished + (at - start) / (end - start)).tolist())

    def position(self) -> Hashable:
        """Return where each lane stands."""
        return self._table[:, sharing_kernel.SEGMENT : sharing_kernel.HELD].tobytes()

    def state(self) -> Hashable:
        """Return all that the future depends on; see `Sharer`."""
        now = self.now()
        table = self._table[:, sharing_kernel.CONSTANTS : sharing_kernel.FINISHED].copy()
        held, since, served, owns, ready = (
            each - sharing_kernel.CONSTANTS
            for each in (
                sharing_kernel.HELD,
                sharing_kernel.SINCE,
                sharing_kernel.SERVED,
                sharing_kernel.OWNS,
                sharing_kernel.READY,
            )
        )
        table[:, held] -= table[:, held].min()
        table[:, since] = np.where(table[:, owns], now - table[:, since], 0)
        table[:, served] = np.argsort(np.argsort(table[:, served]))
        known = table[:, ready] != sharing_kernel.UNKNOWN
        table[:, ready] = np.where(known, table[:, ready] - now, sharing_kernel.NEVER)
        dues = [self._engine.refresh_due(0, lane.rank) - now for lane in self.lanes]
        slot = now % (2 * self.arbiter.slot_cycles) if self._has_slots else 0
        favoured = int(self._numbers[sharing_kernel.FAVOURED])
        until = int(self._numbers[sharing_kernel.UNTIL]) - now if favoured >= 0 else 0
        return table.tobytes(), tuple(dues), (favoured, until), slot, self._engine.save(0, 0)

    def run(self, max_commands: int) -> int:
        """Give commands until a refresh of the leading lane's rank has been given."""
        return sharing_kernel.run(
            max_commands,
            self._commands,
            self._bounds,
            self._table,
            self._numbers,
            self._fast.minima_table,
            self._fast.sizes_table,
            *self._fast.tables,
        )
