# SPDX-License-Identifier: Apache-2.0
"""Golden models of the clock crossings of `amaranth.lib`, flip-flop by flip-flop.

Each is stepped with what happens on its two sides; an argument that says that a side has no edge
leaves that side's flip-flops alone. Coincident edges sample old values.
"""


def gray(number: int) -> int:
    """Return a number's Gray code."""
    return number ^ number >> 1


def ungray(code: int) -> int:
    """Return the number of a Gray code."""
    number = 0
    while code:
        number ^= code
        code >>= 1
    return number


class SynchronizerGolden:
    """`FFSynchronizer` with two stages; `value` is its output."""

    __slots__ = ("_first", "value")

    def __init__(self) -> None:
        self._first = 0
        self.value = 0

    def step(self, source: int) -> None:
        """Take an edge of the receiving domain."""
        self.value, self._first = self._first, source

    @property
    def state(self) -> tuple[int, int]:
        """The two stages."""
        return self._first, self.value


class AsyncFifoGolden:
    """`AsyncFIFO` of a power-of-two depth.

    Parameters
    ----------
    depth
        Entries.
    """

    def __init__(self, depth: int) -> None:
        self._modulus = 2 * depth
        self._memory = [0] * depth
        self._produced = 0  # write side, binary; its Gray register is always its code
        self._consumed = 0  # read side, likewise
        self._produced_seen = SynchronizerGolden()
        self._consumed_seen = SynchronizerGolden()
        # After a reset of the write side the read side discards for as long as this says so.
        self._flushing = [1, 1]
        self._flushed = 0
        self._consumed_binary = 0
        self._level = 0
        self.data = 0  # register of the read port

    @property
    def write_ready(self) -> bool:
        """Whether the write side takes an entry."""
        difference = gray(self._produced) ^ self._consumed_seen.value
        top = self._modulus.bit_length() - 2
        return difference != 0b11 << (top - 1)

    @property
    def read_ready(self) -> bool:
        """Whether `data` is an entry."""
        return not self._flushing[1] and gray(self._consumed) != self._produced_seen.value

    def step(self, *, write_edge: bool, read_edge: bool, write: int | None, read: bool) -> None:
        """Take an edge of one side or both.

        Parameters
        ----------
        write_edge, read_edge
            Which sides have their edge.
        write
            Entry that the write side takes now, which must be ready; None for none.
        read
            The read side lets go of the present entry, which must be there.
        """
        depth = len(self._memory)
        produced, consumed = self._produced, self._consumed
        if read_edge:
            following = (consumed + read) % self._modulus
            self.data = self._memory[following % depth]
            if self._flushing[1]:
                self._consumed = ungray(self._produced_seen.value)
            else:
                self._consumed = following
            self._flushed = self._flushing[1]
            self._flushing = [0, self._flushing[0]]
            self._produced_seen.step(gray(produced))
        if write_edge:
            self._level = (produced - self._consumed_binary) % self._modulus
            self._consumed_binary = ungray(self._consumed_seen.value)
            self._consumed_seen.step(gray(consumed))
            if write is not None:
                self._memory[produced % depth] = write
                self._produced = (produced + 1) % self._modulus

    @property
    def state(self) -> tuple[object, ...]:
        """Every flip-flop outside the memory."""
        return (
            self._produced,
            self._consumed,
            self._produced_seen.state,
            self._consumed_seen.state,
            tuple(self._flushing),
            self._flushed,
            self._consumed_binary,
            self._level,
            self.data,
        )
