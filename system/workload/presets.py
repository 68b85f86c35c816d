# SPDX-License-Identifier: Apache-2.0
"""Presets of the synthetic model, each with the evidence behind it."""

from dataclasses import dataclass

from ahasd import UserError
from ahasd.system.workload.entropy_model import EntropyModel

BAND = 0.05
"""Half width of the band of acceptance that a result from a preset must be shown over."""

_HIGHEST = 0.999
_KAPPA_PER_NAT = 0.4
_CERTAIN = {
    "chat": 0.2,
    "qa": 0.3,
    "summarisation": 0.35,
    "creative": 0.15,
    "code": 0.55,
    "maths": 0.65,
}
"""Share of nearly certain tokens by domain, an estimate."""
_LESS_CERTAIN = {
    "opt-1.3b-66b-summarisation": 0.30,
    "opt-1.3b-66b-qa": 0.25,
    "llama3-1b-70b-maths": 0.60,
}
"""Where a domain's share and the wanted acceptance bind entropy and acceptance more strongly than
any measured pair shows, a correlation below -0.65: the next lower multiple of 0.05 does not."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One pair of models in one domain.

    Attributes
    ----------
    name : str
        As the user writes it.
    target, draft, domain : str
        What it stands for.
    vocab_size : int
        Token ids of the pair.
    model : EntropyModel
        Its parameters.
    evidence : str
        `measured`: the acceptance of this very pair was measured by others, and the model meets
        it. `derived`: from published figures of like pairs. `estimate`: nobody has published any.
    note : str
        Where the acceptance comes from.
    """

    name: str
    target: str
    draft: str
    domain: str
    vocab_size: int
    model: EntropyModel
    evidence: str
    note: str

    @property
    def band(self) -> tuple[float, float]:
        """Acceptance that is `BAND` lower, and that is as much higher but below 1."""
        return self.model.alpha - BAND, min(self.model.alpha + BAND, _HIGHEST)

    def with_alpha(self, alpha: float) -> EntropyModel:
        """Return the model with another acceptance; only its mean entropy changes.

        Raises
        ------
        UserError
            No mean entropy gives that acceptance.
        """
        return EntropyModel.with_alpha(alpha, self.model.certain, self.model.kappa_per_nat)


def preset(name: str) -> Preset:
    """Return a preset by name.

    Raises
    ------
    UserError
        There is none of that name.
    """
    if name not in PRESETS:
        raise UserError(
            f"there is no preset {name!r}; choose from {', '.join(PRESETS)}, or give"
            " PI0/M/KAPPA of your own pair"
        )
    return PRESETS[name]


def _qwen(domain: str, model: EntropyModel, measured: str) -> Preset:
    return Preset(
        name=domain,
        target="Qwen2.5-3B",
        draft="Qwen2.5-0.5B",
        domain=domain,
        vocab_size=151936,
        model=model,
        evidence="measured",
        note=f"{domain} {measured} measured by others",
    )


def _pair(
    name: str,
    models: tuple[str, str],
    vocab_size: int,
    alphas: dict[str, float],
    evidence: str,
    note: str,
) -> list[Preset]:
    """Return the presets of one pair; `models` are target and draft."""
    target, draft = models
    return [
        Preset(
            name=f"{name}-{domain}",
            target=target,
            draft=draft,
            domain=domain,
            vocab_size=vocab_size,
            model=EntropyModel.with_alpha(
                alpha, _LESS_CERTAIN.get(f"{name}-{domain}", _CERTAIN[domain]), _KAPPA_PER_NAT
            ),
            evidence=evidence,
            note=note,
        )
        for domain, alpha in alphas.items()
    ]


PRESETS = {
    each.name: each
    for each in (
        _qwen("chat", EntropyModel(0.20, 1.10, 0.45), "0.71 to 0.73"),
        _qwen("code", EntropyModel(0.55, 0.65, 0.40), "0.88 to 0.91"),
        _qwen("maths", EntropyModel(0.70, 0.45, 0.40), "0.94 to 0.96"),
        *_pair(
            "llama2-7b-13b",
            ("LLaMA-2-13B", "LLaMA-2-7B"),
            32000,
            {"chat": 0.84, "code": 0.88, "maths": 0.89},
            "estimate",
            "nothing published; above what 70B <- 7B gives, 0.82, 0.86, 0.87",
        ),
        *_pair(
            "opt-1.3b-6.7b",
            ("OPT-6.7B", "OPT-1.3B"),
            50272,
            {"summarisation": 0.72, "qa": 0.68, "creative": 0.60},
            "estimate",
            "nothing published",
        ),
        *_pair(
            "opt-1.3b-66b",
            ("OPT-66B", "OPT-1.3B"),
            50272,
            {"summarisation": 0.65, "qa": 0.60, "creative": 0.52},
            "estimate",
            "order of the domains from SADDLE's figure 4, levels guessed",
        ),
        *_pair(
            "opt-6.7b-175b",
            ("OPT-175B", "OPT-6.7B"),
            50272,
            {"summarisation": 0.72, "qa": 0.66, "creative": 0.58},
            "estimate",
            "nothing published",
        ),
        *_pair(
            "palm-8b-62b",
            ("PaLM-like-62B", "PaLM-like-8B"),
            256000,
            {"chat": 0.725},
            "derived",
            "0.70 to 0.75 from LaMDA, 0.71 to 0.75, and PaLM-2, 0.66",
        ),
        *_pair(
            "llama3-1b-70b",
            ("Llama-3.1-70B", "Llama-3.2-1B"),
            128256,
            {"chat": 0.72, "code": 0.85, "maths": 0.85},
            "estimate",
            "nothing published; below what 70B <- 8B gives",
        ),
    )
}
"""Every preset by name."""
