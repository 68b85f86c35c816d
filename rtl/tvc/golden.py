# SPDX-License-Identifier: Apache-2.0
"""Bit- and cycle-exact model of the TVC in plain integers."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ahasd.rtl.tvc.params import (
    Command,
    Decision,
    Levels,
    NpuEvent,
    NpuKind,
    Reason,
    Record,
    Request,
    Table,
    TvcParams,
)


class Entry(NamedTuple):
    """A measurement in a table [PIM cycles, tokens], and their ratio."""

    cycles: int
    length: int
    ratio: int


@dataclass(frozen=True)
class Task:
    """The NPU task that runs."""

    start: int
    kv_length: int


class Line(NamedTuple):
    """Least squares over a table's n entries, as the integers from which all else follows.

    With lengths x and cycles y: slope `covariance / spread`, through the point
    (`length_sum / n`, `cycles_sum / n`).
    """

    length_sum: int
    cycles_sum: int
    spread: int
    covariance: int


class TvcGolden:
    """What the TVC does, first per transaction, then per clock edge.

    `record`, `npu`, `command` and `request` are the effect of one accepted transfer on the stream
    of that name; `step` is one edge of the PIM clock with the handshakes around them.

    Parameters
    ----------
    params
        Sizes; the same object builds the hardware.
    levels
        Control registers, used by the transaction methods when they are called directly. `step`
        takes them, and `now`, from the pins instead.
    """

    def __init__(self, params: TvcParams, levels: Levels | None = None) -> None:
        self.params = params
        self.latency = self.interval = params.decision_cycles
        self.levels = Levels(params.npu_ratio_one) if levels is None else levels
        self.now = 0
        self.task: Task | None = None
        self.ended: NpuEvent | None = None  # waits for the divider
        self.bad_record = False
        self._clear()
        self._busy = 0  # cycles until the next recording or request can be taken
        self._computed: Decision | None = None
        self._answer: Decision | None = None

    def _clear(self) -> None:
        entries = self.params.table_entries
        self.tables = {table: deque[Entry](maxlen=entries) for table in Table}
        self.task = self.ended = None

    def record(self, record: Record) -> None:
        """Take a measurement, or a preload."""
        params = self.params
        if record.length == 0 or record.table not in list(Table):
            self.bad_record = True
            return
        cycles = record.cycles
        if record.table == Table.NVCT:
            half = params.npu_ratio_one >> 1
            scaled = (cycles * self.levels.npu_ratio + half) >> params.npu_ratio_fraction_width
            cycles = min(scaled, params.cycles_max)
        ratio = (cycles << params.ratio_fraction_width) // record.length
        self.tables[Table(record.table)].append(Entry(cycles, record.length, ratio))

    def npu(self, event: NpuEvent) -> None:
        """Take the start or the end of an NPU task; `ended` is what is still to be recorded."""
        if event.kind is NpuKind.START:
            self.task = Task(self.now, event.kv_length)
        else:
            self.task = None
            if event.kv_length:
                self.ended = event
            else:
                self.bad_record = True

    def command(self, command: Command) -> None:
        """Take a command."""
        if command is Command.CLEAR:
            self._clear()
        else:
            self.task = None

    def line(self, table: Table) -> Line | None:
        """Return the fit to a table, or None if the ratio model stands in for it.

        More tokens never take less time: a slope below 0 is taken as 0. No task takes less than
        none: with an intercept below 0, as with equal lengths, there is no fit.
        """
        entries = self.tables[table]
        n = len(entries)
        length_sum = sum(entry.length for entry in entries)
        cycles_sum = sum(entry.cycles for entry in entries)
        spread = n * sum(entry.length**2 for entry in entries) - length_sum**2
        if not spread:
            return None
        products = sum(entry.length * entry.cycles for entry in entries)
        covariance = max(n * products - length_sum * cycles_sum, 0)
        if cycles_sum * spread < length_sum * covariance:
            return None
        return Line(length_sum, cycles_sum, spread, covariance)

    def npu_cycles(self, kv_length: int) -> int:
        """Return the predicted PIM cycles of an NPU task; NVCT is not empty."""
        entries = self.tables[Table.NVCT]
        n = len(entries)
        line = self.line(Table.NVCT) if self.levels.affine_npu else None
        if line is not None:
            dividend = (n * kv_length - line.length_sum) * line.covariance
            dividend += line.cycles_sum * line.spread
            divisor = n * line.spread
        else:
            dividend = kv_length * sum(entry.ratio for entry in entries)
            divisor = n << self.params.ratio_fraction_width
        return min(dividend // divisor, self.params.cycles_max)

    def draft_cycles(self) -> int:
        """Return the predicted cycles of one drafted token; PDCT is not empty."""
        entries = self.tables[Table.PDCT]
        total = sum(entry.ratio for entry in entries)
        return total // (len(entries) << self.params.ratio_fraction_width)

    def tokens(self, slack: int) -> int | None:
        """Return how many tokens can be pre-verified in a slack; None for any number.

        While PVCT is empty, a token costs `cold_preverify_cycles`, or else as much as a drafted
        one; PDCT is not empty.
        """
        fraction = self.params.ratio_fraction_width
        entries = self.tables[Table.PVCT]
        n = len(entries)
        line = self.line(Table.PVCT) if self.levels.affine_preverify else None
        if line is not None:
            dividend = (n * slack - line.cycles_sum) * line.spread
            dividend += line.length_sum * line.covariance
            divisor = n * line.covariance
        else:
            if entries:
                divisor = sum(entry.ratio for entry in entries)
            elif self.levels.cold_preverify_cycles:
                n, divisor = 1, self.levels.cold_preverify_cycles << fraction
            else:
                n = len(self.tables[Table.PDCT])
                divisor = sum(entry.ratio for entry in self.tables[Table.PDCT])
            dividend = (n * slack) << fraction
        if dividend < 0:
            return 0
        return dividend // divisor if divisor else None

    def request(self, request: Request) -> Decision:
        """Decide how many tokens to pre-verify."""
        params, levels = self.params, self.levels
        if self.task is None:
            return Decision(0, Reason.NO_TASK, 0, 0)
        if not self.tables[Table.NVCT]:
            return Decision(0, Reason.NO_ESTIMATE, 0, 0)
        npu_cycles = self.npu_cycles(self.task.kv_length)
        if not self.tables[Table.PDCT]:
            return Decision(0, Reason.NO_ESTIMATE, npu_cycles, 0)
        elapsed = (self.now - self.task.start) % (1 << params.time_width)
        slack = npu_cycles - min(elapsed, params.cycles_max) - self.draft_cycles()
        slack -= 2 * levels.switch_cycles + levels.slowdown_cycles
        if slack < 0:
            return Decision(0, Reason.NO_SLACK, npu_cycles, 0)
        limit = min(request.available_tokens, levels.max_length)
        tokens = self.tokens(slack)
        if tokens is not None:
            if tokens <= request.overhead_tokens:
                return Decision(0, Reason.NO_SLACK, npu_cycles, slack)
            length = min(limit, tokens - request.overhead_tokens)
        else:
            length = limit
        if not self.tables[Table.PVCT] and not levels.cold_preverify_cycles:
            length = min(length, 1)  # one token to fill the table
        reason = Reason.INSERT if length else Reason.NOTHING_AVAILABLE
        return Decision(length, reason, npu_cycles, slack)

    @property
    def counts(self) -> bool:
        """Whether an edge on which no input is taken moves the count of a computation, no pin."""
        return self._busy >= 2

    def count(self) -> None:
        """Take such an edge."""
        self._busy -= 1

    def step(self, pins: Mapping[str, int], clocks: int = 1) -> dict[str, int]:
        """Take one edge of the PIM clock.

        Parameters
        ----------
        pins
            Input pins by their Verilog names, all of them.
        clocks
            1, or 0 to look at the outputs without an edge.

        Returns
        -------
        dict
            Output pins by their Verilog names, as they stand just before the edge.
        """
        params = self.params
        self.now = pins["now"]
        if not self._busy:
            self.levels = Levels(*(pins[name] for name in Levels._fields))
        ends = NpuKind(pins["npu__payload"] & 1) is NpuKind.END

        free = not self._busy and self.ended is None
        alone = not pins["command__valid"]
        npu_ready = alone and not (ends and self.ended)
        record_ready = free and alone
        taken = self._answer is None or bool(pins["decision__ready"])
        request_ready = (
            free and alone and taken and not pins["npu__valid"] and not pins["record__valid"]
        )
        outputs = {
            "record__ready": int(record_ready),
            "npu__ready": int(npu_ready),
            "command__ready": 1,
            "request__ready": int(request_ready),
            "decision__valid": int(self._answer is not None),
            "decision__payload": self._answer.pack(params) if self._answer else 0,
            "bad_record": int(self.bad_record),
            "idle_pim": int(free and self._answer is None),
        }
        if not clocks:
            return outputs

        if taken:
            self._answer = None
        if self._busy:
            self._busy -= 1
            if not self._busy:
                self._answer, self._computed = self._computed or self._answer, None
        elif self.ended:
            self.record(Record(Table.NVCT, self.ended.npu_cycles, self.ended.kv_length))
            self.ended = None
            self._busy = params.record_cycles - 1
        elif pins["record__valid"] and record_ready:
            record = Record.unpack(pins["record__payload"], params)
            if record.length and record.table in list(Table):
                self._busy = params.record_cycles - 1
            self.record(record)
        elif pins["request__valid"] and request_ready:
            request = Request.unpack(pins["request__payload"], params)
            self._computed = self.request(request)
            self._busy = params.decision_cycles - 1
        if pins["npu__valid"] and npu_ready:
            self.npu(NpuEvent.unpack(pins["npu__payload"], params))
        if pins["command__valid"]:
            self.command(Command(pins["command__payload"]))
        return outputs
