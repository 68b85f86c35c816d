# SPDX-License-Identifier: Apache-2.0
"""The controller step by step: every cycle, every waiting request asked, nothing left out."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ahasd.system.devices.dram.commands import Command, Op
from ahasd.system.devices.dram.controller import Options, Requests, Served
from ahasd.system.devices.dram.reference import ReferenceEngine
from ahasd.system.devices.dram.timing import Timing

NEVER_OVERDUE = 10**6
"""Refreshes that may be postponed where a controller gives none."""


@dataclass(kw_only=True, eq=False)
class _Request:
    """A request within the controller; its number is its age."""

    number: int
    write: bool
    rank: int
    bank: int
    row: int
    column: int
    arrival: int
    gap: int
    entered: int = -1
    done: int = -1
    opened: bool = False
    """A row was opened for it."""
    at_bank: bool = False
    """It is in its bank's queue."""
    waits_for: "_Request | None" = None
    """The youngest older read of its burst, for a write."""
    holds_up: bool = False
    """A write waits for it."""

    @property
    def place(self) -> tuple[int, int]:
        return self.rank, self.bank

    def same_burst(self, other: "_Request") -> bool:
        mine = self.rank, self.bank, self.row, self.column
        return mine == (other.rank, other.bank, other.row, other.column)


@dataclass(frozen=True, kw_only=True)
class _Choice:
    """A command that may be given, and for which request; without one it serves a refresh."""

    command: Command
    request: _Request | None = None


