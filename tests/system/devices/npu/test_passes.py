# SPDX-License-Identifier: Apache-2.0
"""Passes on the NPU: against the roofline, and worked by hand."""

import pytest

from ahasd import UserError
from ahasd.system.devices.analytic import AnalyticDevices
from ahasd.system.devices.npu.passes import linear_products, pass_events, pass_phases
from ahasd.system.devices.npu.tiling import blocked
from ahasd.system.model import load_model
from ahasd.system.platform import load_platform

PAIRS = [("opt-1.3b", "opt-6.7b"), ("llama2-7b", "llama2-13b"), ("palm-8b", "palm-30b")]
ROWS = (1, 2, 5, 8, 16, 32)
CONTEXTS = (1, 128, 1024, 2000)


def reader(platform):
    """Return a memory that reads at the platform's rate, as the roofline's does."""
    return lambda size: int(size * 10**12 / platform.offchip_bytes_s)


def phases(platform, shape, rows=1, context=0, **more):
    made = pass_phases(platform, shape, rows, context, reader(platform), **more)
    return {phase.name: phase for phase in made}


def total_ps(made) -> int:
    return sum(phase.alone_ps for name, phase in made.items() if name != "nonlinear")


@pytest.mark.parametrize("pair", PAIRS, ids=["opt", "llama2", "palm"])
@pytest.mark.parametrize(
    ("reading", "allowed"),
    [
        ({}, 0.005),
        ({"npu.dataflow": "os"}, 0.005),
        ({"npu.offchip_scope": "per_channel"}, 0.02),
        # 737 GB/s into arrays without weight load: the reading where attention counts most.
        ({"npu.offchip_scope": "per_rank", "npu.ideal_array": "true"}, 0.05),
    ],
    ids=["A", "A-os", "C", "B2"],
)
def test_a_pass_takes_what_the_roofline_says(pair, reading, allowed):
    platform = load_platform("mobile-paper", reading)
    roofline = AnalyticDevices(platform, load_model(pair[0]), load_model(pair[1]), 8)
    for rows in ROWS:
        for context in CONTEXTS:
            ours = total_ps(phases(platform, roofline.target_shape, rows, context))
            assert 1 <= ours / roofline.pass_ps(rows, context) < 1 + allowed, (rows, context)


@pytest.mark.parametrize("pair", PAIRS, ids=["opt", "llama2", "palm"])
def test_where_weight_load_binds_attention_adds_the_load_of_keys_that_the_roofline_leaves_out(pair):
    platform = load_platform("mobile-paper", {"npu.offchip_scope": "per_rank"})
    roofline = AnalyticDevices(platform, load_model(pair[0]), load_model(pair[1]), 8)
    shape = roofline.target_shape
    for rows in ROWS:
        for context in CONTEXTS:
            assert roofline.pass_limit(rows, context) == "weight_load"
            made = phases(platform, shape, rows, context)
            weights = total_ps(made) - made["attention"].alone_ps
            assert 1 <= weights / roofline.pass_ps(rows, context) < 1.005
            # Keys and values come in like weights, in FP16; then the ways in and out of a layer.
            load = (context + rows) * shape.kv_bytes_per_token(2) / 256e9 * 1e12
            if context >= 1024 and rows * shape.heads // shape.kv_heads <= 128:
                assert load < made["attention"].compute_ps < 1.1 * load + shape.layers * 1e6


def test_products_hold_every_weight_of_a_pass_once():
    for name in ("opt-6.7b", "llama2-13b", "palm-62b", "tiny-draft"):
        shape = load_model(name)
        products = linear_products(shape, 3, 3)
        assert sum(each.k * each.n * each.count for each in products) == shape.bytes_per_pass
        assert sum(each.macs for each in products) == 3 * shape.bytes_per_pass


