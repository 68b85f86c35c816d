# SPDX-License-Identifier: Apache-2.0
"""Everything that is told of a platform with a pair of models on it."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ahasd import UserError
from ahasd.system.devices.capacity import RankMap
from ahasd.system.devices.command import CommandDevices
from ahasd.system.devices.dram.controller_tables import Bandwidth, bandwidth_table
from ahasd.system.devices.dram.engine import RefreshOverdueError
from ahasd.system.devices.report.products import Product, model_products, square_products
from ahasd.system.devices.report.rates import PathRates, npu_rates, pim_rates
from ahasd.system.devices.report.roofline import (
    Point,
    Roof,
    npu_point,
    npu_roof,
    pim_point,
    pim_roof,
)
from ahasd.system.devices.report.tasks import (
    Beside,
    PhaseTime,
    beside,
    npu_phases,
    pim_phases,
)

PASS_ROWS = (1, 2, 4, 8, 16)
PREVERIFY_ROWS = (1, 2, 4, 8)
PROMPT_TOKENS = 128

STAGES = ("rates", "tasks", "side by side", "products", "access patterns")
"""What is worked out, in this order."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a platform means.

    Parameters
    ----------
    platform, dram, draft, target
        Names of the platform, its memory and the models.
    context
        Tokens in the cache.
    rates, roofs, points, phases, besides, products, accesses
        The figures; `besides` is empty where NPU and PIM are not to delay each other.
    """

    platform: str
    dram: str
    draft: str
    target: str
    context: int
    rates: tuple[PathRates, ...]
    roofs: tuple[Roof, ...]
    points: tuple[Point, ...]
    phases: tuple[PhaseTime, ...]
    besides: tuple[Beside, ...]
    products: tuple[Product, ...]
    accesses: tuple[Bandwidth, ...]

    def document(self) -> dict[str, Any]:
        """Return the report as JSON has it; rates that follow from others are there, too."""
        rates = [
            {
                "path": each.path,
                "each": each.each,
                "count": each.count,
                "binds": each.binds,
                "limits_bytes_s": {name: float(rate) for name, rate in each.limits.items()},
                "streamed_bytes_s": float(each.streamed),
                "attained_bytes_s": float(each.attained),
                "derated_bytes_s": float(each.derated),
            }
            for each in self.rates
        ]
        return {
            "platform": self.platform,
            "dram": self.dram,
            "draft": self.draft,
            "target": self.target,
            "context_tokens": self.context,
            "rates": rates,
            "roofs": [asdict(each) | {"ridge": each.ridge} for each in self.roofs],
            "points": [asdict(each) | {"share": each.share} for each in self.points],
            "phases": [asdict(each) for each in self.phases],
            "beside": [asdict(each) for each in self.besides],
            "products": [asdict(each) for each in self.products],
            "accesses": [asdict(each) for each in self.accesses],
        }


def build(
    devices: CommandDevices,
    ranks: RankMap,
    context: int,
    *,
    contention: bool = True,
    progress: Callable[[int, str], None] = lambda done, stage: None,
) -> Report:
    """Work a report out.

    Parameters
    ----------
    devices, ranks
        Platform and models, and where these lie.
    context
        Tokens in the cache, at least 1.
    contention
        Whether NPU and PIM delay each other.
    progress
        Called with the number of stages that are over and the name of the next.

    Raises
    ------
    UserError
        A PIM unit is too slow for a memory that must be refreshed, or holds no query of a model.
    """
    platform = devices.platform
    held_bytes = platform.pim.input_buffer_bytes
    for shape in (devices.draft_shape, devices.target_shape):
        query_bytes = shape.head_dim * platform.kv_bytes
        if query_bytes > held_bytes:
            raise UserError(
                f"a query of {shape.name} has {query_bytes} bytes, a PIM unit holds"
                f" platform.pim.input_buffer_bytes = {held_bytes}: choose at least as many"
            )
    try:
        return _built(devices, ranks, context, contention, progress)
    except RefreshOverdueError as error:
        pim = devices.platform.pim
        raise UserError(
            f"a PIM unit of {devices.platform.name} is so slow that its row stays open beyond the"
            f" refresh ({error}): choose more than platform.pim.gops = {pim.gops} or"
            f" platform.pim.bandwidth_gb_s = {pim.bandwidth_gb_s}"
        ) from error


def _built(
    devices: CommandDevices,
    ranks: RankMap,
    context: int,
    contention: bool,
    progress: Callable[[int, str], None],
) -> Report:
    stages = iter(enumerate(STAGES))

    def begin() -> None:
        progress(*next(stages))

    platform, timing = devices.platform, devices.timing
    draft, target = devices.draft_shape, devices.target_shape
    begin()
    pim, npu = pim_rates(platform, timing), npu_rates(platform, timing)
    begin()
    step = devices.draft(context)
    passes = {f"pass, {_rows(rows)}": devices.verify(rows, context) for rows in PASS_ROWS}
    passes[f"prefill, {_rows(PROMPT_TOKENS)}"] = devices.prefill(PROMPT_TOKENS, drafts=False)
    previews = {rows: devices.preverify(rows, context) for rows in PREVERIFY_ROWS}
    roofs = npu_roof(platform, npu), pim_roof(platform, pim)

    def points() -> Iterator[Point]:
        for name, task in passes.items():
            yield npu_point(roofs[0], name, task)
        yield pim_point(roofs[1], "draft step", step, ranks.draft_ranks)
        for rows, task in previews.items():
            yield pim_point(roofs[1], _preview(rows), task, ranks.target.ranks)

    def phases() -> Iterator[PhaseTime]:
        yield from pim_phases(devices, "draft step", step, draft, 1, context)
        for rows, task in previews.items():
            yield from pim_phases(devices, _preview(rows), task, target, rows, context)
        for name, task in passes.items():
            yield from npu_phases(name, task)

    found_points, found_phases = tuple(points()), tuple(phases())
    begin()
    besides: list[Beside] = []
    if contention:
        one = devices.verify(1, context)
        besides += beside(devices, "draft step", step, one)
        besides += beside(devices, _preview(1), previews[1], one)
    begin()
    everywhere = tuple(range(platform.pim.ranks))
    drafting = ranks.draft.members if platform.dlm_ranks == "map" else everywhere
    products = [
        *square_products(platform, timing),
        *model_products(platform, timing, draft, drafting),
        *model_products(platform, timing, target, ranks.target.members),
    ]
    begin()
    found_accesses = tuple(bandwidth_table(timing))
    progress(len(STAGES), "done")
    return Report(
        platform=platform.name,
        dram=timing.name,
        draft=draft.name,
        target=target.name,
        context=context,
        rates=(pim, npu),
        roofs=roofs,
        points=found_points,
        phases=found_phases,
        besides=tuple(besides),
        products=tuple(products),
        accesses=found_accesses,
    )


def _rows(rows: int) -> str:
    return f"{rows} {'row' if rows == 1 else 'rows'}"


def _preview(rows: int) -> str:
    return f"pre-verification, {_rows(rows)}"
