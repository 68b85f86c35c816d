# SPDX-License-Identifier: Apache-2.0
"""Long streams: reads of a range with open pages, and all-bank MAC passes, with refresh.

A stream is played in segments that differ in their rows only. What a segment does depends on the
channel's state before it (`Engine.save`: cycles counted from now, rows from the segment's own) and
on the refreshes that come first. Two things are therefore skipped, and both exactly, since their
cycles and commands are added and not estimated: a segment whose state, kind and refreshes were
simulated before; and all whole periods, once the banks and the time left to the next refresh are
what they were at an earlier boundary.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from ahasd.system.devices.dram.commands import FIELDS, Encoded, Op
from ahasd.system.devices.dram.engine import Engine
from ahasd.system.devices.dram.rules import Constraint
from ahasd.system.devices.dram.timing import Timing


@dataclass(frozen=True, kw_only=True)
class Played:
    """What became of a stream.

    Parameters
    ----------
    bytes
        Bytes read.
    cycles
        Clock cycles from the first command to the end of the last data, or until a PIM pass has
        closed its banks.
    simulated_commands
        Commands that an engine was given.
    skipped_commands
        Further commands that the stream has: of what repeats, and of channels that do the same as
        a simulated one.
    refreshes
        REFab among both.
    """

    bytes: int
    cycles: int
    simulated_commands: int
    skipped_commands: int
    refreshes: int

    def bytes_s(self, timing: Timing) -> Fraction:
        """Return the achieved rate, bytes a second."""
        return self.bytes * 10**12 / (self.cycles * timing.period_ps)


class Pattern(Protocol):
    """A stream on one rank of one channel, in segments."""

    channel: int
    rank: int
    segments: int
    bytes: int
    tail_cycles: int
    period: int
    """Segments after which all repeats, but for rows and the end of the stream."""

    def segment(self, index: int, *, fresh: bool, last: bool) -> Encoded:
        """Return the commands of a segment, the stream's last if so told.

        `fresh`: all banks are closed before it.
        """
        ...

    def kind(self, index: int) -> int:
        """Return a number that is equal for segments that differ in their rows only.

        The row that follows is equally far from theirs, too.
        """
        ...

    def base_row(self, index: int) -> int:
        """Return the row that the rows of the segment are counted from."""
        ...


class SequentialRead:
    """Reads of consecutive bursts: over the bank groups, then columns, banks and rows.

    A segment reads one row of one bank in each group. Meanwhile the banks of the segment before are
    precharged and those of the next are opened.

    Parameters
    ----------
    timing
        The memory.
    bursts
        Bursts to read, at least 1.
    channel, rank
        Where.
    first_segment
        Segment of the rank, counted through all its rows, that the range begins with.

    Raises
    ------
    ValueError
        The range is empty or ends beyond the rank, or a group has but one bank.
    """

    def __init__(
        self,
        timing: Timing,
        bursts: int,
        *,
        channel: int = 0,
        rank: int = 0,
        first_segment: int = 0,
    ) -> None:
        per_segment = timing.bank_groups * timing.bursts_per_row
        self.segments = -(-bursts // per_segment)
        limit = timing.rows * timing.banks_per_group
        if bursts < 1 or first_segment < 0 or first_segment + self.segments > limit:
            raise ValueError(
                f"{bursts} bursts from segment {first_segment} must lie in segments 0 to "
                f"{limit - 1} and be at least one"
            )
        if timing.banks_per_group < 2:
            raise ValueError("a group needs two banks, one to read while the other opens its row")
        self.channel, self.rank = channel, rank
        self.bytes = bursts * timing.burst_bytes
        self.tail_cycles = timing.rl + timing.burst
        self.period = timing.banks_per_group
        self._timing = timing
        self._first = first_segment
        self._last_bursts = bursts - per_segment * (self.segments - 1)
        self._per_segment = per_segment
        self._templates: dict[tuple[int, bool, bool], Encoded] = {}

    def segment(self, index: int, *, fresh: bool, last: bool) -> Encoded:
        """Return a segment's reads with the precharges before and the activates after it."""
        kind = self.kind(index), fresh, last
        if kind not in self._templates:
            self._templates[kind] = self._template(*kind)
        commands = self._templates[kind].copy()
        commands[:, -1] += self.base_row(index)
        return commands

    def _template(self, turn: int, fresh: bool, last: bool) -> Encoded:
        """Return a segment's commands with rows counted from its own."""
        groups = self._timing.bank_groups
        half = self._per_segment // 2
        spacing = half // (groups + 1)
        reads = self._last_bursts if last else self._per_segment
        # (position among the reads, command); the sort is stable, so equal positions keep order.
        placed = [(read, self._command(Op.RD, read % groups, turn)) for read in range(reads)]
        for group in range(groups):
            if fresh:
                placed.append((-1, self._command(Op.ACT, group, turn)))
            else:
                placed.append((spacing * (group + 1), self._command(Op.PRE, group, turn - 1)))
            if not last:
                position = half + spacing * group
                placed.append((position, self._command(Op.ACT, group, turn + 1)))
        placed.sort(key=lambda each: each[0])
        return np.array([command for _, command in placed], np.int64)

    def _command(self, op: Op, group: int, turn: int) -> tuple[int, ...]:
        row, bank = divmod(turn, self._timing.banks_per_group)
        return op, self.channel, self.rank, group, bank, row

    def kind(self, index: int) -> int:
        """Return which bank of each group is read."""
        return (self._first + index) % self._timing.banks_per_group

    def base_row(self, index: int) -> int:
        """Return the row that is read."""
        return (self._first + index) // self._timing.banks_per_group


