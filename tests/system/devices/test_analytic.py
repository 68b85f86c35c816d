# SPDX-License-Identifier: Apache-2.0
"""Roofline times against tables worked out by hand from the printed figures."""

import pytest

from ahasd.system.devices.analytic import AnalyticDevices
from ahasd.system.devices.capacity import rank_map
from ahasd.system.model import ModelShape, load_model
from ahasd.system.platform import load_platform

CONTEXT = 1024

# What the tables assume: every rank drafts at its own full bandwidth, INT8 keys and values.
ROOFLINE = {
    "pim.bandwidth_scope": "per_rank",
    "pim.efficiency": "1.0",
    "dlm_ranks": "all",
    "kv_bytes": "1",
}

PAIRS = [("opt-1.3b", "opt-6.7b"), ("llama2-7b", "llama2-13b"), ("palm-8b", "palm-30b")]

DRAFT_MS = [
    ({}, "compute", ["1.72", "8.39", "10.56"]),  # 102.4 GOPS as printed: 51.2 GB/s a rank
    ({"pim.gops_counts": "mac"}, "compute", ["0.86", "4.20", "5.28"]),  # 102.4 GB/s
    ({"pim.gops": "512"}, "dram", ["0.34", "1.68", "2.11"]),  # 256 GB/s, as the banks
]

TARGETS = ["opt-6.7b", "llama2-13b", "palm-62b"]
PASS_MS = [
    ("A", {}, "dram", ["150", "288", "1357"]),
    ("A2", {"npu.offchip_bandwidth_gb_s": "64"}, "dram", ["120", "230", "1086"]),
    ("C", {"npu.offchip_scope": "per_channel"}, "dram", ["37.5", "72", "339"]),
    ("B", {"npu.offchip_scope": "per_rank"}, "weight_load", ["26.0", "50.2", "244"]),
    (
        "B2",
        {"npu.offchip_scope": "per_rank", "npu.ideal_array": "true"},
        "dram",
        ["9.4", "18.0", "84.8"],
    ),
]


def devices(overrides, draft="opt-1.3b", target="opt-6.7b", dlm_ranks=16) -> AnalyticDevices:
    platform = load_platform("mobile-paper", overrides)
    return AnalyticDevices(platform, load_model(draft), load_model(target), dlm_ranks)


def shape(**changes) -> ModelShape:
    return load_model("tiny-draft", changes)


def printed(milliseconds: float, like: str) -> str:
    """Round to as many decimals as the table prints."""
    return f"{milliseconds:.{len(like.partition('.')[2])}f}"


@pytest.mark.parametrize("pair", range(3), ids=["opt", "llama2", "palm"])
@pytest.mark.parametrize(("reading", "limit", "row"), DRAFT_MS, ids=["op", "mac", "banks"])
def test_draft_latency_is_the_published_one(reading, limit, row, pair):
    platform = load_platform("mobile-paper", ROOFLINE | reading)
    draft, target = (load_model(name) for name in PAIRS[pair])
    placed = rank_map(platform, draft, target, CONTEXT)
    assert placed.draft_ranks == 16
    built = AnalyticDevices(platform, draft, target, placed.draft_ranks)
    assert printed(built.draft_step_ps(CONTEXT) / 1e9, row[pair]) == row[pair]
    assert built.draft_limit() == limit


@pytest.mark.parametrize("target", range(3), ids=TARGETS)
@pytest.mark.parametrize(("case", "path", "limit", "row"), PASS_MS, ids=[c[0] for c in PASS_MS])
def test_pass_latency_is_the_published_one(case, path, limit, row, target):
    built = devices(ROOFLINE | path, target=TARGETS[target])
    assert printed(built.pass_ps(1, CONTEXT) / 1e9, row[target]) == row[target]
    assert built.pass_limit(1, CONTEXT) == limit


@pytest.mark.parametrize(
    ("draft", "target", "draft_ms", "pass_ms"),
    [
        # 12, 12 and 8 ranks of 16 GB/s; 51.2 GB/s; both at 90 %; FP16 keys and values.
        ("opt-1.3b", "opt-6.7b", "8.75", "155.9"),
        ("llama2-7b", "llama2-13b", "41.34", "297.1"),
        ("palm-8b", "palm-30b", "75.22", "660.6"),
    ],
)
def test_times_on_the_packaged_platform(draft, target, draft_ms, pass_ms):
    platform = load_platform("mobile-paper")
    shapes = load_model(draft), load_model(target)
    built = AnalyticDevices(platform, *shapes, rank_map(platform, *shapes, CONTEXT).draft_ranks)
    assert printed(built.draft_step_ps(CONTEXT) / 1e9, draft_ms) == draft_ms
    assert printed(built.pass_ps(1, CONTEXT) / 1e9, pass_ms) == pass_ms


