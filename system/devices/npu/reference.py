# SPDX-License-Identifier: Apache-2.0
"""The NPU cycle by cycle: every cell of an array with its registers, and the ring of tiles.

Slow and small; `array.py` and `passes.py` are tested against it. An array computes real products,
so that a wrong order of tiles or a weight that comes too late gives a wrong result, and not only a
wrong time. One element a cell and cycle.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ahasd.system.devices.npu.array import SystolicArray

Matrix = Sequence[Sequence[int]]
_Registers = list[list[tuple[int, int, int] | None]]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What an array has computed, and the cycles from the first operand in to the last result."""

    result: list[list[int]]
    cycles: int


@dataclass
class _Cell:
    weight: int = 0
    shadow: int | None = None


def weight_stationary(array: SystolicArray, inputs: Matrix, weights: Matrix) -> Outcome:
    """Multiply inputs (m x k) by weights (k x n) on a weight-stationary array.

    A tile of weights is loaded row by row into shadow registers while the tile before streams. The
    first input of a tile swaps shadow and weight in every cell that it passes.

    Raises
    ------
    ValueError
        The array is ideal: weights that appear from nowhere are not simulated.
    RuntimeError
        A weight came too late or was overwritten before use; never, if the array is right.
    """
    if array.ideal:
        raise ValueError("an ideal array has no weight load to simulate")
    m, k, n = len(inputs), len(weights), len(weights[0])
    rows, columns = array.rows, array.columns
    tiles = [(first, left) for left in range(0, n, columns) for first in range(0, k, rows)]
    row_cycles = array.load_cycles(1, min(n, columns), 1)
    cells = [[_Cell() for _ in range(columns)] for _ in range(rows)]
    result = [[0] * n for _ in range(m)]
    # Value and tile of an input on its way right; (sum, tile, input row) on its way down.
    moving = _empty(rows, columns)
    sums = _empty(rows, columns)
    entering: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
    writes: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    loading = streaming = done = 0
    load_end = 0  # end of the load under way
    loaded = 0  # tiles whose last row of weights has entered
    stream_end = 0
    cycle = last = 0
    while done < len(tiles) * m * min(columns, n) and cycle < 10**6:
        if loading > loaded and cycle >= load_end:
            loaded += 1
        # A tile streams once its weights are in; its inputs enter row by row, each row of cells a
        # cycle after the one above.
        if streaming < loaded and cycle >= stream_end:
            first, _ = tiles[streaming]
            depth = min(rows, k - first)
            for index in range(m):
                for r in range(rows):
                    value = inputs[index][first + r] if r < depth else 0
                    entering[cycle + index + r].append((r, value, streaming, index))
            stream_end = cycle + m
            streaming += 1
        # The next tile's weights come in once this one's stream has begun to take the shadows.
        if loading < len(tiles) and loading == loaded and loading <= streaming:
            first, left = tiles[loading]
            depth = min(rows, k - first)
            for r in range(rows):
                for c in range(columns):
                    inside = r < depth and left + c < n
                    value = weights[first + r][left + c] if inside else 0
                    # Rows beyond the product hold zeros from the start: no time to load them.
                    arrival = (
                        cycle + (min(r, depth - 1) + 1) * row_cycles - 1 + c + max(0, r - depth + 1)
                    )
                    writes[arrival].append((r, c, value))
            load_end = cycle + depth * row_cycles
            loading += 1
        arriving = {r: (value, tile, index) for r, value, tile, index in entering.pop(cycle, [])}
        new_moving, new_sums = _empty(rows, columns), _empty(rows, columns)
        for r in range(rows):
            for c in range(columns):
                item = arriving.get(r) if c == 0 else moving[r][c - 1]
                if item is None:
                    continue
                value, tile, index = item
                cell = cells[r][c]
                if index == 0:
                    if cell.shadow is None:
                        raise RuntimeError(f"cell {r}, {c} has no weight for tile {tile}")
                    cell.weight, cell.shadow = cell.shadow, None
                above = sums[r - 1][c] if r else (0, tile, index)
                if above is None or above[1:] != (tile, index):
                    raise RuntimeError(f"cell {r}, {c} misses the sum from above")
                new_moving[r][c] = item
                new_sums[r][c] = (above[0] + value * cell.weight, tile, index)
        for r, c, value in writes.pop(cycle, []):
            if cells[r][c].shadow is not None:
                raise RuntimeError(f"the shadow of cell {r}, {c} is overwritten")
            cells[r][c].shadow = value
        moving, sums = new_moving, new_sums
        cycle += 1
        for c in range(columns):
            leaving = sums[rows - 1][c]
            if leaving is None:
                continue
            total, tile, index = leaving
            left = tiles[tile][1]
            if left + c < n:
                result[index][left + c] += total
            if c < min(columns, n):
                done += 1
            # Registers below the array hold the left columns back until the last is there.
            last = max(last, cycle + columns - 1 - c)
    return Outcome(result=result, cycles=last)


