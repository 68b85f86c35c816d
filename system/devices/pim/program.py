# SPDX-License-Identifier: Apache-2.0
"""A PIM kernel on one rank as a stream for `stream.play`, and what packs MACs into rows."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ahasd.system.devices.dram.commands import FIELDS, Encoded, Op
from ahasd.system.devices.dram.timing import Timing
from ahasd.system.devices.pim.unit import mac_bytes

Item = tuple[Op, int, int]
"""A command of a segment: operation, bank group, bank; all but the rank, channel and row."""

Segment = tuple[Item, ...]
"""Commands between two moments at which all banks of the rank are closed."""


class Program:
    """Segments that are repeated, each in the next row: a `Pattern`.

    Rows are numbered as they come up. Where they really lie changes no cycle, as all banks are
    closed between two segments.

    Parameters
    ----------
    timing
        The memory.
    segments
        One period: at least one segment, each of at least one command.
    times
        How often it is repeated, at least once.
    channel, rank
        Where.
    first_row
        Row of the first segment.

    Raises
    ------
    ValueError
        There is nothing to do, or more to do than the rank has rows.
    """

    def __init__(
        self,
        timing: Timing,
        segments: Sequence[Segment],
        times: int = 1,
        *,
        channel: int = 0,
        rank: int = 0,
        first_row: int = 0,
    ) -> None:
        if times < 1 or not segments or not all(segments):
            raise ValueError(f"{len(segments)} segments, {times} times: there must be some to do")
        self.period = len(segments)
        self.segments = times * self.period
        if first_row < 0 or first_row + self.segments > timing.rows:
            raise ValueError(
                f"{self.segments} rows from row {first_row} must lie in 0 to {timing.rows - 1} "
                f"of a rank: spread the model over more ranks"
            )
        self.channel, self.rank = channel, rank
        numbers: dict[Segment, int] = {}
        self._kinds = [numbers.setdefault(each, len(numbers)) for each in segments]
        self._templates = [self._template(segment) for segment in numbers]
        self._first = first_row
        self.counts: Counter[Op] = Counter()
        """Commands of the whole stream, refreshes and the precharges before them aside."""
        for segment, kind in numbers.items():
            uses = self._kinds.count(kind) * times
            for op, _, _ in segment:
                self.counts[op] += uses
        self.bytes = self.counts[Op.MACAB] * mac_bytes(timing)
        ends_with_data = segments[-1][-1][0] is Op.RDB
        self.tail_cycles = timing.rl + timing.burst if ends_with_data else timing.t_rp_ab

    def _template(self, segment: Segment) -> Encoded:
        template = np.zeros((len(segment), FIELDS), np.int64)
        template[:, [0, 3, 4]] = segment
        template[:, 1:3] = self.channel, self.rank
        return template

    def segment(self, index: int, *, fresh: bool, last: bool) -> Encoded:
        """Return the commands of a segment; all banks are closed before it in any case."""
        commands = self._templates[self.kind(index)].copy()
        commands[:, -1] = self.base_row(index)
        return commands

    def kind(self, index: int) -> int:
        """Return the number of the segment among those that differ."""
        return self._kinds[index % self.period]

    def base_row(self, index: int) -> int:
        """Return the row."""
        return self._first + index


class Packer:
    """Packs MACab commands and transfers into segments of one row each.

    A row is opened with the first MAC that needs it and closed with its last column. What is
    transferred meanwhile waits for the next row to be on its way to open, and so costs no time
    of its own where it is short.
    """

    def __init__(self, timing: Timing) -> None:
        self._columns = timing.bursts_per_row
        self._segments: list[list[Item]] = []
        self._pending: list[Item] = []
        self._left = 0  # columns of the open row

    def transfer(self, op: Literal[Op.WRB, Op.RDB], bursts: int) -> None:
        """Move bursts into the buffer, or results out, behind all MACs so far."""
        target = self._segments[-1] if self._left else self._pending
        target.extend([(op, 0, 0)] * bursts)

    def mac(self, columns: int) -> None:
        """Read columns into the unit, from where the last ended."""
        while columns:
            if not self._left:
                self._segments.append([(Op.ACTAB, 0, 0), *self._pending])
                self._pending = []
                self._left = self._columns
            now = min(columns, self._left)
            self._segments[-1].extend([(Op.MACAB, 0, 0)] * now)
            self._left -= now
            columns -= now
            if not self._left:
                self._segments[-1].append((Op.PREAB, 0, 0))

    def next_row(self) -> None:
        """Close the row, whatever is left of it."""
        if self._left:
            self._left = 0
            self._segments[-1].append((Op.PREAB, 0, 0))

    def packed(self) -> list[Segment]:
        """Return the segments, the last transfers behind the last row."""
        self.next_row()
        if self._segments:
            self._segments[-1].extend(self._pending)
            self._pending = []
        return [tuple(each) for each in self._segments]
