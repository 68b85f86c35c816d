# SPDX-License-Identifier: Apache-2.0
"""How a matrix product is cut so that the scratchpad holds the pieces, and what it costs in bytes.

As a step of a pass, a product whose inputs and results fit in half of the scratchpad leaves them on
the chip, and the other half holds weights in use and weights on their way: these are read once, and
nothing else moves. Otherwise a block of results (block_m x block_n, 4 bytes an accumulator) stays,
and slices of inputs and weights stream past it, two of each so that one comes while one is used:
inputs are read once for every column of blocks, weights once for every row of blocks, results are
written once.
"""

from dataclasses import dataclass
from functools import lru_cache

from ahasd import UserError

ACCUMULATOR_BYTES = 4
_STEP = 128  # blocks are whole tiles of the common array; and the depth of a streamed slice


@dataclass(frozen=True, kw_only=True, slots=True)
class Traffic:
    """Bytes between memory and scratchpad; they add and scale."""

    read_bytes: int
    write_bytes: int

    def __add__(self, other: "Traffic") -> "Traffic":
        return Traffic(
            read_bytes=self.read_bytes + other.read_bytes,
            write_bytes=self.write_bytes + other.write_bytes,
        )

    def __mul__(self, times: int) -> "Traffic":
        return Traffic(read_bytes=self.read_bytes * times, write_bytes=self.write_bytes * times)

    @property
    def total_bytes(self) -> int:
        """Bytes in either direction."""
        return self.read_bytes + self.write_bytes


@lru_cache(maxsize=1024)
def traffic(m: int, k: int, n: int, scratchpad_bytes: int, element_bytes: int = 1) -> Traffic:
    """Return the bytes that a product moves as a step among others, whose results are its inputs.

    Parameters
    ----------
    m, k, n
        Inputs are m x k, weights k x n.
    scratchpad_bytes
        Size of the scratchpad.
    element_bytes
        Bytes of an element of inputs, weights and results.

    Raises
    ------
    ValueError
        A size is below 1.
    UserError
        The scratchpad does not hold the smallest block.
    """
    if element_bytes * m * (k + n) <= scratchpad_bytes // 2:
        return Traffic(read_bytes=element_bytes * k * n, write_bytes=0)
    return blocked(m, k, n, scratchpad_bytes, element_bytes)


def blocked(m: int, k: int, n: int, scratchpad_bytes: int, element_bytes: int = 1) -> Traffic:
    """Return the bytes that a product moves whose operands and results lie in the memory.

    Arguments and errors as for `traffic`.
    """
    block_m, block_n = best_block(m, k, n, scratchpad_bytes, element_bytes)
    return Traffic(
        read_bytes=element_bytes * (m * k * -(-n // block_n) + k * n * -(-m // block_m)),
        write_bytes=element_bytes * m * n,
    )


def best_block(
    m: int, k: int, n: int, scratchpad_bytes: int, element_bytes: int = 1
) -> tuple[int, int]:
    """Return the block of results, rows and columns, that moves the fewest bytes.

    Arguments and errors as for `traffic`.
    """
    for name, size in (("m", m), ("k", k), ("n", n), ("element_bytes", element_bytes)):
        if size < 1:
            raise ValueError(f"{name} = {size} must be at least 1")
    slices = 2 * min(k, _STEP) * element_bytes
    best: tuple[int, int, int] | None = None
    for block_m in _sizes(m):
        room = scratchpad_bytes - block_m * slices
        widest = room // (block_m * ACCUMULATOR_BYTES + slices)
        block_n = n if widest >= n else widest // _STEP * _STEP
        if block_n < 1:
            continue
        moved = m * k * -(-n // block_n) + k * n * -(-m // block_m)
        if best is None or moved < best[0]:
            best = moved, block_m, block_n
    if best is None:
        smallest = _smallest(m, k, n, element_bytes)
        raise UserError(
            f"npu.scratchpad_bytes = {scratchpad_bytes} holds no block of a product "
            f"{m} x {k} x {n}: give it at least {smallest} bytes"
        )
    return best[1], best[2]


def _sizes(size: int) -> list[int]:
    """Return the block sizes to try along one side: whole steps, or the side itself."""
    return [*range(_STEP, size, _STEP), size]


def _smallest(m: int, k: int, n: int, element_bytes: int) -> int:
    rows, columns, depth = (min(each, _STEP) for each in (m, n, k))
    operands = depth * (rows + columns) * element_bytes
    return 2 * operands + rows * columns * ACCUMULATOR_BYTES
