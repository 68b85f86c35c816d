# SPDX-License-Identifier: Apache-2.0
"""Parameters of the AAU and the cycles of its commands."""

import enum
from dataclasses import dataclass, field
from functools import cache, partial

from ahasd.rtl.aau.encodings import Op
from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH
from ahasd.rtl.aau.schedule import Pass, command_cycles, first_passes


class Operation(enum.Enum):
    """What a vector goes through, as the system model names it."""

    LAYERNORM = "layernorm"
    RMSNORM = "rmsnorm"
    SOFTMAX = "softmax"
    RELU = "relu"
    GELU = "gelu"
    SILU = "silu"
    """With the product by the other half, where the feed-forward block is gated."""
    ROPE = "rope"
    ADD = "add"
    STATISTICS = "statistics"
    """Of the vocabulary: largest logit, sum of exponentials, entropy; no vector comes out."""
    TOP = "top"
    """Of the vocabulary: the `top_k` largest logits and their tokens."""


OPS = {
    Operation.LAYERNORM: Op.LAYERNORM,
    Operation.RMSNORM: Op.RMSNORM,
    Operation.SOFTMAX: Op.SOFTMAX,
    Operation.RELU: Op.RELU,
    Operation.GELU: Op.GELU,
    Operation.SILU: Op.SWIGLU,  # without the product it takes as long
    Operation.ROPE: Op.ROPE,
    Operation.ADD: Op.ADD,
    Operation.STATISTICS: Op.STATISTICS,
    Operation.TOP: Op.TOP,
}
"""What the hardware calls them."""


@dataclass(frozen=True, kw_only=True)
class AauParams:
    """Size of the AAU.

    Parameters
    ----------
    lanes
        Elements taken in a beat, a power of two.
    length_width
        Bits of a row's length.
    index_width
        Bits of an element's place in a row, which may be a part of a longer one.
    imports_width
        Bits of the number of states that a command merges.
    top_k
        Elements that TOP finds; without that operation 0.
    numerics
        How precisely it calculates.

    Raises
    ------
    ValueError
        A value is outside its range; the message names the rule and the value.
    """

    lanes: int = 16
    length_width: int = 18
    index_width: int = 24
    imports_width: int = 8
    top_k: int = 8
    numerics: Numerics = field(default_factory=Numerics)

    timing = "cycles of its RTL"
    """Where `cycles` come from, for reports."""

    def __post_init__(self) -> None:
        if not 1 <= self.lanes <= 32 or self.lanes & (self.lanes - 1):
            raise ValueError(f"lanes must be a power of two in 1..32, not {self.lanes}")
        for name, low, high in (
            ("length_width", 1, 20),
            ("index_width", self.length_width, 32),
            ("imports_width", 1, 8),
            ("top_k", 0, 8),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be in {low}..{high}, not {value}")
        low, high = self.numerics.fraction_width + 1, self.numerics.mantissa_width + 1
        if not low <= self.numerics.guard_width <= high:
            raise ValueError(
                "numerics.guard_width must be in fraction_width + 1 .. mantissa_width + 1, that is"
                f" {low}..{high}, not {self.numerics.guard_width}"
            )
        if self.depth_factor_width > self.numerics.mantissa_width + 1:
            raise ValueError(
                "numerics.fraction_width must leave room for depths that are factors, of"
                f" {self.depth_factor_width} bits, in mantissa_width + 1, that is"
                f" {self.numerics.mantissa_width + 1}"
            )

    @property
    def length_max(self) -> int:
        """Longest row."""
        return (1 << self.length_width) - 1

    @property
    def sum_fraction_width(self) -> int:
        """Bits behind the point of the sums of a row."""
        return self.numerics.term_width - 1

    @property
    def depth_factor_width(self) -> int:
        """Bits of a depth that is a factor: those of larger depths have no power left.

        With k bits before the point, larger ones make terms below `2**(k - 2**k)`.
        """
        whole = 1
        while (1 << whole) - whole <= self.sum_fraction_width:
            whole += 1
        return self.numerics.fraction_width + whole

    @property
    def a_width(self) -> int:
        """Bits of the first sum, with its sign: elements are below 2."""
        return self.sum_fraction_width + 2 + self.count_width

    @property
    def b_width(self) -> int:
        """Bits of the second sum: elements are below 4."""
        return self.sum_fraction_width + 2 + self.count_width

    @property
    def count_width(self) -> int:
        """Bits of the number of elements of a row and of the parts that are merged."""
        return self.length_width + 1

    @property
    def reference_width(self) -> int:
        """Bits of what the sums of a row are relative to."""
        return max(self.numerics.scaled_width, EXPONENT_WIDTH)

    @property
    def passes(self) -> dict[Op, Pass]:
        """First passes of the operations that reduce a row."""
        return first_passes(self.top_k)

    def entries(self, op: int) -> int:
        """Return the elements that an operation keeps: of TOP as many states, or summaries."""
        return self.top_k if op == Op.TOP and self.top_k else 1

    def cycles(self, operation: Operation, length: int, parts: int = 1) -> int:
        """Return the cycles of a vector, from one command to the next if nothing stalls.

        Parameters
        ----------
        operation
            What is done.
        length
            Elements in this AAU.
        parts
            AAUs that share the vector. Of more than one each reduces its part and exports the
            state, then merges all states and goes on with its part.

        Raises
        ------
        ValueError
            `length` or `parts` is below 1, or the unit has no TOP.
        """
        for name, value in (("length", length), ("parts", parts)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        if operation is Operation.TOP and not self.top_k:
            raise ValueError("top_k must be at least 1 for the largest elements, not 0")
        return _cycles(OPS[operation], length, parts, self)


@cache
def _cycles(op: Op, length: int, parts: int, params: AauParams) -> int:
    """Return the cycles of a vector; remembered, as a run asks for the same again and again."""
    command = partial(
        command_cycles,
        op,
        length,
        lanes=params.lanes,
        numerics=params.numerics,
        top_k=params.top_k,
    )
    if parts == 1 or op not in params.passes:
        return command()
    return command(exports=True) + command(imports=parts * params.entries(op), reduces=False)