class AllBankMac:
    """All-bank MAC passes over consecutive rows, as a PIM kernel reads its weights.

    A segment opens one row of all banks, reads all its columns into the PIM units, and closes it.

    Parameters
    ----------
    timing
        The memory.
    rows
        Rows to pass over, at least 1.
    channel, rank
        Where.
    first_row
        Row to begin with.

    Raises
    ------
    ValueError
        There is no such row.
    """

    def __init__(
        self, timing: Timing, rows: int, *, channel: int = 0, rank: int = 0, first_row: int = 0
    ) -> None:
        if rows < 1 or first_row < 0 or first_row + rows > timing.rows:
            raise ValueError(f"{rows} rows from row {first_row} must lie in 0 to {timing.rows - 1}")
        self.channel, self.rank = channel, rank
        self.segments = rows
        self.bytes = rows * timing.banks * timing.row_bytes
        self.tail_cycles = timing.t_rp_ab
        self.period = 1
        self._first = first_row
        self._template = np.zeros((timing.bursts_per_row + 2, FIELDS), np.int64)
        self._template[:, 0] = Op.MACAB
        self._template[0, 0], self._template[-1, 0] = Op.ACTAB, Op.PREAB
        self._template[:, 1:3] = channel, rank

    def segment(self, index: int, *, fresh: bool, last: bool) -> Encoded:
        """Return the commands of one row; all banks are closed before it in any case."""
        commands = self._template.copy()
        commands[:, -1] = self._first + index
        return commands

    def kind(self, index: int) -> int:
        """Return 0: all segments differ in their row only."""
        return 0

    def base_row(self, index: int) -> int:
        """Return the row."""
        return self._first + index


def play(
    engine: Engine,
    pattern: Pattern,
    *,
    refresh: bool = True,
    skip: bool = True,
    known: "Known | None" = None,
) -> Played:
    """Play a stream on its channel from its state now, refreshing the rank with REFab when due.

    Refreshes come at the next boundary of segments; those of other ranks are not played.

    Parameters
    ----------
    engine
        The memory, with all banks of the rank closed.
    pattern
        The stream.
    refresh
        Insert refreshes; without them a long stream ends in `RefreshOverdueError`.
    skip
        Skip what is known to repeat.
    known
        What was simulated before, by this engine's class on the same memory for patterns that
        differ from this one in their length only; what is simulated now is added.
    """
    player = _Player(engine, pattern, refresh=refresh, skip=skip, known=known)
    while player.index < pattern.segments:
        player.advance()
    return player.played()


@dataclass(frozen=True)
class _Step:
    """What a segment does to its channel: cycles it takes, commands it has, state it leaves."""

    cycles: int
    commands: int
    state: Hashable


Known = dict[tuple[int, int, bool, Hashable], _Step]
"""What segments do, by phase, refreshes before them, being the first, and state of the channel."""


