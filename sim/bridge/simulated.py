# SPDX-License-Identifier: Apache-2.0
"""A line to a simulated board: bits on the pins of an engine."""

from collections import deque

from ahasd.rtl.bridge.params import LINE_BITS, BridgeParams
from ahasd.sim.ports import Engine, Grid, Watch

PERIODS_PS = (1250, 1000)
"""Of the clocks, PIM and NPU."""

DIVISOR, GAP_CYCLES = 4, 200
"""Of a bridge whose line need not be slow."""

NEVER = 1 << 62


class SimulatedLine:
    """The pins `rx` and `tx` of a board, in simulated time.

    Parameters
    ----------
    engine
        The unit `board`, just after its reset.
    params
        Sizes of its bridge.
    periods_ps
        Of the clocks, PIM and NPU.
    """

    def __init__(
        self, engine: Engine, params: BridgeParams, periods_ps: tuple[int, int] = PERIODS_PS
    ) -> None:
        self._engine = engine
        self._periods_ps = periods_ps
        self._bit_ps = params.divisor * periods_ps[1]
        self._patience_ps = (params.gap_cycles + 4 * params.byte_cycles) * periods_ps[1]
        self.time_ps = 0
        self._edges = [0, 0]
        self._pins = {"rx": 1, "now": 0}
        self._level = 1
        self._changes: deque[tuple[int, int]] = deque()  # of tx: when, and to what
        self._received = bytearray()
        self._run(LINE_BITS * self._bit_ps)  # the reset's last cycles, and an idle line

    def send(self, data: bytes) -> None:
        """Send bytes; see `Line`."""
        for byte in data:
            for bit in (0, *(byte >> i & 1 for i in range(8)), 1):
                self._pins["rx"] = bit
                self._run(self._bit_ps)

    def receive(self, count: int) -> bytes:
        """Return bytes; see `Line`."""
        until_ps = self.time_ps + self._patience_ps
        while len(self._received) < count and self.time_ps < until_ps:
            before = len(self._received)
            self._run(self._bit_ps)
            self._decode()
            if len(self._received) > before:
                until_ps = self.time_ps + self._patience_ps
        found = bytes(self._received[:count])
        del self._received[:count]
        return found

    def rest(self) -> None:
        """Wait; see `Line`."""
        self._run(self._patience_ps)
        self._decode()
        self._received.clear()

    def _run(self, duration_ps: int) -> None:
        """Take the edges of a time, and note how `tx` changes."""
        end_ps = self.time_ps + duration_ps
        while True:
            following = tuple(
                (edges + 1) * period_ps
                for edges, period_ps in zip(self._edges, self._periods_ps, strict=True)
            )
            if min(following) > end_ps:
                break
            self._pins["now"] = self._edges[0]
            span = self._engine.advance(
                self._pins,
                Grid(self._periods_ps, following, end_ps, ("now", 0)),
                Watch((), {"tx": self._level}, (), [0, 0], NEVER),
            )
            for i, count in enumerate(span.edges):
                self._edges[i] += count
            if span.seen["tx"] != self._level:
                self._level = span.seen["tx"]
                self._changes.append((span.time_ps, self._level))
        self.time_ps = end_ps

    def _decode(self) -> None:
        """Turn changes of the line into bytes, as far as these are over."""
        half_ps = self._bit_ps // 2
        while self._changes and self.time_ps >= self._changes[0][0] + LINE_BITS * self._bit_ps:
            start_ps, level = self._changes[0]
            bits = []
            for i in range(LINE_BITS):
                while (
                    self._changes and self._changes[0][0] <= start_ps + i * self._bit_ps + half_ps
                ):
                    level = self._changes.popleft()[1]
                bits.append(level)
            self._received.append(sum(bit << i for i, bit in enumerate(bits[1:9])))
