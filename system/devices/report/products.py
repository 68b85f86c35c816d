# SPDX-License-Identifier: Apache-2.0
"""Time of matrix-vector products on PIM ranks against their shape.

From the first inputs on their way to the ranks until the last results are out, alone.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.stream import play
from ahasd.system.devices.dram.timing import Timing
from ahasd.system.devices.pim.gemv import Gemv
from ahasd.system.devices.pim.program import Program
from ahasd.system.devices.pim.step import PimModel
from ahasd.system.devices.pim.unit import mac_bytes, pace, paced
from ahasd.system.model import ModelShape
from ahasd.system.platform import Platform

SIZES = (256, 512, 1024, 2048, 4096, 8192)
TOKENS = (1, 2, 4, 8)


@dataclass(frozen=True, kw_only=True)
class Product:
    """One product.

    Parameters
    ----------
    matrix
        Whose it is; `square` of the sizes that are tried on one rank.
    outputs, inputs
        Shape of the matrix.
    ranks
        Ranks that share it.
    tokens
        Input vectors that pass together.
    time_us
        Time, microseconds.
    share
        Share of the rate at which a rank's MACs follow one another at most, 0 to 1.
    limit
        What makes that rate: `t_mac`, `bandwidth` or `compute`.
    """

    matrix: str
    outputs: int
    inputs: int
    ranks: int
    tokens: int
    time_us: float
    share: float
    limit: str


def square_products(platform: Platform, timing: Timing) -> Iterator[Product]:
    """Yield products of square matrices on one rank, those that it holds."""
    for size in SIZES:
        if size * size <= platform.pim.rank_capacity_bytes:
            for tokens in TOKENS:
                yield product(platform, timing, "square", (size, size), (0,), tokens)


def model_products(
    platform: Platform, timing: Timing, shape: ModelShape, ranks: Sequence[int]
) -> Iterator[Product]:
    """Yield the products of a layer of a model and of its output projection on its ranks."""
    model = PimModel(platform, timing, shape, ranks)
    names = ("q, k, v", "attention out", "ffn in", "ffn out")
    named = dict(zip(names, model.matrices, strict=True)) | {"vocabulary": model.head_matrix}
    for name, matrix in named.items():
        for tokens in TOKENS:
            yield product(platform, timing, f"{shape.name}: {name}", matrix, ranks, tokens)


def product(
    platform: Platform,
    timing: Timing,
    name: str,
    matrix: tuple[int, int],
    ranks: Sequence[int],
    tokens: int,
) -> Product:
    """Return one product of INT8 inputs.

    Parameters
    ----------
    platform, timing
        The machine and its memory.
    name
        Of the matrix.
    matrix
        Outputs and inputs.
    ranks
        Ranks that share it.
    tokens
        Input vectors.
    """
    pim = platform.pim
    outputs, inputs = matrix
    gemv = Gemv(
        outputs=outputs,
        inputs=inputs,
        ranks=len(ranks),
        tokens=tokens,
        buffer_bytes=pim.input_buffer_bytes,
    )
    spacing = pace(pim, timing, tokens)
    memory = paced(timing, spacing)
    # The first inputs go to each rank of the channel in turn: as long as all of them to one.
    on_channel = max(Counter(rank % pim.channels for rank in ranks).values())
    loads = on_channel * gemv.load_bursts(memory, gemv.chunks(memory)[0])
    segments = [((Op.WRB, 0, 0),) * loads, *gemv.segments(memory)]
    time_ps = timing.time_ps(play(FastEngine(memory), Program(memory, segments)).cycles)
    rank_bytes_s = mac_bytes(timing) * 10**12 / (spacing.cycles * timing.period_ps)
    least_ps = outputs * inputs * 10**12 / (len(ranks) * rank_bytes_s)
    return Product(
        matrix=name,
        outputs=outputs,
        inputs=inputs,
        ranks=len(ranks),
        tokens=tokens,
        time_us=time_ps / 1e6,
        share=float(least_ps / time_ps),
        limit=spacing.limit,
    )
