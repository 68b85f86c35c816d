# SPDX-License-Identifier: Apache-2.0
"""The reference engine: every rule looked up in the table, one command at a time."""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from ahasd.system.devices.dram.commands import COLUMN, Command, Op, checked, touched_banks
from ahasd.system.devices.dram.engine import BankStateError, Engine, Fault
from ahasd.system.devices.dram.rules import RULES, Constraint, Rule
from ahasd.system.devices.dram.timing import Timing

Place = tuple[str, int, int, int]
"""A scope's kind, its channel, rank, and number within the rank."""

_LONGEST_COUNT = max(rule.count for rule in RULES)


class ReferenceEngine(Engine):
    """Keeps the last commands of every kind at every place, and asks every rule about them."""

    def __init__(self, timing: Timing) -> None:
        super().__init__(timing)
        self._rules = {op: [rule for rule in RULES if op in rule.later] for op in Op}
        # Cycles of the last commands, newest last, by operation and place.
        self._last: dict[tuple[Op, Place], deque[int]] = defaultdict(
            lambda: deque(maxlen=_LONGEST_COUNT)
        )
        self._open: dict[tuple[int, int, int], int] = {}
        self._refreshed: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._due: dict[tuple[int, int], int] = defaultdict(lambda: timing.t_refi)
        self._now: dict[int, int] = defaultdict(int)
        self._bus_free: dict[tuple[int, bool], int] = defaultdict(int)

    def bound(self, command: Command) -> tuple[int, Constraint]:
        """Return the latest of all bounds; see `Engine`."""
        self._check_state(checked(self.timing, command))
        bounds = [
            (self._now[command.channel], Constraint.ORDER),
            (self._bus_free[self._bus(command)], Constraint.COMMAND_BUS),
        ]
        for rule in self._rules[command.op]:
            bounds.extend((cycle, rule.constraint) for cycle in self._bounds(rule, command))
        if command.op in (Op.REFAB, Op.REFPB):
            due = self._due[command.channel, command.rank]
            bounds.append((due - self.minima[Constraint.REFI], Constraint.REFI))
        return max(bounds, key=lambda each: (each[0], -each[1]))

    def _bounds(self, rule: Rule, command: Command) -> Iterator[int]:
        for place in self._places(rule.scope, command):
            for op in rule.earlier:
                cycles = self._last.get((op, place), ())
                if len(cycles) >= rule.count:
                    yield cycles[-rule.count] + self.minima[rule.constraint]

    def _places(self, scope: str, command: Command) -> list[Place]:
        channel, rank = command.channel, command.rank
        banks = touched_banks(self.timing, command)
        if scope == "bank":
            return [("bank", channel, rank, bank) for bank in banks]
        if scope == "group":
            groups = sorted({bank // self.timing.banks_per_group for bank in banks})
            return [("group", channel, rank, group) for group in groups]
        if scope == "rank":
            return [("rank", channel, rank, 0)]
        others = (other for other in range(self.timing.ranks) if other != rank)
        return [("rank", channel, other, 0) for other in others]

    def _bus(self, command: Command) -> tuple[int, bool]:
        return command.channel, self.timing.split_bus and command.op in COLUMN

    def _check_state(self, command: Command) -> None:
        place = command.channel, command.rank
        banks = touched_banks(self.timing, command)
        rows = [self._open.get((*place, bank)) for bank in banks]
        match command.op:
            case Op.ACT | Op.ACTAB | Op.REFAB | Op.REFPB:
                if any(row is not None for row in rows):
                    raise BankStateError(command, Fault.OPEN)
                if command.op is Op.REFPB and banks[0] in self._refreshed[place]:
                    raise BankStateError(command, Fault.REFRESHED)
            case Op.RD | Op.WR | Op.MACAB | Op.PRE:
                if None in rows:
                    raise BankStateError(command, Fault.CLOSED)
                if command.op is not Op.PRE and any(row != command.row for row in rows):
                    raise BankStateError(command, Fault.OTHER_ROW)

    def _commit(self, command: Command, cycle: int) -> None:
        timing, op = self.timing, command.op
        place = command.channel, command.rank
        banks = touched_banks(timing, command)
        for scope in ("bank", "group", "rank"):
            for where in self._places(scope, command):
                self._last[op, where].append(cycle)
        self._now[command.channel] = cycle
        length = timing.act_command if op in (Op.ACT, Op.ACTAB) else timing.command
        self._bus_free[self._bus(command)] = cycle + length
        match op:
            case Op.ACT | Op.ACTAB:
                self._open.update({(*place, bank): command.row for bank in banks})
            case Op.PRE | Op.PREAB:
                for bank in banks:
                    self._open.pop((*place, bank), None)
            case Op.REFAB:
                self._refreshed[place] = set()
                self._due[place] += timing.t_refi
            case Op.REFPB:
                self._refreshed[place].update(banks)
                if len(self._refreshed[place]) == timing.banks:
                    self._refreshed[place] = set()
                self._due[place] += timing.t_refi_pb

    def now(self, channel: int) -> int:
        """Return the cycle of the channel's last command; 0 at first."""
        return self._now[channel]

    def refresh_due(self, channel: int, rank: int) -> int:
        """Return the cycle at which the rank's next refresh falls due."""
        return self._due[channel, rank]

    def open_row(self, channel: int, rank: int, bank: int) -> int | None:
        """Return the open row of a bank, counted through all groups; None if it is closed."""
        return self._open.get((channel, rank, bank))

    def set_refresh_due(self, channel: int, rank: int, due: int) -> None:
        """Set the cycle at which the rank's next refresh falls due."""
        self._due[channel, rank] = due

    def save(self, channel: int, base_row: int) -> "_Saved":
        """Return the channel's state counted from `now` and `base_row`; see `Engine`."""
        now = self._now[channel]
        recent = {
            key: tuple(cycle - now for cycle in cycles if cycle > now - self.horizon)
            for key, cycles in self._last.items()
            if key[1][1] == channel
        }
        return _Saved(
            last=frozenset((key, cycles) for key, cycles in recent.items() if cycles),
            open=frozenset(
                (place, row - base_row) for place, row in self._open.items() if place[0] == channel
            ),
            refreshed=frozenset(
                (place, bank)
                for place, banks in self._refreshed.items()
                for bank in banks
                if place[0] == channel
            ),
            bus_free=tuple(max(0, self._bus_free[channel, bus] - now) for bus in (False, True)),
        )

    def restore(self, channel: int, base_row: int, state: Hashable, now: int) -> None:
        """Put the channel into a saved state, at another time and another row; see `Engine`."""
        assert isinstance(state, _Saved)
        for cycles in (cycles for key, cycles in self._last.items() if key[1][1] == channel):
            cycles.clear()
        for key, cycles in state.last:
            self._last[key].extend(now + cycle for cycle in cycles)
        for place in [place for place in self._open if place[0] == channel]:
            del self._open[place]
        self._open.update({place: base_row + row for place, row in state.open})
        for rank in range(self.timing.ranks):
            self._refreshed[channel, rank] = set()
        for place, bank in state.refreshed:
            self._refreshed[place].add(bank)
        for bus, free in zip((False, True), state.bus_free, strict=True):
            self._bus_free[channel, bus] = now + free
        self._now[channel] = now


@dataclass(frozen=True, kw_only=True)
class _Saved:
    """State of one channel, cycles counted from now and rows from a base."""

    last: frozenset[tuple[tuple[Op, Place], tuple[int, ...]]]
    open: frozenset[tuple[tuple[int, int, int], int]]
    refreshed: frozenset[tuple[tuple[int, int], int]]
    bus_free: tuple[int, ...]
