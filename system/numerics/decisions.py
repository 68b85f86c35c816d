# SPDX-License-Identifier: Apache-2.0
"""Decisions that come out otherwise with other entropies and probabilities."""

from collections.abc import Callable
from dataclasses import dataclass

from ahasd.rtl.edc.params import EdcParams
from ahasd.system.drafting.base import Drafting
from ahasd.system.workload.playback import DraftTable
from ahasd.system.workload.replay import draft
from ahasd.system.workload.trace import Trace


@dataclass(frozen=True)
class Decisions:
    """What differs between two sources of the same numbers.

    Attributes
    ----------
    batches
        Batches looked at, one from every row of the trace.
    lengths_changed
        Share of batches that the rule ends elsewhere, 0..1.
    mean_length, mean_length_reference
        Tokens.
    bucket_flips
        Share of batches whose mean entropy falls into another bucket of the EDC, 0..1, by the
        preset of its boundaries. They are the reference's batches.
    """

    batches: int
    lengths_changed: float
    mean_length: float
    mean_length_reference: float
    bucket_flips: dict[str, float]

    @property
    def length_change(self) -> float:
        """Relative change of the mean length."""
        return self.mean_length / self.mean_length_reference - 1


def compare(
    reference: Trace, other: Trace, rule: Callable[[], Drafting], params: EdcParams | None = None
) -> Decisions:
    """Draft from every row of two traces that differ in their numbers alone.

    Parameters
    ----------
    reference, other
        The traces.
    rule
        Makes a fresh rule: what it has learnt elsewhere is no matter of arithmetic.
    params
        The EDC; the default configuration without it.

    Raises
    ------
    ValueError
        The traces have different drafts.
    """
    if (reference.tok != other.tok).any():
        raise ValueError(f"{reference.source} and {other.source} do not have the same drafts")
    edc = params or EdcParams()
    presets = {name: edc.boundaries(name) for name in ("linear10", "linear4", "sqrt4")}
    tables = DraftTable(reference), DraftTable(other)
    lengths: tuple[list[int], list[int]] = ([], [])
    flips = dict.fromkeys(presets, 0)
    for row in range(reference.rows):
        for table, found in zip(tables, lengths, strict=True):
            found.append(len(draft(table, row, rule())))
        count = lengths[0][-1]
        means = [
            edc.encode_entropy(
                sum(table.entry(row, step).entropy_nats for step in range(count)) / count
            )
            for table in tables
        ]
        for name, boundaries in presets.items():
            here, there = (sum(mean >= each for each in boundaries) for mean in means)
            flips[name] += here != there
    batches = reference.rows
    return Decisions(
        batches=batches,
        lengths_changed=sum(a != b for a, b in zip(*lengths, strict=True)) / batches,
        mean_length=sum(lengths[1]) / batches,
        mean_length_reference=sum(lengths[0]) / batches,
        bucket_flips={name: count / batches for name, count in flips.items()},
    )