@pytest.mark.parametrize("path", [path for _, path, _, _ in PASS_MS[:4]])
def test_a_pass_costs_the_same_up_to_32_rows_on_every_real_path(path):
    built = devices(ROOFLINE | path)
    assert built.pass_ps(32, CONTEXT) == built.pass_ps(1, CONTEXT)


def test_an_ideal_array_becomes_compute_bound_in_the_rows_where_both_terms_meet():
    built = devices(ROOFLINE | PASS_MS[4][1])
    # 6916.8 MB at 737.28 GB/s against 6648.4 M x rows at 32.768 T MAC/s: equal at 46.2 rows.
    assert built.pass_limit(46, CONTEXT) == "dram"
    assert built.pass_limit(47, CONTEXT) == "compute"
    assert built.pass_ps(47, CONTEXT) == built.pass_terms_ps(47, CONTEXT)["compute"]


def test_times_of_a_shape_worked_by_hand():
    platform = load_platform(
        "mobile-paper",
        {
            "kv_bytes": 1,
            "pim.bandwidth_gb_s": 0.016,  # 1e6 bytes a second and rank
            "pim.efficiency": 0.5,
            "npu.offchip_bandwidth_gb_s": 0.001,
            "npu.offchip_efficiency": 0.5,
            "npu.arrays": 3,
            "npu.array_rows": 2,
            "npu.array_columns": 5,
            "npu.weight_load_bytes_per_cycle": 4,
            "npu.clock_mhz": 1,
        },
    )
    small = shape(layers=1, d_model=1, heads=1, head_dim=1, kv_heads=1, ffn_dim=1, vocab=93)
    assert small.bytes_per_pass == 100
    built = AnalyticDevices(platform, small, small, 2)
    assert built.draft_step_ps(0) == 100 * 10**6  # 100 bytes at 2 x 0.5 MB/s
    assert built.draft_step_ps(10) == 120 * 10**6  # and 2 bytes a token
    assert built.pass_terms_ps(7, 10) == {
        "dram": 240 * 10**6,  # 120 bytes at 0.5 MB/s
        "compute": -(-700 * 10**6 // 30),  # 30 cells at 1 MHz
        "weight_load": -(-100 * 10**6 // 12),  # 3 arrays x 4 bytes at 1 MHz
    }


def test_times_are_whole_picoseconds_rounded_up():
    built = devices(ROOFLINE)
    step = built.draft_step_ps(CONTEXT)
    assert type(step) is int
    # 1411580 kB at 819.2 GB/s leave a fraction of a picosecond.
    exact = (1_310_916_608 + 98_304 * 1024) * 10**12 / (16 * 51.2e9)
    assert exact <= step < exact + 1
    assert type(built.pass_ps(1, CONTEXT)) is int
    odd = devices({"pim.bandwidth_gb_s": "48"}, "tiny-draft", "tiny-target", 1)
    # 557056 bytes at 2.7 GB/s are 206 317 037.04 ps.
    assert odd.draft_step_ps(0) == 206_317_038


def test_drafting_scales_with_the_ranks_given():
    quarter = devices({}, dlm_ranks=4).draft_step_ps(CONTEXT)
    assert devices({}, dlm_ranks=16).draft_step_ps(CONTEXT) == pytest.approx(quarter / 4, abs=1)


def test_fp16_keys_and_values_double_only_the_cache_traffic():
    def cache_ps(kv_bytes):
        built = devices({"kv_bytes": kv_bytes})
        return built.draft_step_ps(CONTEXT) - built.draft_step_ps(0)

    assert cache_ps("2") == pytest.approx(2 * cache_ps("1"), abs=2)


def test_equal_banks_and_unit_count_as_dram():
    assert devices(ROOFLINE | {"pim.gops": "512"}).draft_limit() == "dram"
    assert devices(ROOFLINE | {"pim.gops": "511"}).draft_limit() == "compute"


@pytest.mark.parametrize("ranks", [0, 17])
def test_ranks_outside_the_platform_are_refused(ranks):
    with pytest.raises(ValueError, match=f"dlm_ranks = {ranks} must be 1 to 16"):
        devices({}, dlm_ranks=ranks)


def test_impossible_steps_are_refused():
    built = devices({})
    with pytest.raises(ValueError, match="context = -1"):
        built.draft_step_ps(-1)
    with pytest.raises(ValueError, match="context = -1"):
        built.pass_ps(1, -1)
    with pytest.raises(ValueError, match="rows = 0"):
        built.pass_ps(0, 1)
