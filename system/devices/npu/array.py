# SPDX-License-Identifier: Apache-2.0
"""Cycles of a matrix product on one systolic array.

The product is inputs (m x k) by weights (k x n). Cells hold a tile of `rows` by `columns`; a larger
product is done tile by tile. Two registers in each cell let the next tile's operand come in while
this one is used.

Weight-stationary: a tile of weights is loaded row by row, then m input rows stream past it, each a
cycle later by cell to the right and downwards. Tiles follow each other in the time of the slower:
loading, or streaming. Partial sums of tiles over k meet in accumulators below.

Output-stationary: a tile of outputs grows while k input columns and k weight rows stream past each
other, then is shifted out row by row. Weights pass once for each tile of m.

Either way all columns of a row of results leave together: registers at the edge take out the skew.
A row of weights occupies the way in as if it had all columns of the array, or of the product.

`reference.py` has the same arrays cell by cell.
"""

from dataclasses import dataclass
from typing import Literal

from ahasd.system.platform import Npu


@dataclass(frozen=True, kw_only=True)
class SystolicArray:
    """One array.

    Parameters
    ----------
    rows, columns
        Cells.
    weight_load_bytes_per_cycle
        Weights that enter in a cycle, bytes.
    dataflow
        What stays in the cells: `ws` weights, `os` outputs.
    ideal
        Entering weights cost nothing: an upper bound, not a machine.
    cell_bytes
        Bytes of an element that a cell multiplies in one cycle; longer elements take as many
        cycles as they have times that.

    Raises
    ------
    ValueError
        A size is below 1 or the dataflow is none of these.
    """

    rows: int
    columns: int
    weight_load_bytes_per_cycle: int
    dataflow: Literal["ws", "os"] = "ws"
    ideal: bool = False
    cell_bytes: int = 1

    def __post_init__(self) -> None:
        _check_positive(
            rows=self.rows,
            columns=self.columns,
            weight_load_bytes_per_cycle=self.weight_load_bytes_per_cycle,
            cell_bytes=self.cell_bytes,
        )
        if self.dataflow not in ("ws", "os"):
            raise ValueError(f"dataflow = {self.dataflow!r} must be 'ws' or 'os'")

    @classmethod
    def of(cls, npu: Npu) -> "SystolicArray":
        """Return one of the arrays of an NPU."""
        return cls(
            rows=npu.array_rows,
            columns=npu.array_columns,
            weight_load_bytes_per_cycle=npu.weight_load_bytes_per_cycle,
            dataflow=npu.dataflow,
            ideal=npu.ideal_array,
        )

    def cycles(self, m: int, k: int, n: int, element_bytes: int = 1) -> int:
        """Return the cycles from the first operand in to the last result out.

        A weight-stationary tile of R x C takes R rows of weights, m rows of inputs, and R + C - 2
        more until the last result has left: 128 + m + 254 for 128 x 128. An output-stationary one
        takes k steps and 2 x (R - 1) + C more.

        Parameters
        ----------
        m, k, n
            Rows of inputs, inner size, columns of weights.
        element_bytes
            Bytes of an element of either operand.

        Raises
        ------
        ValueError
            A size is below 1.
        """
        steady = self.steady_cycles(m, k, n, element_bytes)
        if self.dataflow == "ws":
            stream = m * self.step_cycles(element_bytes)
            first = self.fill_cycles(k, n, element_bytes)
            # Nothing streams while the first tile is loaded, nothing loads beside the last one.
            return steady + min(first, stream) + self.rows + self.columns - 2
        stream = k * self._output_step(n, element_bytes)
        last = (m - 1) % self.rows + 1
        return steady - max(stream, 2 * last - 1) + stream + 2 * (last - 1) + self.columns

    def steady_cycles(self, m: int, k: int, n: int, element_bytes: int = 1) -> int:
        """Return the cycles that the product adds to a queue of products that need no other's.

        Arguments and errors as for `cycles`, which adds what the first and the last tile take
        beside.
        """
        _check_positive(m=m, k=k, n=n, element_bytes=element_bytes)
        columns = -(-n // self.columns)
        if self.dataflow == "ws":
            stream = m * self.step_cycles(element_bytes)
            width = min(n, self.columns)
            return columns * sum(
                count * max(self.load_cycles(depth, width, element_bytes), stream)
                for depth, count in _tiles(k, self.rows)
            )
        stream = k * self._output_step(n, element_bytes)
        # Results leave upwards, two cycles apart, because each was finished a cycle after the one
        # above it.
        return columns * sum(
            count * max(stream, 2 * height - 1) for height, count in _tiles(m, self.rows)
        )

    def fill_cycles(self, k: int, n: int, element_bytes: int) -> int:
        """Return the cycles before anything can stream: the load of the first tile of weights."""
        if self.dataflow == "os":
            return 0
        return self.load_cycles(min(k, self.rows), min(n, self.columns), element_bytes)

    def step_cycles(self, element_bytes: int) -> int:
        """Return the cycles that a cell takes for one element."""
        return -(-element_bytes // self.cell_bytes)

    def load_cycles(self, k: int, n: int, element_bytes: int) -> int:
        """Return the cycles in which k rows of n weights enter."""
        if self.ideal:
            return 0
        return k * -(-n * element_bytes // self.weight_load_bytes_per_cycle)

    def _output_step(self, n: int, element_bytes: int) -> int:
        """Return the cycles from one step of k to the next."""
        width = min(n, self.columns)
        return max(self.step_cycles(element_bytes), self.load_cycles(1, width, element_bytes))


def _tiles(size: int, tile: int) -> list[tuple[int, int]]:
    """Return the sizes of the tiles along one side, each with how many there are, none with 0."""
    full, rest = divmod(size, tile)
    return [each for each in ((tile, full), (rest, 1 if rest else 0)) if each[1]]


def _check_positive(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} = {size} must be at least 1")
