# SPDX-License-Identifier: Apache-2.0
"""The tables of `docs/npu.md` on the AAU: its share of a draft step, and what lanes bring."""

from ahasd.rtl.aau.params import AauParams
from ahasd.system.devices.capacity import rank_map
from ahasd.system.devices.command import CommandDevices
from ahasd.system.devices.markdown import markdown_table
from ahasd.system.devices.nonlinear import on_aau, trips
from ahasd.system.devices.tables import CONTEXT_TOKENS, PAIRS, PLATFORM
from ahasd.system.model import load_model
from ahasd.system.platform import load_platform

LANES = (1, 2, 4, 8, 16, 32)
SCOPES = ("total", "per_rank")
PUBLISHED_STEP = 2.7 / 2.2
"""Speed with the AAU over that without, in AHASD's ablation (arXiv 2604.25326, Fig. 8)."""


def share_table() -> str:
    """Return what the operators add to a draft step, on AAUs and as trips to the NPU."""
    rows = []
    for scope in SCOPES:
        platform = load_platform(PLATFORM, {"pim.bandwidth_scope": scope})
        for names in PAIRS:
            draft, target = (load_model(name) for name in names)
            ranks = rank_map(platform, draft, target, CONTEXT_TOKENS)
            on_aaus = CommandDevices(platform, draft, target, ranks, unit="aau")
            with_ps, trips_ps, without_ps = (
                on_aaus.with_unit(unit).draft(CONTEXT_TOKENS - 1).alone_ps
                for unit in ("aau", "npu", "none")
            )
            count = trips(draft)
            known_ps = count * platform.npu.round_trip_ns * 1000
            needed_ps = PUBLISHED_STEP * with_ps - (trips_ps - known_ps)
            rows.append(
                (
                    f"`{scope}`",
                    names[0],
                    f"{without_ps / 1e9:.2f}",
                    f"{(with_ps - without_ps) / 1e6:.0f}",
                    f"{with_ps / without_ps - 1:.2%}",
                    f"{count}",
                    f"{(trips_ps - without_ps) / 1e6:.0f}",
                    f"{trips_ps / without_ps - 1:.2%}",
                    f"{needed_ps / count / 1e6:.0f}",
                )
            )
    header = (
        "bandwidth_scope",
        "draft model",
        "products, ms",
        "AAU, us",
        "AAU, share",
        "trips",
        "trips, us",
        "trips, share",
        "needed, us a trip",
    )
    return markdown_table(header, rows, text_columns=2)


def lanes_us(lanes: int) -> list[float]:
    """Return the time of a token's operators on AAUs of so many lanes, us, by draft model."""
    platform = load_platform(PLATFORM, {})
    times = []
    for names in PAIRS:
        draft, target = (load_model(name) for name in names)
        ranks = rank_map(platform, draft, target, CONTEXT_TOKENS)
        task = on_aau(
            draft,
            1,
            CONTEXT_TOKENS - 1,
            params=AauParams(lanes=lanes),
            ranks=ranks.draft_ranks,
            period_ps=platform.pim.period_ps,
            transfer_ps=lambda size: 0,
        )
        times.append(task.alone_ps / 1e6)
    return times


TABLES = {"aau-share": share_table}
