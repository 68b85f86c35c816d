# SPDX-License-Identifier: Apache-2.0
"""Shapes of decoder-only transformers and what they store and stream."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from ahasd.system.toml import TomlModel, load


class ModelShape(TomlModel):
    """The dimensions of one model, enough for its size and its traffic.

    Weights are INT8, one byte a parameter. Biases and the gains of normalisation are left out:
    under 0.1 % of any model here.
    """

    name: str = Field(min_length=1, description="name in reports")
    source: str = Field(min_length=1, description="publication that states the shape")
    layers: int = Field(gt=0, description="decoder layers")
    d_model: int = Field(gt=0, description="hidden width, elements")
    heads: int = Field(gt=0, description="query heads a layer")
    head_dim: int = Field(gt=0, description="width of one head, elements")
    kv_heads: int = Field(gt=0, description="key/value heads a layer; 1 is multi-query attention")
    ffn_dim: int = Field(gt=0, description="inner width of the feed-forward block, elements")
    ffn_matrices: int = Field(ge=2, le=3, description="3 where the feed-forward block is gated")
    vocab: int = Field(gt=1, description="vocabulary, tokens")
    tied_embeddings: bool = Field(description="the output projection is the input embedding")
    learned_positions: int = Field(ge=0, description="rows of the position table; 0: none")
    max_context: int = Field(gt=0, description="longest context the model was made for, tokens")
    norm: Literal["layernorm", "rmsnorm"] = Field(description="kind of normalisation")
    activation: Literal["relu", "gelu", "silu"] = Field(description="kind of activation")
    parallel_block: bool = Field(
        default=False, description="attention and feed-forward read the same normalised input"
    )

    @model_validator(mode="after")
    def _heads_share_keys_evenly(self) -> "ModelShape":
        if self.heads % self.kv_heads:
            raise ValueError(
                f"heads = {self.heads} must be a multiple of kv_heads = {self.kv_heads}"
            )
        return self

    @property
    def body_parameters(self) -> int:
        """Parameters of all layers: four attention and two or three feed-forward matrices."""
        attention = 2 * self.d_model * self.head_dim * (self.heads + self.kv_heads)
        feed_forward = self.ffn_matrices * self.d_model * self.ffn_dim
        return self.layers * (attention + feed_forward)

    @property
    def parameters(self) -> int:
        """All parameters: layers, embeddings, position table."""
        embeddings = self.vocab * self.d_model * (1 if self.tied_embeddings else 2)
        return self.body_parameters + embeddings + self.learned_positions * self.d_model

    @property
    def weight_bytes(self) -> int:
        """Bytes that the weights occupy."""
        return self.parameters

    @property
    def bytes_per_pass(self) -> int:
        """Weight bytes that one forward pass streams: the layers and the output projection.

        Of the input embedding and of the position table a pass reads one row a token.
        """
        return self.body_parameters + self.vocab * self.d_model

    def kv_bytes_per_token(self, kv_bytes: int) -> int:
        """Return the bytes of keys and values that one token adds to the cache.

        Parameters
        ----------
        kv_bytes
            Bytes of one element: 2 for FP16, 1 for INT8.
        """
        return 2 * self.layers * self.kv_heads * self.head_dim * kv_bytes

    def read_bytes(self, context: int, kv_bytes: int) -> int:
        """Return the bytes that one forward pass reads with `context` tokens in its cache."""
        return self.bytes_per_pass + context * self.kv_bytes_per_token(kv_bytes)


def load_model(name_or_path: str, overrides: Mapping[str, object] | None = None) -> ModelShape:
    """Return a packaged shape by name, or a user's own by path.

    Raises
    ------
    UserError
        See `ahasd.system.toml.load`.
    """
    return load(ModelShape, "models", name_or_path, overrides)
