# SPDX-License-Identifier: Apache-2.0
"""Cells of a matrix: pairs of models, drafting rules and configurations, with common seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ahasd import UserError
from ahasd.system.config import RunConfig, load_config
from ahasd.system.schemes.names import WITHOUT_RULE

PAIRS = ("opt-1.3b:opt-6.7b", "llama2-7b:llama2-13b", "palm-8b:palm-30b")
RULES = ("specdecpp", "svip", "adaedl", "banditspec")

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "gpu-ar": {"scheme": "gpu-ar", "gpu.offload": "true"},
    "gpu-sd": {"scheme": "gpu-sd", "gpu.offload": "true"},
    "npu-ar": {"scheme": "npu-ar"},
    "npu-sd": {"scheme": "npu-sd"},
    "pim-ar": {"scheme": "pim-ar"},
    "pim-sd": {"scheme": "pim-sd"},
    "specpim": {"scheme": "specpim"},
    "sync": {"scheme": "sync"},
    "amusd": {"scheme": "amusd"},
    "async": {"scheme": "async", "nonlinear.unit": "npu"},
    "+ AAU": {"scheme": "async", "nonlinear.unit": "aau"},
    "+ EDC": {"scheme": "async-edc", "nonlinear.unit": "aau"},
    "+ TVC": {"scheme": "ahasd", "nonlinear.unit": "aau"},
}
"""Configurations by label; those of a GPU spill what does not fit over its host's link."""

ABLATION = ("gpu-sd", "async", "+ AAU", "+ EDC", "+ TVC")
"""The five of the AHASD paper's ablation, the GPU first."""
BASELINES = (
    "gpu-ar",
    "gpu-sd",
    "npu-ar",
    "npu-sd",
    "pim-ar",
    "pim-sd",
    "specpim",
    "sync",
    "amusd",
)
"""What AHASD is compared with."""
SETS = {
    "ablation": ABLATION,
    "baselines": (*BASELINES, "+ TVC"),
    "all": tuple(CONFIGURATIONS),
}
"""Configurations by the name of a set."""

_SHARED_DRAFT_KEYS = ("draft.k_max", "draft.min_len", "draft.keep_tripping_token")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run of the matrix.

    Parameters
    ----------
    pair
        DRAFT:TARGET.
    rule
        Drafting rule.
    configuration
        Label of `CONFIGURATIONS`.
    seed
        Of every random draw.
    k
        Fixed draft length in place of the rule; None leaves the rule.
    """

    pair: str
    rule: str
    configuration: str
    seed: int
    k: int | None = None


def labels(names: Sequence[str]) -> list[str]:
    """Return configurations by label, or all of a set by its name; each once.

    Raises
    ------
    UserError
        There is no such configuration.
    """
    found: list[str] = []
    for name in names:
        if name not in CONFIGURATIONS and name not in SETS:
            raise UserError(
                f"there is no configuration {name!r}; choose from"
                f" {', '.join((*CONFIGURATIONS, *SETS))}"
            )
        found += SETS.get(name, (name,))
    return list(dict.fromkeys(found))


def cells(
    pairs: Sequence[str], rules: Sequence[str], configurations: Sequence[str], seeds: Sequence[int]
) -> list[Cell]:
    """Return the cells of a matrix, those of a pair together.

    Raises
    ------
    UserError
        A pair or a configuration is none.
    """
    for pair in pairs:
        if pair.count(":") != 1 or not all(pair.split(":")):
            raise UserError(f"pair {pair!r} must be DRAFT:TARGET, such as {PAIRS[0]}")
    return [
        Cell(pair=pair, rule=rule, configuration=configuration, seed=seed)
        for pair in pairs
        for configuration in labels(configurations)
        for rule in rules
        for seed in seeds
    ]


def has_lengths(label: str) -> bool:
    """Tell whether the draft length makes a difference to a configuration."""
    return CONFIGURATIONS[label]["scheme"] not in WITHOUT_RULE


def step_before(label: str) -> str:
    """Return the step before in the ablation; nothing for its first, and for what is no step."""
    return ABLATION[ABLATION.index(label) - 1] if label in ABLATION[1:] else ""


def resolved(cell: Cell, base: str, settings: Mapping[str, Any]) -> RunConfig:
    """Return the configuration of a cell's run.

    Where no rule makes a difference, it is that of one and the same run under all rules.

    Parameters
    ----------
    cell
        The cell.
    base
        Packaged run or the path of a TOML file.
    settings
        Dotted keys on top of it.

    Raises
    ------
    UserError
        The configuration is wrong.
    """
    draft, target = cell.pair.split(":")
    changes = {**settings, "dlm": draft, "tlm": target, "seed": cell.seed, "baseline": "none"}
    if cell.k is None and has_lengths(cell.configuration):
        changes["draft.rule"] = cell.rule
    else:
        changes = {
            key: value
            for key, value in changes.items()
            if not key.startswith("draft.") or key in _SHARED_DRAFT_KEYS
        }
        changes["draft.rule"] = "fixed"
        if cell.k is not None:
            changes |= {"draft.k": cell.k, "mapping.draft_tokens": cell.k}
    return load_config(base, changes | CONFIGURATIONS[cell.configuration])
