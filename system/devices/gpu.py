# SPDX-License-Identifier: Apache-2.0
"""Graphics processors: roofline of every kernel of a forward pass, one device or several.

A kernel takes as long as the slower of its bytes and its operations, at stated shares of the peaks.
With the table `kernels` it also fills multiprocessors in waves: blocks of a matrix product are its
tiles, those of attention are heads, and where they do not fill the last wave, the rest of the chip
waits, its share of the memory's rate included. Several devices each hold a share of every matrix
and of the heads (tensor parallel) and add up their results after attention and after feed-forward.

A pass of a model that does not fit reads the rest over the host's link, if asked to (`offload`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from pydantic import Field, model_validator

from ahasd.system.devices.capacity import Share
from ahasd.system.devices.fit import MemoryFit
from ahasd.system.devices.nonlinear import attended_by
from ahasd.system.devices.offload import Offload
from ahasd.system.model import ModelShape
from ahasd.system.toml import TomlModel, load

_PS_PER_S = 10**12
_ACTIVATION_BYTES = 2
_TILES = (8, 16, 32, 64, 128, 192, 256, 320, 384, 448, 512)  # rows or columns that kernels come in
_TILE_DEPTH = 32


class Kernels(TomlModel):
    """What kernels cost beyond bytes and operations."""

    multiprocessors: int = Field(gt=0, description="multiprocessors that blocks fill in waves")
    # The smallest tile, 8 x 8, takes 1,152 bytes.
    l1_bytes: int = Field(ge=2048, description="on-chip memory of one, which holds a tile, bytes")
    norm_ns: float = Field(ge=0, description="fixed time of a normalisation, ns")
    norm_gb_s: float = Field(gt=0, description="rate of its bytes beside, GB/s")
    activation_ns: float = Field(ge=0, description="fixed time of an activation, ns")
    activation_gb_s: float = Field(gt=0, description="rate of its bytes beside, GB/s")


class Link(TomlModel):
    """What devices exchange results over: a ring that takes as many hops as there are others."""

    hop_ns: float = Field(ge=0, description="fixed time of one hop, ns")
    hop_gb_s: float = Field(gt=0, description="rate of one hop's bytes, GB/s")


@dataclass(frozen=True, kw_only=True)
class GpuPass:
    """Times of one forward pass by kind of kernel, ps, rounded up; they follow one another."""

    linear_ps: int
    """Matrices of the layers."""
    vocabulary_ps: int
    """Output projection."""
    attention_ps: int
    """Scores, softmax and mix."""
    elementwise_ps: int
    """Normalisations and activations, where kernels have a time of their own."""
    link_ps: int
    """Sums over devices."""
    spill_ps: int
    """Weights over the host's link."""

    @property
    def total_ps(self) -> int:
        """Time of the pass, ps."""
        return (
            self.linear_ps
            + self.vocabulary_ps
            + self.attention_ps
            + self.elementwise_ps
            + self.link_ps
            + self.spill_ps
        )


