# SPDX-License-Identifier: Apache-2.0
"""Our NPU against ONNXim: its four cores and its tiles on our arrays, our HBM2 as memory.

ONNXim's cores have weight-stationary arrays of 128 x 128 FP16 cells at 1 GHz, 32 MB of scratchpad
and 4 MB of accumulators; its HBM2 peaks at 614.4 GB/s. It gives each core blocks of a product in
turn, in sizes by Gemmini's rule, and runs a layer operator by operator through the memory.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import product as pairs
from math import isqrt

import numpy as np

from ahasd.system.devices.dram.controller import Options
from ahasd.system.devices.dram.controller_fast import serve
from ahasd.system.devices.dram.controller_mapping import ROW_BANK_RANK_COLUMN
from ahasd.system.devices.dram.controller_traffic import reads, sequential
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.stream import read_range
from ahasd.system.devices.dram.timing import load_timing
from ahasd.system.devices.npu.array import SystolicArray
from ahasd.system.devices.npu.product import Block, Machine, product_cycles
from ahasd.system.model import ModelShape, load_model
from ahasd.system.validation.rows import ALLOWED, Row

PEER = "ONNXim"
CORES = 4
_DIM = 128
_ELEMENT_BYTES = 2
_PEAK_BYTES_PER_CYCLE = Fraction("614.4")
_SCRATCHPAD_BYTES = 32 * 2**20
_ACCUMULATOR_BYTES = 4 * 2**20

# Its memory, of its configuration and of its Ramulator 2 (HBM2_2.5Gbps, HBM2_8Gb): a clock of 1.2
# GHz, two pseudo-channels behind one command bus and one queue of 32 reads, rows of 16 reads. Here
# both pseudo-channels are one with twice the bank groups and half the time of a burst.
_THEIR_INTERVALS = {
    "period_ps": Fraction(2500, 3),
    "split_bus": False,
    "bank_groups": 8,
    "banks_per_group": 4,
    "rows": 32768,
    "row_bytes": 512,
    "act_command": 1,
    "burst": 1,
    "burst_max": 1,
    "rl": 9,
    "wl": 3,
    "t_rcd_rd": 9,
    "t_rcd_wr": 9,
    "t_rcd_ab": 9,
    "t_ras": 21,
    "t_rc": 23,
    "t_rp": 9,
    "t_rp_ab": 9,
    "t_rtp": 3,
    "t_wr": 10,
    "t_ccd_s": 1,
    "t_ccd_l": 2,
    "t_mac": 2,
    "t_rrd_s": 3,
    "t_rrd_l": 4,
    "t_faw": 19,
    "t_wtr_s": 4,
    "t_wtr_l": 5,
    "t_rfc_ab": 421,
    "t_refi": 4680,
}

# Inputs m x k by weights k x n, and cycles measured on it.
_PRODUCTS = {
    (256, 256, 256): 1_851,
    (1024, 1024, 1024): 25_379,
    (1, 4096, 4096): 81_213,
    (128, 4096, 4096): 99_662,
}
# Rows and keys of one layer of OPT-125m: its prompt of 100 tokens, and the token after it.
_LAYERS = {(100, 100): 62_878, (1, 101): 42_718}


def rows() -> list[Row]:
    """Return a row for each product and each layer that was measured."""
    made = [
        _row(f"product {m} x {k} x {n}", theirs, partial(cycles, m, k, n))
        for (m, k, n), theirs in _PRODUCTS.items()
    ]
    shape = load_model("opt-125m")
    for (new, keys), theirs in _LAYERS.items():
        what = f"layer of OPT-125m, {new} {'row' if new == 1 else 'rows'}, {keys} keys"
        made.append(_row(what, theirs, partial(layer_cycles, shape, new, keys)))
    return made


def cycles(m: int, k: int, n: int, share: Fraction | None = None) -> int:
    """Return our cycles of one product, inputs m x k by weights k x n.

    Parameters
    ----------
    m, k, n
        Sizes, at least 1.
    share
        Share of the memory's peak that is had; that of our HBM2 by default.
    """
    machine = _machine(share)
    return product_cycles(machine, _dealt(blocks(m, k, n)))


def layer_cycles(shape: ModelShape, new: int, keys: int, share: Fraction | None = None) -> int:
    """Return our cycles of one layer, operator by operator.

    Parameters
    ----------
    shape
        The model.
    new
        Rows of inputs.
    keys
        Keys that attention sees, those of the new rows included.
    share
        As for `cycles`.
    """
    machine = _machine(share)
    width, inner, heads = shape.d_model, shape.ffn_dim, shape.heads
    queries = heads * shape.head_dim
    total = sum(
        cycles(new, k, n, share)
        for k, n in (
            (width, queries + 2 * shape.kv_heads * shape.head_dim),
            (queries, width),
            (width, inner),
            (inner, width),
        )
    )
    # Heads in turn to the cores: scores, then mix.
    for depth, columns in ((shape.head_dim, keys), (keys, shape.head_dim)):
        block = Block(rows=new, depth=depth, columns=columns)
        total += product_cycles(machine, _dealt([[block]] * heads))
    # Elements in and out of what lies between: two copies of rows, two additions with their
    # normalisation, one activation. The vector unit keeps up with the memory.
    moved = new * (2 * 3 * queries + 2 * queries + 2 * 3 * width + 2 * inner) * _ELEMENT_BYTES
    return total + int(moved / machine.memory_bytes_per_cycle) + 5 * 2 * machine.latency_cycles


def blocks(m: int, k: int, n: int) -> list[list[Block]]:
    """Return the blocks of a product by Gemmini's rule, those that add up as one list.

    Square blocks as large as half the accumulators hold, as deep as half the scratchpad holds; then
    more of them along the longer side until each core has as many, as far as that goes.
    """
    in_accumulators = isqrt(_ACCUMULATOR_BYTES // 2 // (4 * _DIM * _DIM))
    in_scratchpad = _SCRATCHPAD_BYTES // 4 // (_ELEMENT_BYTES * _DIM * _DIM)
    down, across = (_ceil(side, in_accumulators * _DIM) for side in (m, n))
    deep = _ceil(k, in_scratchpad // in_accumulators * _DIM)
    along = "n" if n > m and n > CORES else "m" if m > n and m > CORES else ""
    if down * across < CORES:
        times = _ceil(CORES, down * across)
        across *= times if along == "n" else 1
        down *= times if along == "m" else 1
    more = down * across % CORES
    across += more if along == "n" else 0
    down += more if along == "m" else 0
    high, wide, depth = (
        max(_DIM, _ceil(_ceil(side, _DIM) * _DIM, parts) // _DIM * _DIM)
        for side, parts in ((m, down), (n, across), (k, deep))
    )
    return [
        [
            Block(
                rows=min(high, m - top),
                depth=min(depth, k - inner),
                columns=min(wide, n - left),
                is_last=inner + depth >= k,
            )
            for inner in range(0, k, depth)
        ]
        for top, left in pairs(range(0, m, high), range(0, n, wide))
    ]


@cache
def our_share() -> Fraction:
    """Return the share of its peak that our HBM2 gives a long read, with refresh."""
    timing = load_timing("hbm2")
    played = read_range(FastEngine, timing, 0, 2**26)
    peak = Fraction(timing.channels * timing.burst_bytes, timing.burst * timing.period_ps) * 10**12
    return played.bytes_s(timing) / peak


@cache
def their_shares() -> tuple[float, float]:
    """Return what our controller gets of the peak of its memory: one stream, and four apart.

    Its queue sees two rows of one stream, so that rows are opened late; four streams in banks of
    their own fill the command bus.
    """
    timing = replace(load_timing("hbm2"), **_THEIR_INTERVALS)
    options = Options(mapping=ROW_BANK_RANK_COLUMN, read_depth=32, hits_cap=0)
    count = 2**16
    # Three rows and a part further than a multiple of all banks: at no time in the same bank.
    gap_bytes = 3 * 2**16 + 53 * timing.burst_bytes
    apart = [
        sequential(count // 4, timing.burst_bytes, start_bytes=n * gap_bytes) for n in range(4)
    ]
    streams = sequential(count, timing.burst_bytes), np.stack(apart, axis=1).reshape(-1)
    one, four = (serve(timing, reads(each), options).bus_share for each in streams)
    return one, four


def _row(case: str, theirs: int, ours: Callable[[Fraction | None], int]) -> Row:
    """Return a row; where it is too far off, with what our cycles are at its memory's rate."""
    reason = ""
    found = ours(None)
    if abs(found / theirs - 1) > ALLOWED:
        one, four = their_shares()
        slow, fast = (ours(Fraction(share)) for share in (one, four))
        reason = (
            "its memory: with its intervals, rows of 16 reads and queue of 32 our controller gets "
            f"{one:.0%} of the peak for one stream and {four:.0%} for four, our own HBM2 "
            f"{float(our_share()):.0%}; at these rates ours takes {slow:,} "
            f"({slow / theirs - 1:+.1%}) to {fast:,} ({fast / theirs - 1:+.1%})"
        )
    return Row(peer=PEER, case=case, unit="cycles", theirs=theirs, ours=found, reason=reason)


@cache
def _machine(share: Fraction | None) -> Machine:
    timing = load_timing("hbm2")
    latency_ps = timing.time_ps(timing.t_rcd_rd + timing.rl + timing.burst)
    return Machine(
        array=SystolicArray(
            rows=_DIM,
            columns=_DIM,
            weight_load_bytes_per_cycle=_DIM * _ELEMENT_BYTES,
            cell_bytes=_ELEMENT_BYTES,
        ),
        element_bytes=_ELEMENT_BYTES,
        memory_bytes_per_cycle=_PEAK_BYTES_PER_CYCLE * (our_share() if share is None else share),
        latency_cycles=latency_ps // 1000,
    )


def _dealt(groups: list[list[Block]]) -> list[list[Block]]:
    """Give groups of blocks to the cores in turn."""
    return [[block for group in groups[core::CORES] for block in group] for core in range(CORES)]


def _ceil(size: int, piece: int) -> int:
    return -(-size // piece)
