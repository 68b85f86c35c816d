# SPDX-License-Identifier: Apache-2.0
import pytest

from ahasd import UserError
from ahasd.system.devices.capacity import plan_ranks, rank_map
from ahasd.system.devices.offload import Offload
from ahasd.system.model import ModelShape, load_model
from ahasd.system.platform import load_platform

PAIRS = [("opt-1.3b", "opt-6.7b"), ("llama2-7b", "llama2-13b"), ("palm-8b", "palm-30b")]


def shape(name: str, weight_bytes: int, kv_bytes_per_token: int = 2) -> ModelShape:
    """Build a model of a chosen size; keys and values of 1 byte, an even number of them."""
    kv_heads = kv_bytes_per_token // 2
    found = load_model(
        "tiny-draft",
        {
            "name": name,
            "layers": 1,
            "d_model": 1,
            "head_dim": 1,
            "heads": kv_heads,
            "kv_heads": kv_heads,
            "ffn_dim": 1,
            "vocab": weight_bytes - 4 * kv_heads - 3,
        },
    )
    assert found.weight_bytes == weight_bytes
    return found


def platform(**overrides):
    """8 ranks of 1000 bytes on 2 channels, keys and values of 1 byte."""
    small = {"pim.ranks": 8, "pim.channels": 2, "pim.rank_capacity_bytes": 1000, "kv_bytes": 1}
    return load_platform("mobile-paper", small | overrides)


@pytest.mark.parametrize("context", [1024, 2048])
@pytest.mark.parametrize(
    ("pair", "dlm_mask", "tlm_mask"),
    [(PAIRS[0], 0x0FFF, 0xF000), (PAIRS[1], 0x0FFF, 0xF000), (PAIRS[2], 0x00FF, 0xFF00)],
)
def test_the_pairs_of_the_paper_fit(pair, dlm_mask, tlm_mask, context):
    draft, target = (load_model(name) for name in pair)
    placed = rank_map(load_platform("mobile-paper"), draft, target, context)
    assert (placed.dlm_mask, placed.tlm_mask) == (dlm_mask, tlm_mask)


def test_the_llama2_pair_fits_at_its_full_context_only_because_a_rank_is_4_gib():
    shapes = load_model("llama2-7b"), load_model("llama2-13b")
    binary = rank_map(load_platform("mobile-paper"), *shapes, 4096)
    assert binary.target.ranks == 4
    decimal = load_platform("mobile-paper", {"pim.rank_capacity_bytes": "4_000_000_000"})
    assert rank_map(decimal, *shapes, 4096).target.ranks == 8


def test_palm_8b_and_62b_do_not_fit_and_the_message_says_by_how_much():
    shapes = load_model("palm-8b"), load_model("palm-62b")
    with pytest.raises(UserError) as caught:
        rank_map(load_platform("mobile-paper"), *shapes, 1024)
    text = str(caught.value)
    # 8.632 + 62.495 + 0.101 of keys and values = 71.228; 16 x 2^32 = 68.719.
    assert text.startswith(
        "palm-8b + palm-62b do not fit on mobile-paper: 2.508 GB of 71.23 GB missing"
    )
    assert "memory 68.72 GB" in text
    assert "choose a smaller pair" in text
    assert "\n" not in text
    planned = plan_ranks(load_platform("mobile-paper"), *shapes, 1024)
    assert caught.value.__notes__ == [planned.as_table()]


@pytest.mark.parametrize(
    ("weight_bytes", "tlm_mask"),
    [
        (500, 0b1100_0000),
        (1998, 0b1100_0000),  # with 2 bytes of keys and values: exactly full
        (1999, 0b1111_0000),
        (3998, 0b1111_0000),
        (3999, 0b1111_1100),
    ],
)
def test_the_target_takes_whole_rounds_over_the_channels_from_the_top(weight_bytes, tlm_mask):
    placed = rank_map(platform(), shape("d", 100), shape("t", weight_bytes), 1)
    assert placed.tlm_mask == tlm_mask
    assert placed.dlm_mask == 0xFF ^ tlm_mask


