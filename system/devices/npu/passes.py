# SPDX-License-Identifier: Apache-2.0
"""Time and events of one forward pass on the NPU: verification, decoding, or prefill.

All rows (new token positions) go through the layers together. The scratchpad holds a ring of tiles
that the DMA fills while the arrays empty it; weights and old keys and values are known beforehand,
so the DMA never waits for a result. A pass is thus as long as the slower of memory and arrays, and
the first tile's read and the last tile's work, which overlap with nothing.

Weights and inputs are INT8, keys and values and what attention multiplies `kv_bytes` long; a
multiply-accumulate of two bytes counts as two.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from ahasd.system.devices.groups import GROUPS, Group
from ahasd.system.devices.nonlinear import attended_by, step_passes, vector_ps
from ahasd.system.devices.npu.array import SystolicArray
from ahasd.system.devices.npu.tiling import Traffic, traffic
from ahasd.system.devices.work import Events, Phase
from ahasd.system.model import ModelShape
from ahasd.system.platform import Npu, Platform


@dataclass(frozen=True, kw_only=True)
class Product:
    """A matrix product, inputs (m x k) by weights (k x n), done `count` times in a pass."""

    m: int
    k: int
    n: int
    count: int = 1

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all `count`."""
        return self.m * self.k * self.n * self.count


def linear_products(
    shape: ModelShape, rows: int, logit_rows: int, groups: Collection[Group] = GROUPS
) -> tuple[Product, ...]:
    """Return the products with weights of some groups; matrices that share an input are one.

    Those of all groups have `shape.bytes_per_pass` weights.
    """
    width, inner = shape.d_model, shape.ffn_dim
    queries = shape.heads * shape.head_dim
    keys_values = 2 * shape.kv_heads * shape.head_dim
    gates = (shape.ffn_matrices - 1) * inner
    products: tuple[tuple[Group, Product], ...] = (
        ("qkv", Product(m=rows, k=width, n=queries + keys_values, count=shape.layers)),
        ("projection", Product(m=rows, k=queries, n=width, count=shape.layers)),
        ("ffn", Product(m=rows, k=width, n=gates, count=shape.layers)),
        ("ffn", Product(m=rows, k=inner, n=width, count=shape.layers)),
        ("head", Product(m=logit_rows, k=width, n=shape.vocab)),
    )
    return tuple(product for group, product in products if group in groups)


def pass_phases(
    platform: Platform,
    shape: ModelShape,
    rows: int,
    context: int,
    read_ps: Callable[[int], int],
    *,
    logit_rows: int | None = None,
    groups: Collection[Group] = GROUPS,
    pieces: int = 1,
) -> tuple[Phase, ...]:
    """Return the phases of one pass.

    Parameters
    ----------
    platform
        The machine.
    shape
        The model.
    rows
        New token positions: 1 in autoregressive decoding, the prompt's length in prefill.
    context
        Tokens in the cache before the pass.
    read_ps
        Picoseconds that the memory takes for a number of bytes, alone; 0 for none. Writes, new
        keys and values and what the scratchpad does not hold, are timed by it too.
    logit_rows
        Rows whose next token is wanted: all by default, 1 in prefill.
    groups
        Operators that run here; all by default.
    pieces
        Times that the arrays begin anew, because another device has what lies between.

    Returns
    -------
    tuple of Phase
        `fill`, the first tile's read; `weights`, all linear layers; `attention`; `drain`, the last
        tile's work; `nonlinear`, the vector unit's time that no memory time hides.

    Raises
    ------
    ValueError
        `rows` is below 1, `context` is negative or `logit_rows` is not 1 to `rows`.
    UserError
        The scratchpad is too small for any tile.
    """
    wanted = _wanted(rows, context, logit_rows)
    linear = linear_products(shape, rows, wanted, groups)
    npu = platform.npu
    array = SystolicArray.of(npu)
    moved = _weights_traffic(npu, linear)
    weight_cycles = sum(each.count * _shared_cycles(npu, array, each) for each in linear)
    keys, attention_ps = Traffic(read_bytes=0, write_bytes=0), 0
    if "attention" in groups:
        keys = _attention_traffic(platform, shape, rows, context)
        attention_ps = _attention_cycles(platform, shape, rows, context) * npu.period_ps

    read_all_ps = read_ps(moved.total_bytes)
    tile_ps = drain_ps = 0
    if linear:
        tile_ps = min(pieces * read_ps(_tile_bytes(npu, shape)), read_all_ps)
        # The last tile of the last product: loaded, streamed, and out.
        end = linear[-1]
        last = array.cycles(end.m, min(end.k, npu.array_rows), min(end.n, npu.array_columns))
        drain_ps = min(pieces * last, weight_cycles) * npu.period_ps
    weights = Phase(
        name="weights",
        memory_ps=read_all_ps - tile_ps,
        compute_ps=weight_cycles * npu.period_ps - drain_ps,
    )
    attention = Phase(
        name="attention",
        memory_ps=read_ps(keys.total_bytes),
        compute_ps=attention_ps,
    )
    # While the vector unit works, the DMA reads ahead: where memory is the slower side, that costs
    # nothing.
    hidden_ps = sum(max(0, each.memory_ps - each.compute_ps) for each in (weights, attention))
    vector = vector_ps(npu, _vector_passes(shape, rows, context, wanted, groups))
    return (
        Phase(name="fill", memory_ps=tile_ps),
        weights,
        attention,
        Phase(name="drain", compute_ps=drain_ps),
        Phase(name="nonlinear", compute_ps=max(0, vector - hidden_ps)),
    )


