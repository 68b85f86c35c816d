# SPDX-License-Identifier: Apache-2.0
"""Attention of one kv head on one rank: write the new keys and values, scores K q, mix p V.

Keys lie as rows over the banks, a token in each; values lie transposed, an element of the head in
each bank with the tokens along its row, so that both products are the unit's `W x`. Queries come
over the channel. Scores stay in the rank: its AAU makes probabilities of them; a round trip of
theirs to another device is charged with the non-linear operators. The mixed values are read out.

All query rows (query heads of the kv head, times tokens) use a column while it is read. Where their
inputs exceed the buffer, they pass in several turns, each of which reads the cache.
"""

from dataclasses import dataclass

from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.dram.timing import Timing
from ahasd.system.devices.pim.program import Item, Packer, Segment
from ahasd.system.devices.pim.unit import RESULT_BYTES


@dataclass(frozen=True, kw_only=True)
class Attention:
    """One kv head, or that part of its tokens that a rank holds.

    Parameters
    ----------
    context
        Tokens of the cache in this rank, 0 or more.
    head_dim
        Elements of a head.
    queries
        Query heads that share the kv head.
    tokens
        New tokens, at least 1.
    kv_bytes
        Bytes of an element of keys, values, queries and probabilities: 1 or 2.
    buffer_bytes
        Input buffer of the unit.

    Raises
    ------
    ValueError
        A number is out of range, or the buffer holds no query or no burst of probabilities.
    """

    context: int
    head_dim: int
    queries: int = 1
    tokens: int = 1
    kv_bytes: int = 2
    buffer_bytes: int = 16_384

    def __post_init__(self) -> None:
        if self.context < 0:
            raise ValueError(f"context = {self.context} must not be negative")
        for name in ("head_dim", "queries", "tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} must be at least 1")
        if self.kv_bytes not in (1, 2):
            raise ValueError(f"kv_bytes = {self.kv_bytes} must be 1 (INT8) or 2 (FP16)")
        if self.buffer_bytes < self.head_dim * self.kv_bytes:
            raise ValueError(
                f"a query of {self.head_dim * self.kv_bytes} bytes exceeds buffer_bytes = "
                f"{self.buffer_bytes}: choose a larger platform.pim.input_buffer_bytes"
            )

    @property
    def turns(self) -> int:
        """Times that the cache is read, as the buffer holds so many queries at once."""
        rows = self.queries * self.tokens
        return -(-rows // (self.buffer_bytes // (self.head_dim * self.kv_bytes)))

    @property
    def rows_a_turn(self) -> int:
        """Query rows that use a column while it is read: also the slots of a byte."""
        return -(-self.queries * self.tokens // self.turns)

    def columns(self, timing: Timing) -> tuple[int, int]:
        """Return what the commands depend on of the context: groups of keys, bursts of values."""
        return -(-self.context // timing.banks), -(
            -self.context * self.kv_bytes // timing.burst_bytes
        )

    def segments(self, timing: Timing) -> list[Segment]:
        """Return the commands of scores and mix, of all turns; none if there is no context."""
        if not self.context:
            return []
        packer = Packer(timing)
        for _ in range(self.turns):
            self._scores(packer, timing)
            self._mix(packer, timing)
        return packer.packed()

    def _scores(self, packer: Packer, timing: Timing) -> None:
        burst = timing.burst_bytes
        packer.transfer(Op.WRB, -(-self.rows_a_turn * self.head_dim * self.kv_bytes // burst))
        packer.mac(-(-self.context // timing.banks) * -(-self.head_dim * self.kv_bytes // burst))
        packer.next_row()

    def _mix(self, packer: Packer, timing: Timing) -> None:
        per_burst = timing.burst_bytes // self.kv_bytes
        held = self.buffer_bytes // (self.rows_a_turn * self.kv_bytes)
        chunk = max(held // per_burst, 1) * per_burst
        results = -(-timing.banks * self.rows_a_turn * RESULT_BYTES // timing.burst_bytes)
        for begin in range(0, self.context, chunk):
            columns = -(-min(chunk, self.context - begin) // per_burst)
            for _ in range(-(-self.head_dim // timing.banks)):
                # Tokens to come have their columns behind these: each element has rows of its own.
                packer.mac(columns)
                packer.transfer(Op.RDB, results)
                packer.next_row()

    def append_segments(self, timing: Timing) -> list[Segment]:
        """Return the commands that write the new tokens' keys and values.

        A key is a piece of one row of one bank. Values of a token lie in as many rows as the head
        has elements; they are gathered until they fill a burst, so that a token has as many bursts
        of values as of keys, on the average, each in another row.
        """
        bursts = -(-self.head_dim * self.kv_bytes // timing.burst_bytes)
        segments: list[Segment] = []
        for _ in range(self.tokens):
            segments.append(_written(timing, [0], bursts))
            for begin in range(0, bursts, timing.banks):
                segments.append(_written(timing, list(range(min(timing.banks, bursts - begin))), 1))
        return segments


def _written(timing: Timing, order: list[int], bursts: int) -> Segment:
    """Return the commands that open banks, write bursts into each, and close them."""
    # Neighbours in time lie in different groups.
    places = [(bank % timing.bank_groups, bank // timing.bank_groups) for bank in order]
    opens: list[Item] = [(Op.ACT, *place) for place in places]
    writes: list[Item] = [(Op.WR, *place) for _ in range(bursts) for place in places]
    return (*opens, *writes, (Op.PREAB, 0, 0))
