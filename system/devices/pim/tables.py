# SPDX-License-Identifier: Apache-2.0
"""The tables of `docs/pim.md`, from the packaged platforms and shapes."""

from fractions import Fraction

from ahasd.system.devices.capacity import plan_ranks
from ahasd.system.devices.dram.timing import load_timing
from ahasd.system.devices.markdown import markdown_table
from ahasd.system.devices.pim.step import PimModel
from ahasd.system.model import load_model
from ahasd.system.platform import load_platform

PLATFORMS = ("mobile-paper", "mobile-jedec", "mobile-lpddr5x")
PAIRS = (("opt-1.3b", "opt-6.7b"), ("llama2-7b", "llama2-13b"), ("palm-8b", "palm-30b"))
CONTEXT = 1024
TOKENS = (1, 2, 4, 8, 16)


def _members(mask: int) -> list[int]:
    return [rank for rank in range(mask.bit_length()) if mask >> rank & 1]


def kernels_table() -> str:
    """Return the times of a draft step alone on its ranks, by kind of traffic."""
    rows = []
    for platform_name in PLATFORMS:
        platform = load_platform(platform_name)
        timing = load_timing(platform.dram)
        for draft, target in PAIRS:
            shape = load_model(draft)
            ranks = _members(plan_ranks(platform, shape, load_model(target), CONTEXT).dlm_mask)
            model = PimModel(platform, timing, shape, ranks)
            weights, attention = model.weights, model.attention(CONTEXT)
            streams = weights, attention, model.exchange
            pim = platform.pim
            ideal_s = Fraction(shape.read_bytes(CONTEXT, platform.kv_bytes), len(ranks)) / min(
                pim.rank_bandwidth_bytes_s, pim.rank_mac_s
            )
            taken_ps = sum(stream.time_ps for stream in streams)
            rows.append(
                (
                    platform_name,
                    draft,
                    weights.pace.limit,
                    attention.pace.limit,
                    str(len(ranks)),
                    str(weights.pace.cycles),
                    str(attention.pace.cycles),
                    *(f"{stream.time_ps / 1e9:.2f}" for stream in streams),
                    f"{float(ideal_s * 10**12 / taken_ps):.1%}",
                    str(sum(stream.simulated_commands for stream in streams)),
                    str(sum(stream.skipped_commands for stream in streams)),
                )
            )
    header = (
        "platform",
        "model",
        "limit: weights",
        "attention",
        "ranks",
        "cycles a MAC",
        "attention",
        "weights ms",
        "attention ms",
        "exchange ms",
        "of roofline",
        "simulated",
        "skipped",
    )
    return markdown_table(header, rows, text_columns=4)


def tokens_table() -> str:
    """Return the times of LLaMA2-13B's pass over several tokens on the ranks that hold it."""
    rows = []
    for platform_name in PLATFORMS:
        platform = load_platform(platform_name)
        timing = load_timing(platform.dram)
        target = load_model("llama2-13b")
        ranks = _members(plan_ranks(platform, load_model("llama2-7b"), target, CONTEXT).tlm_mask)
        times = []
        for tokens in TOKENS:
            model = PimModel(platform, timing, target, ranks, tokens=tokens)
            streams = model.weights, model.attention(CONTEXT), model.exchange
            times.append(f"{sum(stream.time_ps for stream in streams) / 1e9:.0f}")
        rows.append((platform_name, str(len(ranks)), *times))
    return markdown_table(("platform", "ranks", *(f"{each} ms" for each in TOKENS)), rows)


TABLES = {"pim-kernels": kernels_table, "pim-tokens": tokens_table}
"""Generator of each marked table in the page, by marker name."""