class ReferenceController:
    """One channel of a memory, its queues and the rule of `controller`.

    Parameters
    ----------
    timing
        The memory.
    requests
        What it shall serve.
    options
        How it decides.

    Raises
    ------
    ValueError
        An address is outside of the channel, or the mapping does not suit the memory.
    """

    def __init__(self, timing: Timing, requests: Requests, options: Options) -> None:
        self._options = options
        if options.refresh == "none":
            timing = replace(timing, refresh_slack=NEVER_OVERDUE)
        self._timing = timing
        self._engine = ReferenceEngine(timing)
        places = options.mapping.places(timing, requests.addresses)
        self._coming = [
            _Request(
                number=number,
                write=bool(requests.writes[number]),
                rank=int(rank),
                bank=int(group * timing.banks_per_group + bank),
                row=int(row),
                column=int(column),
                arrival=int(requests.arrivals[number]),
                gap=int(requests.gaps[number]),
            )
            for number, (rank, group, bank, row, column) in enumerate(places)
        ]
        self._all = list(self._coming)
        # Oldest first: those of all queues, and those that a row was opened for.
        self._waiting: list[_Request] = []
        self._draining = False
        self._accesses: Counter[tuple[int, int]] = Counter()
        self._last_bank = 0
        self._last_entered = 0
        self._next_set = [0] * timing.ranks
        self._forwarded = 0
        self._commands: Counter[Op] = Counter()
        self.now = 0
        interval = timing.t_refi_pb if options.refresh == "per-bank" else timing.t_refi
        for rank in range(timing.ranks):
            first = interval + rank * interval // timing.ranks
            self._engine.set_refresh_due(0, rank, first)

    def run(self) -> Served:
        """Serve all requests."""
        while self.is_busy():
            self.step()
        return Served(
            timing=self._timing,
            writes=np.array([each.write for each in self._all]),
            entered=np.array([each.entered for each in self._all], np.int64),
            done=np.array([each.done for each in self._all], np.int64),
            forwarded=self._forwarded,
            commands={op: self._commands[op] for op in Op},
        )

    def is_busy(self) -> bool:
        """Return whether requests are still to come or wait."""
        return bool(self._coming or self._waiting)

    def step(self) -> list[Command]:
        """Pass one cycle, and return the commands given in it."""
        self._enter()
        self._choose_direction()
        if self._options.bank_depth:
            self._move_to_bank()
        given = []
        while self.is_busy() and (choice := self._first_legal()) is not None:
            self._give(choice)
            given.append(choice.command)
            self._choose_direction()
        self.now += 1
        return given

    def _queued(self, *, write: bool) -> int:
        """Return how many requests are in the read queue or in the write queue."""
        return sum(
            each.write == write and not each.at_bank and not each.opened for each in self._waiting
        )

    def _enter(self) -> None:
        if not self._coming:
            return
        request = self._coming[0]
        comes = max(request.arrival, self._last_entered + request.gap)
        if comes > self.now:
            return
        same = [each for each in self._waiting if each.same_burst(request)]
        if not request.write and any(each.write for each in same):
            request.entered = self._last_entered = self.now
            request.done = self.now + 1
            self._forwarded += 1
            self._coming.pop(0)
            return
        depth = self._options.write_depth if request.write else self._options.read_depth
        if self._queued(write=request.write) == depth:
            return
        reads = [each for each in same if not each.write]
        if request.write and reads:
            request.waits_for = reads[-1]
            for each in reads:
                each.holds_up = True
        request.entered = self._last_entered = self.now
        self._waiting.append(self._coming.pop(0))

    def _choose_direction(self) -> None:
        reads, writes = self._queued(write=False), self._queued(write=True)
        if not self._draining:
            self._draining = writes >= self._options.drain_from or (not reads and writes > 0)
        elif not writes or (reads and writes <= self._options.drain_to):
            self._draining = False

    def _in_turn(self, request: _Request) -> bool:
        """Return whether a request of the upper queues is of the direction that is served now."""
        if request.waits_for is not None and request.waits_for in self._waiting:
            return False
        return request.write == self._draining or (request.holds_up and self._draining)

    def _move_to_bank(self) -> None:
        filled = Counter(each.place for each in self._waiting if each.at_bank)
        for request in self._waiting:
            room = filled[request.place] < self._options.bank_depth
            if not request.at_bank and self._in_turn(request) and room:
                request.at_bank = True
                return

    def _servable(self) -> list[_Request]:
        if self._options.bank_depth:
            return [each for each in self._waiting if each.at_bank]
        return [each for each in self._waiting if each.opened or self._in_turn(each)]

    def _first_legal(self) -> _Choice | None:
        """Return the first of all choices whose command is legal in this cycle."""
        for choice in self._choices():
            cycle, _ = self._engine.bound(choice.command)
            if cycle <= self.now:
                return choice
        return None

    def _choices(self) -> Iterator[_Choice]:
        """Give what may be done, by rank of choice."""
        refreshed = self._banks_to_refresh()
        for rank, banks in refreshed.items():
            yield from self._for_refresh(rank, banks)
        servable = self._servable()
        for request in sorted(servable, key=self._order):
            kept = not request.opened and request.bank in refreshed.get(request.rank, ())
            op = self._next_op(request, servable)
            if op is not None and not kept:
                row = 0 if op is Op.PRE else request.row
                yield _Choice(command=self._at_bank(op, *request.place, row), request=request)
        if self._options.page == "closed":
            yield from self._to_close()

    def _order(self, request: _Request) -> tuple[int, int]:
        """Return the place of a request in the order of service."""
        if not self._options.bank_depth:
            return not request.opened, request.number
        number = request.rank * self._timing.banks + request.bank
        banks = self._timing.ranks * self._timing.banks
        return (number - self._last_bank - 1) % banks, request.number

    def _next_op(self, request: _Request, servable: list[_Request]) -> Op | None:
        row = self._engine.open_row(0, *request.place)
        if row is None:
            return Op.ACT
        of_bank = [each for each in servable if each.place == request.place]
        oldest, accesses = of_bank[0], self._accesses[request.place]
        if row == request.row:
            limit = self._options.hits_limit
            if limit and accesses >= limit and oldest.row != row and not request.opened:
                return None
            return Op.WR if request.write else Op.RD
        if request is not oldest or any(each.opened for each in of_bank):
            return None
        wanted = any(each.row == row for each in of_bank)
        return None if wanted and accesses < self._options.hits_cap else Op.PRE

    def _banks_to_refresh(self) -> dict[int, tuple[int, ...]]:
        """Return the ranks whose refresh is due, and the banks that it takes."""
        if self._options.refresh == "none":
            return {}
        ranks = [
            rank
            for rank in range(self._timing.ranks)
            if self._engine.refresh_due(0, rank) <= self.now
        ]
        if self._options.refresh == "all-bank":
            return {rank: tuple(range(self._timing.banks)) for rank in ranks}
        sets = self._timing.banks // self._timing.banks_per_refresh
        return {
            rank: tuple(range(self._next_set[rank], self._timing.banks, sets)) for rank in ranks
        }

    def _for_refresh(self, rank: int, banks: tuple[int, ...]) -> Iterator[_Choice]:
        opened = {each.bank for each in self._waiting if each.opened and each.rank == rank}
        is_open = [bank for bank in banks if self._engine.open_row(0, rank, bank) is not None]
        if self._options.refresh == "all-bank":
            if not opened:
                op = Op.PREAB if is_open else Op.REFAB
                yield _Choice(command=Command(op=op, rank=rank))
        elif is_open:
            for bank in is_open:
                if bank not in opened:
                    yield _Choice(command=self._at_bank(Op.PRE, rank, bank))
        else:
            yield _Choice(command=self._at_bank(Op.REFPB, rank, banks[0]))

    def _to_close(self) -> Iterator[_Choice]:
        for rank in range(self._timing.ranks):
            for bank in range(self._timing.banks):
                row = self._engine.open_row(0, rank, bank)
                wanted = any(
                    each.place == (rank, bank) and each.row == row for each in self._waiting
                )
                if row is not None and not wanted:
                    yield _Choice(command=self._at_bank(Op.PRE, rank, bank))

    def _at_bank(self, op: Op, rank: int, bank: int, row: int = 0) -> Command:
        group, in_group = divmod(bank, self._timing.banks_per_group)
        return Command(op=op, rank=rank, group=group, bank=in_group, row=row)

    def _give(self, choice: _Choice) -> None:
        command, request, now = choice.command, choice.request, self.now
        self._engine.issue(command, now)
        self._commands[command.op] += 1
        if command.op is Op.REFPB:
            sets = self._timing.banks // self._timing.banks_per_refresh
            self._next_set[command.rank] = (self._next_set[command.rank] + 1) % sets
        if request is None:
            return
        self._last_bank = request.rank * self._timing.banks + request.bank
        if command.op is Op.ACT:
            request.opened = True
            self._accesses[request.place] = 0
        elif command.op in (Op.RD, Op.WR):
            self._accesses[request.place] += 1
            latency = self._timing.wl if request.write else self._timing.rl
            request.done = now + latency + self._timing.burst
            self._waiting.remove(request)
