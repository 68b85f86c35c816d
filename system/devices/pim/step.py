# SPDX-License-Identifier: Apache-2.0
"""A whole forward pass of a model on PIM ranks: streams of commands, their cycles and events.

Matrices are striped over the ranks by outputs, and by inputs what does not go evenly; those of a
layer that read the same inputs are one. Heads are dealt out whole as far as they go evenly; of the
others every rank holds the same share of the tokens, in one piece or in two, and the parts are
merged outside. A pass consists of

weights
    all matrices, results read out (and inputs beyond the first bufferful written) meanwhile;
attention
    the new keys and values written, scores, mix, of all layers;
exchange
    the inputs of every matrix, written to all ranks of a channel before its MACs begin.

Cycles are those of the busiest rank **alone** on its channel, refresh in between. Others on the
channel share its command and data bus; `dram.sharing` tells what that changes.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ahasd.system.devices.dram.commands import FIELDS, Op
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.stream import play
from ahasd.system.devices.dram.timing import Timing
from ahasd.system.devices.groups import MATRICES, Group
from ahasd.system.devices.pim.attention import Attention
from ahasd.system.devices.pim.gemv import Gemv
from ahasd.system.devices.pim.program import Program
from ahasd.system.devices.pim.unit import Pace, mac_bytes, pace, paced
from ahasd.system.devices.work import Events
from ahasd.system.model import ModelShape
from ahasd.system.platform import Platform


@dataclass(frozen=True, kw_only=True)
class Stream:
    """What a pass does to the memory in one respect.

    Parameters
    ----------
    timing
        Memory that the programs are for: one channel, one rank, MACab as far apart as the unit
        needs. For other ranks beside take `replace(timing, ranks=...)`.
    pace
        That spacing and what limits it.
    programs
        What the busiest rank does, in order; to be played on one engine. None if nothing.
    cycles
        Clock cycles of the programs alone.
    simulated_commands, skipped_commands
        Of the busiest rank.
    events
        Of all ranks together.
    """

    timing: Timing
    pace: Pace
    programs: tuple[Program, ...]
    cycles: int
    simulated_commands: int
    skipped_commands: int
    events: Events

    @property
    def time_ps(self) -> int:
        """Time of the cycles, ps, rounded up."""
        return self.timing.time_ps(self.cycles)


_WRITING = (Op.ACT, Op.WR)


class PimModel:
    """A model on PIM ranks, a number of tokens at a time.

    Parameters
    ----------
    platform
        The machine.
    timing
        Its memory.
    shape
        The model.
    ranks
        Ranks that hold it and work together; rank r lies on channel r mod `platform.pim.channels`.
    tokens
        New tokens of a pass: 1 in drafting, more in a pre-verification.
    input_bytes
        Bytes of an input of a matrix: 1 for INT8, 2 for FP16, which take two slots of the unit.
    groups
        Whose matrices it has: all by default, else at least one of them.

    Raises
    ------
    ValueError
        Ranks are missing, named twice or not there, or a number is out of range.
    """

    def __init__(
        self,
        platform: Platform,
        timing: Timing,
        shape: ModelShape,
        ranks: Sequence[int],
        *,
        tokens: int = 1,
        input_bytes: int = 1,
        groups: Collection[Group] = MATRICES,
    ) -> None:
        pim = platform.pim
        known = set(ranks) <= set(range(pim.ranks))
        if not ranks or not known or len(set(ranks)) != len(ranks):
            raise ValueError(f"ranks = {list(ranks)} must be some of 0 to {pim.ranks - 1}")
        if tokens < 1:
            raise ValueError(f"tokens = {tokens} must be at least 1")
        self.platform, self.timing, self.shape = platform, timing, shape
        self.ranks = tuple(ranks)
        self.tokens, self.input_bytes = tokens, input_bytes
        self.groups = tuple(each for each in MATRICES if each in groups)
        if not self.groups:
            raise ValueError(f"groups = {list(groups)} must have one of {', '.join(MATRICES)}")
        on_channel = Counter(rank % pim.channels for rank in ranks)
        self._ranks_on_channel = max(on_channel.values())
        self._attention: dict[tuple[tuple[int, int], ...], Stream] = {}

    @cached_property
    def matrices(self) -> tuple[tuple[int, int], ...]:
        """Outputs and inputs of a layer's matrices, those with the same inputs taken together."""
        s = self.shape
        attended = s.heads * s.head_dim
        matrices: tuple[tuple[Group, tuple[int, int]], ...] = (
            ("qkv", (attended + 2 * s.kv_heads * s.head_dim, s.d_model)),
            ("projection", (s.d_model, attended)),
            ("ffn", ((s.ffn_matrices - 1) * s.ffn_dim, s.d_model)),
            ("ffn", (s.d_model, s.ffn_dim)),
        )
        return tuple(matrix for group, matrix in matrices if group in self.groups)

    @property
    def head_matrix(self) -> tuple[int, int]:
        """Outputs and inputs of the output projection."""
        return self.shape.vocab, self.shape.d_model

    @cached_property
    def weights(self) -> Stream:
        """All matrices of a pass; the busiest rank's share of each."""
        timing = self.timing
        programs: list[Program] = []
        macs = rows = 0
        for matrices, times in self._matrix_sets():
            segments = [part for each in matrices for part in self._gemv(each).segments(timing)]
            programs.append(Program(timing, segments, times, first_row=rows))
            rows += programs[-1].segments
            macs += times * sum(self._gemv(each).mac_count(timing) for each in matrices)
        return self._played(tuple(programs), self.tokens * self.input_bytes, {Op.MACAB: macs})

    def _matrix_sets(self) -> Iterator[tuple[tuple[tuple[int, int], ...], int]]:
        """Yield matrices that follow one another, and how often: a layer's, and the head's."""
        if self.matrices:
            yield self.matrices, self.shape.layers
        if "head" in self.groups:
            yield (self.head_matrix,), 1

    def attention(self, context: int) -> Stream:
        """Return keys and values written, scores and mix of all layers.

        Remembered: a context has the commands of the one before unless it fills a further burst.

        Parameters
        ----------
        context
            Tokens of the cache that are attended to, 0 or more.

        Raises
        ------
        ValueError
            `context` is negative.
        """
        shape, timing, count = self.shape, self.timing, len(self.ranks)
        whole, split = divmod(shape.kv_heads, count)
        left = -(-split * context // count)
        # Where several heads are split, the busiest rank has tokens of two of them.
        pieces = [left] if split < 2 else [left // 2, left - left // 2]
        head = self._head(context)
        parts = [self._head(piece) for piece in pieces]
        key = tuple(each.columns(timing) for each in (head, *parts))
        if key in self._attention:
            return self._attention[key]
        appends = head.append_segments(timing)
        layer = [*appends, *head.segments(timing)] * whole
        if split:
            layer += appends
            layer += [each for part in parts for each in part.segments(timing)]
        # A new token's keys and values of a head are written once, whoever holds them.
        written = Counter(op for segment in appends for op, _, _ in segment if op in _WRITING)
        exact = {op: written[op] * shape.kv_heads * shape.layers for op in _WRITING}
        program = Program(timing, layer, shape.layers)
        self._attention[key] = self._played((program,), head.rows_a_turn, exact)
        return self._attention[key]

    def _head(self, context: int) -> Attention:
        return Attention(
            context=context,
            head_dim=self.shape.head_dim,
            queries=self.shape.heads // self.shape.kv_heads,
            tokens=self.tokens,
            kv_bytes=self.platform.kv_bytes,
            buffer_bytes=self.platform.pim.input_buffer_bytes,
        )

    @cached_property
    def exchange(self) -> Stream:
        """Inputs of all matrices to all ranks of the busiest channel, one rank after another."""
        timing = self.timing
        bursts = Counter[int]()
        for matrices, times in self._matrix_sets():
            for matrix in matrices:
                bursts[self._first_bursts(matrix)] += times
        cycles = sum(self._broadcast_cycles(each) * times for each, times in bursts.items())
        written = sum(each * times for each, times in bursts.items())
        return Stream(
            timing=replace(timing, channels=1, ranks=1),
            pace=Pace(cycles=timing.t_mac, limit="t_mac"),
            programs=(),
            cycles=cycles,
            simulated_commands=sum(bursts) * self._ranks_on_channel,
            skipped_commands=(written - sum(bursts)) * self._ranks_on_channel,
            events=Events(write_bytes=written * timing.burst_bytes * len(self.ranks)),
        )

    def _broadcast_cycles(self, bursts: int) -> int:
        """Return the cycles until every rank of a channel has so many bursts."""
        ranks = self._ranks_on_channel
        engine = FastEngine(replace(self.timing, channels=1, ranks=ranks))
        commands = np.zeros((ranks * bursts, FIELDS), np.int64)
        commands[:, 0] = Op.WRB
        commands[:, 2] = np.repeat(np.arange(ranks), bursts)
        engine.run_encoded(commands)
        return engine.now(0) + self.timing.wl + self.timing.burst

    def _gemv(self, matrix: tuple[int, int]) -> Gemv:
        return Gemv(
            outputs=matrix[0],
            inputs=matrix[1],
            ranks=len(self.ranks),
            tokens=self.tokens,
            input_bytes=self.input_bytes,
            buffer_bytes=self.platform.pim.input_buffer_bytes,
        )

    def _first_bursts(self, matrix: tuple[int, int]) -> int:
        gemv = self._gemv(matrix)
        return gemv.load_bursts(self.timing, gemv.chunks(self.timing)[0])

    def _played(self, programs: tuple[Program, ...], slots: int, exact: Mapping[Op, int]) -> Stream:
        """Play programs one after another.

        `exact` are commands of all ranks together; of other kinds all ranks are taken to have as
        many as the busiest, which is too many by less than a row of each matrix or head.
        """
        spacing = pace(self.platform.pim, self.timing, slots)
        timing = paced(self.timing, spacing)
        engine = FastEngine(timing)
        played = [play(engine, program) for program in programs]
        # A program's last data may still be on its way when the next begins.
        tails = sum(program.tail_cycles for program in programs[:-1])
        refreshes = sum(each.refreshes for each in played)
        busiest = sum((program.counts for program in programs), Counter[Op]())
        counts = Counter({op: count * len(self.ranks) for op, count in busiest.items()})
        counts.update({op: count - counts[op] for op, count in exact.items()})
        read_bytes = counts[Op.MACAB] * mac_bytes(timing)
        return Stream(
            timing=timing,
            pace=spacing,
            programs=programs,
            cycles=sum(each.cycles for each in played) - tails,
            simulated_commands=sum(each.simulated_commands for each in played),
            skipped_commands=sum(each.skipped_commands for each in played),
            events=Events(
                activates=counts[Op.ACTAB] * timing.banks + counts[Op.ACT],
                read_bytes=counts[Op.RDB] * timing.burst_bytes,
                write_bytes=(counts[Op.WRB] + counts[Op.WR]) * timing.burst_bytes,
                pim_read_bytes=read_bytes,
                pim_macs=read_bytes * slots,
                refreshes=refreshes * len(self.ranks),
            ),
        )
