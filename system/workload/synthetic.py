# SPDX-License-Identifier: Apache-2.0
"""Traces from statistics instead of models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ahasd import UserError, __version__
from ahasd.system.workload.acceptance import Acceptance
from ahasd.system.workload.anchored import rollouts, runs
from ahasd.system.workload.counter import bits, normal
from ahasd.system.workload.entropy_model import EntropyModel
from ahasd.system.workload.schema import K_MAX_LIMIT, SCHEMA
from ahasd.system.workload.trace import Trace

TOP1_RAW = (0.27, 1.29)
"""Median of the likeliest token's probability, exp(-k H^s): k and s for the softmax as it is."""
TOP1_NOISE = 0.45
"""Standard deviation of its log-odds about that."""

_ENTRIES_LIMIT = 2**24  # of one trace; a gigabyte or two while it is made


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """How large a synthetic trace is.

    Attributes
    ----------
    requests, tokens : int
        Requests, and target tokens of each; at least 1.
    k_max : int
        Steps of a rollout, 1..255. Look-ahead beyond a wrong token is exact that far.
    prompt_len : int
        Prompt tokens of each request, at least 1.

    Raises
    ------
    UserError
        A size is out of its range.
    """

    requests: int = 16
    tokens: int = 256
    k_max: int = 32
    prompt_len: int = 128

    def __post_init__(self) -> None:
        for name, low in (("requests", 1), ("tokens", 1), ("k_max", 1), ("prompt_len", 1)):
            if getattr(self, name) < low:
                raise UserError(f"{name} must be at least {low}, not {getattr(self, name)}")
        if self.k_max > K_MAX_LIMIT:
            raise UserError(f"k_max must be at most {K_MAX_LIMIT}, not {self.k_max}")
        if self.requests * (self.tokens + self.k_max) * self.k_max > _ENTRIES_LIMIT:
            raise UserError(
                f"{self.requests} requests of {self.tokens} tokens with rollouts of {self.k_max}"
                f" steps are more than {_ENTRIES_LIMIT} entries; ask for less"
            )


def synthesise(
    model: EntropyModel,
    acceptance: Acceptance,
    *,
    seed: int,
    size: Size,
    vocab_size: int,
    header: Mapping[str, Any],
    source: str,
) -> Trace:
    """Return a trace with the entropies of a model and the acceptance of a rule.

    The target's token at a position is a hash of it, and the draft's is the same one if and only
    if it is accepted there. What the draft says after a wrong token is drawn anew.

    Parameters
    ----------
    model : EntropyModel
        Law of the entropies; they are cut at ln(vocab_size).
    acceptance : Acceptance
        Which positions are right.
    seed : int
        Of every draw, not negative.
    size : Size
        How much of it.
    vocab_size : int
        Number of token ids, at least 2.
    header : mapping
        Further fields of the trace's header.
    source : str
        What messages call the trace.
    """
    positions = size.tokens + size.k_max - 1  # the last anchor's rollout looks so far
    places = np.ogrid[: size.requests, :positions, : size.k_max]
    entropy = model.entropies(seed, size.requests, positions, size.k_max)
    entropy = np.minimum(entropy, np.log(vocab_size))
    right = acceptance.accepted(seed, entropy[:, :, 0])
    y = (bits(seed, "target", *places[:2]) % np.uint64(vocab_size)).astype(np.int64)[:, :, 0]
    others = bits(seed, "draft", *places) % np.uint64(vocab_size - 1)
    tok = (y[:, :, None] + 1 + others.astype(np.int64)) % vocab_size  # never y
    tok[:, :, 0] = np.where(right, y, tok[:, :, 0])
    top1 = _top1(entropy, normal(seed, "top1", *places))
    run = runs(right, size.k_max)

    def column(values: npt.NDArray[Any], dtype: type) -> npt.NDArray[Any]:
        return rollouts(values.astype(dtype), run).reshape(-1, size.k_max)

    p_top1 = column(top1, np.float16)
    request, position = np.indices((size.requests, size.tokens), np.int32)
    return Trace(
        header={
            "schema": SCHEMA,
            "vocab_size": vocab_size,
            "coupling": "greedy",
            "temperature": 0,
            "k_max": size.k_max,
            "entropy": "raw_softmax_T1",
            "log": "e",
            "prompt_len": [size.prompt_len] * size.requests,
            "seed": seed,
            "versions": {"ahasd": __version__},
            **header,
        },
        seq=request.ravel(),
        t=position.ravel(),
        y=y[:, : size.tokens].astype(np.int32).ravel(),
        tok=column(tok, np.int32),
        h_nats=column(entropy, np.float16),
        p_tok=p_top1,
        p_top1=p_top1,
        # As if probabilities fell geometrically: an estimate, for the rules that use a margin.
        p_top2=column(top1 * (1 - top1), np.float16),
        run=run.astype(np.uint8).ravel(),
        source=source,
    )


def _top1(
    entropy_nats: npt.NDArray[np.float64], noise: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the probability of the draft's likeliest token, which is the one it takes."""
    factor, power = TOP1_RAW
    exponent = factor * entropy_nats**power
    # log-odds of exp(-x) are -ln(e^x - 1), where e^x - 1 may be as small as 1e-7
    odds = np.exp(TOP1_NOISE * noise) / np.expm1(exponent)
    return odds / (1 + odds)