def test_a_pass_of_tiny_target_worked_by_hand():
    # 4 layers: 256 x 768, 256 x 256, 256 x 1536, 768 x 256; then 256 x 1024. Two arrays of 128.
    platform = load_platform("mobile-paper")
    shape = load_model("tiny-target")
    made = phases(platform, shape, rows=3, context=100)
    edge = 3 + 254  # streaming of the last tile, way out; every tile's load takes 128
    layer = sum(128 * tiles + edge for tiles in (3 * 2, 1 * 2, 6 * 2, 1 * 6))
    cycles = 4 * layer + 128 * 4 * 2 + edge
    drain = 128 + edge
    assert made["drain"].compute_ps == drain * 1000
    assert made["weights"].compute_ps == (cycles - drain) * 1000
    # 46.08 GB/s: the first two tiles, then the rest of 3.4 MB.
    assert shape.bytes_per_pass == 4 * 4 * 256 * 256 + 4 * 3 * 256 * 768 + 1024 * 256
    rate = 46.08e9 / 1e12
    assert made["fill"].memory_ps == pytest.approx(2 * 128 * 128 / rate, abs=1)
    rest = shape.bytes_per_pass - 2 * 128 * 128
    assert made["weights"].memory_ps == pytest.approx(rest / rate, abs=2)
    # 100 old keys read, 3 new ones written; 4 layers x 8 heads x 32 x 2 (K and V) x 2 bytes.
    per_key = 4 * 8 * 32 * 2 * 2
    assert made["attention"].memory_ps == pytest.approx(103 * per_key / rate, abs=1)
    # Eight heads on two arrays, 103 keys in one tile: 32 rows of 103 FP16, or 103 rows of 32.
    steady = 32 * 2 + 103
    way = 32 + 2 + 254
    attention = 4 * (4 * steady + 2 * way)
    assert made["attention"].compute_ps == attention * 1000
    assert made["nonlinear"].compute_ps == 0


def test_events_of_the_same_pass_worked_by_hand():
    platform = load_platform("mobile-paper")
    shape = load_model("tiny-target")
    events = pass_events(platform, shape, 3, 100)
    per_key = 4 * 8 * 32 * 2 * 2
    assert events.read_bytes == shape.bytes_per_pass + 100 * per_key
    assert events.write_bytes == 3 * per_key
    # FP16 in attention counts as two; scores and mix of 8 heads of 32 in 4 layers.
    assert events.npu_macs == 3 * shape.bytes_per_pass + 2 * 2 * 4 * 8 * 32 * 306
    inputs = 4 * 3 * (256 * 6 + 768 + 256 * 2 + 256 + 256 * 12 + 1536 + 768 * 2 + 256)
    inputs += 3 * (256 * 8 + 1024)
    attention = 4 * 8 * 3 * 2 * (32 + 102) * 2
    moved = 2 * (events.read_bytes + events.write_bytes)
    assert events.scratchpad_bytes == moved + inputs + attention
    assert events.activates == events.pim_macs == events.aau_cycles == 0


def test_prefill_is_bound_by_memory_while_short_and_by_the_arrays_when_long():
    # 200 GB/s: 8 MB of scratchpad hold blocks that reuse each byte often enough.
    platform = load_platform("mobile-paper", {"npu.offchip_bandwidth_gb_s": "200"})
    shape = load_model("llama2-7b")
    short = phases(platform, shape, rows=128, logit_rows=1)["weights"]
    long = phases(platform, shape, rows=2048, logit_rows=1)["weights"]
    assert short.memory_ps > short.compute_ps
    assert long.compute_ps > long.memory_ps
    # Every multiply-accumulate of the arrays is used, but for load and way out.
    ideal = 2048 * shape.body_parameters / (2 * 128 * 128) * 1000
    assert 1 < long.compute_ps / ideal < 1.01


def test_causal_attention_of_a_prefill_is_about_half_of_all_pairs():
    platform = load_platform("mobile-paper")
    shape = load_model("llama2-7b")
    cycles = phases(platform, shape, rows=2048, logit_rows=1)["attention"].compute_ps // 1000
    # FP16: two cycles for each multiply-accumulate of a cell; tiles on the diagonal are whole.
    pairs = 2048 * 2048 * 2 * 2 * shape.layers * shape.heads * shape.head_dim
    assert 0.5 < cycles / (pairs / (2 * 128 * 128)) < 0.56


def test_keys_of_a_prefill_that_fit_are_written_and_not_read():
    platform = load_platform("mobile-paper")
    shape = load_model("llama2-7b")
    events = pass_events(platform, shape, 128, 0, logit_rows=1)
    # INT8 inputs and results of 128 rows: up to 128 x (4096 + 22016) = 3.3 MB stay.
    assert events.read_bytes == shape.bytes_per_pass
    assert events.write_bytes == 128 * shape.kv_bytes_per_token(2)