class Gpu(TomlModel):
    """One graphics processor, or several alike."""

    name: str = Field(min_length=1, description="name in reports")
    source: str = Field(min_length=1, description="where the figures are from")
    devices: int = Field(default=1, gt=0, description="devices that share a model")
    memory_bytes: int = Field(gt=0, description="memory of one device, bytes")
    reserved_bytes: int = Field(ge=0, description="of it for runtime and buffers, bytes")
    memory_gb_s: float = Field(gt=0, description="peak rate of one device's memory, GB/s")
    memory_efficiency: float = Field(gt=0, le=1, description="share of it that kernels get")
    fp16_tflops: float = Field(
        gt=0, description="dense FP16 rate of one device, TFLOP/s; INT8 is twice as fast"
    )
    compute_efficiency: float = Field(gt=0, le=1, description="share of it that kernels get")
    offload: bool = Field(
        default=False, description="weights that do not fit are read over the host's link"
    )
    host: Offload = Field(description="table of the host's memory and its link")
    link: Link | None = Field(default=None, description="table of the link between devices")
    kernels: Kernels | None = Field(default=None, description="table of what kernels cost beside")

    @model_validator(mode="after")
    def _devices_are_linked_and_have_memory(self) -> "Gpu":
        if self.devices > 1 and not self.link:
            raise ValueError(f"devices = {self.devices} need the table link")
        if self.reserved_bytes >= self.memory_bytes:
            raise ValueError(
                f"reserved_bytes = {self.reserved_bytes} must be below "
                f"memory_bytes = {self.memory_bytes}"
            )
        return self

    @property
    def usable_bytes(self) -> int:
        """Bytes for weights, keys and values, all devices."""
        return self.devices * (self.memory_bytes - self.reserved_bytes)

    def fit(
        self,
        shapes: tuple[ModelShape, ...],
        context_tokens: int,
        weight_bytes_per_parameter: int = 1,
        kv_bytes: int = 2,
        batch: int = 1,
    ) -> MemoryFit:
        """Return what models need of the memory, fit or not.

        Parameters
        ----------
        shapes
            Models that are resident together.
        context_tokens
            Longest context of the run, prompt included.
        weight_bytes_per_parameter, kv_bytes
            Bytes of a weight, and of one key or value element.
        batch
            Sequences at once.
        """
        return MemoryFit(
            device=self.name,
            usable_bytes=self.usable_bytes,
            context_tokens=context_tokens,
            shares=tuple(
                Share(
                    model=shape.name,
                    weight_bytes=shape.parameters * weight_bytes_per_parameter,
                    kv_bytes=batch * context_tokens * shape.kv_bytes_per_token(kv_bytes),
                    mask=1,
                )
                for shape in shapes
            ),
        )

    def spilled_bytes(self, wanted: MemoryFit) -> int:
        """Return the weights that every pass reads over the host's link; 0 if all fits.

        Raises
        ------
        UserError
            Something is missing and `offload` is off, or the host does not hold it either.
        """
        return wanted.spilled_bytes(self.host if self.offload else None)

    def forward(
        self,
        shape: ModelShape,
        rows: int,
        context: int,
        *,
        batch: int = 1,
        weight_bytes_per_parameter: int = 1,
        kv_bytes: int = 2,
        spilled_bytes: int = 0,
    ) -> GpuPass:
        """Return the times of one forward pass.

        Parameters
        ----------
        shape
            The model.
        rows
            New positions of each sequence: 1 in decoding, the prompt's length in prefill.
        context
            Tokens in each sequence's cache before the pass.
        batch
            Sequences at once.
        weight_bytes_per_parameter, kv_bytes
            Bytes of a weight, and of one key or value element.
        spilled_bytes
            Weights on the host, as `spilled_bytes` gives them: read once a pass over its link and
            not from the device's memory.

        Raises
        ------
        ValueError
            A number is out of range.
        """
        low = {
            "rows": (rows, 1),
            "context": (context, 0),
            "batch": (batch, 1),
            "weight_bytes_per_parameter": (weight_bytes_per_parameter, 1),
            "kv_bytes": (kv_bytes, 1),
            "spilled_bytes": (spilled_bytes, 0),
        }
        for name, (value, least) in low.items():
            if value < least:
                raise ValueError(f"{name} = {value} must be at least {least}")
        m = rows * batch
        width, inner = shape.d_model, -(-shape.ffn_dim // self.devices)
        heads = -(-shape.heads // self.devices)
        kv_heads = -(-shape.kv_heads // self.devices)
        element = weight_bytes_per_parameter
        in_layer = [
            (width, (heads + 2 * kv_heads) * shape.head_dim),
            (heads * shape.head_dim, width),
            *[(width, inner)] * (shape.ffn_matrices - 1),
            (inner, width),
        ]
        # What lies on the host is not read from the memory.
        away = Fraction(spilled_bytes, shape.bytes_per_pass * element)
        here = max(Fraction(0), 1 - away)
        linear = sum(
            (self._product_s(m, k, n, element, here) for k, n in in_layer), start=Fraction(0)
        )
        vocabulary = self._product_s(m, width, -(-shape.vocab // self.devices), element, here)
        norms = 1 if shape.parallel_block else 2
        return GpuPass(
            linear_ps=_ps(shape.layers * linear),
            vocabulary_ps=_ps(vocabulary),
            attention_ps=_ps(
                shape.layers
                * self._attention_s(shape, rows, context, batch, heads, kv_heads, kv_bytes)
            ),
            elementwise_ps=_ps(
                shape.layers * self._elementwise_s(m, width, shape.ffn_matrices * inner, norms)
            ),
            link_ps=_ps(shape.layers * norms * self._sum_s(m * width * _ACTIVATION_BYTES)),
            spill_ps=self.host.stream_ps(spilled_bytes),
        )

    @property
    def _memory_bytes_s(self) -> Fraction:
        return Fraction(str(self.memory_gb_s)) * 10**9 * Fraction(str(self.memory_efficiency))

    def _mac_s(self, element_bytes: int) -> Fraction:
        flops = Fraction(str(self.fp16_tflops)) * 10**12 * Fraction(str(self.compute_efficiency))
        return flops / 2 * Fraction(2, element_bytes)

    def _product_s(self, m: int, k: int, n: int, element_bytes: int, here: Fraction) -> Fraction:
        """Return the time of inputs (m x k) by weights (k x n) on one device, s.

        `here` is the share of the weights that its memory holds.
        """
        moved = here * k * n * element_bytes + (m * k + m * n) * _ACTIVATION_BYTES
        busy = Fraction(1)
        if self.kernels:
            busy = _product_share(m, n, k, self.kernels.multiprocessors, self.kernels.l1_bytes)
        slower = max(moved / self._memory_bytes_s, m * k * n / self._mac_s(element_bytes))
        return slower / busy

    def _attention_s(
        self,
        shape: ModelShape,
        rows: int,
        context: int,
        batch: int,
        heads: int,
        kv_heads: int,
        kv_bytes: int,
    ) -> Fraction:
        """Return the time of one layer's scores, softmax and mix on one device, s."""
        keys = batch * kv_heads * (context + rows) * shape.head_dim * kv_bytes
        ends = batch * heads * rows * shape.head_dim * _ACTIVATION_BYTES
        pairs = batch * heads * attended_by(rows, context)
        busy = Fraction(1)
        if self.kernels:
            busy = _wave_share(kv_heads * batch, self.kernels.multiprocessors)
        product = max(
            (keys + ends + pairs * _ACTIVATION_BYTES) / self._memory_bytes_s,
            pairs * shape.head_dim / self._mac_s(_ACTIVATION_BYTES),
        )
        softmax = 2 * pairs * _ACTIVATION_BYTES / self._memory_bytes_s
        return (2 * product + softmax) / busy

    def _elementwise_s(self, m: int, width: int, activated: int, norms: int) -> Fraction:
        """Return the time of one layer's normalisations and activation on one device, s.

        `activated` are the elements of a row that the activation reads and writes.
        """
        if not self.kernels:
            return Fraction(0)
        # A normalisation reads its row and the residual, and writes one.
        norm_bytes = 3 * m * width * _ACTIVATION_BYTES
        activation_bytes = m * activated * _ACTIVATION_BYTES
        fixed = norms * Fraction(str(self.kernels.norm_ns)) + Fraction(
            str(self.kernels.activation_ns)
        )
        moving = norms * norm_bytes / Fraction(str(self.kernels.norm_gb_s))
        moving += activation_bytes / Fraction(str(self.kernels.activation_gb_s))
        return (fixed + moving) / 10**9

    def _sum_s(self, size_bytes: int) -> Fraction:
        """Return the time to add up partial results of all devices, s."""
        if not self.link:
            return Fraction(0)
        part = Fraction(size_bytes, self.devices)
        hop_ns = Fraction(str(self.link.hop_ns)) + part / Fraction(str(self.link.hop_gb_s))
        return (self.devices - 1) * hop_ns / 10**9


@lru_cache(maxsize=4096)
def _product_share(m: int, n: int, k: int, multiprocessors: int, l1_bytes: int) -> Fraction:
    """Return the share of the chip that the tiles of a product keep busy.

    Libraries pick the tile by what it reads through the second-level cache and by how full it
    leaves the chip; as AttAcc has it, by reads over the square of the share.
    """
    best: tuple[Fraction, Fraction] | None = None
    for rows in sorted({min(tile, m) for tile in _TILES}):
        for columns in sorted({min(tile, n) for tile in _TILES}):
            held = ((rows + columns) * _TILE_DEPTH + rows * columns) * _ACTIVATION_BYTES
            if held > l1_bytes:
                continue
            down, across = -(-m // rows), -(-n // columns)
            share = _wave_share(down * across, multiprocessors)
            cost = (across * m * k + down * n * k + m * n) / share**2
            if best is None or cost < best[0]:
                best = cost, share
    assert best is not None, "the smallest tile fits: `l1_bytes` is at least 2048"
    return best[1]


def _wave_share(blocks: int, multiprocessors: int) -> Fraction:
    """Return the share of the multiprocessors that work, over all waves."""
    return Fraction(blocks, ceil(Fraction(blocks, multiprocessors)) * multiprocessors)


def _ps(seconds: Fraction) -> int:
    return ceil(seconds * _PS_PER_S)


def load_gpu(name_or_path: str, overrides: Mapping[str, object] | None = None) -> Gpu:
    """Return a packaged graphics processor by name, or a user's own by path.

    Raises
    ------
    UserError
        See `ahasd.system.toml.load`.
    """
    return load(Gpu, "gpus", name_or_path, overrides)
