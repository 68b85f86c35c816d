# SPDX-License-Identifier: Apache-2.0
"""Operators between the matrix products: what a model needs, and their time on AAUs or on the NPU.

A PIM unit multiplies and adds. Softmax, normalisation, activation and the choice of a token need
more: an AAU in each rank, or a trip to the NPU, whose vector unit does them. So trips follow from
the operators: four a layer, or three where attention and feed-forward share one normalised input,
and two for the token. Residual additions travel with the normalisation after
them. Rotary positions are no trip: a rotation by known angles is a product with a 2 x 2 matrix,
which the multipliers of the PIM units do; their time for it is left out.

Scores travel as FP16. With AAUs, rank n works on its slice of a vector or on its heads; where
a vector is spread over ranks, each hands out a partial state of 32 bytes (maximum and sums), and
all get the merged one.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from ahasd.rtl.aau.params import AauParams, Operation
from ahasd.system.devices.groups import Group
from ahasd.system.devices.work import Events, Phase, Task
from ahasd.system.model import ModelShape
from ahasd.system.platform import Npu

ELEMENT_BYTES = 2
STATE_BYTES = 32
_TWO_PASSES = (Operation.LAYERNORM, Operation.RMSNORM, Operation.SOFTMAX)


@dataclass(frozen=True, kw_only=True)
class Operator:
    """One operator on one token.

    Parameters
    ----------
    operation
        What is done.
    vectors, length
        Vectors and elements of each. Softmax has one vector a head; others have whole rows of
        the model, or two where two rows are added.
    is_trip
        Whether it goes to the NPU where there is no AAU; others travel with another, or need not.
    layers
        Times that the token meets it.
    after, before
        Groups that its vectors come from and go to; None for one that travels with another, and for
        the token that is chosen.
    """

    operation: Operation
    vectors: int
    length: int
    is_trip: bool = False
    layers: int = 1
    after: Group | None = None
    before: Group | None = None

    @property
    def elements(self) -> int:
        """Elements of one token, all layers."""
        return self.layers * self.vectors * self.length

    @property
    def element_passes(self) -> int:
        """Elements, each as often as a unit of one element a lane and cycle reads it."""
        return self.elements * (2 if self.operation in _TWO_PASSES else 1)


def operators(shape: ModelShape, attended: int) -> tuple[Operator, ...]:
    """Return the operators that one token needs.

    Parameters
    ----------
    shape
        The model.
    attended
        Keys that its attention sees, its own included.

    Raises
    ------
    ValueError
        `attended` is below 1.
    """
    if attended < 1:
        raise ValueError(f"attended = {attended} must be at least 1: a token sees itself")
    width = shape.d_model
    norm = Operation(shape.norm)
    norms: list[tuple[Group, Group]] = [("ffn", "qkv"), ("projection", "ffn")]
    inner = shape.ffn_dim
    rows: list[Operator] = [
        *[
            Operator(
                operation=norm,
                vectors=1,
                length=width,
                is_trip=True,
                layers=shape.layers,
                after=after,
                before=before,
            )
            for after, before in norms[: 1 if shape.parallel_block else 2]
        ],
        Operator(operation=Operation.ADD, vectors=2, length=width, layers=shape.layers),
        Operator(
            operation=Operation.SOFTMAX,
            vectors=shape.heads,
            length=attended,
            is_trip=True,
            layers=shape.layers,
            after="attention",
            before="attention",
        ),
        Operator(
            operation=Operation(shape.activation),
            vectors=1,
            length=inner,
            is_trip=True,
            layers=shape.layers,
            after="ffn",
            before="ffn",
        ),
        Operator(operation=norm, vectors=1, length=width, is_trip=True, after="ffn", before="head"),
        Operator(
            operation=Operation.STATISTICS,
            vectors=1,
            length=shape.vocab,
            is_trip=True,
            after="head",
        ),
    ]
    if not shape.learned_positions:
        rotated = (shape.heads + shape.kv_heads) * shape.head_dim
        rows.append(
            Operator(
                operation=Operation.ROPE,
                vectors=1,
                length=rotated,
                layers=shape.layers,
                after="qkv",
                before="attention",
            )
        )
    return tuple(rows)


def attended_by(rows: int, context: int) -> int:
    """Return the keys that new rows see together: each the cache, and rows up to its own."""
    return rows * context + rows * (rows + 1) // 2


def trips(shape: ModelShape) -> int:
    """Return the trips to the NPU that one step needs without AAUs, whatever its rows."""
    return sum(each.layers for each in operators(shape, 1) if each.is_trip)


def spread(operator: Operator, ranks: int) -> tuple[int, int]:
    """Return how many ranks share a vector, and the elements that each of them has.

    Where there are more ranks than vectors, a vector is spread over some of them.
    """
    slices = max(1, ranks // operator.vectors)
    return slices, -(-operator.length // slices)


def on_aau(
    shape: ModelShape,
    rows: int,
    context: int,
    *,
    params: AauParams,
    ranks: int,
    period_ps: int,
    transfer_ps: Callable[[int], int],
) -> Task:
    """Return the operators of one step on the AAUs of the ranks that hold the model.

    Parameters
    ----------
    shape
        The model.
    rows
        Tokens of the step, each of which sees the ones before it: 1 in a draft step.
    context
        Tokens in the cache before the step.
    params
        The AAU of each rank.
    ranks
        Ranks that share the work.
    period_ps
        Clock period of the AAUs, ps.
    transfer_ps
        Picoseconds that a number of bytes takes over the channels.

    Returns
    -------
    Task
        Phases `transfer` (partial states) and `nonlinear`, which follow one another.

    Raises
    ------
    ValueError
        `rows`, `ranks` or `period_ps` is below 1, or `context` is negative.
    """
    for name, value in (("ranks", ranks), ("period_ps", period_ps)):
        if value < 1:
            raise ValueError(f"{name} = {value} must be at least 1")
    cycles = merges = 0
    for each in _step(shape, rows, context):
        slices, length = spread(each, ranks)
        at_once = -(-each.vectors * slices // ranks)
        cycles += each.layers * at_once * params.cycles(each.operation, length, slices)
        if slices > 1 and each.operation in (*_TWO_PASSES, Operation.STATISTICS):
            merges += each.layers * each.vectors * slices
    sent = merges * STATE_BYTES
    worked = aau_cycles(shape, rows, context, params=params, ranks=ranks).total()
    return Task(
        phases=(
            Phase(name="transfer", memory_ps=transfer_ps(2 * sent)),
            Phase(name="nonlinear", compute_ps=cycles * period_ps),
        ),
        events=Events(aau_cycles=worked, read_bytes=sent, write_bytes=sent),
    )


def aau_cycles(
    shape: ModelShape, rows: int, context: int, *, params: AauParams, ranks: int
) -> Counter[Operation]:
    """Return the cycles in which AAUs work in one step, those of all ranks together, by operation.

    Arguments as for `on_aau`. A rank that waits for another one's last vector does not work.

    Raises
    ------
    ValueError
        `rows` or `ranks` is below 1, or `context` is negative.
    """
    found: Counter[Operation] = Counter()
    for each in _step(shape, rows, context):
        slices, length = spread(each, ranks)
        taken = params.cycles(each.operation, length, slices)
        found[each.operation] += each.layers * each.vectors * slices * taken
    return found


def on_npu(
    shape: ModelShape,
    rows: int,
    context: int,
    *,
    npu: Npu,
    transfer_ps: Callable[[int], int],
) -> Task:
    """Return the operators of one step as trips of the PIM ranks to the NPU.

    Arguments as for `on_aau`; all rows of a step share its trips. The products themselves read
    their results out of the ranks and write inputs into them, so of what travels only scores and
    probabilities are counted here: with an AAU they would not leave the rank.

    Returns
    -------
    Task
        Phases `transfer` (there and back) and `nonlinear` (vector unit, and what a trip takes
        beside), which follow one another: nothing of a step can go on meanwhile.

    Raises
    ------
    ValueError
        `rows` is below 1 or `context` is negative.
    """
    sent, _ = crossing_bytes(shape, rows, context, ("nonlinear",))
    passes = step_passes(shape, rows, context)
    waiting_ps = trips(shape) * npu.round_trip_ns * 1000
    return Task(
        phases=(
            Phase(name="transfer", memory_ps=transfer_ps(2 * sent)),
            Phase(name="nonlinear", compute_ps=waiting_ps + vector_ps(npu, passes)),
        ),
        events=Events(vector_ops=passes, read_bytes=sent, write_bytes=sent),
    )


def crossing_bytes(
    shape: ModelShape, rows: int, context: int, on_npu: Collection[Group]
) -> tuple[int, int]:
    """Return what the operators of one step send between the ranks and the NPU, beside products.

    A product in the ranks has its inputs written there and its results read out in any case. Scores
    do not leave the ranks that attend, unless softmax runs on the NPU; and what AAUs work on comes
    from the NPU, or goes to it, where the product before or behind runs there.

    Parameters
    ----------
    shape, rows, context
        As for `on_aau`.
    on_npu
        Groups that run on the NPU.

    Returns
    -------
    written, read
        Bytes into the ranks and out of them.

    Raises
    ------
    ValueError
        `rows` is below 1 or `context` is negative.
    """
    written = read = 0
    for each in _step(shape, rows, context):
        size_bytes = each.elements * ELEMENT_BYTES
        if "nonlinear" not in on_npu:
            written += size_bytes if each.after in on_npu else 0
            read += size_bytes if each.before in on_npu else 0
        elif each.after == each.before == "attention" and "attention" not in on_npu:
            written += size_bytes
            read += size_bytes
    return written, read


def step_passes(shape: ModelShape, rows: int, context: int) -> int:
    """Return the elements that pass the vector unit in one step; arguments as for `on_aau`.

    Raises
    ------
    ValueError
        `rows` is below 1 or `context` is negative.
    """
    _check(rows, context)
    # Linear in the keys that are seen, so that all rows come from the first and the last.
    first, last = (
        sum(each.element_passes for each in operators(shape, context + row)) for row in (1, rows)
    )
    return rows * (first + last) // 2


def vector_ps(npu: Npu, element_passes: int) -> int:
    """Return the time of the NPU's vector unit, ps; it takes full lines of elements."""
    return -(-element_passes // npu.vector_elements_per_cycle) * npu.period_ps


def _step(shape: ModelShape, rows: int, context: int) -> Iterator[Operator]:
    _check(rows, context)
    for row in range(rows):
        yield from operators(shape, context + row + 1)


def _check(rows: int, context: int) -> None:
    if rows < 1:
        raise ValueError(f"rows = {rows} must be at least 1")
    if context < 0:
        raise ValueError(f"context = {context} must not be negative")
