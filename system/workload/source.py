# SPDX-License-Identifier: Apache-2.0
"""Traces by name: made on the spot, packaged, or a file."""

import math
from dataclasses import dataclass, field
from typing import Any

from ahasd import UserError
from ahasd.system.workload.acceptance import Acceptance, ByEntropy, FixedLength, Independent, Mixed
from ahasd.system.workload.entropy_model import EntropyModel
from ahasd.system.workload.ngram_pair import NGRAM_SIZE, ngram_trace
from ahasd.system.workload.presets import preset
from ahasd.system.workload.synthetic import Size, synthesise
from ahasd.system.workload.trace import Trace, load_trace

_PLAIN_VOCAB_SIZE = 32000
_NO_SIGNAL = "acceptance was asked for; entropies are those of chat and say nothing about it"


def is_made(name: str) -> bool:
    """Tell whether a name is of a trace that is made on the spot, not read."""
    kind, colon, _ = name.partition(":")
    return bool(colon) and (kind in _RECIPES or kind == "ngram")


def open_trace(name: str, *, seed: int = 0, size: Size | None = None) -> Trace:
    """Return a trace by name.

    Parameters
    ----------
    name : str
        `synthetic:PRESET`; `synthetic:PRESET@ALPHA`, with another acceptance;
        `synthetic:PI0/M/KAPPA`, the three parameters of a model; `iid:ALPHA`, every token accepted
        with that probability; `mix:EASY/HARD/TOKENS/TOKENS`, easy and hard stretches of such mean
        lengths take turns, with those two probabilities; `length:AL`, a fixed acceptance length;
        `ngram:COUPLING`, a pair trained on the spot; else a packaged trace or a file. A file with
        such a name is reached as `./name`.
    seed : int
        Of a trace that is made, not negative; others need none.
    size : Size or None
        Of a trace that is made; `Size()` by default, of the trained pair `NGRAM_SIZE`.

    Raises
    ------
    UserError
        The name means nothing, a number in it is out of its range, or the file is broken.
    """
    if not is_made(name):
        return load_trace(name)
    if seed < 0:
        raise UserError(f"seed must not be negative, but it is {seed}")
    kind, _, argument = name.partition(":")
    if kind == "ngram":
        return ngram_trace(argument, seed=seed, size=size or NGRAM_SIZE, source=name)
    make, example = _RECIPES[kind]
    try:
        recipe = make(argument)
    except UserError as fault:
        raise UserError(f"{name}: {fault}; e.g. {example}") from fault
    made = size or Size()
    header = {
        "provenance": f"ahasd trace synth {name} --seed {seed}",
        "evidence": recipe.evidence,
        **recipe.header,
    }
    if recipe.domain:
        header["category"] = [recipe.domain] * made.requests
    return synthesise(
        recipe.model,
        recipe.acceptance,
        seed=seed,
        size=made,
        vocab_size=recipe.vocab_size,
        header=header,
        source=name,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Recipe:
    """What a name means."""

    model: EntropyModel
    acceptance: Acceptance
    evidence: str
    vocab_size: int = _PLAIN_VOCAB_SIZE
    domain: str = ""
    header: dict[str, Any] = field(default_factory=dict)


def _synthetic(argument: str) -> _Recipe:
    if "/" in argument:
        parts = argument.split("/")
        if len(parts) != 3:
            raise UserError(f"three parameters are needed, PI0/M/KAPPA, not {len(parts)}")
        model = EntropyModel(*(_number(part) for part in parts))
        return _Recipe(
            model=model, acceptance=ByEntropy(model), evidence="parameters were asked for"
        )
    label, at, alpha = argument.partition("@")
    chosen = preset(label)
    model = chosen.with_alpha(_number(alpha)) if at else chosen.model
    return _Recipe(
        model=model,
        acceptance=ByEntropy(model),
        evidence="acceptance was asked for" if at else f"{chosen.evidence}: {chosen.note}",
        vocab_size=chosen.vocab_size,
        domain=chosen.domain,
        header={
            "target": f"statistics of {chosen.target}",
            "draft": f"statistics of {chosen.draft}",
        },
    )


def _independent(argument: str) -> _Recipe:
    acceptance = Independent(_number(argument))
    return _Recipe(model=preset("chat").model, acceptance=acceptance, evidence=_NO_SIGNAL)


def _mixed(argument: str) -> _Recipe:
    parts = argument.split("/")
    if len(parts) != 4:
        raise UserError(f"four parameters are needed, EASY/HARD/TOKENS/TOKENS, not {len(parts)}")
    acceptance = Mixed(*(_number(part) for part in parts))
    return _Recipe(model=preset("chat").model, acceptance=acceptance, evidence=_NO_SIGNAL)


def _fixed_length(argument: str) -> _Recipe:
    acceptance = FixedLength(_number(argument))
    return _Recipe(model=preset("chat").model, acceptance=acceptance, evidence=_NO_SIGNAL)


_RECIPES = {
    "synthetic": (_synthetic, "synthetic:chat@0.8"),
    "iid": (_independent, "iid:0.8"),
    "mix": (_mixed, "mix:0.9/0.5/20/10"),
    "length": (_fixed_length, "length:3.2"),
}
"""By kind: what makes the recipe of the words behind the colon, and a name that is right."""


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"{text!r} is no number")
    return number
