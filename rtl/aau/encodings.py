# SPDX-License-Identifier: Apache-2.0
"""Encodings of the AAU's ports: operations, commands, partial states and what is told of a row."""

import enum
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.top import Place

if TYPE_CHECKING:
    from ahasd.rtl.aau.params import AauParams

KEY_WIDTH = 32
"""Bits of an element's place in the order of all, in two's complement."""
CONSTANT_WIDTH = 32
INFINITY_CODE = 0x7F800000
LANE_WIDTH = 64
"""Bits of what a lane is given: an element of 32, or of 16 and its partner, and two operands."""
RESULT_WIDTH = 16
SHIFT_WIDTH = 6


class Op(enum.IntEnum):
    """Field `op` of a command; x, partner, b and c are elements of the beat, k0 to k2 constants."""

    SOFTMAX = 0
    """2^(k0*x) over its sum, times 2^(shift - k1); two passes."""
    STATISTICS = 1
    """Log-sum-exp and entropy of 2^(k0*x), and the largest element with its probability."""
    LAYERNORM = 2
    """k2 * (x - mean) / sqrt(variance + k1) * b + c, with k0 = -1/length; two passes."""
    RMSNORM = 3
    """k2 * x / sqrt(mean square + k1) * b; two passes."""
    SUM = 4
    """k0 times the sum."""
    MAX = 5
    """The largest element and its place, the first of equals: reduction and arg-max."""
    ADD = 6
    """k0*x + c."""
    RELU = 7
    """max(k0*x, 0)."""
    ROPE = 8
    """x*b + partner*c."""
    SILU = 9
    """k1 * x * s(k0*x), with s(t) = 1/(1 + 2^-t)."""
    SWIGLU = 10
    """k1 * x * s(k0*x) * b."""
    GELU = 11
    """k1 * x * s(k2*x + k0*x^3): the tanh form."""
    TOP = 12
    """The `top_k` largest elements and their places, in order, of equals the first first."""


POWERS = frozenset({Op.SOFTMAX, Op.STATISTICS})
"""Operations that reduce a row of powers."""
MOMENTS = frozenset({Op.LAYERNORM, Op.RMSNORM, Op.SUM})
"""Operations that reduce a row of numbers; a sum is the first half of a mean."""
APPLYING = frozenset(Op) - {Op.STATISTICS, Op.SUM, Op.MAX, Op.TOP}
"""Operations from which a vector comes out."""


def constant_code(value: float) -> int:
    """Return a constant as a command holds it, in IEEE single precision."""
    return struct.unpack("<I", struct.pack("<f", value))[0]


def constant_value(code: int) -> float:
    """Return what a code in IEEE single precision stands for."""
    return struct.unpack("<f", struct.pack("<I", code))[0]


class Packed:
    """Fields as one integer on the wires, the first lowest, signed ones in two's complement."""

    @classmethod
    def widths(cls, params: "AauParams") -> dict[str, int]:
        """Return the bits of every field; those of a signed one are below 0."""
        raise NotImplementedError

    def pack(self, params: "AauParams") -> int:
        """Return the payload as the integer on the wires."""
        packed = offset = 0
        for name, width in self.widths(params).items():
            packed |= (int(getattr(self, name)) & ((1 << abs(width)) - 1)) << offset
            offset += abs(width)
        return packed

    @classmethod
    def unpack(cls, payload: int, params: "AauParams") -> Self:
        """Read a payload from the wires."""
        fields: dict[str, Any] = {}
        for name, width in cls.widths(params).items():
            value = payload & ((1 << abs(width)) - 1)
            payload >>= abs(width)
            fields[name] = value - (1 << -width) if width < 0 and value >> (-width - 1) else value
        return cls(**fields)


