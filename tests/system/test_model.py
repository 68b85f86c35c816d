# SPDX-License-Identifier: Apache-2.0
import pytest

from ahasd import UserError
from ahasd.system.model import load_model
from ahasd.system.toml import known

PUBLISHED_G = {
    "opt-1.3b": 1.315,
    "opt-6.7b": 6.657,
    "llama2-7b": 6.738,
    "llama2-13b": 13.015,
    "palm-8b": 8.632,
    "palm-62b": 62.495,
}


@pytest.mark.parametrize("name", PUBLISHED_G)
def test_parameters_match_the_published_count_to_its_last_digit(name):
    assert round(load_model(name).parameters / 1e9, 3) == PUBLISHED_G[name]


def test_the_palm_like_30b_has_30_4_g_parameters():
    assert round(load_model("palm-30b").parameters / 1e9, 1) == 30.4


def test_every_packaged_model_is_named_after_its_file_and_states_its_source():
    for name in known("models"):
        shape = load_model(name)
        assert shape.name == name
        assert shape.source


def test_weights_are_one_byte_a_parameter():
    shape = load_model("llama2-7b")
    assert shape.weight_bytes == shape.parameters


def test_a_pass_skips_the_untied_input_embedding():
    shape = load_model("llama2-7b")
    assert shape.weight_bytes - shape.bytes_per_pass == 32_000 * 4096


def test_a_pass_streams_a_tied_embedding_once_and_skips_the_position_table():
    shape = load_model("opt-1.3b")
    assert shape.weight_bytes - shape.bytes_per_pass == 2050 * 2048


def test_counts_of_a_shape_worked_by_hand():
    shape = load_model(
        "tiny-draft",
        {
            "layers": 3,
            "d_model": 10,
            "heads": 4,
            "head_dim": 5,
            "kv_heads": 2,
            "ffn_dim": 7,
            "ffn_matrices": 2,
            "vocab": 11,
            "tied_embeddings": False,
            "learned_positions": 13,
        },
    )
    # A layer: query and output 2 x 10 x 20, key and value 2 x 10 x 10, feed-forward 2 x 10 x 7.
    body = 3 * (400 + 200 + 140)
    assert shape.body_parameters == body
    assert shape.parameters == body + 2 * 110 + 130
    assert shape.bytes_per_pass == body + 110
    # Key and value, 3 layers, 2 heads x 5 elements.
    assert shape.kv_bytes_per_token(1) == 60
    assert shape.kv_bytes_per_token(2) == 120
    assert shape.read_bytes(context=100, kv_bytes=2) == body + 110 + 12_000


def test_multi_query_attention_shrinks_the_cache_by_the_number_of_heads():
    palm = load_model("palm-8b")
    full = load_model("palm-8b", {"kv_heads": "16"})
    assert full.kv_bytes_per_token(2) == 16 * palm.kv_bytes_per_token(2)


def test_the_tiny_shapes_stay_tiny_and_say_what_they_are():
    assert 200_000 < load_model("tiny-draft").weight_bytes < 1_000_000
    assert 2_000_000 < load_model("tiny-target").weight_bytes < 6_000_000
    for name in ("tiny-draft", "tiny-target"):
        assert "made up for tests" in load_model(name).source


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ({"layers": "0"}, "layers = 0: must be a whole number > 0"),
        ({"ffn_matrices": "4"}, "ffn_matrices = 4: must be a whole number >= 2 and <= 3"),
        ({"norm": "batchnorm"}, "norm = 'batchnorm': must be 'layernorm' or 'rmsnorm'"),
        ({"kv_heads": "3"}, "heads = 32 must be a multiple of kv_heads = 3"),
        ({"d_modle": "4"}, "unknown key d_modle; did you mean d_model?"),
    ],
)
def test_a_wrong_shape_is_refused(override, told):
    with pytest.raises(UserError) as caught:
        load_model("opt-1.3b", override)
    assert f"model opt-1.3b: {told}" in str(caught.value)
