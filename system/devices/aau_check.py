# SPDX-License-Identifier: Apache-2.0
"""Operators of a run on the AAU itself, to see that they take the cycles that the model counts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ahasd.rtl.aau.encodings import Command, Op, State, constant_code
from ahasd.rtl.aau.golden import AauGolden
from ahasd.rtl.aau.params import OPS, Operation
from ahasd.rtl.aau.primitives.integers import Ints
from ahasd.rtl.aau.rows import Beat
from ahasd.sim.aau import AttentionUnit
from ahasd.system.devices.nonlinear import operators, spread
from ahasd.system.model import ModelShape

LOG2_E = float(np.log2(np.e))


@dataclass(frozen=True)
class Sampled:
    """A command that was run.

    Attributes
    ----------
    model
        Whose operator it is.
    operation, length, parts
        What it does, with how many elements in one rank, and how many ranks share the vector.
    cycles
        That the unit took.
    """

    model: str
    operation: Operation
    length: int
    parts: int
    cycles: int


class ContractError(AssertionError):
    """The RTL of the AAU does not do what the model counts on: a fault of ours."""


def command(operation: Operation, whole: int, length: int) -> Command:
    """Return the command of an operator on FP16 elements.

    Parameters
    ----------
    operation
        What is done.
    whole, length
        Elements of the vector, and of the part of it that this AAU has.
    """
    constants = {
        Op.SOFTMAX: (LOG2_E, 0.0, 0.0),
        Op.STATISTICS: (LOG2_E, 0.0, 0.0),
        Op.LAYERNORM: (-1 / whole, 1e-5, 1.0),
        Op.RMSNORM: (1 / whole, 1e-5, 1.0),
        Op.ADD: (1.0, 0.0, 0.0),
        Op.RELU: (1.0, 0.0, 0.0),
        Op.ROPE: (0.0, 0.0, 0.0),
        Op.SWIGLU: (LOG2_E, 1.0, 0.0),
        Op.TOP: (0.0, 0.0, 0.0),
        Op.GELU: (0.044715 * 2 * (2 / np.pi) ** 0.5 * LOG2_E, 1.0, 2 * (2 / np.pi) ** 0.5 * LOG2_E),
    }
    op = OPS[operation]
    k0, k1, k2 = (constant_code(float(value)) for value in constants[op])
    return Command(op=op, length=length, k0=k0, k1=k1, k2=k2)


def check(
    unit: AttentionUnit,
    shapes: Mapping[str, ModelShape],
    context: int,
    ranks: Mapping[str, int],
    seed: int,
) -> list[Sampled]:
    """Run every operator of every model once, on a drawn row.

    Where ranks share a vector, all have the same part of it.

    Parameters
    ----------
    unit
        The AAU.
    shapes
        Models by name.
    context
        Tokens in the cache.
    ranks
        Ranks of each model.
    seed
        Of the rows.

    Raises
    ------
    ContractError
        A command takes other cycles than the model counts, or gives other results than the golden
        model.
    """
    rng = np.random.default_rng(seed)
    found: dict[tuple[str, Operation, int, int], Sampled] = {}
    for name, shape in shapes.items():
        for each in operators(shape, context + 1):
            parts, length = spread(each, ranks[name])
            key = name, each.operation, length, parts
            if key not in found:
                row = _row(rng, each.operation, length)
                found[key] = Sampled(*key, _sample(unit, each.operation, row, parts))
    return list(found.values())


def _sample(unit: AttentionUnit, operation: Operation, row: Beat, parts: int) -> int:
    """Return the cycles of an operator on a part of a vector."""
    golden, length = AauGolden(unit.params), len(row.x)
    asked = command(operation, length * parts if parts > 1 else length, length)
    commands: list[tuple[Command, tuple[State, ...]]] = [(asked, ())]
    if parts > 1 and OPS[operation] in unit.params.passes:
        exported = replace(asked, exports=1)
        states = golden.run(exported, row).exported * parts
        merged = replace(asked, imports=len(states), reduces=0)
        commands = [(exported, ()), (merged, states)]
    cycles = 0
    for each, states in commands:
        run, expected = unit.run(each, row, states), golden.run(each, row, states)
        told = run.summaries == expected.summaries and run.exported == expected.exported
        if not told or run.results != expected.results.tolist():
            raise ContractError(f"the AAU gave other results than its golden model for {each}")
        cycles += run.cycles
    counted = unit.params.cycles(operation, length, parts)
    if cycles != counted:
        raise ContractError(
            f"the AAU took {cycles} cycles for {operation.value} of {length} elements, one of"
            f" {parts} parts; the model counts {counted}"
        )
    return cycles


def _row(rng: np.random.Generator, operation: Operation, length: int) -> Beat:
    def half(deviation: float) -> Ints:
        drawn = rng.normal(0, deviation, length).astype(np.float16)
        return drawn.view(np.uint16).astype(np.int64)

    x = half(3)
    if operation is Operation.ROPE:
        x = x | half(3) << 16
    return Beat(x, half(1), half(1))
