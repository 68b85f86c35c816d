# SPDX-License-Identifier: Apache-2.0
"""The tables of `docs/platforms.md`, computed from the packaged platforms and models."""

from ahasd.system.devices.analytic import AnalyticDevices
from ahasd.system.devices.capacity import rank_map
from ahasd.system.devices.dram.timing import load_timing
from ahasd.system.devices.markdown import markdown_table
from ahasd.system.devices.report.rates import npu_rates, pim_rates
from ahasd.system.model import load_model
from ahasd.system.platform import load_platform

PLATFORM = "mobile-paper"
PLATFORMS = (PLATFORM, "mobile-jedec", "mobile-lpddr5x")
CONTEXT_TOKENS = 1024
PAIRS = (("opt-1.3b", "opt-6.7b"), ("llama2-7b", "llama2-13b"), ("palm-8b", "palm-30b"))

# PaLM-62B does not fit on the platform; its time is what a larger memory would give.
TARGETS = ("opt-6.7b", "llama2-13b", "palm-62b")

# Every rank drafts at its own full bandwidth and the cache is INT8: the upper bound.
ROOFLINE = {
    "pim.bandwidth_scope": "per_rank",
    "pim.efficiency": 1.0,
    "dlm_ranks": "all",
    "kv_bytes": 1,
}

DRAFT_RATES = {
    'gops_counts = "op"': {},
    'gops_counts = "mac"': {"pim.gops_counts": "mac"},
    "gops = 512": {"pim.gops": 512.0},
}

NPU_PATHS = {
    'A: offchip_scope = "total"': {},
    "A2: the same, 64 GB/s": {"npu.offchip_bandwidth_gb_s": 64.0},
    'C: offchip_scope = "per_channel"': {"npu.offchip_scope": "per_channel"},
    'B: offchip_scope = "per_rank"': {"npu.offchip_scope": "per_rank"},
    "B2: the same, ideal_array": {"npu.offchip_scope": "per_rank", "npu.ideal_array": True},
}


def draft_rate_table() -> str:
    """Return the time of a draft step under three readings of the PIM rate, roofline options."""
    rows = []
    for reading, switches in DRAFT_RATES.items():
        platform = load_platform(PLATFORM, ROOFLINE | switches)
        times = []
        for draft, target in PAIRS:
            devices = AnalyticDevices(
                platform, load_model(draft), load_model(target), platform.pim.ranks
            )
            times.append(f"{devices.draft_step_ps(CONTEXT_TOKENS) / 1e9:.2f}")
        rate = float(platform.pim.rank_stream_bytes_s) / 1e9
        rows.append((reading, f"{rate:.1f}", *times))
    header = ("reading", "GB/s per rank", *(f"{draft} ms" for draft, _ in PAIRS))
    return markdown_table(header, rows)


def npu_path_table() -> str:
    """Return the time of a one-row pass over five paths to the memory, roofline options."""
    rows = []
    for reading, switches in NPU_PATHS.items():
        platform = load_platform(PLATFORM, ROOFLINE | switches)
        devices = [
            AnalyticDevices(platform, load_model(PAIRS[0][0]), load_model(target), 1)
            for target in TARGETS
        ]
        # One cell for all targets: the table is only right while they agree.
        (limit,) = {each.pass_limit(1, CONTEXT_TOKENS) for each in devices}
        times = (f"{each.pass_ps(1, CONTEXT_TOKENS) / 1e9:.1f}" for each in devices)
        rows.append((reading, *times, limit))
    return markdown_table(("NPU path", *(f"{target} ms" for target in TARGETS), "limit"), rows)


def default_times_table() -> str:
    """Return both times for every pair on the platform as it is packaged."""
    platform = load_platform(PLATFORM)
    rows = []
    for names in PAIRS:
        draft, target = (load_model(name) for name in names)
        placed = rank_map(platform, draft, target, CONTEXT_TOKENS)
        devices = AnalyticDevices(platform, draft, target, placed.draft_ranks)
        draft_ps = devices.draft_step_ps(CONTEXT_TOKENS)
        pass_ps = devices.pass_ps(1, CONTEXT_TOKENS)
        rows.append(
            (
                " + ".join(names),
                str(placed.draft.ranks),
                str(placed.target.ranks),
                f"{draft_ps / 1e9:.2f}",
                devices.draft_limit(),
                f"{pass_ps / 1e9:.1f}",
                devices.pass_limit(1, CONTEXT_TOKENS),
                f"{draft_ps / pass_ps:.3f}",
            )
        )
    header = (
        "pair",
        "draft ranks",
        "target ranks",
        "t_draft ms",
        "draft limit",
        "t_pass ms",
        "pass limit",
        "t_draft / t_pass",
    )
    return markdown_table(header, rows)


def platform_rates_table() -> str:
    """Return what each platform's file says of its rates, and what its memory's commands give."""
    rows = []
    for name in PLATFORMS:
        platform = load_platform(name)
        timing = load_timing(platform.dram)
        pim, npu = pim_rates(platform, timing), npu_rates(platform, timing)
        # What all channels bring together; a rank is told by itself, as units do not share.
        for path, times in ((pim, 1), (npu, npu.count)):
            units = min(path.units.values())
            rates = (path.commands, path.printed, units, path.streamed, path.derated)
            told = (f"{float(rate * times) / 1e9:.1f}" for rate in rates)
            binds = path.binds if path.binds in ("commands", "file") else "unit"
            rows.append((name, platform.dram, path.path, binds, *told))
    header = (
        "platform",
        "memory",
        "path",
        "binds",
        "commands",
        "file",
        "unit",
        "commands in a long stream",
        "file, derated",
    )
    return markdown_table(header, rows, text_columns=4)


TABLES = {
    "draft-rates": draft_rate_table,
    "npu-paths": npu_path_table,
    "default-times": default_times_table,
    "platform-rates": platform_rates_table,
}
"""Generator of each marked table in the page, by marker name."""