def test_what_a_small_scratchpad_does_not_hold_passes_through_the_memory():
    # 128 KiB: 64 KiB hold neither 200 rows of queries, keys and values of a layer of tiny-target
    # (307,200 bytes) nor a head of 600 keys (76,800), but one of 500 (64,000).
    shape = load_model("tiny-target")
    per_key = 4 * 8 * 32 * 2 * 2
    queries = 200 * per_key // 2
    large, small = (
        load_platform("mobile-paper", {"npu.scratchpad_bytes": size}) for size in (2**26, 2**17)
    )
    for context, reads in ((300, 1), (400, 2)):
        roomy = pass_events(large, shape, 200, context)
        tight = pass_events(small, shape, 200, context)
        assert roomy.read_bytes == shape.bytes_per_pass + context * per_key
        assert roomy.write_bytes == 200 * per_key
        # Beside it the products are cut into blocks; their bytes are those of a pass without keys.
        products = sum(
            each.count * blocked(each.m, each.k, each.n, 2**17).total_bytes
            for each in linear_products(shape, 200, 200)
        )
        attention = reads * (context + 200) * per_key + queries + 200 * per_key + queries
        assert tight.read_bytes + tight.write_bytes == products + attention


def test_logits_of_the_last_row_alone_spare_the_vocabulary():
    platform = load_platform("mobile-paper")
    shape = load_model("palm-8b")
    every, last = (pass_events(platform, shape, 64, 0, logit_rows=rows) for rows in (None, 1))
    assert every.npu_macs - last.npu_macs == 63 * 256_000 * 4096
    assert every.vector_ops - last.vector_ops == 63 * 256_000
    made = phases(platform, shape, 64), phases(platform, shape, 64, logit_rows=1)
    assert made[0]["weights"].compute_ps >= made[1]["weights"].compute_ps


def test_the_vector_unit_is_seen_where_memory_does_not_hide_it():
    slow = {"npu.vector_elements_per_cycle": "1", "npu.offchip_bandwidth_gb_s": "100000"}
    platform = load_platform("mobile-paper", slow)
    shape = load_model("tiny-target")
    made = phases(platform, shape, rows=1, context=9)
    # 10 keys: 9 normalisations and 4 softmax of 8 heads twice, the rest once.
    passes = 2 * 9 * 256 + 4 * (2 * 8 * 10 + 2 * 256 + 768 + 512) + 1024
    assert made["nonlinear"].compute_ps == passes * 1000
    hidden = phases(load_platform("mobile-paper"), shape, rows=1, context=9)
    assert hidden["nonlinear"].compute_ps == 0


def test_a_short_pass_of_a_tiny_model_never_has_a_negative_time():
    platform = load_platform("mobile-paper")
    shape = load_model(
        "tiny-draft", {"layers": "1", "d_model": "16", "ffn_dim": "16", "vocab": "2"}
    )
    for phase in pass_phases(platform, shape, 1, 0, reader(platform)):
        assert phase.memory_ps >= 0
        assert phase.compute_ps >= 0


@pytest.mark.parametrize(
    ("rows", "context", "logit_rows", "message"),
    [
        (0, 0, None, "rows = 0 must be at least 1"),
        (1, -1, None, "context = -1 must not be negative"),
        (2, 0, 3, "logit_rows = 3 must be 1 to rows = 2"),
        (2, 0, 0, "logit_rows = 0 must be 1 to rows = 2"),
    ],
)
def test_what_makes_no_sense_is_refused(rows, context, logit_rows, message):
    platform = load_platform("mobile-paper")
    shape = load_model("tiny-draft")
    with pytest.raises(ValueError, match=message):
        phases(platform, shape, rows, context, logit_rows=logit_rows)
    with pytest.raises(ValueError, match=message):
        pass_events(platform, shape, rows, context, logit_rows=logit_rows)


def test_a_scratchpad_that_holds_no_tile_is_the_users_error():
    platform = load_platform("mobile-paper", {"npu.scratchpad_bytes": "4096"})
    with pytest.raises(UserError, match=r"npu.scratchpad_bytes = 4096 holds no block of a product"):
        phases(platform, load_model("llama2-7b"), 64)