def test_every_rank_holds_an_even_stripe_rounded_up():
    placed = rank_map(platform(), shape("d", 101, 4), shape("t", 1501, 6), 10)
    # Draft 101 + 40 on 6 ranks, target 1501 + 60 on 2.
    assert placed.used_bytes == (24, 24, 24, 24, 24, 24, 781, 781)
    assert placed.draft.kv_bytes == 40
    assert placed.target.kv_bytes == 60
    assert placed.draft.total_bytes == 141


def test_a_longer_context_can_cost_the_draft_a_round_of_ranks():
    shapes = shape("d", 100, 2), shape("t", 1900, 2)
    assert rank_map(platform(), *shapes, 50).target.ranks == 2
    assert rank_map(platform(), *shapes, 51).target.ranks == 4


def test_a_draft_that_fills_its_ranks_fits_and_one_byte_more_does_not():
    target = shape("t", 3000, 2)
    full = shape("d", 4000 - 2, 2)
    assert rank_map(platform(), full, target, 1).used_bytes == (1000,) * 4 + (751,) * 4
    with pytest.raises(UserError) as caught:
        rank_map(platform(), shape("d", 4000 - 1, 2), target, 1)
    assert str(caught.value).startswith(
        "d does not fit beside t on mobile-paper: 1 bytes of 4.001 kB missing "
        "(4 of 8 ranks left, 4 kB); choose"
    )


def test_a_pair_that_fills_the_memory_fits_and_one_byte_more_does_not():
    target = shape("t", 5998, 2)
    rank_map(platform(), shape("d", 1998, 2), target, 1)
    with pytest.raises(UserError, match=r"d \+ t do not fit on mobile-paper: 1 bytes of 8"):
        rank_map(platform(), shape("d", 1999, 2), target, 1)


def test_a_target_larger_than_the_whole_memory_is_refused():
    with pytest.raises(UserError, match=r"d \+ t do not fit on mobile-paper: 1.106 kB of 9"):
        rank_map(platform(), shape("d", 102), shape("t", 9000), 1)


def test_a_draft_without_a_rank_is_refused_though_the_bytes_would_do():
    small = platform(**{"pim.channels": 8})
    with pytest.raises(UserError, match=r"d has no rank left beside t .* takes all 8 ranks"):
        rank_map(small, shape("d", 100), shape("t", 100), 1)


def test_a_plan_shows_what_is_missing_where_a_map_refuses():
    shapes = load_model("palm-8b"), load_model("palm-62b")
    planned = plan_ranks(load_platform("mobile-paper"), *shapes, 1024)
    header, _, draft, target = (line.split() for line in planned.as_table().splitlines())
    assert " ".join(header) == (
        "| model | ranks | mask | weights | KV | per rank | rank holds | offloaded | missing |"
    )
    assert " ".join(draft) == (
        "| palm-8b (draft) | 0 | 0x0000 | 8.632 GB | 33.55 MB | 8.665 GB | 4.295 GB | 0 bytes "
        "| 8.665 GB |"
    )
    assert " ".join(target) == (
        "| palm-62b (target) | 16 | 0xFFFF | 62.5 GB | 67.11 MB | 3.91 GB | 4.295 GB | 0 bytes "
        "| 0 bytes |"
    )
    assert planned.used_bytes == (planned.target.bytes_per_rank,) * 16


def test_all_ranks_count_for_bandwidth_and_not_for_capacity():
    draft, target = load_model("opt-1.3b"), load_model("opt-6.7b")
    mapped = rank_map(load_platform("mobile-paper"), draft, target, 1024)
    everywhere = rank_map(load_platform("mobile-paper", {"dlm_ranks": "all"}), draft, target, 1024)
    assert mapped.draft_ranks == 12
    assert everywhere.draft_ranks == 16
    assert everywhere.dlm_mask == mapped.dlm_mask
    assert everywhere.used_bytes == mapped.used_bytes