@dataclass(frozen=True, kw_only=True)
class Command(Packed):
    """Payload of the `command` stream.

    Attributes
    ----------
    op
        An `Op`; another value does nothing.
    length
        Elements of the row, fewer than `2**length_width`.
    x_format, operand_format, result_format
        A `Format` of x, of partner, b and c (FP16 or BF16), and of results (all but INT32).
    imports
        States that are merged before anything else.
    reduces
        The row is streamed for its state.
    exports
        The state goes out, and the command ends without second pass.
    applies
        The row is streamed for its results.
    shift
        A power of two for the results of a softmax.
    first_index
        Place of the row's first element.
    k0, k1, k2
        Constants in IEEE single precision.
    """

    op: int
    length: int
    x_format: int = Format.FP16
    operand_format: int = Format.FP16
    result_format: int = Format.FP16
    imports: int = 0
    reduces: int = 1
    exports: int = 0
    applies: int = 1
    shift: int = 0
    first_index: int = 0
    k0: int = 0
    k1: int = 0
    k2: int = 0

    @classmethod
    def widths(cls, params: "AauParams") -> dict[str, int]:
        """See `Packed`."""
        return {
            "op": 4,
            "length": params.length_width,
            "x_format": 2,
            "operand_format": 1,
            "result_format": 2,
            "imports": params.imports_width,
            "reduces": 1,
            "exports": 1,
            "applies": 1,
            "shift": -SHIFT_WIDTH,
            "first_index": params.index_width,
            "k0": CONSTANT_WIDTH,
            "k1": CONSTANT_WIDTH,
            "k2": CONSTANT_WIDTH,
        }


@dataclass(frozen=True, kw_only=True)
class State(Packed):
    """Payload of the streams `state_in` and `state_out`: a row, or a part of it, reduced.

    Of TOP it is one of `top_k` payloads, which differ in `key`, `index`, `seen` and `count`: the
    first counts the elements.

    Attributes
    ----------
    reference
        Of powers: the largest scaled number. Of moments: the largest exponent.
    a, b
        Of powers, relative to the whole number m that is not below `reference`: sums of 2^(s - m),
        and, of statistics, of that
        times m - s. Of moments, relative to e = `reference`: sums of x / 2^e, and of
        the square of that. `sum_fraction_width` bits behind the point.
    count
        Elements.
    key, index
        Place of the largest element in the order of all (see `order`), and its place in the row.
    seen
        There is an element that is neither masked nor no number.
    nan, positive, negative
        There is an element that is no number, plus infinity, minus infinity.
    places
        Of TOP the elements that come behind the largest one, in order, as the model keeps them.
        They are not on the wires: each goes out as a state of its own.
    """

    reference: int
    a: int
    b: int
    count: int
    key: int
    index: int
    seen: int
    nan: int
    positive: int
    negative: int
    places: tuple[Place, ...] = ()

    @classmethod
    def widths(cls, params: "AauParams") -> dict[str, int]:
        """See `Packed`."""
        return {
            "reference": -params.reference_width,
            "a": -params.a_width,
            "b": params.b_width,
            "count": params.count_width,
            "key": -KEY_WIDTH,
            "index": params.index_width,
            "seen": 1,
            "nan": 1,
            "positive": 1,
            "negative": 1,
        }


@dataclass(frozen=True, kw_only=True)
class Summary(Packed):
    """Payload of the `summary` stream, one for every command; of TOP `top_k`, one an element.

    Attributes
    ----------
    value
        Of statistics the log-sum-exp [nat], of a sum the sum, in IEEE single precision.
    entropy
        Of statistics [nat], in IEEE single precision.
    probability
        Of statistics that of the largest element, in IEEE single precision.
    key, index
        Of the largest element, see `State`.
    empty
        A row that was reduced has no element that is neither masked nor no number, or of TOP no
        further one.
    nan
        What was reduced makes no number: values have no meaning.
    """

    value: int
    entropy: int
    probability: int
    key: int
    index: int
    empty: int
    nan: int

    @classmethod
    def widths(cls, params: "AauParams") -> dict[str, int]:
        """See `Packed`."""
        return {
            "value": CONSTANT_WIDTH,
            "entropy": CONSTANT_WIDTH,
            "probability": CONSTANT_WIDTH,
            "key": -KEY_WIDTH,
            "index": params.index_width,
            "empty": 1,
            "nan": 1,
        }
