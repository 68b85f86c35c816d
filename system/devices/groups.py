# SPDX-License-Identifier: Apache-2.0
"""Groups of a model's operators, as a mapping deals them out to NPU and PIM."""

from collections.abc import Collection
from itertools import groupby
from typing import Literal, get_args

from ahasd.system.model import ModelShape

Group = Literal["qkv", "attention", "projection", "ffn", "head", "nonlinear"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""Projections to queries, keys and values; scores and mix; output projection; feed-forward block;
output layer; operators between the products."""
MATRICES: tuple[Group, ...] = ("qkv", "projection", "ffn", "head")
"""Groups that read weights."""


def weight_bytes(shape: ModelShape, groups: Collection[Group]) -> int:
    """Return the weight bytes that groups stream in a pass; all of them `shape.bytes_per_pass`."""
    width = shape.d_model
    of_layer = {
        "qkv": (shape.heads + 2 * shape.kv_heads) * shape.head_dim,
        "projection": shape.heads * shape.head_dim,
        "ffn": shape.ffn_matrices * shape.ffn_dim,
    }
    body = shape.layers * width * sum(of_layer[each] for each in groups if each in of_layer)
    return body + (shape.vocab * width if "head" in groups else 0)


def runs_on_npu(
    shape: ModelShape, on_npu: Collection[Group], *, has_nonlinear: bool = True
) -> tuple[int, int]:
    """Return how often a pass goes from the PIM to the NPU and back.

    Parameters
    ----------
    shape
        The model.
    on_npu
        Groups that run there.
    has_nonlinear
        False where the operators between the products are left out.

    Returns
    -------
    runs, with_weights
        Stretches on the NPU, and those of them that read weights. A pass that never leaves the NPU
        is one stretch.
    """
    between: tuple[Group, ...] = () if shape.parallel_block else ("nonlinear",)
    attention: tuple[Group, ...] = ("nonlinear", "qkv", "attention", "nonlinear", "attention")
    feed_forward: tuple[Group, ...] = ("projection", *between, "ffn", "nonlinear", "ffn")
    tail: tuple[Group, ...] = ("nonlinear", "head", "nonlinear")
    steps = (attention + feed_forward) * shape.layers + tail
    told = (each for each in steps if has_nonlinear or each != "nonlinear")
    stretches = [
        any(each in MATRICES for each in stretch)
        for here, stretch in groupby(told, key=lambda each: each in on_npu)
        if here
    ]
    return len(stretches), sum(stretches)