class _Player:
    """Position in a stream; the engine follows only where something new must be simulated."""

    def __init__(
        self, engine: Engine, pattern: Pattern, *, refresh: bool, skip: bool, known: Known | None
    ) -> None:
        self._engine, self._pattern = engine, pattern
        self._refresh, self._skip = refresh, skip
        self._began = self._now = engine.now(pattern.channel)
        self._due = engine.refresh_due(pattern.channel, pattern.rank)
        self._state = engine.save(pattern.channel, pattern.base_row(0))
        self._engine_follows = True
        self._steps: Known = {} if known is None else known
        self._marks: dict[tuple[int, Hashable, int], tuple[int, int, int, int]] = {}
        self._commands = self._simulated = self._refreshes = 0
        self.index = 0

    def advance(self) -> None:
        """Pass one segment, with the refreshes that are due before it; and whole periods."""
        engine, timing = self._engine, self._engine.timing
        last = self.index == self._pattern.segments - 1
        refreshes = 0
        if self._refresh:
            refreshes = max(0, (self._now - self._due) // timing.t_refi + 1)
        self._due += refreshes * timing.t_refi
        key = self._pattern.kind(self.index), refreshes, self.index == 0, self._state
        step = self._steps.get(key) if self._skip and not last else None
        # A known step says nothing of refreshes that are overdue: the engine shall refuse those.
        latest = self._due + engine.minima[Constraint.REFI]
        if step is None or self._now + step.cycles > latest:
            step = self._simulated_step(refreshes, last=last)
            if not last:
                self._steps[key] = step
            self._simulated += step.commands
        else:
            self._engine_follows = False
        self._now += step.cycles
        self._commands += step.commands
        self._refreshes += refreshes
        self._state = step.state
        self.index += 1
        if self._skip and refreshes and not last:
            self._skip_periods()

    def _simulated_step(self, refreshes: int, *, last: bool) -> _Step:
        engine, pattern, index = self._engine, self._pattern, self.index
        channel, rank = pattern.channel, pattern.rank
        if not self._engine_follows:
            due = self._due - refreshes * engine.timing.t_refi
            engine.restore(channel, pattern.base_row(index), self._state, self._now)
            engine.set_refresh_due(channel, rank, due)
            self._engine_follows = True
        commands = pattern.segment(index, fresh=not index or refreshes > 0, last=last)
        if refreshes:
            where = channel, rank, 0, 0, 0
            before = [(Op.PREAB, *where), *[(Op.REFAB, *where)] * refreshes]
            commands = np.concatenate([np.array(before, np.int64), commands])
        engine.run_encoded(commands)
        state = None if last else engine.save(channel, pattern.base_row(index + 1))
        return _Step(engine.now(channel) - self._now, len(commands), state)

    def _skip_periods(self) -> None:
        """Skip whole periods if banks and refresh are where they were at an earlier boundary."""
        mark = self.index % self._pattern.period, self._state, self._due - self._now
        here = self.index, self._now, self._commands, self._refreshes
        there = self._marks.setdefault(mark, here)
        if there is here:
            return
        segments, cycles, commands, refreshes = (a - b for a, b in zip(here, there, strict=True))
        # The last segment differs and must stay.
        times = (self._pattern.segments - 1 - self.index) // segments
        self.index += times * segments
        self._now += times * cycles
        self._due += times * cycles
        self._commands += times * commands
        self._refreshes += times * refreshes
        self._engine_follows = self._engine_follows and times == 0

    def played(self) -> Played:
        """Return the account of the stream so far."""
        return Played(
            bytes=self._pattern.bytes,
            cycles=self._now - self._began + self._pattern.tail_cycles,
            simulated_commands=self._simulated,
            skipped_commands=self._commands - self._simulated,
            refreshes=self._refreshes,
        )


def read_range(
    make_engine: Callable[[Timing], Engine],
    timing: Timing,
    start_bytes: int,
    length_bytes: int,
    *,
    rank: int = 0,
    skip: bool = True,
    known: Known | None = None,
) -> Played:
    """Read a range that is striped burst by burst over all channels, in one rank of each.

    Channels with the same number of bursts do the same at the same time, so one of them is played.

    Parameters
    ----------
    make_engine
        `FastEngine` or `ReferenceEngine`.
    timing
        The memory.
    start_bytes
        Begin of the range; a multiple of one row of every bank group of every channel.
    length_bytes
        Length, at least 1; whole bursts are read.
    rank
        The rank.
    skip
        Skip what is known to repeat.
    known
        As for `play`, of ranges with the same begin and rank.

    Raises
    ------
    ValueError
        The range begins elsewhere, is empty or ends beyond the rank.
    """
    stripe_bytes = timing.channels * timing.bank_groups * timing.row_bytes
    if start_bytes % stripe_bytes:
        raise ValueError(f"start_bytes = {start_bytes} must be a multiple of {stripe_bytes}")
    bursts = -(-length_bytes // timing.burst_bytes)
    per_channel, more = divmod(bursts, timing.channels)
    shares = [(per_channel + 1, more), (per_channel, timing.channels - more)]
    cycles = simulated = skipped = refreshes = 0
    for share, channels in shares:
        if not channels or (not share and bursts):
            continue
        pattern = SequentialRead(
            timing, share, rank=rank, first_segment=start_bytes // stripe_bytes
        )
        played = play(make_engine(timing), pattern, skip=skip, known=known)
        commands = played.simulated_commands + played.skipped_commands
        cycles = max(cycles, played.cycles)
        simulated += played.simulated_commands
        skipped += commands * channels - played.simulated_commands
        refreshes += played.refreshes * channels
    return Played(
        bytes=bursts * timing.burst_bytes,
        cycles=cycles,
        simulated_commands=simulated,
        skipped_commands=skipped,
        refreshes=refreshes,
    )
