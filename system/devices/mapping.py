# SPDX-License-Identifier: Apache-2.0
"""Operators of both models dealt out to NPU and PIM by a search: the SpecPIM-like baseline.

SpecPIM (ASPLOS 2024, doi 10.1145/3620666.3651352) searches offline, for one draft length, which
device runs which operator of the draft model and of the target. So does this, over groups of
operators, all placements of them: the two models take turns, so the best of each is the best of
both. Every rank holds a share of every weight, and the NPU reads the same copy through the
channels. What is not like SpecPIM: no search of architectures, no splitting of one operator over
both devices, and nothing of the two devices overlaps.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any

from ahasd.system.devices.analytic import AnalyticDevices
from ahasd.system.devices.command import CommandDevices
from ahasd.system.devices.groups import GROUPS, Group
from ahasd.system.devices.interface import Model
from ahasd.system.devices.work import Task, joined

Held = CommandDevices | AnalyticDevices
Placement = frozenset[Group]
"""Groups of a model that run on the NPU; the others run in the ranks."""


@dataclass(frozen=True, kw_only=True)
class Mapping:
    """A placement of the operators of both models.

    Parameters
    ----------
    draft, target
        Placement of each model.
    groups
        Groups that run at all.
    """

    draft: Placement
    target: Placement
    groups: tuple[Group, ...] = GROUPS

    def told(self) -> dict[str, dict[str, list[str]]]:
        """Return it JSON-ready: groups by model and device."""
        return {
            name: {
                "npu": [each for each in self.groups if each in on_npu],
                "pim": [each for each in self.groups if each not in on_npu],
            }
            for name, on_npu in (("draft", self.draft), ("target", self.target))
        }


def mapping_lines(metrics: dict[str, Any]) -> list[str]:
    """Return a line a model on where its operators run, of a run's metrics; none without a search.

    Every rank holds both models.
    """
    return [
        f"{model}: {', '.join(places['npu']) or 'nothing'} on the NPU,"
        f" {', '.join(places['pim']) or 'nothing'} in all ranks"
        for model, places in metrics.get("mapping", {}).items()
    ]


class MappedDevices:
    """Draft steps and passes spread over both devices, one operator after another.

    See `ahasd.system.devices.interface.Devices`.

    Parameters
    ----------
    held
        The devices, both models over all ranks.
    mapping
        What runs where.
    """

    def __init__(self, held: Held, mapping: Mapping) -> None:
        self.target_shape = held.target_shape
        self.mapping = mapping
        self._held = held
        self.draft = cache(self._draft)
        self.verify = cache(self._verify)

    @property
    def origin(self) -> object:
        """Who counts the simulated commands."""
        return self._held.origin

    @property
    def simulated_commands(self) -> int:
        """Memory commands that an engine was given so far."""
        return self._held.simulated_commands

    def _draft(self, context: int) -> Task:
        return mapped(self._held, "draft", self.mapping.draft, 1, context)

    def _verify(self, rows: int, context: int) -> Task:
        return mapped(self._held, "target", self.mapping.target, rows, context)

    def preverify(self, rows: int, context: int) -> Task:
        """Raise `ValueError`: operators that take turns leave no time to verify before."""
        raise ValueError(f"no pre-verification of {rows} rows: the devices take turns")

    def prefill(self, rows: int, *, drafts: bool) -> Task:
        """Return a prompt's way through the models, on the NPU."""
        return self._held.prefill(rows, drafts=drafts)

    def round_ps(self, draft_tokens: int, context: int) -> int:
        """Return the time of a round that drafts so many tokens and verifies them, ps.

        Parameters
        ----------
        draft_tokens
            At least 1.
        context
            Tokens in the cache when it begins.
        """
        drafted = sum(self.draft(context + i).alone_ps for i in range(draft_tokens))
        return drafted + self.verify(draft_tokens + 1, context).alone_ps


def mapped(held: Held, which: Model, on_npu: Placement, rows: int, context: int) -> Task:
    """Return a step of a model under a placement.

    On one device alone it is that device's own task, without a seam between the groups.

    Parameters
    ----------
    held
        The devices.
    which
        The model.
    on_npu
        Placement of its groups.
    rows, context
        As for `CommandDevices.preverify`; a draft step has one row.
    """
    in_ranks, _ = held.nonlinear_places
    in_pim = [each for each in groups_of(held) if each not in on_npu]
    if not in_pim:
        shape = held.draft_shape if which == "draft" else held.target_shape
        task = held.pass_of(shape, rows, context)
        return replace(task, npu_events=task.events)
    if not on_npu or (on_npu == {"nonlinear"} and not in_ranks):
        return held.draft(context) if which == "draft" else held.preverify(rows, context)
    parts = [held.pim_group(which, each, rows, context) for each in in_pim]
    elsewhere = held.npu_groups(which, on_npu, rows, context)
    return replace(joined((*parts, elsewhere)), npu_events=elsewhere.events)


def groups_of(held: Held) -> tuple[Group, ...]:
    """Return the groups that run at all: all, unless what lies between products is left out."""
    return GROUPS if any(held.nonlinear_places) else GROUPS[:-1]


def placements(held: Held) -> Iterator[Placement]:
    """Yield every placement that the devices allow, the PIM alone first.

    Operators between the products are on the NPU where the ranks have no AAU; where they are left
    out, they are no choice.
    """
    in_ranks, on_npu = held.nonlinear_places
    free: list[Group] = [each for each in GROUPS if each != "nonlinear" or in_ranks]
    forced: Placement = frozenset({"nonlinear"} if on_npu and not in_ranks else ())
    for count in range(len(free) + 1):
        for chosen in combinations(free, count):
            yield forced | frozenset(chosen)


def search(held: Held, draft_tokens: int, context: int) -> MappedDevices:
    """Return the devices under the mapping whose round takes least time.

    All placements of either model are tried; of equal ones the first of `placements` is taken.

    Parameters
    ----------
    held
        The devices.
    draft_tokens
        Drafted tokens of the round, at least 1: the target's pass has one row more.
    context
        Tokens in the cache.
    """

    def fastest(which: Model, rows: int) -> Placement:
        return min(
            placements(held),
            key=lambda on_npu: mapped(held, which, on_npu, rows, context).alone_ps,
        )

    found = Mapping(
        draft=fastest("draft", 1),
        target=fastest("target", draft_tokens + 1),
        groups=groups_of(held),
    )
    return MappedDevices(held, found)