@pytest.mark.parametrize(
    ("context", "culprit"), [(2049, "opt-6.7b"), (4097, "llama2-7b"), (0, "llama2-7b")]
)
def test_a_context_the_model_was_not_made_for_is_refused(context, culprit):
    limit = load_model(culprit).max_context
    with pytest.raises(UserError) as caught:
        rank_map(
            load_platform("mobile-paper"), load_model("llama2-7b"), load_model("opt-6.7b"), context
        )
    assert str(caught.value).startswith(
        f"a context of {context} tokens is outside 1 to {limit}, what {culprit} was made for"
    )


def test_the_longest_context_of_a_model_is_accepted():
    rank_map(load_platform("mobile-paper"), load_model("opt-1.3b"), load_model("opt-6.7b"), 2048)


TIER = Offload(bandwidth_gb_s=1.0, capacity_bytes=10_000)


def test_a_tier_changes_nothing_where_everything_fits():
    shapes = shape("d", 100), shape("t", 3000)
    assert rank_map(platform(), *shapes, 1, TIER).target == rank_map(platform(), *shapes, 1).target
    draft, target = load_model("palm-8b"), load_model("palm-30b")
    assert rank_map(load_platform("mobile-paper"), draft, target, 1024, TIER).target.ranks == 8


@pytest.mark.parametrize(
    ("draft_bytes", "tlm_ranks", "spilled"),
    [
        (1998, 6, 9002 - 6000),  # with its keys and values just full on two ranks
        (1999, 4, 9002 - 4000),
        (5998, 2, 9002 - 2000),
    ],
)
def test_what_the_target_lacks_beside_the_draft_lies_on_the_tier(draft_bytes, tlm_ranks, spilled):
    placed = rank_map(platform(), shape("d", draft_bytes), shape("t", 9000), 1, TIER)
    assert placed.target.ranks == tlm_ranks
    assert placed.draft.ranks == 8 - tlm_ranks
    assert placed.target.spilled_bytes == spilled
    assert placed.target.bytes_per_rank == 1000
    assert placed.draft.spilled_bytes == 0
    assert f" {spilled / 1000} kB |" in placed.as_table()


def test_a_tier_that_is_too_small_is_refused_by_a_byte():
    shapes = shape("d", 1998), shape("t", 9000)
    fits = Offload(bandwidth_gb_s=1.0, capacity_bytes=3002)
    assert rank_map(platform(), *shapes, 1, fits).target.spilled_bytes == 3002
    small = Offload(bandwidth_gb_s=1.0, capacity_bytes=3001)
    with pytest.raises(
        UserError, match=r"and its offload tier: 1 bytes of 3\.002 kB that spill missing"
    ):
        rank_map(platform(), *shapes, 1, small)


def test_a_draft_that_exceeds_the_memory_does_not_spill():
    with pytest.raises(UserError, match=r"d \+ t do not fit on mobile-paper: 1.008 kB of 9.008 kB"):
        rank_map(platform(), shape("d", 9000, 6), shape("t", 100), 1, TIER)
    # It fits the memory, but leaves the target's keys and values no rank.
    with pytest.raises(UserError, match=r"t does not fit beside d .* 2 bytes of 2 bytes missing"):
        rank_map(platform(), shape("d", 7000), shape("t", 100), 1, TIER)


def test_keys_and_values_do_not_spill():
    draft, target = shape("d", 3000, 2), shape("t", 1000, 200)
    placed = rank_map(platform(), draft, target, 20, TIER)
    assert (placed.target.ranks, placed.target.spilled_bytes) == (4, 1000)
    with pytest.raises(UserError, match=r"t does not fit beside d .* 200 bytes of 4.2 kB missing"):
        rank_map(platform(), draft, target, 21, TIER)


def test_palm_62b_streams_2_5_gb_and_what_the_draft_rounds_up_to():
    tier = Offload(bandwidth_gb_s=25.0, capacity_bytes=2**35)
    shapes = load_model("palm-8b"), load_model("palm-62b")
    placed = rank_map(load_platform("mobile-paper"), *shapes, 1024, tier)
    assert (placed.draft.ranks, placed.target.ranks) == (4, 12)
    # 62.495 GB of weights and 0.067 of keys and values less twelve ranks of 4.295.
    assert placed.target.spilled_bytes / 1e9 == pytest.approx(62.562 - 51.540, abs=0.002)