def output_stationary(array: SystolicArray, inputs: Matrix, weights: Matrix) -> Outcome:
    """Multiply inputs (m x k) by weights (k x n) on an output-stationary array.

    A cell multiplies what comes from the left by what comes from above and adds it up. Its sum
    goes, one cycle after the last product, into a register that shifts upwards and out.

    Raises
    ------
    RuntimeError
        Two results met in one register; never, if the array is right.
    """
    m, k, n = len(inputs), len(weights), len(weights[0])
    rows, columns = array.rows, array.columns
    tiles = [(top, left) for left in range(0, n, columns) for top in range(0, m, rows)]
    step = max(1, array.load_cycles(1, min(n, columns), 1))
    result = [[0] * n for _ in range(m)]
    totals = [[0] * columns for _ in range(rows)]
    # When a cell sees which product: the operands of step i are complete at the end of the step.
    products: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
    start = 0
    for number, (top, _) in enumerate(tiles):
        height = min(rows, m - top)
        for i in range(k):
            for r in range(height):
                for c in range(columns):
                    products[start + (i + 1) * step - 1 + r + c].append((r, c, i, number))
        start += max(k * step, 2 * height - 1)
    out = _empty(rows, columns)
    finished: list[tuple[int, int, int, int]] = []
    cycle = last = 0
    while products or finished or any(each is not None for row in out for each in row):
        for c in range(columns):
            leaving = out[0][c]
            if leaving is not None:
                total, number, r = leaving
                top, left = tiles[number]
                if left + c < n:
                    result[top + r][left + c] = total
                last = max(last, cycle + columns - 1 - c)
        out = out[1:] + _empty(1, columns)
        for total, number, r, c in finished:
            if out[r][c] is not None:
                raise RuntimeError(f"two results meet at cell {r}, {c}")
            out[r][c] = total, number, r
        finished = []
        for r, c, i, number in products.pop(cycle, []):
            top, left = tiles[number]
            weight = weights[i][left + c] if left + c < n else 0
            totals[r][c] = (totals[r][c] if i else 0) + inputs[top + r][i] * weight
            if i == k - 1:
                finished.append((totals[r][c], number, r, c))
        cycle += 1
    return Outcome(result=result, cycles=last)


def _empty(rows: int, columns: int) -> _Registers:
    return [[None] * columns for _ in range(rows)]


def ring_cycles(tiles: int, read_cycles: int, work_cycles: int, slots: int) -> int:
    """Return the cycles of tiles that a DMA reads into a ring of slots while the arrays empty it.

    Parameters
    ----------
    tiles
        Tiles, all alike.
    read_cycles, work_cycles
        Cycles to read one, and to work on it; its slot is free after the latter.
    slots
        Tiles that the scratchpad holds: 2 is double buffering.
    """
    read = worked = 0
    reading = working = 0  # cycles left of the tile under way
    cycle = 0
    while worked < tiles:
        if not reading and read < tiles and read < worked + slots:
            reading = read_cycles
        if not working and worked < read:
            working = work_cycles
        cycle += 1
        if reading:
            reading -= 1
            read += reading == 0
        if working:
            working -= 1
            worked += working == 0
    return cycle