def pass_events(
    platform: Platform,
    shape: ModelShape,
    rows: int,
    context: int,
    *,
    logit_rows: int | None = None,
    groups: Collection[Group] = GROUPS,
) -> Events:
    """Return what one pass counts; arguments as for `pass_phases`.

    Each byte from the memory goes into the scratchpad and out of it, and each byte to the memory
    likewise. Inputs leave it once for each tile of weights that they meet, results return as INT8.

    Errors as of `pass_phases`.
    """
    wanted = _wanted(rows, context, logit_rows)
    linear = linear_products(shape, rows, wanted, groups)
    npu = platform.npu
    kv_bytes = platform.kv_bytes
    moved = _weights_traffic(npu, linear)
    macs = sum(each.macs for each in linear)
    through = sum(
        each.count * each.m * (each.k * -(-each.n // npu.array_columns) + each.n) for each in linear
    )
    if "attention" in groups:
        moved += _attention_traffic(platform, shape, rows, context)
        attended = attended_by(rows, context)
        # Scores and mix: two multiply-accumulates for an element of a head and a key.
        macs += kv_bytes * 2 * shape.layers * shape.heads * shape.head_dim * attended
        heads = shape.layers * shape.heads * rows
        through += heads * 2 * (shape.head_dim + attended // rows) * kv_bytes
    return Events(
        npu_macs=macs,
        scratchpad_bytes=2 * moved.total_bytes + through,
        vector_ops=_vector_passes(shape, rows, context, wanted, groups),
        read_bytes=moved.read_bytes,
        write_bytes=moved.write_bytes,
    )


def _shared_cycles(npu: Npu, array: SystolicArray, product: Product) -> int:
    """Return the cycles of one product whose columns, else rows, the arrays share."""
    columns = -(-product.n // npu.array_columns)
    sides = max(1, npu.arrays // columns)
    busiest = min(product.n, -(-columns // npu.arrays) * npu.array_columns)
    return array.cycles(-(-product.m // sides), product.k, busiest)


def _attention_cycles(platform: Platform, shape: ModelShape, rows: int, context: int) -> int:
    """Return the arrays' cycles for the scores and the mix of all layers.

    Keys and values take the place of weights; the queries of all heads that share them stream by.
    A block of keys meets only the queries that see one of them.
    """
    npu = platform.npu
    array = SystolicArray.of(npu)
    group = shape.heads // shape.kv_heads
    kv_bytes = platform.kv_bytes
    steady = sum(
        array.steady_cycles(seeing * group, shape.head_dim, keys, kv_bytes)
        + array.steady_cycles(seeing * group, keys, shape.head_dim, kv_bytes)
        for keys, seeing in _key_blocks(npu, rows, context)
    )
    # Heads and blocks need nothing of each other: the arrays share them evenly, without a gap but
    # for the first tile's way in and the last one's way out, before the softmax and after it.
    way = array.cycles(1, shape.head_dim, 1, kv_bytes)
    return shape.layers * (-(-steady * shape.kv_heads // npu.arrays) + 2 * way)


def _key_blocks(npu: Npu, rows: int, context: int) -> Iterator[tuple[int, int]]:
    """Yield the keys of each block and the rows that see it, the cache and the first rows first."""
    width = npu.array_columns
    # All rows see the cache and the first new key; what is left of a block is computed and masked.
    first = min(-(-(context + 1) // width) * width, context + rows)
    yield first, rows
    for start in range(first, context + rows, width):
        yield min(width, context + rows - start), context + rows - start


def _weights_traffic(npu: Npu, linear: tuple[Product, ...]) -> Traffic:
    moved = Traffic(read_bytes=0, write_bytes=0)
    for each in linear:
        moved += traffic(each.m, each.k, each.n, npu.scratchpad_bytes) * each.count
    return moved


def _attention_traffic(platform: Platform, shape: ModelShape, rows: int, context: int) -> Traffic:
    """Return the keys and values read, those written, and what the scratchpad does not hold."""
    per_token = shape.kv_bytes_per_token(platform.kv_bytes)
    half = platform.npu.scratchpad_bytes // 2
    old, new = context * per_token, rows * per_token
    queries = shape.layers * rows * shape.heads * shape.head_dim * platform.kv_bytes
    if (queries + new) // shape.layers <= half:
        # The new rows of a layer stay in the scratchpad; their keys are written for later passes.
        new_read = queries = 0
    else:
        new_read = new
    head = 2 * (context + rows) * shape.head_dim * platform.kv_bytes
    # A head that does not fit is read again for each block of queries.
    again = 1 if head <= half else -(-rows // platform.npu.array_rows)
    return Traffic(read_bytes=(old + new_read) * again + queries, write_bytes=new + queries)


def _tile_bytes(npu: Npu, shape: ModelShape) -> int:
    """Return the weights that all arrays take first."""
    cells = npu.array_rows * npu.array_columns * npu.arrays
    return min(cells, shape.bytes_per_pass)


def _vector_passes(
    shape: ModelShape, rows: int, context: int, logit_rows: int, groups: Collection[Group]
) -> int:
    if "nonlinear" not in groups:
        return 0
    return step_passes(shape, rows, context) - (rows - logit_rows) * shape.vocab


def _wanted(rows: int, context: int, logit_rows: int | None) -> int:
    """Check what a pass is asked for, and return the rows whose next token is wanted."""
    if rows < 1:
        raise ValueError(f"rows = {rows} must be at least 1")
    if context < 0:
        raise ValueError(f"context = {context} must not be negative")
    wanted = rows if logit_rows is None else logit_rows
    if not 1 <= wanted <= rows:
        raise ValueError(f"logit_rows = {wanted} must be 1 to rows = {rows}")
    return wanted
