# SPDX-License-Identifier: Apache-2.0
"""A matrix product by itself: operands and results in the memory, blocks spread over cores.

Each core has an array, a scratchpad and a DMA whose transfers go in order. It works on its blocks
one after the other and reads the next one meanwhile. A block is rows x depth of inputs by depth x
columns of weights. Its weights come in strips as wide as the array, its inputs in chunks of as many
rows as the array has; strip 0 first, then all chunks, then the other strips. A strip meets a chunk
when both are there, and what comes out of that is written, unless a further block adds to it. Cores
share the memory evenly.

This is the order in which compilers of such machines emit loads (Gemmini's tiled product), and what
a product costs if nothing was read ahead of it. In a forward pass weights are: see `passes.py`.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import ceil

from ahasd.system.devices.npu.array import SystolicArray


@dataclass(frozen=True, kw_only=True)
class Block:
    """A part of a product: rows x depth by depth x columns.

    Parameters
    ----------
    rows, depth, columns
        Sizes, at least 1.
    is_last
        Whether its results are complete and are written; else the core's next block adds to them.
    """

    rows: int
    depth: int
    columns: int
    is_last: bool = True


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Cores and memory.

    Parameters
    ----------
    array
        The array of each core.
    element_bytes
        Bytes of an element of inputs, weights and results.
    memory_bytes_per_cycle
        What the memory gives or takes, all cores together.
    latency_cycles
        From a request to its data.
    """

    array: SystolicArray
    element_bytes: int
    memory_bytes_per_cycle: Fraction
    latency_cycles: int = 0


class _Core:
    """One core's transfers, in order, and what its array has taken on."""

    def __init__(self, machine: Machine, blocks: Sequence[Block]) -> None:
        self.machine = machine
        self.blocks = blocks
        # Block of each transfer, None for results, and the bytes that are left of it.
        self.transfers: deque[tuple[int | None, Fraction]] = deque()
        self.arrived = [0] * len(blocks)  # parts, which come in order
        self.block = self.unit = 0  # the next that the array takes on
        self.free = Fraction(0)  # when the array can take it

    def read(self, index: int) -> None:
        """Queue the loads of a block, if there is one: strip 0, the chunks, the other strips."""
        if index < len(self.blocks):
            block = self.blocks[index]
            widths, heights = self._cut(block)
            for size in (widths[0], *heights, *widths[1:]):
                self._queue(index, size * block.depth)

    def write(self, index: int, elements: int) -> None:
        """Queue results of a block, if no further one adds to them."""
        if self.blocks[index].is_last:
            self._queue(None, elements)

    def serve(self, size: Fraction) -> tuple[bool, int | None]:
        """Move bytes of the first transfer; return whether that ends it, and its block."""
        index, left = self.transfers[0]
        if size < left:
            self.transfers[0] = index, left - size
            return False, index
        self.transfers.popleft()
        return True, index

    def work(self, now: Fraction) -> list[tuple[Fraction, int, int]]:
        """Take on what is there; return when results come out, their block and number.

        A block's last results are followed by an entry of none.
        """
        array, element = self.machine.array, self.machine.element_bytes
        ends = []
        while self.block < len(self.blocks):
            block = self.blocks[self.block]
            widths, heights = self._cut(block)
            strip, chunk = divmod(self.unit, len(heights))
            # Strip 0 came first, then the chunks; a later strip comes after all of them.
            needed = chunk + 2 if strip == 0 else len(heights) + strip + 1
            if self.arrived[self.block] < needed:
                break
            size = heights[chunk], block.depth, widths[strip]
            fill = array.fill_cycles(*size[1:], element)
            if now > self.free:
                # The array ran dry: weights come in before anything streams.
                self.free = now + fill
            end = self.free + array.cycles(*size, element) - fill
            self.free += array.steady_cycles(*size, element)
            ends.append((end, self.block, heights[chunk] * widths[strip]))
            self.unit += 1
            if self.unit == len(widths) * len(heights):
                ends.append((end, self.block, 0))
                self.block, self.unit = self.block + 1, 0
        return ends

    def _cut(self, block: Block) -> tuple[list[int], list[int]]:
        array = self.machine.array
        return _pieces(block.columns, array.columns), _pieces(block.rows, array.rows)

    def _queue(self, index: int | None, elements: int) -> None:
        self.transfers.append((index, Fraction(elements * self.machine.element_bytes)))


def product_cycles(machine: Machine, cores: Sequence[Sequence[Block]]) -> int:
    """Return the cycles from the first request to the last result in the memory.

    Parameters
    ----------
    machine
        Cores and memory.
    cores
        The blocks of every core, in order.

    Raises
    ------
    ValueError
        No core has a block, or the memory's rate is not above 0.
    """
    if machine.memory_bytes_per_cycle <= 0:
        raise ValueError(
            f"memory_bytes_per_cycle = {machine.memory_bytes_per_cycle} must be above 0"
        )
    all_cores = [_Core(machine, blocks) for blocks in cores if blocks]
    if not all_cores:
        raise ValueError("no core has a block")
    for core in all_cores:
        core.read(0)
        core.read(1)
    # Time, number (of equal times the first), core, block; elements of results, None: a part came.
    events: list[tuple[Fraction, int, _Core, int, int | None]] = []
    numbers = count()
    now = Fraction(0)
    while events or any(core.transfers for core in all_cores):
        active = [core for core in all_cores if core.transfers]
        times = [events[0][0]] if events else []
        rate = Fraction(0)
        if active:
            rate = machine.memory_bytes_per_cycle / len(active)
            times.append(now + min(core.transfers[0][1] for core in active) / rate)
        passed = min(times) - now
        now += passed
        for core in active:
            ended, index = core.serve(rate * passed)
            if ended and index is not None:
                arrival = now + machine.latency_cycles
                heapq.heappush(events, (arrival, next(numbers), core, index, None))
        while events and events[0][0] <= now:
            _, _, core, index, results = heapq.heappop(events)
            if results is None:
                core.arrived[index] += 1
                for end, block, elements in core.work(now):
                    heapq.heappush(events, (end, next(numbers), core, block, elements))
            elif results:
                core.write(index, results)
            else:
                # Its half of the scratchpad is free for the block after the next one.
                core.read(index + 2)
    return ceil(now)


def _pieces(size: int, piece: int) -> list[int]:
    """Return the sizes of the pieces of one side, the last one what is left."""
    return [min(piece, size - start) for start in range(0, size, piece)]
