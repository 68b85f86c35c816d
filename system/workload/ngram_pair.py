# SPDX-License-Identifier: Apache-2.0
"""A target and a draft that are made in seconds from text that comes with Python."""

import platform
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from ahasd import UserError, __version__
from ahasd.system.workload.anchored import rollouts, runs
from ahasd.system.workload.counter import bits
from ahasd.system.workload.coupling import COUPLINGS, Coupling, Law, Tokens
from ahasd.system.workload.ngram import NGram, tempered
from ahasd.system.workload.ngram_text import Text, read_texts
from ahasd.system.workload.schema import SCHEMA
from ahasd.system.workload.synthetic import Size
from ahasd.system.workload.trace import Trace

TARGET_ORDER = 6
DRAFT_ORDER = 4
TEMPERATURE = 0.6
"""Of both, where they sample; there the pair is most like real ones."""

_BLOCK = 1000
_HELD_OUT = 10  # one block in so many is not trained on, prompts come from there

NGRAM_SIZE = Size(requests=12, tokens=100, k_max=16)
"""Half a minute's text for the models, a few seconds' work."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The trained models, and where prompts come from.

    Attributes
    ----------
    model : NGram
        Holds both orders.
    prompts : tuple of Text
        Text that it has not seen, of each kind.
    """

    model: NGram
    prompts: tuple[Text, ...]


@cache
def trained() -> Pair:
    """Train the pair, once in a process.

    Raises
    ------
    UserError
        This Python comes without the text.
    """
    texts, vocab_size = read_texts()
    seen, prompts = [], []
    for text in texts:
        held_out = np.arange(text.ids.size) // _BLOCK % _HELD_OUT == _HELD_OUT // 2
        seen.append(text.ids[~held_out])
        prompts.append(Text(text.category, text.ids[held_out]))
    # n-grams across the seams between blocks are counted too: one in a thousand
    return Pair(NGram(np.concatenate(seen), TARGET_ORDER, vocab_size), tuple(prompts))


def ngram_trace(coupling: str, *, seed: int, size: Size, source: str) -> Trace:
    """Return a trace of the pair.

    Parameters
    ----------
    coupling : str
        `greedy`, `gumbel` or `maximal`.
    seed : int
        Of prompts and of what is sampled, not negative.
    size : Size
        How much of it. Models see the last tokens of a prompt only.
    source : str
        What messages call the trace.

    Raises
    ------
    UserError
        There is no such coupling, or this Python comes without the text.
    """
    if coupling not in COUPLINGS:
        raise UserError(f"{source}: the pair is coupled by one of {', '.join(COUPLINGS)}")
    pair = trained()
    temperature = 1 if coupling == "greedy" else TEMPERATURE
    played = [
        _play(pair, COUPLINGS[coupling](), temperature, (seed, request), size)
        for request in range(size.requests)
    ]
    y = np.stack([each.y for each in played])
    tok = np.stack([each.tok for each in played])
    run = runs(tok[:, :, 0] == y, size.k_max)
    statistics = np.stack([each.statistics for each in played])
    h_nats, p_tok, p_top1, p_top2 = (
        rollouts(statistics[..., column].astype(np.float16), run).reshape(-1, size.k_max)
        for column in range(4)
    )
    request, position = np.indices((size.requests, size.tokens), np.int32)
    return Trace(
        header={
            "schema": SCHEMA,
            "target": f"{TARGET_ORDER}-gram of text that comes with Python",
            "draft": f"{DRAFT_ORDER}-gram of the same text",
            "tokenizer": "frequent words, else characters",
            "vocab_size": pair.model.vocab_size,
            "coupling": coupling,
            "temperature": 0 if coupling == "greedy" else TEMPERATURE,
            "k_max": size.k_max,
            "entropy": "raw_softmax_T1" if coupling == "greedy" else "sampling_dist",
            "log": "e",
            "category": [_prompts(pair, request).category for request in range(size.requests)],
            "prompt_len": [size.prompt_len] * size.requests,
            "licence": "of Python's documentation: PSF-2.0",
            "provenance": f"ahasd trace ngram --coupling {coupling} --seed {seed}",
            "seed": seed,
            "versions": {"ahasd": __version__, "python": platform.python_version()},
        },
        seq=request.ravel(),
        t=position.ravel(),
        y=y[:, : size.tokens].astype(np.int32).ravel(),
        tok=rollouts(tok.astype(np.int32), run).reshape(-1, size.k_max),
        h_nats=h_nats,
        p_tok=p_tok,
        p_top1=p_top1,
        p_top2=p_top2,
        run=run.astype(np.uint8).ravel(),
        source=source,
    )


@dataclass(frozen=True, slots=True)
class _Played:
    """One request: y of shape (positions,), tok and statistics of shape (positions, k_max, ...)."""

    y: npt.NDArray[np.int64]
    tok: npt.NDArray[np.int64]
    statistics: npt.NDArray[np.float64]


def _prompts(pair: Pair, request: int) -> Text:
    return pair.prompts[request % len(pair.prompts)]


def _play(
    pair: Pair, coupling: Coupling, temperature: float, place: tuple[int, int], size: Size
) -> _Played:
    """Let the target speak, and the draft say at each position what it would."""
    seed, request = place
    positions = size.tokens + size.k_max - 1  # the last anchor's rollout looks so far
    prompts = _prompts(pair, request).ids
    end = int(bits(seed, "prompt", request) % np.uint64(prompts.size - TARGET_ORDER)) + TARGET_ORDER
    tokens = prompts[end - TARGET_ORDER + 1 : end].tolist()
    y = np.zeros(positions, np.int64)
    tok = np.zeros((positions, size.k_max), np.int64)
    statistics = np.zeros((positions, size.k_max, 4))

    def draft(context: list[int], position: int) -> tuple[Law, Tokens]:
        q = tempered(pair.model.distribution(context, DRAFT_ORDER), temperature)
        return q, coupling.draft(q, (seed, request, position))

    for position in range(positions):
        q, drafted = draft(tokens, position)
        p = tempered(pair.model.distribution(tokens, TARGET_ORDER), temperature)
        y[position] = coupling.target(p, q, drafted, (seed, request, position))
        tok[position, 0] = drafted
        statistics[position, 0] = _statistics(q, drafted)
        if drafted != y[position]:
            # Anchors in the request look so many steps beyond this position.
            ahead = [*tokens[1 - DRAFT_ORDER :], int(drafted)]
            for step in range(1, min(size.k_max, positions - position)):
                q, drafted = draft(ahead, position + step)
                tok[position, step] = drafted
                statistics[position, step] = _statistics(q, drafted)
                ahead.append(int(drafted))
        tokens.append(int(y[position]))
    return _Played(y, tok, statistics)


def _statistics(q: Law, drafted: Tokens) -> tuple[float, float, float, float]:
    """Return entropy in nat, and the probabilities of the token and of the two likeliest ones."""
    second, first = np.partition(q, -2)[-2:]
    return max(-float(q @ np.log(q)), 0.0), float(q[drafted]), float(first), float(second)
